"""Fragments of a report: the trajectories of one shard, compressed, so that shards are done apart and in any order.

A block is raw deflate of lines of UTF-8. Most lines are JSON values as the tables hold them (arguments,
observations), each once; other lines are records that refer to lines by number, as `_Block` says. Whole scenarios are
dealt to `PARTS` parts; a page that would be too large leaves the last parts out.
"""

from __future__ import annotations

import zlib
from typing import Any

import msgspec

from planarena.errors import RunError
from planarena.records import canonical_json
from planarena.report.families import Choice, Family, Shard, StepRecord, ToolRecord, TrajectoryRecord
from planarena.report.shapes import shape_of

__all__ = ["PARTS", "Deflate", "Fragment", "FragmentPart", "make_fragment"]

PARTS = 16
# Uncompressed; opening one takes some milliseconds, and larger ones do not compress better.
_BLOCK_CHARACTERS = 200_000
# Deflate is fed with so much at once: its calls cost more than its work on a line.
_FEED = 32_000
# Level 9 takes twice the time of 6 for two percent of the size.
_LEVEL = 6
# Of one value, as in the tables or as words.
_LONGEST_VALUE = 12_000
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.decode


class FragmentPart(msgspec.Struct, frozen=True, array_like=True):
    """Some scenarios of a shard.

    Attributes:
        blocks: Compressed.
        lines: By family: its number in the shard, its block here, and the rest of its line in the list.
        trajectories: How many.
    """

    blocks: tuple[bytes, ...]
    lines: tuple[tuple[int, int, bytes], ...]
    trajectories: int


class Fragment(msgspec.Struct, frozen=True, array_like=True):
    """What a report needs of a shard.

    Attributes:
        scenarios: How many the shard holds.
        families: Likewise.
        trajectories: Likewise.
        parts: `PARTS` parts; scenario `i` of the shard is in part `i % PARTS`.
    """

    scenarios: int
    families: int
    trajectories: int
    parts: tuple[FragmentPart, ...]


def make_fragment(shard: Shard, tools: dict[str, ToolRecord], where: str) -> Fragment:
    """Return the fragment of a shard.

    Args:
        shard: The shard.
        tools: Of the run, by id.
        where: What to name in errors.

    Raises:
        RunError: A row refers to one that is not there.
    """
    parts = [_Part(tools) for _ in range(PARTS)]
    places: dict[str, int] = {}
    for number, family in enumerate(shard.families):
        place = places.setdefault(family.scenario.scenario_id, len(places))
        try:
            parts[place % PARTS].add(number, family, shard)
        except (KeyError, msgspec.MsgspecError) as error:
            raise RunError(
                f"the trajectory {family.first.trajectory_id} is incomplete: {error}",
                where=where,
                fix="run the same `planarena build` command again; it writes what is missing",
            ) from error
    done = tuple(part.finish() for part in parts)
    return Fragment(len(places), len(shard.families), sum(part.trajectories for part in done), done)


class _Part:
    def __init__(self, tools: dict[str, ToolRecord]) -> None:
        self._tools = tools
        self._blocks: list[bytes] = []
        self._lines: list[tuple[int, int, bytes]] = []
        self._open = _Block(tools)
        self._trajectories = 0

    def add(self, number: int, family: Family, shard: Shard) -> None:
        line = self._open.add(family, shard)
        self._lines.append((number, len(self._blocks), _listed(line, family, shard)))
        self._trajectories += 1 + len(family.wrong)
        if self._open.text.characters > _BLOCK_CHARACTERS:
            self._close_block()

    def finish(self) -> FragmentPart:
        self._close_block()
        return FragmentPart(tuple(self._blocks), tuple(self._lines), self._trajectories)

    def _close_block(self) -> None:
        if self._open.text.lines:
            self._blocks.append(self._open.text.finish())
            self._open = _Block(self._tools)


