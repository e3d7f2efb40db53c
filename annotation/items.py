"""Trajectories and decision points as items to judge: escaped values for the forms' templates.

Every string of an item is escaped here, once: whatever shows it puts it into a page as it is. The characters
`<`, `>` and `&` become entities, so that no value can open a tag or end a script element; control codes and
direction marks are written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from planarena.annotation.escaped import escape
from planarena.annotation.forms import LETTERS, MAX_STEP, Form, Item, Suggestion, form
from planarena.annotation.graph import lay_out
from planarena.export.escaping import visible
from planarena.export.trajectories import Action, JoinedTrajectory
from planarena.records import RIGHT_OUTCOMES
from planarena.records.canonical import content_id
from planarena.records.tables import DecisionPointRow, ToolRow

__all__ = ["Choice", "decision_item", "escape", "is_blind", "ordered_choices", "trajectory_item"]

# How much a check that rests on executions of a kind is worth: what is simulated proves little.
_TRUST = {"real": 0.95, "emulated": 0.8, "simulated": 0.5}
_RIGHT = frozenset(RIGHT_OUTCOMES)
_FOLD_LINES, _FOLD_CHARACTERS = 12, 600
_ONE_LINE = 100
_LONGEST = 20_000  # characters of one value; the rest is counted, not shown


def is_blind(item_id: str, share: float) -> bool:
    """Say whether an item is shown without suggestions: a share of all items, chosen by hash.

    Args:
        item_id: The item.
        share: From 0 (none) to 1 (all).
    """
    return int(content_id("blind", item_id)[:8], 16) < share * 2**32


def trajectory_item(
    trajectory: JoinedTrajectory,
    *,
    blind: bool,
    checks: Mapping[str, Any] | None = None,
    answers: Sequence[Mapping[str, Any]] | None = None,
) -> Item:
    """Return a trajectory as an item.

    Args:
        trajectory: With all that belongs to it.
        blind: Without suggestions.
        checks: What its query passed, from the table `queries`.
        answers: For adjudication: what each annotator answered, by question.
    """
    asked = form("trajectories" if answers is None else "adjudication")
    fields = _query_fields(trajectory) | {
        "graph": lay_out(trajectory.actions),
        "trajectory": {"known": _known(trajectory), "turns": _turns(trajectory, len(trajectory.actions))},
        "tools": _tools(trajectory.tools),
    }
    if answers is not None:
        fields["answers"] = {"people": [_person(number, one) for number, one in enumerate(answers, 1)]}
    row = trajectory.row
    hidden = {"kind": row.kind, "source": row.source, "mutation": row.mutation or "none"}
    suggestions = () if blind or answers is not None else _trajectory_suggestions(trajectory, checks or {})
    return _item(asked, row.trajectory_id, fields, _where(trajectory) | hidden, blind, suggestions)


def _item(
    asked: Form,
    item_id: str,
    fields: dict[str, Any],
    metadata: dict[str, Any],
    blind: bool,
    suggestions: tuple[Suggestion, ...],
) -> Item:
    version = content_id(fields, metadata, [list(one) for one in suggestions], asked.guideline_version)
    stamps = {"blind": "yes" if blind else "no", "guidelines": asked.guideline_version, "version": version}
    return Item(item_id, fields, metadata | stamps, suggestions)


def _query_fields(trajectory: JoinedTrajectory, until: int | None = None) -> dict[str, Any]:
    """Return the user's messages and the plan; of the messages only those up to one, where not all are said yet."""
    turns = trajectory.turns if until is None else trajectory.turns[: until + 1]
    text = turns[0] if len(turns) == 1 else "\n\n".join(f"{n}. {turn}" for n, turn in enumerate(turns, 1))
    return {"query": escape(text), "plan": escape(trajectory.row.plan)}


def _where(trajectory: JoinedTrajectory) -> dict[str, Any]:
    kinds = sorted({action.execution_kind for action in trajectory.actions})
    return {
        "scenario": visible(trajectory.scenario.title)[:200],
        "domain": visible(trajectory.scenario.domain),
        "length": trajectory.row.n_actions,
        "parallel_groups": trajectory.task.n_parallel_groups,
        "execution_kind": kinds,
    }


def _known(trajectory: JoinedTrajectory) -> list[dict[str, str]]:
    known = [
        {"name": escape(name.replace("_", " ")), "value": escape(_words(value))}
        for name, value in sorted(trajectory.context.items())
    ]
    return known + [{"name": "the user had said", "value": escape(said)} for said in trajectory.said_before]


