"""From answers to audits, labels, disagreements and what can be repaired.

A trajectory is positive if its query states the goal and it achieves the goal, else negative. It gets a label
when enough people have judged it. Where they do not all call it positive or all negative it is disputed: negative,
by the method `disputed`, until an adjudicator has decided, so that nothing that somebody doubts is learnt from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import msgspec

from planarena.annotation.agreement import summarise
from planarena.annotation.forms import ISSUES, Answer
from planarena.annotation.items import ordered_choices
from planarena.records.canonical import canonical_json, content_id
from planarena.records.tables import AuditRow, DecisionPointRow, LabelRow
from planarena.tools import SchemaValidator

__all__ = [
    "Correction",
    "Judged",
    "agreement_of",
    "audit_rows",
    "judge",
    "judge_decisions",
    "read_correction",
]


class Correction(NamedTuple):
    """A corrected call.

    Attributes:
        name: The tool.
        arguments: Its arguments; None where the text is none of a call.
        error: Why it cannot be a call of a tool on offer; empty where it can.
        text: As the annotator wrote it.
    """

    name: str
    arguments: dict[str, Any] | None
    error: str
    text: str

    @property
    def stored(self) -> str:
        """The column `correction` of the table `audits`."""
        if self.arguments is None:
            return canonical_json({"text": self.text, "error": self.error})
        call = {"name": self.name, "arguments": self.arguments}
        return canonical_json(call | ({"error": self.error} if self.error else {}))


def read_correction(text: str, schemas: Mapping[str, dict[str, Any]]) -> Correction:
    """Read a corrected call and check it against its tool's schema.

    Args:
        text: What the annotator wrote.
        schemas: The input schemas of the tools on offer, by wire name.
    """
    try:
        value = msgspec.json.decode(text)
        canonical_json(value)
    except (msgspec.DecodeError, ValueError) as error:
        return Correction("", None, f"is not JSON: {error}", text)
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return Correction("", None, 'is not an object with "name" and "arguments"', text)
    arguments = value.get("arguments", {})
    if not isinstance(arguments, dict):
        return Correction("", None, '"arguments" is not an object', text)
    name = value["name"]
    if name not in schemas:
        return Correction(name, arguments, f"there is no tool {name!r} on offer", text)
    error_text = SchemaValidator(schemas[name], name).first_error(arguments)
    return Correction(name, arguments, f"arguments: {error_text}" if error_text else "", text)


class Judged(NamedTuple):
    """What people's answers about trajectories come to.

    Attributes:
        labels: Rows of the table `labels`; their methods are `single` (one person), `agreed`, `disputed` and
            `adjudicated`.
        disagreements: Trajectories whose bits differ between people, with all answers.
        repairable: Trajectories whose query was judged wrong: a better query may save them.
        waiting: Trajectories with fewer answers than wanted.
    """

    labels: list[LabelRow]
    disagreements: list[dict[str, Any]]
    repairable: list[dict[str, Any]]
    waiting: list[str]


def judge(answers: Iterable[Answer], overlap: int) -> Judged:
    """Derive labels.

    Args:
        answers: Of the forms `trajectories` and `adjudication`, checked.
        overlap: How many people shall have judged a trajectory before it gets a label.
    """
    given: dict[str, list[Answer]] = {}
    decided: dict[str, Answer] = {}
    for one in answers:
        if one.form == "trajectories":
            given.setdefault(one.item_id, []).append(one)
        elif one.form == "adjudication":
            known = decided.get(one.item_id)
            decided[one.item_id] = one if known is None or one.submitted_at >= known.submitted_at else known
    found = Judged([], [], [], [])
    for name in sorted(given.keys() | decided.keys()):
        mine = given.get(name, [])
        bits = [_bits(one) for one in mine]
        same = _agreement(bits)
        verdicts = {all(pair) for pair in bits}
        final: tuple[bool, bool] | None = None
        if name in decided:
            final, method = _bits(decided[name]), "adjudicated"
        elif len(mine) < overlap:
            found.waiting.append(name)
        elif len(set(bits)) == 1:
            final, method = bits[0], "agreed" if len(mine) > 1 else "single"
        else:  # where all say negative they differ in why, not in whether
            final, method = (False, False), "agreed" if len(verdicts) == 1 else "disputed"
        if len(set(bits)) > 1:
            found.disagreements.append(_disagreement(name, mine, settled=name in decided))
        if final is not None:
            label = "positive" if all(final) else "negative"
            found.labels.append(LabelRow(name, label, method, same))
            judges = [decided[name]] if name in decided else mine
            if all(not _bits(one)[0] for one in judges):
                found.repairable.append(_repairable(name, judges))
    return found


def _bits(answer: Answer) -> tuple[bool, bool]:
    """Return whether the query states the goal, and whether the trajectory achieves it and says so truly."""
    values = answer.values
    return values["query_ok"] == "yes", values["goal_ok"] == "yes" and values.get("answer_ok") != "no"


def _issues(answer: Answer) -> list[str]:
    told = {"wrong_answer"} if answer.values.get("answer_ok") == "no" else set()
    return sorted(told.union(answer.values.get("issues", ())))


def _agreement(bits: Sequence[tuple[bool, bool]]) -> float:
    """Return the share of pairs of people, over both bits, that agree; 1 where there is no pair."""
    pairs = list(combinations(bits, 2))
    if not pairs:
        return 1.0
    return sum((one[0] == other[0]) + (one[1] == other[1]) for one, other in pairs) / (2 * len(pairs))


def _disagreement(name: str, answers: Sequence[Answer], *, settled: bool) -> dict[str, Any]:
    bits = ("query_ok", "goal_ok", "answer_ok")
    differs = [bit for bit in bits if len({one.values.get(bit) for one in answers}) > 1]
    told = [{"annotator": one.annotator, "blind": one.blind, **one.values} for one in answers]
    return {"trajectory_id": name, "differs": differs, "settled": settled, "answers": told}


def _repairable(name: str, judges: Sequence[Answer]) -> dict[str, Any]:
    issues = sorted({issue for one in judges for issue in _issues(one)})
    comments = [one.values["comment"] for one in judges if one.values.get("comment")]
    reached = all(_bits(one)[1] for one in judges)
    return {"trajectory_id": name, "goal_ok": reached, "issues": issues, "comments": comments}


def audit_rows(
    answers: Iterable[Answer], schemas: Mapping[str, Mapping[str, dict[str, Any]]]
) -> list[AuditRow]:
    """Return the rows of the table `audits`, in the order of their keys.

    Args:
        answers: Of the forms `trajectories` and `adjudication`, checked.
        schemas: By trajectory id: the input schemas of the tools on offer.
    """
    rows = []
    for one in answers:
        if one.form == "decisions":
            continue
        text = one.values.get("corrected_call", "")
        rows.append(
            AuditRow(
                audit_id=content_id("audit", one.form, one.item_id, one.annotator),
                trajectory_id=one.item_id,
                annotator=one.annotator,
                query_ok=_bits(one)[0],
                goal_ok=_bits(one)[1],
                issues=canonical_json(_issues(one)),
                first_wrong_step=int(one.values.get("first_wrong_step", 0)) - 1,
                correction=read_correction(text, schemas.get(one.item_id, {})).stored if text else "null",
                comment=one.values.get("comment", ""),
                submitted_at=one.submitted_at,
                guideline_version=one.guideline_version,
                blind=one.blind,
            )
        )
    return sorted(rows, key=lambda row: row.audit_id)


def judge_decisions(
    answers: Iterable[Answer], points: Mapping[str, DecisionPointRow]
) -> list[dict[str, Any]]:
    """Return what people said about each candidate of a decision point.

    Args:
        answers: Checked; those to other forms are passed over.
        points: By id.

    Returns:
        One object per decision point: `candidates` in the row's order, those that were shown, with who called
        them right, the mean relevance from 0 to 1, and the outcome that execution showed.
    """
    given: dict[str, list[Answer]] = {}
    for one in answers:
        if one.form == "decisions" and one.item_id in points:
            given.setdefault(one.item_id, []).append(one)
    found = []
    for name in sorted(given):
        row, mine = points[name], given[name]
        candidates = []
        for choice in sorted(ordered_choices(row), key=lambda choice: choice.place):
            right = [one.annotator for one in mine if choice.letter in one.values["right_choices"]]
            levels = [
                one.values[key] / 4 for one in mine if (key := f"relevance_{choice.letter}") in one.values
            ]
            candidates.append(
                {
                    "candidate": choice.place,
                    "tool": choice.tool,
                    "arguments": choice.arguments,
                    "outcome": choice.outcome,
                    "right_by": right,
                    "right_share": len(right) / len(mine),
                    "relevance": sum(levels) / len(levels) if levels else None,
                }
            )
        found.append(
            {
                "decision_point_id": name,
                "trajectory_id": row.trajectory_id,
                "step": row.step,
                "annotators": [one.annotator for one in mine],
                "candidates": candidates,
            }
        )
    return found


def agreement_of(answers: Sequence[Answer], points: Mapping[str, DecisionPointRow]) -> dict[str, Any]:
    """Return the agreement by question: over all items, and apart over blind and assisted ones.

    Args:
        answers: Checked.
        points: Decision points by id.

    Returns:
        `{question: {"all": {...}, "blind": {...}, "assisted": {...}}}`, each as `agreement.summarise` gives it.
        Issues and choices count as one yes or no per item and option; a relevance is an interval value.
    """
    letters = {name: [choice.letter for choice in ordered_choices(row)] for name, row in points.items()}
    groups = {
        "all": list(answers),
        "blind": [one for one in answers if one.blind],
        "assisted": [one for one in answers if not one.blind],
    }
    found: dict[str, Any] = {}
    for group, members in groups.items():
        for question, (ratings, interval) in _ratings(members, letters).items():
            found.setdefault(question, {})[group] = summarise(ratings, interval=interval)
    return found


def _ratings(
    answers: Sequence[Answer], letters: Mapping[str, Sequence[str]]
) -> dict[str, tuple[dict[str, dict[str, Any]], bool]]:
    found: dict[str, dict[str, dict[str, Any]]] = {}

    def note(question: str, unit: str, annotator: str, value: Any) -> None:
        found.setdefault(question, {}).setdefault(unit, {})[annotator] = value

    for one in answers:
        unit, who, values = one.item_id, one.annotator, one.values
        if one.form == "trajectories":
            for question in ("query_ok", "goal_ok"):
                note(question, unit, who, values[question])
            note("first_wrong_step", unit, who, values.get("first_wrong_step", "none"))
            for issue in ISSUES:
                note("issues", f"{unit}/{issue}", who, issue in values.get("issues", ()))
        elif one.form == "decisions":
            for letter in letters.get(unit, ()):
                note("right_choices", f"{unit}/{letter}", who, letter in values["right_choices"])
                if (level := values.get(f"relevance_{letter}")) is not None:
                    note("relevance", f"{unit}/{letter}", who, level)
    return {question: (ratings, question == "relevance") for question, ratings in found.items()}
