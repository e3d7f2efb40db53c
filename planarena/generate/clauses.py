"""Clauses: a step's templates rendered with its values, and references to what earlier steps gave."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from planarena.environments import Operation
from planarena.environments.wording import FIELD, Reference, ToolWording, names_in, parse_pointer, schema_at
from planarena.generate.mentions import Memory, name_of, noun_of
from planarena.generate.spelling import PLAIN, Style
from planarena.generate.surfaces import surface
from planarena.generate.templates import Segment, counted, parse_template, render_record, segments_of
from planarena.tasks.atoms import resolve

__all__ = ["Clause", "Said", "StepWords", "Voice", "parse_template", "whole_phrases"]

# An answer lists so many records of a list.
_MOST_ROWS = 4


class Said(NamedTuple):
    """Where a literal argument was said: its text."""

    step: int
    argument: str
    text: str


class Clause(NamedTuple):
    """A rendered template and the literals that it states."""

    text: str
    said: tuple[Said, ...]


class Voice(NamedTuple):
    """How a clause is spoken.

    Attributes:
        steps: All steps of the task.
        pick: A number that chooses among phrases.
        near: The step just asked for, which may be referred to briefly; None for full references.
        known: Everything has happened, as in a final answer: bound values are written out.
        memory: What the conversation has said so far; None where nothing is remembered.
        style: How the trajectory writes.
        within: A description is being written already, which another one must not stand in.
    """

    steps: list[StepWords]
    pick: int
    near: int | None = None
    known: bool = False
    memory: Memory | None = None
    style: Style = PLAIN
    within: bool = False


class StepWords(NamedTuple):
    """A step as the language part sees it.

    Attributes:
        number: Place in the unrolled order.
        operation: The tool.
        wording: Its words.
        arguments: All arguments.
        bound: argument -> (source step, JSON pointer).
        result: The result.
    """

    number: int
    operation: Operation
    wording: ToolWording
    arguments: dict[str, Any]
    bound: dict[str, tuple[int, str]]
    result: Any

    def tells_all(self) -> bool:
        """Say whether the result holds every value that an answer reports of this tool, as scalars."""
        return all(
            isinstance(resolve(self.result, parse_pointer(output)), str | int | float)
            for output in self.wording.outputs
        )

    def clause(self, template: str, voice: Voice) -> Clause:
        """Render a template of this tool.

        Raises:
            LookupError: It names a value that the result lacks.
        """
        said: list[Said] = []
        text = self._render(segments_of(template, voice.style), voice, said)
        if FIELD in text:
            text = text.replace(FIELD, " with ", 1).replace(FIELD, ", ")
        return Clause(text, tuple(said))

    def rows(self, pointer: str, style: Style, most: int = _MOST_ROWS) -> str:
        """List the records at a pointer as an answer does: the first ones, and how many more there are."""
        path = parse_pointer(pointer)
        found = resolve(self.result, path)
        words = self.wording.records.get(pointer)
        if words is None or not isinstance(found, list):
            return ""
        schema = (schema_at(self.operation.tool.output_schema, path) or {}).get("items", {})
        most = len(found) if len(found) == most + 1 else most
        lines = [
            line
            for record in found[:most]
            if (line := render_record(words.line or words.name, record, schema, style))
        ]
        more = [f"{len(found) - most} more"] if len(found) > most else []
        parts = [*lines, *more]
        mark = "; " if any("," in line for line in lines) else ", "
        return parts[0] if len(parts) == 1 else f"{mark.join(parts[:-1])} and {parts[-1]}" if parts else ""

    def _render(self, segments: tuple[Segment, ...], voice: Voice, said: list[Said]) -> str:
        out = []
        for kind, text, inner, noun in segments:
            if kind == "text":
                out.append(text)
            elif kind == "argument":
                written = self._argument(text, voice, said)
                out.append(counted(self.arguments.get(text), written, noun) if noun else written)
            elif kind == "result":
                out.append(self.told(text, voice.style, noun))
            elif kind == "rows":
                out.append(self.rows(text, voice.style))
            elif all(self._has(part) for part in inner):
                out.append(self._render(inner, voice, said))
        return "".join(out)

    def _has(self, part: Segment) -> bool:
        if part.kind == "argument":
            return part.text in self.arguments
        if part.kind in {"result", "rows"}:
            value = resolve(self.result, parse_pointer(part.text))
            return _is_json(value) and value not in (None, [], "")
        return True

    def told(self, pointer: str, style: Style, noun: tuple[str, ...] = ()) -> str:
        """Write a value of the result.

        Raises:
            LookupError: There is none.
        """
        path = parse_pointer(pointer)
        schema = schema_at(self.operation.tool.output_schema, path) or {}
        value = resolve(self.result, path)
        if not _is_json(value):
            raise LookupError(f"the result of {self.operation.tool.wire_name} has nothing at {pointer}")
        return counted(value, surface(value, schema, style.manner, None, style.year), noun)

    def _argument(self, name: str, voice: Voice, said: list[Said]) -> str:
        schema = self.operation.tool.parameters.get(name, {})
        if name in self.bound and not (voice.known and not schema.get("x-hidden")):
            return self._reference(*self.bound[name], voice, said)
        if name not in self.arguments:
            return f"an unspecified {name.replace('_', ' ')}"  # a call that lacks it: only in contrast
        style = voice.style
        text = surface(self.arguments[name], schema, style.manner, self.wording.values.get(name), style.year)
        said.append(Said(self.number, name, text))
        return text

    def _reference(self, source: int, pointer: str, voice: Voice, said: list[Said]) -> str:
        """Call a value of an earlier result what people would call it at this point of the conversation."""
        producer, memory = voice.steps[source], voice.memory
        if voice.known:
            told = name_of(producer, pointer, voice.style)
            if told is not None:
                return told.text
        reference = producer.wording.refer[pointer]
        noun = noun_of(producer, pointer)
        # Tools without records of their own go by what they are called in short.
        kind = noun or ("" if producer.wording.records else f"{producer.operation.tool.wire_name} {pointer}")
        if memory is not None:
            fresh, called = memory.is_fresh(source, pointer, kind), memory.names.get((source, pointer))
            memory.mention(source, pointer, kind)
            pointing = reference.again or _pointing(noun) or (reference.short if kind else ())
            if fresh and pointing:
                return producer._phrase(pointing, voice, said)
            if called is not None:
                return called
        if voice.near == source or (memory is not None and source in memory.shown):
            return producer._phrase(reference.short, voice, said)
        return self._described(source, pointer, voice._replace(near=None), said)

    def _described(self, source: int, pointer: str, voice: Voice, said: list[Said]) -> str:
        """Describe a value of an earlier result in full, by what its look-up was told."""
        producer, memory = voice.steps[source], voice.memory
        reference = producer.wording.refer[pointer]
        phrases = whole_phrases(reference, producer.arguments)
        # A phrase that is nothing but an argument ("{name}") says whatever that says.
        plain = not any(part.kind == "text" for phrase in phrases for part in parse_template(phrase))
        text = producer._phrase(phrases, voice._replace(within=voice.within or not plain), said)
        if memory is None:
            return text
        if voice.within and not plain:
            memory.stacked = text
        if text in memory.phrases and not producer.wording.records and _is_only(producer, voice.steps):
            return producer._phrase(reference.short, voice, said)  # a long description is said once
        if not plain:
            memory.describe(text, source, pointer, resolve(producer.result, parse_pointer(pointer)))
        return text

    def _phrase(self, phrases: tuple[str, ...], voice: Voice, said: list[Said]) -> str:
        return self._render(segments_of(phrases[voice.pick % len(phrases)], voice.style), voice, said)


def _is_only(producer: StepWords, steps: list[StepWords]) -> bool:
    """Say whether a task calls a tool once, so that "that order" can mean but one thing."""
    name = producer.operation.tool.wire_name
    return sum(step.operation.tool.wire_name == name for step in steps) == 1


def whole_phrases(reference: Reference, arguments: Collection[str]) -> tuple[str, ...]:
    """Return the full phrases that name every given argument of the look-up; all of them where none does."""
    return tuple(one for one in reference.full if not set(arguments) - names_in(one)) or reference.full


def _pointing(noun: str) -> tuple[str, ...]:
    return (f"that {noun}", f"the same {noun}", f"that {noun}") if noun else ()


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | list | dict)