class Deflate:
    """Raw deflate of lines."""

    def __init__(self) -> None:
        self._stream = zlib.compressobj(_LEVEL, zlib.DEFLATED, -15, 9)
        self._pieces: list[bytes] = []
        self._waiting: list[bytes] = []
        self._fed = 0
        self.size = 0  # compressed so far
        self.characters = 0
        self.lines = 0

    def add(self, line: str | bytes) -> int:
        """Add a line and return its number."""
        data = line.encode() if isinstance(line, str) else line
        self._waiting.append(data)
        self.characters += len(data) + 1
        self.lines += 1
        if self.characters - self._fed > _FEED:
            self._feed()
        return self.lines - 1

    def finish(self) -> bytes:
        """Return all, compressed."""
        if self._waiting:
            self._feed()
        self._keep(self._stream.flush())
        return b"".join(self._pieces)

    def _feed(self) -> None:
        # The newline stands before what follows it: none may stand after the last line.
        start = b"\n" if self._fed else b""
        self._keep(self._stream.compress(start + b"\n".join(self._waiting)))
        self._waiting.clear()
        self._fed = self.characters

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.size += len(piece)


class _Block:
    """Families with all that belongs to them.

    Lines, as JSON lists:
        scenario: title, description, context line, tool lines
        tool: name, effects, execution kind, description
        execution: status, execution kind, line of the result or error
        family: scenario line, what the user had said before, plan, answers, withheld tools, order edges
            (earlier, later, evidence), line of the goal's outputs, steps, points, wrong trajectories
        step: number of the family's own step where it is the same, or: tool, tool line or -1, group, turn, plan,
            line of arguments, bindings (argument, step, pointer), execution line
        point: step, choices (tool, line of arguments, outcome, mutation, relevance, execution line or -1)
        wrong trajectory: plan or 0 where it is the family's, answers, steps
    """

    def __init__(self, tools: dict[str, ToolRecord]) -> None:
        self.text = Deflate()
        self._tools = tools
        self._known: dict[Any, int] = {}

    def add(self, family: Family, shard: Shard) -> int:
        """Add a family and return its line."""
        first, task = family.first, family.task
        own = shard.steps.get(first.trajectory_id, [])
        record = (
            self._scenario(family),
            [_cut(text) for text in _decode(family.query.context, type=list[str])],
            _cut(first.plan),
            _answers(first),
            [self._tools[name].wire_name for name in _decode(task.withheld_tool_ids, type=list[str])],
            _order(task.bindings) if first.kind == "gold" else [],
            self._value(_encode(_decode(task.goal).get("required_outputs", [])).decode()),
            [self._step(step, shard) for step in own],
            [(step, [self._choice(one, shard) for one in choices]) for step, choices in family.points],
            [self._wrong(one, first, own, shard) for one in family.wrong],
        )
        return self.text.add(_encode(record))

    def _once(self, key: Any, line: str | bytes) -> int:
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = self.text.add(line)
        return number

    def _value(self, text: str) -> int:
        """Add JSON text; the number of characters that are cut off follows a NUL, which JSON never holds."""
        if len(text) > _LONGEST_VALUE:
            text = f"{text[:_LONGEST_VALUE]}\0{len(text) - _LONGEST_VALUE}"
        if "\n" in text:  # only between values: inside of a string JSON writes it as \n
            text = text.replace("\n", " ")
        return self._once(text, text)

    def _scenario(self, family: Family) -> int:
        one = family.scenario
        key = ("scenario", one.scenario_id)
        if key in self._known:
            return self._known[key]
        names = _decode(one.tool_ids, type=list[str])
        line = (
            _cut(one.title),
            _cut(one.description),
            self._value(one.context),
            [self._tool(name) for name in names],
        )
        return self._once(key, _encode(line))

    def _tool(self, tool_id: str) -> int:
        key = ("tool", tool_id)
        if key in self._known:
            return self._known[key]
        one = self._tools[tool_id]
        line = (_cut(one.wire_name), one.effects, one.execution_kind, _cut(one.description))
        return self._once(key, _encode(line))

    def _execution(self, execution_id: str, shard: Shard) -> int:
        key = ("execution", execution_id)
        if key in self._known:
            return self._known[key]
        one = shard.executions[execution_id]
        line = (one.status, one.execution_kind, self._value(one.result if one.status == "ok" else one.error))
        return self._once(key, _encode(line))

    def _step(self, step: StepRecord, shard: Shard) -> tuple[Any, ...]:
        bound = _decode(step.bound_from, type=dict[str, dict[str, Any]])
        return (
            _cut(step.tool),
            self._tool(step.tool_id) if step.tool_id else -1,
            step.group,
            step.turn,
            _cut(step.plan),
            self._value(step.arguments),
            [(argument, source["step"], source["pointer"]) for argument, source in bound.items()],
            self._execution(step.execution_id, shard),
        )

    def _choice(self, one: Choice, shard: Shard) -> tuple[Any, ...]:
        said = canonical_json({"response": one.response}) if one.response else ""
        return (
            _cut(one.tool),
            self._value(said or bytes(one.arguments).decode()),
            one.outcome,
            one.mutation,
            one.relevance,
            self._execution(one.execution_id, shard) if one.execution_id else -1,
        )

    def _wrong(
        self, one: TrajectoryRecord, first: TrajectoryRecord, own: list[StepRecord], shard: Shard
    ) -> tuple[Any, ...]:
        steps: list[Any] = []
        for place, step in enumerate(shard.steps.get(one.trajectory_id, [])):
            same = place < len(own) and step[1:] == own[place][1:]
            steps.append(place if same else self._step(step, shard))
        return (0 if one.plan == first.plan else _cut(one.plan), _answers(one), steps)


