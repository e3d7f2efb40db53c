"""Clauses: a step's templates rendered with its values, and references to what earlier steps gave."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, NamedTuple

from planarena.environments import Operation
from planarena.environments.wording import FIELD, Reference, ToolWording, names_in, parse_pointer, schema_at
from planarena.generate.mentions import (
    Memory,
    fits_another,
    holds,
    is_id,
    is_told,
    kind_of,
    name_of,
    value_kind,
)
from planarena.generate.naming import must_be_told, naming_phrases, said_by_name
from planarena.generate.pronouns import PEOPLE, Around, first_name, is_plain, light, pronoun
from planarena.generate.query_fault import QueryFaultError
from planarena.generate.spelling import PLAIN, Style, capital
from planarena.generate.surfaces import surface
from planarena.generate.templates import (
    Segment,
    counted,
    field_schema,
    parse_template,
    render_record,
    segments_of,
    text_after,
)
from planarena.tasks.atoms import resolve

__all__ = ["Clause", "Mention", "StepContext", "Voice", "parse_template", "whole_phrases"]

# An answer lists so many records of a list.
_MOST_ROWS = 6
# Who asks for a list of so many wants to read them all.
_WHOLE = 10
_OF_LIST = re.compile(r"\b(them|these|those)\b")
_ITS = re.compile(r"\b(it|its|their|there)\b")
# What refers to an answer that was asked for.
_OF_ANSWER = re.compile(r"\b(them|these|those|there|you find|found|given)\b")
_OF_FILES = re.compile(r" same | (named|given|found|listed|ordered|saved) there\b|\byou find\b")
_ENDED = re.compile(r"[.!?]\s+$")


class Mention(NamedTuple):
    """Where a literal argument was said: its text."""

    step: int
    argument: str
    text: str


class Clause(NamedTuple):
    """A rendered template and the literals that it states."""

    text: str
    said: tuple[Mention, ...]


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
        around: What stands beside the reference.
        writes: What takes the references up changes something.
    """

    steps: list[StepContext]
    pick: int
    near: int | None = None
    known: bool = False
    memory: Memory | None = None
    style: Style = PLAIN
    within: bool = False
    around: Around = Around()
    writes: bool = False


