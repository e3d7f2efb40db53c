"""The scorecard in words: every figure with what it means, and what published sets have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from planarena.config import TRIVIAL_KINDS

__all__ = ["PUBLISHED_NOTE", "Figure", "figures_of", "refused_references", "wrong_kinds"]


class Figure(NamedTuple):
    """One line of the scorecard, as plain text.

    Attributes:
        name: What is measured.
        value: In this run.
        published: The same in published sets; empty where it was not measured there.
        meaning: What a reader should take from it.
    """

    name: str
    value: str
    published: str
    meaning: str


PUBLISHED_NOTE = (
    "Published figures: the user messages of BFCL's multi_turn_base and live_multiple, the training set of ToolRL, ToolACE "
    "and API-Bank, as their authors distribute them, measured by the project once with the same definitions over 12,000 "
    "tokens each; a phrase is counted over a whole conversation. Only figures over the same number of tokens compare: a "
    "run with fewer has a smaller vocabulary and more distinct pairs."
)
_SETS = ("BFCL multi-turn", "BFCL live", "ToolRL", "ToolACE", "API-Bank")


def figures_of(scorecard: Mapping[str, Any]) -> list[Figure]:
    """Return the scorecard of a run line by line.

    Args:
        scorecard: As `measure_run` returns it.
    """
    return [
        *_language(scorecard["language"], scorecard["phrases"]),
        *_answers(scorecard["answers"]),
        *_contrast(scorecard["contrast"]),
        *_dialogue(scorecard["dialogue"]),
        *_emulated(scorecard["emulated"]),
    ]


def wrong_kinds(scorecard: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the kinds of wrong choices: name, share, and whether anyone tells them apart."""
    return [
        (kind, _percent(share), "trivial" if kind in TRIVIAL_KINDS else "")
        for kind, share in sorted(
            scorecard["contrast"]["wrong_kinds"].items(), key=lambda pair: (-pair[1], pair[0])
        )
    ]


def refused_references(counts: Mapping[str, Any]) -> dict[str, int]:
    """Return by reason the candidates that the build refused for a reference without one meaning."""
    discards: Mapping[str, int] = counts.get("discard", {})
    found = {
        key.removeprefix("reference:"): number
        for key, number in discards.items()
        if key.startswith("reference:")
    }
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _published(*values: str) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(_SETS, values, strict=True))


def _language(language: Mapping[str, Any], phrases: Mapping[str, Any]) -> list[Figure]:
    return [
        Figure(
            "Vocabulary",
            _number(language["vocabulary"], ",d"),
            _published("2,013", "1,926", "2,361", "1,967", "796"),
            f"different words in {language['tokens']:,} tokens of what users say",
        ),
        Figure(
            "Distinct-2",
            _number(language["distinct_2"], ".3f"),
            _published("0.61", "0.53", "0.59", "0.65", "0.27"),
            "share of pairs of neighbouring words that are different; low: the same turns of phrase again and again",
        ),
        Figure(
            "Self-BLEU-4",
            _number(language["self_bleu_4"], ".3f"),
            _published("0.26", "0.36", "0.26", "0.30", "0.61"),
            "how far a message can be put together from pieces of 299 others; lower is more varied",
        ),
        Figure(
            "Unique masked 4-grams",
            _number(language["unique_masked_4grams"], ".3f"),
            _published("0.97", "0.87", "0.88", "0.95", "0.63"),
            "share of four-word sequences that are different once names and numbers are masked; low: templates",
        ),
        Figure(
            "Repeated phrase",
            _percent(phrases["repeated"]),
            "BFCL multi-turn 2.5 %, ToolACE 0",
            "conversations in which the user says the same four words three times or more",
        ),
        Figure(
            "Repeated phrase, 5 actions or more",
            _percent(phrases["repeated_from_5_actions"]),
            "",
            "the same where much is asked for",
        ),
    ]


def _answers(answers: Mapping[str, Any]) -> list[Figure]:
    by_effect = ", ".join(f"{effect} {_percent(share)}" for effect, share in answers["untold"].items())
    return [
        Figure(
            "Untold",
            _percent(answers["gold_with_untold"]),
            "",
            f"conversations in which something that was asked for is told nowhere (calls: {by_effect or '-'})",
        )
    ]


def _contrast(contrast: Mapping[str, Any]) -> list[Figure]:
    if not contrast["wrong_choices"]:
        return []
    return [
        Figure(
            "Trivial wrong choices",
            _percent(contrast["trivial"]),
            "",
            f"of {contrast['wrong_choices']:,} wrong choices, those that anyone tells apart: {', '.join(TRIVIAL_KINDS)}",
        ),
        Figure(
            "Relevance the wrong way round",
            _percent(contrast["relevance_reversed"]),
            "",
            f"of {contrast['pairs']:,} pairs of a wrong choice with a right one other than the gold call, those in which "
            f"the wrong one counts as more relevant ({_percent(contrast['relevance_tied'])} are even)",
        ),
        Figure(
            "Choices without an execution",
            _percent(contrast["without_execution"]),
            "",
            "their outcome is a guess and no result",
        ),
    ]


def _dialogue(dialogue: Mapping[str, Any]) -> list[Figure]:
    return [
        Figure(
            "Messages a conversation",
            _number(dialogue["messages"], ".2f"),
            "BFCL multi-turn 3.7",
            "of the user, in the mean",
        ),
        Figure(
            "Several messages",
            _percent(dialogue["several_messages"]),
            "BFCL multi-turn 100 %",
            "conversations that go on after the first answer",
        ),
        Figure("A failed call", _percent(dialogue["failed_call"]), "", "and the way on from it"),
        Figure(
            "A question back",
            _percent(dialogue["question_back"]),
            "",
            "the assistant asks, the user answers, the calls follow",
        ),
        Figure(
            "Above 7 actions",
            _percent(dialogue["above_7_actions"]),
            "BFCL multi-turn 20 %",
            "long conversations",
        ),
    ]


def _emulated(emulated: Mapping[str, Any]) -> list[Figure]:
    if not emulated["gold"]:
        return []
    return [
        Figure(
            "Emulated: ids with another value",
            f"{emulated['with_another_value']:,} of {emulated['ids_echoed']:,}",
            "",
            "an id that was passed in comes back changed",
        ),
        Figure(
            "Emulated: dates in the future",
            f"{emulated['in_the_future']:,} of {emulated['created']:,}",
            "",
            "records that were created after the scenario's now",
        ),
    ]
