"""The offline generator's plans and answers, from the environments' own wording, varied by a seed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from planarena.generate.clauses import StepWords, Voice

__all__ = [
    "write_failure",
    "write_plan",
    "write_plan_line",
    "write_response",
    "write_step_plan",
    "write_step_plans",
]

_BARE = ("That is done.", "Done, what is next?", "I have that now.", "Ready for the next part.")
_DONE = (
    "",
    "",
    "Done. ",
    "All set. ",
    "Everything is taken care of. ",
    "Here is the outcome: ",
    "That's sorted. ",
)


def write_plan(
    steps: list[StepWords], order_edges: Sequence[tuple[int, int, str]], groups: Sequence[int], rng: Random
) -> str:
    """Write the global plan: one numbered line a step, with what it uses, what it follows and what runs beside it."""
    lines = []
    for step in steps:
        template = step.wording.plan[rng.randrange(len(step.wording.plan))]
        line = step.clause(template, Voice(steps, rng.randrange(1000))).text
        lines.append(write_plan_line(steps, order_edges, groups, step.number, line))
    return "\n".join(lines)


def write_plan_line(
    steps: list[StepWords],
    order_edges: Sequence[tuple[int, int, str]],
    groups: Sequence[int],
    number: int,
    line: str,
) -> str:
    """Number a line of plan and add what its step uses, what it follows and what runs beside it."""
    uses = sorted({source + 1 for source, _ in steps[number].bound.values()})
    after = sorted({earlier + 1 for earlier, later, _ in order_edges if later == number} - set(uses))
    beside = [other + 1 for other in range(len(steps)) if groups[other] == groups[number] and other != number]
    notes = [f"uses {_numbers(uses)}"] if uses else []
    notes += [f"after {_numbers(after)}"] if after else []
    notes += [f"together with {_numbers(beside)}"] if beside else []
    note = f" ({'; '.join(notes)})" if notes else ""
    return f"{number + 1}. {line[0].upper()}{line[1:]}{note}."


def _numbers(numbers: Sequence[int]) -> str:
    words = [str(number) for number in numbers]
    head = "step" if len(words) == 1 else "steps"
    return f"{head} {words[0] if len(words) == 1 else ', '.join(words[:-1]) + ' and ' + words[-1]}"


_STEP_LEADS = ("Now I {0}.", "Next: {0}.", "I {0} now.", "The next thing to do is to {0}.")


def write_step_plan(step: StepWords, steps: list[StepWords], rng: Random) -> str:
    """Write the line of plan that goes with one action."""
    template = step.wording.plan[rng.randrange(len(step.wording.plan))]
    near = step.number - 1 if step.number else None
    text = step.clause(template, Voice(steps, rng.randrange(1000), near=near)).text
    lead = "I start: {0}." if step.number == 0 else _STEP_LEADS[rng.randrange(len(_STEP_LEADS))]
    return lead.format(text[0].lower() + text[1:])


def write_step_plans(steps: list[StepWords], rng: Random) -> tuple[str, ...]:
    """Write one line of plan per action."""
    return tuple(write_step_plan(step, steps, rng) for step in steps)


def write_response(steps: list[StepWords], reported: Sequence[int], rng: Random) -> str:
    """Write an answer: what every reported step gave, in order; a bare confirmation when nothing is reported."""
    if not reported:
        return _BARE[rng.randrange(len(_BARE))]
    sentences = []
    for number in reported:
        step = steps[number]
        template = step.wording.report[rng.randrange(len(step.wording.report))]
        text = step.clause(template, Voice(steps, rng.randrange(1000), known=True)).text
        sentences.append(text[0].upper() + text[1:] + ".")
    return _DONE[rng.randrange(len(_DONE))] + " ".join(sentences)


_SORRY = ("I could not finish this", "Something did not work", "One part failed", "This is not complete")


def write_failure(done: str, errors: Sequence[str], rng: Random) -> str:
    """Write the answer of an agent that went wrong: what it believes is done, and the first error it met."""
    if errors:
        return f"{done} {_SORRY[rng.randrange(len(_SORRY))]}: {errors[0]}".strip()
    return done or "Done."