def _turns(trajectory: JoinedTrajectory, steps: int, until: int | None = None) -> list[dict[str, Any]]:
    """Return the first steps by turn.

    Args:
        trajectory: The trajectory.
        steps: How many.
        until: The turn that is not answered yet; None for the whole trajectory.
    """
    last = len(trajectory.turns) - 1 if until is None else until
    found = []
    for turn in range(last + 1):
        actions = [one for one in trajectory.actions[:steps] if one.turn == turn]
        answered = (until is None or turn < until) and turn < len(trajectory.responses)
        found.append(
            {
                "said": escape(trajectory.turns[turn]) if len(trajectory.turns) > 1 else "",
                "groups": _groups(actions),
                "response": escape(trajectory.responses[turn]) if answered else "",
            }
        )
    return found


def _words(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _groups(actions: Sequence[Action]) -> list[dict[str, Any]]:
    by_group: dict[int, list[Action]] = {}
    for action in actions:
        by_group.setdefault(action.group, []).append(action)
    return [
        {
            "parallel": len(members) > 1,
            "title": f"Steps {members[0].number + 1} to {members[-1].number + 1}, called together"
            if len(members) > 1
            else "",
            "steps": [_step(action) for action in members],
        }
        for _, members in sorted(by_group.items())
    ]


def _step(action: Action) -> dict[str, Any]:
    return {
        "number": action.number + 1,
        "tool": escape(action.tool.wire_name),
        "plan": escape(action.plan),
        "arguments": _block(action.arguments),
        "origins": [
            f"{escape(argument.removeprefix('/'))} comes from step {source + 1}"
            for argument, source, _ in action.bound
        ],
        "failed": "" if action.status == "ok" else escape(action.status.replace("_", " ")),
        "observation": _block(action.observation),
        "call": escape(_call(action)),
    }


def _call(action: Action) -> str:
    """Return a call as a corrected one is written."""
    return msgspec.json.encode({"name": action.tool.wire_name, "arguments": action.arguments}).decode()


def _block(value: Any) -> dict[str, Any]:
    """Return a JSON value as lines; a long one is folded under its first characters."""
    brief = msgspec.json.encode(value).decode()
    text = brief if len(brief) <= _ONE_LINE else _json(value)
    rest = len(text) - _LONGEST
    if rest > 0:
        text = f"{text[:_LONGEST]}\n… {rest} more characters"
    lines = text.count("\n") + 1
    folded = lines > _FOLD_LINES or len(text) > _FOLD_CHARACTERS
    return {
        "text": escape(text),
        "fold": folded,
        "lines": lines,
        "brief": escape(brief[:90] + ("…" if len(brief) > 90 else "")) if folded else "",
    }


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _tools(tools: Sequence[ToolRow]) -> dict[str, Any]:
    return {
        "tools": [
            {
                "name": escape(tool.wire_name),
                "description": escape(tool.description),
                "schema": escape(_json(msgspec.json.decode(tool.input_schema))),
            }
            for tool in tools
        ]
    }


def _person(number: int, values: Mapping[str, Any]) -> dict[str, Any]:
    shown = []
    for question in form("trajectories").questions:
        if (value := values.get(question.name)) in (None, "", []):
            continue
        names = dict(question.options)
        words = [names.get(str(one), str(one)) for one in (value if isinstance(value, list) else [value])]
        shown.append({"question": escape(question.title), "value": escape("; ".join(words))})
    return {"name": f"Annotator {number}", "answers": shown}


def _trajectory_suggestions(
    trajectory: JoinedTrajectory, checks: Mapping[str, Any]
) -> tuple[Suggestion, ...]:
    """Turn what re-execution and the query's checks found into suggestions; never how the trajectory was made."""
    trust = min((_TRUST.get(action.execution_kind, 0.5) for action in trajectory.actions), default=0.5)
    bits = [value for value in checks.values() if isinstance(value, bool)]
    found = []
    if bits:
        passed = all(bits)
        found.append(Suggestion("query_ok", "yes" if passed else "no", 0.8 if passed else 0.6))
    found.append(Suggestion("goal_ok", "yes" if trajectory.row.reaches_goal else "no", trust))
    failed = [action for action in trajectory.actions if action.status != "ok"]
    if failed:
        found.append(Suggestion("issues", ["failed_call"], trust))
        found.append(Suggestion("first_wrong_step", str(min(failed[0].number + 1, MAX_STEP)), 0.5))
        # The call as it stands, to be changed: left as it is, it corrects nothing.
        found.append(Suggestion("corrected_call", _call(failed[0]), 0.1))
    return tuple(found)


class Choice(NamedTuple):
    """A candidate at a decision point under the letter that annotators see.

    Attributes:
        letter: From `LETTERS`.
        place: Its place in the row's list of candidates.
        tool: The tool's wire name; empty for answering at once.
        arguments: The arguments.
        beside: What is called in the same turn: `{"tool", "arguments"}`, or empty.
        outcome: What execution showed (decision 9).
        relevance: From 0 to 1.
        response: The text of an answer; empty for a call and in runs of earlier versions.
    """

    letter: str
    place: int
    tool: str
    arguments: dict[str, Any]
    beside: dict[str, Any]
    outcome: str
    relevance: float
    response: str = ""

    @property
    def is_right(self) -> bool:
        """Whether execution showed the choice to be right."""
        return self.outcome in _RIGHT


def ordered_choices(row: DecisionPointRow) -> list[Choice]:
    """Return the candidates that annotators see, in their order: shuffled by hash, at most one per letter.

    Where there are more candidates than letters, at least one right and one wrong one stay.
    """
    candidates = list(enumerate(msgspec.json.decode(row.candidates, type=list[dict[str, Any]])))

    def rank(pair: tuple[int, dict[str, Any]]) -> str:
        one = pair[1]
        return content_id(row.decision_point_id, one["tool"], one["arguments"], pair[0])

    shuffled = sorted(candidates, key=rank)
    right = [pair for pair in shuffled if pair[1]["outcome"] in _RIGHT]
    wrong = [pair for pair in shuffled if pair[1]["outcome"] not in _RIGHT]
    room = len(LETTERS)
    kept_right = right[: max(1, room - len(wrong))] if wrong else right[:room]
    kept = sorted([*kept_right, *wrong[: room - len(kept_right)]], key=rank)
    return [
        Choice(
            letter,
            place,
            one["tool"],
            one["arguments"],
            one.get("beside", {}),
            one["outcome"],
            float(one["relevance"]),
            one.get("response", ""),
        )
        for letter, (place, one) in zip(LETTERS, kept, strict=False)
    ]


def _turn_of(trajectory: JoinedTrajectory, step: int) -> int:
    """Return the turn that a step belongs to; the last one where only its answer is left."""
    actions = trajectory.actions
    return actions[step].turn if step < len(actions) else len(trajectory.turns) - 1


def decision_item(row: DecisionPointRow, trajectory: JoinedTrajectory, *, blind: bool) -> Item:
    """Return a decision point as an item.

    Args:
        row: The decision point.
        trajectory: The trajectory it stands in.
        blind: Without suggestions.
    """
    asked = form("decisions")
    choices = ordered_choices(row)
    # What the user says later, and the gold's answer, would give the right choice away.
    until = row.turn if row.turn >= 0 else _turn_of(trajectory, row.step)
    fields = _query_fields(trajectory, until) | {
        "so_far": {"known": _known(trajectory), "turns": _turns(trajectory, row.step, until)},
        "choices": {"choices": [_shown(choice) for choice in choices]},
        "tools": _tools(trajectory.tools),
    }
    suggestions = () if blind else tuple(_decision_suggestions(choices, trajectory))
    return _item(
        asked, row.decision_point_id, fields, _where(trajectory) | {"step": row.step + 1}, blind, suggestions
    )


def _shown(choice: Choice) -> dict[str, Any]:
    beside = choice.beside
    return {
        "letter": choice.letter,
        "tool": escape(choice.tool),
        "arguments": _block(choice.arguments),
        "said": escape(choice.response),
        "beside": {"tool": escape(beside["tool"]), "arguments": _block(beside["arguments"])}
        if beside
        else None,
    }


def _decision_suggestions(choices: Sequence[Choice], trajectory: JoinedTrajectory) -> Iterator[Suggestion]:
    trust = min((_TRUST.get(action.execution_kind, 0.5) for action in trajectory.actions), default=0.5)
    right = [choice.letter for choice in choices if choice.is_right]
    yield Suggestion("right_choices", right or ["none"], trust)
    for choice in choices:
        level = min(4, max(0, round(choice.relevance * 4)))
        yield Suggestion(f"relevance_{choice.letter}", level, 0.5)
