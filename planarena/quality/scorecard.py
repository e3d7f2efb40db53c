"""The scorecard: what a strict reader of a dataset would object to, in figures.

They are measures and no proofs. What is proven of a trajectory (its results, its order, its minimality) says nothing on
how it reads; these figures do, in part. Reading is the rest: `planarena inspect RUN --read 40`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from planarena.config import TRIVIAL_KINDS
from planarena.quality.conversations import Conversation, Point, read_chunks
from planarena.quality.language import measure_language, repeats_a_phrase
from planarena.records import RIGHT_OUTCOMES, WRONG_OUTCOMES, Run

__all__ = [
    "MOST_GOLD",
    "measure_answers",
    "measure_contrast",
    "measure_dialogue",
    "measure_emulated",
    "measure_run",
]

# A share over so many is known to one or two points of a hundred; more would only take time.
MOST_GOLD = 2_500
_LONG, _VERY_LONG = 5, 8
_CREATED = re.compile(r"(date_?)?created|creation", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-")
_NO_LETTER = re.compile("[^a-z]")


def measure_run(run: Run, most: int = MOST_GOLD) -> dict[str, Any]:
    """Measure a run; the same tables always give the same figures.

    Args:
        run: The run; its `run.json` is not read.
        most: Gold trajectories to measure, about, in whole chunks taken evenly from all of the run.

    Returns:
        JSON values: `gold` (measured), `language`, `phrases`, `answers`, `contrast`, `dialogue`, `emulated`. A share of
        nothing is None.

    Raises:
        RunError: A shard is damaged.
    """
    conversations: list[Conversation] = []
    points = _Choices(RIGHT_OUTCOMES, WRONG_OUTCOMES)
    for chunk in read_chunks(run, most):
        conversations += chunk.conversations
        # Choices hold far more text than conversations: they are counted chunk by chunk.
        points.add(chunk.points)
    return {
        "gold": len(conversations),
        "language": measure_language(text for one in conversations for text in one.turns),
        "phrases": _measure_phrases(conversations),
        "answers": measure_answers(conversations),
        "contrast": points.figures(),
        "dialogue": measure_dialogue(conversations),
        "emulated": measure_emulated(conversations),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def _measure_phrases(conversations: Sequence[Conversation]) -> dict[str, Any]:
    found = [(len(one.calls) >= _LONG, repeats_a_phrase(one.turns)) for one in conversations]
    long = [bad for is_long, bad in found if is_long]
    return {
        "repeated": _share(sum(bad for _, bad in found), len(found)),
        "repeated_from_5_actions": _share(sum(long), len(long)),
    }


def measure_answers(conversations: Sequence[Conversation]) -> dict[str, Any]:
    """Measure what was asked for and is told nowhere.

    A call that only feeds a later one of the same message may stay untold where the message does not ask for it. A
    look-up is told if the goal wants its output in the answer.

    Returns:
        `untold`: by effect, the share of calls; `gold_with_untold`: the share of conversations with one.
    """
    seen: Counter[str] = Counter()
    untold: Counter[str] = Counter()
    touched = 0
    for one in conversations:
        missing = _untold(one)
        seen.update(call.effect for call in one.calls)
        untold.update(missing)
        touched += bool(missing)
    return {
        "untold": {effect: _share(untold[effect], number) for effect, number in sorted(seen.items())},
        "gold_with_untold": _share(touched, len(conversations)),
    }


def _untold(conversation: Conversation) -> list[str]:
    """Return the effects of the calls that no answer tells of."""
    turn = {call.step: call.turn for call in conversation.calls}
    feeding = {source for call in conversation.calls for source in call.feeding if turn[source] == call.turn}
    left = conversation.required.copy()
    for call in conversation.calls:
        if call.step not in feeding and left[call.tool]:
            left[call.tool] -= 1
    missing = []
    for call in conversation.calls:
        if call.step not in feeding or not call.asked:
            continue
        if call.effect == "read" and left[call.tool] > 0:
            left[call.tool] -= 1
        else:
            missing.append(call.effect)
    return missing


def measure_contrast(
    points: Iterable[Point],
    right: Collection[str] = RIGHT_OUTCOMES,
    wrong: Collection[str] = WRONG_OUTCOMES,
) -> dict[str, Any]:
    """Measure the choices at decision points.

    Args:
        points: The choices, by step.
        right: Outcomes that count as right.
        wrong: Outcomes that count as wrong.

    Returns:
        `wrong_choices`; `wrong_kinds`: their shares by kind; `trivial`: the share of kinds that anyone tells apart;
        `without_execution`: the share of all choices; `pairs` of a wrong choice with a right one other than the gold call
        at the same step, and the shares of those in which the wrong one is more relevant (`relevance_reversed`) or
        equally so (`relevance_tied`).
    """
    choices = _Choices(right, wrong)
    choices.add(points)
    return choices.figures()


class _Choices:
    """Counts over decision points."""

    def __init__(self, right: Collection[str], wrong: Collection[str]) -> None:
        self._right, self._wrong = frozenset(right), frozenset(wrong)
        self._kinds: Counter[str] = Counter()
        self._total = self._unexecuted = self._pairs = self._reversed = self._tied = 0

    def add(self, points: Iterable[Point]) -> None:
        for point in points:
            above: list[float] = []
            below: list[float] = []
            for choice in point.candidates:
                self._total += 1
                self._unexecuted += not choice.get("execution_id")
                if choice["outcome"] in self._wrong:
                    self._kinds[choice.get("mutation") or ("model" if choice.get("model") else "?")] += 1
                    below.append(choice["relevance"])
                elif choice["outcome"] in self._right and (choice["tool"], choice["arguments"]) != point.gold:
                    above.append(choice["relevance"])
            self._pairs += len(above) * len(below)
            for good in above:
                self._reversed += sum(bad > good for bad in below)
                self._tied += sum(bad == good for bad in below)

    def figures(self) -> dict[str, Any]:
        number = self._kinds.total()
        ordered = sorted(self._kinds.items(), key=lambda pair: (-pair[1], pair[0]))
        return {
            "wrong_choices": number,
            "wrong_kinds": {kind: _share(count, number) for kind, count in ordered},
            "trivial": _share(sum(self._kinds[kind] for kind in TRIVIAL_KINDS), number),
            "without_execution": _share(self._unexecuted, self._total),
            "pairs": self._pairs,
            "relevance_reversed": _share(self._reversed, self._pairs),
            "relevance_tied": _share(self._tied, self._pairs),
        }


def measure_dialogue(conversations: Sequence[Conversation]) -> dict[str, Any]:
    """Measure how much of a conversation there is.

    Returns:
        `messages`: of the user, in the mean; and the shares of conversations with `several_messages`, a `failed_call`, a
        `question_back` in an answer that is not the last, and `above_7_actions`.
    """
    number = len(conversations)
    said = sum(len(one.turns) for one in conversations)
    return {
        "messages": round(said / number, 2) if number else None,
        "several_messages": _share(sum(len(one.turns) > 1 for one in conversations), number),
        "failed_call": _share(
            sum(any(call.status != "ok" for call in one.calls) for one in conversations), number
        ),
        "question_back": _share(
            sum(any("?" in reply for reply in one.replies[: len(one.turns) - 1]) for one in conversations),
            number,
        ),
        "above_7_actions": _share(sum(len(one.calls) >= _VERY_LONG for one in conversations), number),
    }


def measure_emulated(conversations: Iterable[Conversation]) -> dict[str, Any]:
    """Measure whether emulated answers fit what was sent and when.

    Returns:
        `gold`: conversations with an emulated call; `ids_echoed`: ids that a result names like an argument, and of them
        those `with_another_value`; `created`: records with a date of creation, and of them those `in_the_future`.
    """
    counts = dict.fromkeys(("gold", "ids_echoed", "with_another_value", "created", "in_the_future"), 0)
    for one in conversations:
        if any(call.kind == "emulated" for call in one.calls):
            counts["gold"] += 1
            for call in one.calls:
                result = msgspec.json.decode(call.result) if call.result else None
                if isinstance(result, dict):
                    _compare_ids(call.arguments, result, counts)
                    if call.effect == "create":
                        _compare_dates(result, one.now, counts)
    return counts


def _compare_ids(arguments: Mapping[str, Any], result: Mapping[str, Any], counts: dict[str, int]) -> None:
    shown = [(_plain(name), value) for name, value in result.items()]
    for name, value in arguments.items():
        plain = _plain(name)
        if plain.endswith("id") and len(plain) > 3:
            echoed = [other for named, other in shown if named == plain]
            counts["ids_echoed"] += len(echoed)
            counts["with_another_value"] += sum(other != value for other in echoed)


def _compare_dates(result: Mapping[str, Any], now: str, counts: dict[str, int]) -> None:
    for name, value in result.items():
        if _CREATED.match(name) and isinstance(value, str) and _DATE.match(value):
            counts["created"] += 1
            counts["in_the_future"] += value[:16] > now


def _plain(name: str) -> str:
    return _NO_LETTER.sub("", name.lower())