class StepContext(NamedTuple):
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
        said: list[Mention] = []
        voice = voice._replace(writes=self.operation.tool.effects != "read")
        text = self._render(segments_of(template, voice.style), voice, said)
        if FIELD in text:
            # "with a title, a text and a day": the last of them behind an "and".
            head, *fields = text.split(FIELD)
            listed = [", ".join(fields[:-1]), fields[-1]] if len(fields) > 1 else fields
            text = f"{head} with {' and '.join(listed)}"
        return Clause(text, tuple(said))

    def rows(self, pointer: str, style: Style, most: int = 0, skip: int = 0) -> str:
        """List the records at a pointer as an answer does: the first ones, and how many more there are.

        Args:
            pointer: Of the list.
            style: How it is written.
            most: So many are named; 0: all of a list that is not long, and the first ones of another.
            skip: So many were told before.
        """
        path = parse_pointer(pointer)
        found = resolve(self.result, path)
        words = self.wording.records.get(pointer)
        if words is None or not isinstance(found, list):
            return ""
        schema = (schema_at(self.operation.tool.output_schema, path) or {}).get("items", {})
        found = found[skip:]
        most = most or (len(found) if len(found) <= _WHOLE else _MOST_ROWS)
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

    def _render(
        self, segments: tuple[Segment, ...], voice: Voice, said: list[Mention], before: str = ""
    ) -> str:
        out = ""
        for place, (kind, text, inner, noun) in enumerate(segments):
            if kind == "text":
                out += text
            elif kind == "argument":
                if text in self.bound:
                    here = Around(before + out, text_after(segments, place))
                    written = self._argument(text, voice._replace(around=here), said)
                    # A sentence that begins with a reference begins with a capital.
                    written = capital(written) if _ENDED.search(here.before) else written
                else:
                    written = self._argument(text, voice, said)
                out += (
                    counted(self.arguments.get(text), written, noun)
                    if noun and written[:1].isdigit()
                    else written
                )
            elif kind == "result":
                out += self.told(text, voice.style, noun)
            elif kind == "rows":
                rows = self.rows(text, voice.style)
                if not rows:
                    raise LookupError(
                        f"the result of {self.operation.tool.wire_name} lists nothing at {text}"
                    )
                out += rows
            elif all(self._has(part) for part in inner):
                out += self._render(inner, voice, said, before + out)
        return out

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
        value = resolve(self.result, path)
        schema = field_schema(self.operation.tool, pointer)
        if not _is_json(value):
            raise LookupError(f"the result of {self.operation.tool.wire_name} has nothing at {pointer}")
        return counted(value, surface(value, schema, style.manner, None, style.year), noun)

    def _argument(self, name: str, voice: Voice, said: list[Mention]) -> str:
        schema = self.operation.tool.parameters.get(name, {})
        if name in self.bound and not (voice.known and not schema.get("x-hidden")):
            text = self._reference(*self.bound[name], voice, said)
            words = self.wording.values.get(name)
            # A value that goes by its own name is called what a user would call it here: "the living room".
            return words.get(text, text) if words else text
        if name not in self.arguments:
            return f"an unspecified {name.replace('_', ' ')}"  # a call that lacks it: only in contrast
        style = voice.style
        text = surface(self.arguments[name], schema, style.manner, self.wording.values.get(name), style.year)
        said.append(Mention(self.number, name, text))
        if voice.memory is not None:
            voice.memory.meet(self.number, name, text, schema, self.arguments[name])
        return text

    def _reference(self, source: int, pointer: str, voice: Voice, said: list[Mention]) -> str:
        """Call a value of an earlier result what people would call it at this point of the conversation."""
        producer, memory = voice.steps[source], voice.memory
        if voice.known:
            told = name_of(producer, pointer, voice.style)
            if told is not None:
                return told.text
        reference = producer.wording.refer.get(pointer)
        if reference is None:
            # The n-th of a list, for which only the request that took it has words.
            raise QueryFaultError("unsayable", f"{pointer} of {producer.operation.tool.wire_name}")
        if memory is None:
            if voice.near == source:
                return producer._phrase(reference.short, voice, said)
            return self._described(source, pointer, voice._replace(near=None), said)
        value = resolve(producer.result, parse_pointer(pointer))
        # Tools without records of their own go by what they are called in short.
        kind = kind_of(producer, pointer) or (
            "" if producer.wording.records else f"{producer.operation.tool.wire_name} {pointer}"
        )
        fresh = memory.is_fresh(source, pointer, kind)
        beside = memory.is_beside(source)
        called = memory.name(source, pointer, value)
        if called is None and (kind in PEOPLE or kind == "person"):
            # A person whom an answer told goes by the name.
            person = name_of(producer, pointer, voice.style)
            called = person.text if person is not None and holds(memory.heard, person.text) else None
        spoken = called is None and memory.is_of_fresh(producer, pointer)
        begun = memory.is_begun()
        times = memory.mention(source, pointer, kind)
        if fresh:
            again = self._again(source, pointer, voice, said, (kind, times, called or ""))
            if again:
                return again
        other = "" if is_plain(reference.full) else memory.same(source, kind, reference.full)
        # "That document" after another document was spoken of would be the other one.
        clear = other != kind and memory.is_fresh(source, pointer, other)
        if called is None and other and clear and not fresh and other not in PEOPLE:
            return pronoun(other, 1, voice.around, alone=False, pick=voice.pick)
        if called is not None:
            if (
                kind
                and is_id(producer, pointer)
                and fits_another(voice.steps[: self.number], value, kind, called, voice.style)
            ):
                memory.clash = called
            return called
        found = self._unnamed(source, pointer, voice, said, begun=begun, spoken=spoken, beside=beside)
        return found or self._described(source, pointer, voice._replace(near=None), said)

    def _unnamed(
        self,
        source: int,
        pointer: str,
        voice: Voice,
        said: list[Mention],
        *,
        begun: bool,
        spoken: bool,
        beside: bool,
    ) -> str:
        """Call a value that no answer has named by its place in what was shown or spoken of; empty where it has none.

        `begun` says that this request has named something already, `spoken` that the value is of the record that was
        spoken of last, `beside` that another value of its record stands in the same clause.
        """
        producer, memory = voice.steps[source], voice.memory
        assert memory is not None
        reference = producer.wording.refer[pointer]
        listing = voice.near == source or source in memory.shown
        # "The third of these events" needs a list that the user has seen; the first of one just asked for is clear.
        seen = source in memory.listed or (listing and "/0/" in pointer)
        if not seen and (by_name := self._by_name(source, pointer, voice, said)):
            return by_name
        if source not in memory.listed and must_be_told(
            producer.operation.tool,
            producer.wording,
            pointer,
            producer.arguments,
            producer.result,
            writes=voice.writes,
        ):
            memory.puzzle = memory.puzzle or f"{producer.operation.tool.wire_name} {pointer}"
        if listing:
            # "The second of them" needs a list that was spoken of.
            listed = voice.near == source or source in memory.listed
            # Once this request has named something, "its" is no longer of what the answer told.
            alone = voice.near == source or not begun
            short = tuple(
                one
                for one in reference.short
                if (listed or not _OF_LIST.search(one)) and (alone or not _ITS.search(one))
            )
            if short:
                return producer._phrase(light(short, voice.around), voice, said)
        if spoken or beside:
            # "Its deadline" beside the task; "the first of them" where no list was spoken of is no reference.
            own = tuple(one for one in reference.short if not _OF_ANSWER.search(one))
            if own and (spoken or memory.is_named(producer, pointer, voice.around.before)):
                return producer._phrase(light(own, voice.around), voice, said)
            # What goes by a name may be named again: "the manager of Ada" beside Ada.
            if not any(is_plain(one.full) for one in producer.wording.refer.values()):
                memory.stacked = memory.stacked or f"{producer.operation.tool.wire_name} {pointer}"
        of_list = tuple(one for one in reference.short if _OF_LIST.search(one))
        if memory.last == source and of_list:
            # "The cheapest of the lamps up to €45" was spoken of last: "the second cheapest of them".
            memory.stacked = memory.stacked or (of_list[0] if voice.within else "")
            return producer._phrase(light(of_list, voice.around), voice, said)
        return ""

    def _by_name(self, source: int, pointer: str, voice: Voice, said: list[Mention]) -> str:
        """Call a record by its own name, where the words say how; what has one keeps it for the rest of the conversation."""
        producer, memory = voice.steps[source], voice.memory
        phrases = naming_phrases(
            producer.operation.tool, producer.wording, pointer, producer.arguments, producer.result
        )
        # "The latest message from Ada" is looked up as often as one with a known subject.
        if memory is None or not phrases or (not voice.writes and "/0/" in pointer and voice.pick % 2):
            return ""
        name = name_of(producer, pointer, voice.style)
        told = said_by_name(phrases[0], name.text if name else "", producer.arguments)
        said += [Mention(source, argument, one) for argument, one in told.items()]
        text = producer._phrase(phrases, voice._replace(near=None, within=True), said)
        if name is not None and is_told(name, text):
            value = resolve(producer.result, parse_pointer(pointer))
            memory.christen(source, pointer, value, name.text)
        return text

    def _again(
        self, source: int, pointer: str, voice: Voice, said: list[Mention], what: tuple[str, int, str]
    ) -> str:
        """Call a value what it is called when it was just spoken of: by a pronoun, by its kind, a person by the name."""
        producer, memory = voice.steps[source], voice.memory
        reference = producer.wording.refer[pointer]
        kind, times, called = what
        assert memory is not None
        if reference.again:
            return producer._phrase(reference.again, voice, said)
        if kind in PEOPLE and (called or is_plain(reference.full)):
            text = called or producer._phrase(reference.full, voice, said)
            short = first_name(text)
            return short if short and memory.is_only(short, text) else text
        alone = memory.is_alone(source, pointer, kind)
        if kind and not kind.endswith(pointer):
            # What only the message before spoke of is "that card" first.
            return pronoun(kind, times, voice.around, alone=alone and times > 0, pick=voice.pick)
        return producer._phrase(reference.short, voice, said) if kind else ""

    def _described(self, source: int, pointer: str, voice: Voice, said: list[Mention]) -> str:
        """Describe a value of an earlier result in full, by what its look-up was told."""
        producer, memory = voice.steps[source], voice.memory
        reference = producer.wording.refer[pointer]
        phrases = whole_phrases(reference, producer.arguments)
        plain = is_plain(phrases)
        # "Where whoever leads them works" is hard to follow: a clause stands at the end of what it stands in.
        chosen = light(_by_day(phrases) if value_kind(producer, pointer) == "day" else phrases, voice.around)
        text = producer._phrase(chosen, voice._replace(within=voice.within or not plain), said)
        if memory is None:
            return text
        if voice.within and not plain:
            memory.stacked = text
        if text in memory.phrases and not producer.wording.records and _is_only(producer, voice.steps):
            return producer._phrase(reference.short, voice, said)  # a long description is said once
        if not plain:
            if self._fits_another(producer, pointer, chosen, text, voice):
                memory.clash = text
            if memory.repeats(text):
                memory.stacked = text
            memory.touch(producer, pointer, text)
            memory.describe(text, source, pointer, resolve(producer.result, parse_pointer(pointer)))
        return text

    @staticmethod
    def _fits_another(
        producer: StepContext, pointer: str, phrases: tuple[str, ...], text: str, voice: Voice
    ) -> bool:
        """Say whether a description fits what another call of the same tool gave: "the new request" of two."""
        name, path = producer.operation.tool.wire_name, parse_pointer(pointer)
        apart = voice._replace(memory=None, near=None)
        return any(
            other._phrase(phrases, apart, []) == text
            for other in voice.steps
            if other.operation.tool.wire_name == name
            and other.number != producer.number
            and resolve(other.result, path) != resolve(producer.result, path)
        )

    def _phrase(self, phrases: tuple[str, ...], voice: Voice, said: list[Mention]) -> str:
        # "The same account" and "the manager named there" is how files speak; people say "that account".
        good = tuple(one for one in phrases if not _OF_FILES.search(one)) or phrases
        start = voice.pick % len(good)
        good = (*good[start:], *good[:start])
        phrase = good[0]
        if voice.memory is not None:
            used = voice.memory.used
            phrase = min(good, key=lambda one: used[one])
            used[phrase] += 1
        return self._render(segments_of(phrase, voice.style), voice, said)


def _is_only(producer: StepContext, steps: list[StepContext]) -> bool:
    """Say whether a task calls a tool once, so that "that order" can mean but one thing."""
    name = producer.operation.tool.wire_name
    return sum(step.operation.tool.wire_name == name for step in steps) == 1


def whole_phrases(reference: Reference, arguments: Collection[str]) -> tuple[str, ...]:
    """Return the full phrases that name every given argument of the look-up; all of them where none does."""
    return tuple(one for one in reference.full if not set(arguments) - names_in(one)) or reference.full


def _by_day(phrases: tuple[str, ...]) -> tuple[str, ...]:
    """Return the phrases that call a day a day: "the day it is due" fits where "the deadline" does not."""
    return tuple(one for one in phrases if re.search(r"\b(day|date)\b", one)) or phrases


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | list | dict)
