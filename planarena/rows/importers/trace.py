"""What every importer makes of a record: tools, instructions and turns, checked and with names that models can say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from planarena.formats import Call
from planarena.records import canonical_bytes, canonical_json, content_id
from planarena.records.tables import ToolRow
from planarena.rows.dialogue import Decision, Dialogue, Observation, Turn
from planarena.rows.importers.schemas import normalise

__all__ = ["SPLITS", "ImportOptions", "SourceTool", "Trace", "TraceError", "TurnBuilder", "as_dialogue"]

# The names that a record or a file may state.
SPLITS = ("train", "validation", "test", "unseen_tools")
_NOT_WIRE = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 64


class TraceError(ValueError):
    """A record that cannot be used.

    Args:
        reason: A stable clause, under which such records are counted.
        detail: What exactly, for people.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason, self.detail = reason, detail
        super().__init__(f"{reason}: {detail}" if detail else reason)


class ImportOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What an import may choose.

    Attributes:
        sample: Take so many records at random; 0 for all.
        seed: Of the sample and of masked names.
        mask: Of `hammer`: the share of records whose tool and argument names are masked.
        integer_answers: Of `openr1-math`: only problems whose answer is an integer (003 A.2).
        keep_errors: Of `funreason-mt`: keep dialogues that the source marks as holding wrong tool responses.
        licence: An SPDX id for the tools; empty for what the source's card states.
    """

    sample: int = 0
    seed: int = 0
    mask: float = 1.0
    integer_answers: bool = False
    keep_errors: bool = True
    licence: str = ""


class SourceTool(msgspec.Struct, frozen=True):
    """A tool as the source writes it: the parameters are a JSON Schema or a table of parameters."""

    name: str
    description: str
    parameters: Any


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """A record, read.

    Attributes:
        tools: What is on offer.
        turns: What was said and done.
        instructions: The source's own system text, without the list of tools.
        known: What else is known beforehand.
        plan: A global plan, where the source has one.
        first_decision: Decisions before this one are history only.
        category: `call`, or why no call is right.
        split: The source's split; empty where it has none.
        ours: What the importer wrote where the source has nothing, by name.
    """

    tools: tuple[SourceTool, ...] = ()
    turns: tuple[Turn, ...] = ()
    instructions: str = ""
    known: dict[str, Any] = {}
    plan: str = ""
    first_decision: int = 0
    category: str = "call"
    split: str = ""
    ours: dict[str, str] = {}


class TurnBuilder:
    """Collects the messages of a dialogue, in order, into turns."""

    def __init__(self) -> None:
        self._turns: list[tuple[str, list[Decision]]] = []
        self._text: str | None = None
        self._rationale = ""

    def user(self, text: str) -> None:
        """Add a message of the user; two in a row become one."""
        self.settle()
        if self._turns and not self._turns[-1][1]:
            earlier = self._turns.pop()[0]
            text = f"{earlier}\n\n{text}"
        self._turns.append((text, []))

    def say(self, text: str, rationale: str = "") -> None:
        """Add words of the assistant; words before a call of the same turn go with the call."""
        if not text.strip():
            self._rationale = rationale or self._rationale
            return
        self._text = text if self._text is None else f"{self._text}\n\n{text}"
        self._rationale = rationale or self._rationale

    def call(self, calls: Sequence[Call], rationale: str = "") -> None:
        """Add calls that the assistant makes in one turn."""
        self._current().append(
            Decision(
                calls=tuple(calls),
                observations=(None,) * len(calls),
                text=self._text,
                rationale=rationale or self._rationale,
            )
        )
        self._text, self._rationale = None, ""

    def observe(self, values: Sequence[Any]) -> None:
        """Add what the last calls returned, in their order; some may be missing at the end.

        Raises:
            TraceError: There are more results than calls.
        """
        decisions = self._turns[-1][1] if self._turns else []
        last = decisions[-1] if decisions else None
        if last is None or not last.calls:
            raise TraceError("a tool result without a call")
        free = [index for index, known in enumerate(last.observations) if known is None]
        if len(values) > len(free):
            raise TraceError("more tool results than calls")
        observations = list(last.observations)
        for index, value in zip(free, values, strict=False):
            observations[index] = Observation(value)
        decisions[-1] = msgspec.structs.replace(last, observations=tuple(observations))

    def observe_at(self, index: int, value: Any) -> None:
        """Add what one of the last calls returned.

        Raises:
            TraceError: There is no such call.
        """
        decisions = self._turns[-1][1] if self._turns else []
        if not decisions or index >= len(decisions[-1].calls):
            raise TraceError("a tool result without a call")
        observations = list(decisions[-1].observations)
        observations[index] = Observation(value)
        decisions[-1] = msgspec.structs.replace(decisions[-1], observations=tuple(observations))

    @property
    def count(self) -> int:
        """The number of decisions so far."""
        return sum(len(decisions) for _, decisions in self._turns)

    @property
    def last_calls(self) -> tuple[Call, ...]:
        """The calls of the last decision."""
        decisions = self._turns[-1][1] if self._turns else []
        return decisions[-1].calls if decisions else ()

    def finish(self) -> tuple[Turn, ...]:
        """Return the turns; a last message of the user that nobody answers is dropped.

        Raises:
            TraceError: The assistant never does anything.
        """
        self.settle()
        if self._turns and not self._turns[-1][1]:
            self._turns.pop()
        if not any(decisions for _, decisions in self._turns):
            raise TraceError("no action of the assistant")
        return tuple(Turn(user, tuple(decisions)) for user, decisions in self._turns)

    def _current(self) -> list[Decision]:
        if not self._turns:
            self._turns.append(("", []))  # the assistant opens
        return self._turns[-1][1]

    def settle(self) -> None:
        """End what the assistant is saying: words that follow are another decision."""
        if self._text is not None:
            self._current().append(Decision(text=self._text, rationale=self._rationale))
        self._text, self._rationale = None, ""


def as_dialogue(trace: Trace, dataset: str, *, licence: str = "unknown", source: str = "") -> Dialogue:
    """Return a trace as a dialogue with ids that depend on its content alone.

    Names that a model could not write as a function name are replaced, in tools and calls alike; the tool's
    `schema_repairs` says so.

    Args:
        trace: What an importer read.
        dataset: The name of the importer.
        licence: Of the tools.
        source: The file it stands in.

    Raises:
        TraceError: A call to a tool that is not on offer, values that are no JSON, or nothing to learn from.
    """
    tools: list[ToolRow] = []
    wire: dict[str, str] = {}
    for tool in trace.tools:
        if tool.name in wire:
            continue  # some sources list a tool twice
        wire[tool.name] = _wire_name(tool.name, wire.values())
        tools.append(_tool_row(tool, wire[tool.name], dataset, licence, source))
    turns = []
    count = 0
    for turn in trace.turns:
        if any(not decision.calls for decision in turn.decisions[:-1]):
            # The tables hold one answer a turn, at its end.
            raise TraceError("words in the middle of a turn that no call follows")
        decisions = tuple(_renamed(decision, wire) for decision in turn.decisions)
        count += len(decisions)
        turns.append(Turn(turn.user, decisions))
    if trace.first_decision >= count:
        raise TraceError("no gold action")
    known = {**trace.known, **({"instructions": trace.instructions} if trace.instructions else {})}
    dialogue = Dialogue(
        trajectory_id="",
        scenario_id="",
        task_id="",
        split=trace.split or "train",
        domain=dataset,
        generator=f"import:{dataset}",
        tools=tuple(tools),
        context=known,
        category=trace.category,
        turns=tuple(turns),
        plan=trace.plan,
        first_decision=trace.first_decision,
    )
    try:
        content = dialogue.content
    except ValueError as error:
        raise TraceError("values that are no JSON", str(error)) from error
    return msgspec.structs.replace(
        dialogue,
        trajectory_id=content_id("import", "trajectory", dataset, content),
        scenario_id=content_id("import", "scenario", dataset, content),
        task_id=content_id("import", "task", dataset, content),
    )


def _wire_name(name: str, taken: Any) -> str:
    base = _NOT_WIRE.sub("_", name).strip("_")[:_LONGEST_NAME] or "tool"
    wire, number = base, 2
    while wire in taken:
        end = f"_{number}"
        wire, number = base[: _LONGEST_NAME - len(end)] + end, number + 1
    return wire


def _tool_row(tool: SourceTool, wire: str, dataset: str, licence: str, source: str) -> ToolRow:
    schema, repairs = normalise(tool.parameters)
    try:
        canonical_bytes(schema)
    except ValueError as error:
        raise TraceError("a tool whose schema is no JSON", f"{tool.name}: {error}") from error
    if wire != tool.name:
        repairs = (f"name: {tool.name!r} became {wire!r}", *repairs)
    return ToolRow(
        tool_id=content_id("tool", dataset, tool.name, tool.description, schema, None),
        namespace=dataset,
        name=tool.name,
        wire_name=wire,
        description=tool.description,
        input_schema=canonical_json(schema),
        output_schema="null",
        effects="unknown",
        execution_kind="none",
        determinism="unknown",
        source_kind="import",
        source_ref=source,
        source_version="",
        source_sha256="",
        licence=licence,
        schema_repairs=canonical_json(list(repairs)),
        contamination="[]",
    )


def _renamed(decision: Decision, wire: dict[str, str]) -> Decision:
    calls = []
    for call in decision.calls:
        if call.name not in wire:
            what = "a call of a tool that is not on offer" if wire else "calls, but no list of tools"
            raise TraceError(what, call.name)
        calls.append(Call(wire[call.name], call.arguments))
    return msgspec.structs.replace(decision, calls=tuple(calls))