def _listed(line: int, family: Family, shard: Shard) -> bytes:
    """Return the line of the list but for what stands first in it: number in the run, block.

    The rest: line in the block, domain, split, category, register, messages of the user, expression, shape,
    whether it is over-serialised, and the trajectories, the family's own one first: id, kind, mutation, number of
    actions, first wrong step, execution kinds, outcomes.
    """
    first, task = family.first, family.task
    outcomes = {one.outcome for _, choices in family.points for one in choices}
    rows = [_row(first, shard, outcomes)]
    for one in family.wrong:
        found = {
            choice.outcome
            for step, choices in family.points
            for choice in choices
            if step == one.diverge_step and choice.mutation == one.mutation
        }
        # Passing over an error is no choice of its own: the call before it failed.
        rows.append(_row(one, shard, found or ({"error"} if one.mutation == "ignored_error" else found)))
    record = (
        line,
        family.scenario.domain,
        family.scenario.split,
        task.category,
        family.query.register,
        [_cut(text) for text in _decode(family.query.turns, type=list[str])],
        _cut(task.expression),
        shape_of(task.expression),
        int(task.over_serialised),
        rows,
    )
    return _encode(record)[1:]


def _row(one: TrajectoryRecord, shard: Shard, outcomes: set[str]) -> tuple[Any, ...]:
    steps = shard.steps.get(one.trajectory_id, [])
    kinds = sorted({shard.executions[step.execution_id].execution_kind for step in steps})
    return (
        one.trajectory_id,
        one.kind,
        one.mutation,
        one.n_actions,
        one.diverge_step,
        "+".join(kinds) or "none",
        sorted(outcomes),
    )


def _answers(one: TrajectoryRecord) -> list[str]:
    return [_cut(text) for text in (*_decode(one.turn_responses, type=list[str]), one.response)]


def _order(bindings: str) -> list[tuple[int, int, str]]:
    return [
        (edge["from_step"], edge["step"], edge.get("evidence", ""))
        for edge in _decode(bindings, type=list[dict[str, Any]])
        if edge["kind"] == "order"
    ]


def _cut(text: str) -> str:
    rest = len(text) - _LONGEST_VALUE
    return text if rest <= 0 else f"{text[:_LONGEST_VALUE]}\n… {rest} more characters"
