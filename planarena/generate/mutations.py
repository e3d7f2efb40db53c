"""Wrong choices that models make, by kind: each proposes, and executing decides what a proposal is worth.

`planarena.proofs.outcomes` judges calls; an answer is checked against the goal and what it should tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random

from planarena.config import TRIVIAL_KINDS
from planarena.generate import wrong_answers, wrong_calls, wrong_turns, wrong_values
from planarena.generate.query_fault import QueryFaultError
from planarena.generate.situations import Knowledge, Proposal, Scene, Situation

__all__ = ["MUTATIONS", "TRIVIAL_KINDS", "Knowledge", "Proposal", "Scene", "Situation", "propose"]

MUTATIONS: dict[str, Callable[[Situation, Random], Iterator[Proposal]]] = {
    "neighbour_value": wrong_values.neighbour_value,
    "id_as_name": wrong_values.id_as_name,
    "wrong_format": wrong_values.wrong_format,
    "near_tool": wrong_calls.near_tool,
    "wrong_lookup": wrong_calls.wrong_lookup,
    "repeated_call": wrong_calls.repeated_call,
    "wrong_order": wrong_calls.wrong_order,
    "parallel_dependents": wrong_calls.parallel_dependents,
    "omitted_argument": wrong_calls.omitted_argument,
    "omitted_call": wrong_answers.omitted_call,
    "incomplete_answer": wrong_answers.incomplete_answer,
    "false_answer": wrong_answers.false_answer,
    "needless_question": wrong_answers.needless_question,
    "ignored_error": wrong_turns.ignored_error,
    "gave_up": wrong_turns.gave_up,
    "injected_order": wrong_turns.injected_order,
    "forbidden_call": wrong_turns.forbidden_call,
    "superseded_value": wrong_turns.superseded_value,
    "hallucinated_tool": wrong_calls.hallucinated_tool,
    "empty_arguments": wrong_calls.empty_arguments,
    "early_stop": wrong_answers.early_stop,
    "unknowable_value": wrong_calls.unknowable_value,
}


def propose(kind: str, at: Situation, rng: Random) -> Iterator[Proposal]:
    """Yield the proposals of one kind at a decision point, best first; what no words can be found for ends them.

    Args:
        kind: A key of `MUTATIONS`.
        at: The decision point.
        rng: Decides among equals.
    """
    with suppress(QueryFaultError):
        yield from MUTATIONS[kind](at, rng)
