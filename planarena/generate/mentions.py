"""What a conversation has mentioned and told so far, hence how a value of an earlier result is called next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from planarena.environments.wording import Path, Record, names_in, parse_pointer, schema_at
from planarena.generate.spelling import Style
from planarena.generate.surfaces import surface
from planarena.generate.templates import render_record
from planarena.tasks.atoms import resolve

if TYPE_CHECKING:
    from planarena.generate.clauses import StepContext

__all__ = [
    "Memory",
    "Name",
    "fits_another",
    "holds",
    "is_id",
    "is_told",
    "kind_of",
    "name_of",
    "noun_of",
    "value_kind",
]


class Name(NamedTuple):
    """What a value is called by somebody who has seen it.

    Attributes:
        text: The name.
        values: What an answer must have told of it.
    """

    text: str
    values: tuple[str, ...]


class _Kinds(NamedTuple):
    """What a value is: its noun, what it is called after "that", its kind where it is no record, whether it is an id."""

    noun: str
    kind: str
    value: str
    hidden: bool


# By tool and pointer, with the tool, so that no other one ever gets its place in memory.
_KNOWN: dict[tuple[int, int, str], tuple[Any, Any, _Kinds]] = {}
_MOST_KNOWN = 50_000


def _kinds(step: StepContext, pointer: str) -> _Kinds:
    key = id(step.operation.tool), id(step.wording), pointer
    known = _KNOWN.get(key)
    if known is None:
        if len(_KNOWN) > _MOST_KNOWN:
            _KNOWN.clear()
        known = _KNOWN[key] = step.operation.tool, step.wording, _find_kinds(step, pointer)
    return known[2]


def _find_kinds(step: StepContext, pointer: str) -> _Kinds:
    path = parse_pointer(pointer)
    schema = schema_at(step.operation.tool.output_schema, path) or {}
    hidden = bool(schema.get("x-hidden"))
    reference, record = step.wording.refer.get(pointer), _record_at(step, path[:-1])
    # A date or a price of a record is not the record.
    noun = record.noun if record is not None and hidden else ""
    noun = reference.noun if reference is not None and reference.noun else noun
    kind = noun or _kind(schema)
    if schema.get("x-surface") in {"datetime", "time"} and not noun:
        return _Kinds(noun, kind, "time", hidden)
    return _Kinds(noun, kind, kind if kind in {*_KINDS.values(), "address"} else "", hidden)


def noun_of(step: StepContext, pointer: str) -> str:
    """Return what a value of a step's result is, as "card"; empty where the words do not say it."""
    return _kinds(step, pointer).noun


# What a value is called that stands for no record, once it was spoken of: "that day".
_KINDS = {"date": "day", "money": "amount"}
_SEMANTIC_KINDS = {"person": "person", "email_address": "address"}
_VALUES = frozenset({*_KINDS.values(), *_SEMANTIC_KINDS.values()})


def kind_of(step: StepContext, pointer: str) -> str:
    """Return what a value is called after "that": the noun of its record, or what kind of value it is."""
    return _kinds(step, pointer).kind


def _kind(schema: Mapping[str, Any]) -> str:
    kind = _SEMANTIC_KINDS.get(schema.get("x-semantic", ""))
    return kind or _KINDS.get(schema.get("x-surface", ""), "")


def value_kind(step: StepContext, pointer: str) -> str:
    """Return "day", "time", "amount" or "address" for a value that is one of these and no record; empty for others."""
    return _kinds(step, pointer).value


def is_id(step: StepContext, pointer: str) -> bool:
    """Say whether a value is an id, which no other thing has."""
    return _kinds(step, pointer).hidden


def _record_at(step: StepContext, path: Path) -> Record | None:
    place = path[:-1] if path and isinstance(path[-1], int) else path
    return step.wording.records.get("".join(f"/{word}" for word in place))


def name_of(step: StepContext, pointer: str, style: Style) -> Name | None:
    """Return what a value is called once it was told: its record's name, or itself where it is no id."""
    path = parse_pointer(pointer)
    schema = schema_at(step.operation.tool.output_schema, path) or {}
    value = resolve(step.result, path)
    record, reference = _record_at(step, path[:-1]), step.wording.refer.get(pointer)
    template = reference.name if reference is not None else ""
    if not template and not schema.get("x-hidden"):
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
            return None
        text = surface(value, schema, style.manner, None, style.year)
        # The day may stand apart from the hour: "on 25 May, from 10:00".
        return Name(text, tuple(text.split(" at ")) if schema.get("x-surface") == "datetime" else (text,))
    template = template or (record.name if record is not None else "")
    of = resolve(step.result, path[:-1])
    fields = schema_at(step.operation.tool.output_schema, path[:-1])
    written = render_record(template, of, fields, style) if template else None
    if written is None:
        return None
    told = (render_record(f"{{{field}}}", of, fields, style) for field in sorted(names_in(template)))
    return Name(written, tuple(one for one in told if one))


def is_told(name: Name, answer: str) -> bool:
    """Say whether an answer tells all that a name says."""
    return all(holds(answer, value) for value in name.values)


def holds(text: str, phrase: str) -> bool:
    """Say whether the phrase stands in the text as whole words: "€12" is not said by "€120"."""
    start = text.find(phrase) if phrase else -1
    while start >= 0:
        end = start + len(phrase)
        before = text[start - 1] if start else " "
        after = text[end : end + 2]
        joined = phrase[0].isalnum() and before.isalnum()
        runs_on = phrase[-1].isalnum() and (
            after[:1].isalnum() or (after[:1] in {".", ",", ":"} and after[1:].isdigit())
        )
        if not joined and not runs_on:
            return True
        start = text.find(phrase, start + 1)
    return False


def _own_name(step: StepContext, pointer: str, answer: str, style: Style) -> str:
    """Return what an answer named a value, empty where it did not, or where another one listed there has that name.

    Two tickets may bear one title: then the name is what the answer listed it with, where that differs.
    """
    name = name_of(step, pointer, style)
    if name is None or not is_told(name, answer):
        return ""
    path = parse_pointer(pointer)[:-1]
    if not path or not isinstance(path[-1], int):
        return name.text
    rows = resolve(step.result, path[:-1])
    others = [row for place, row in enumerate(rows) if place != path[-1]] if isinstance(rows, list) else []
    fields = schema_at(step.operation.tool.output_schema, path)
    record, reference = _record_at(step, path), step.wording.refer.get(pointer)
    template = (reference.name if reference is not None else "") or (
        record.name if record is not None else ""
    )
    if not template or all(render_record(template, row, fields, style) != name.text for row in others):
        return name.text
    own = resolve(step.result, path)
    line = render_record(record.line, own, fields, style) if record is not None and record.line else None
    alike = [row for row in others if record and render_record(record.line, row, fields, style) == line]
    return line if line is not None and not alike and holds(answer, line) else ""


def _records_of(step: StepContext, noun: str) -> Iterator[tuple[Record, Any, Any, str]]:
    """Yield the records of a kind in a step's result: their words, their schema, the record, and where they stand."""
    for pointer, words in step.wording.records.items():
        if words.noun != noun:
            continue
        path = parse_pointer(pointer)
        found = resolve(step.result, path)
        schema = schema_at(step.operation.tool.output_schema, path)
        if isinstance(found, list) and schema is not None:
            schema = schema.get("items")
        for row in found if isinstance(found, list) else [found]:
            if isinstance(row, dict):
                yield words, schema, row, pointer


def _other_name(step: StepContext, value: Any, noun: str, answer: str, style: Style) -> str:
    """Return what an answer about another step named an id, as the number of the meter that was read."""
    for words, schema, row, pointer in _records_of(step, noun):
        if value in row.values() or (not pointer and value in step.arguments.values()):
            name = render_record(words.name, row, schema, style)
            if name and holds(answer, name):
                return name
    return ""


def fits_another(steps: Sequence[StepContext], value: Any, noun: str, name: str, style: Style) -> bool:
    """Say whether another record that was shown so far bears the name too: two requests of one person.

    Args:
        steps: Those made so far.
        value: The id of the record that is meant.
        noun: What it is.
        name: What it would be called.
        style: How it is written.
    """
    kind = str(value).split("_", 1)[0] + "_"
    return any(
        render_record(words.name, row, schema, style) == name
        and value not in row.values()
        and any(isinstance(one, str) and one.startswith(kind) for one in row.values())
        for step in steps
        for words, schema, row, _ in _records_of(step, noun)
    )


_Place = tuple[int, Path]
# So many words of one description do not stand in another of the same message.
_RUN = 5


def _place(source: int, pointer: str, noun: str) -> _Place:
    """Return what tells a value from others: its record where it stands for that, as an id or a name does."""
    path = parse_pointer(pointer)
    return source, path[:-1] if noun and noun not in _VALUES else path


class Memory:
    """What was said up to now in one conversation; `begin` starts the next message, `begin_clause` its next request.

    Attributes:
        names: (step, pointer) -> what it is called, of everything that an answer told.
        phrases: Every full description used -> (the record, the value) that it meant.
        used: How often each phrase was said, by other conversations too.
        last: The look-up of which this message described something last; -1 where it did not.
        stacked: A description that itself describes what another look-up gave, if there is one.
        clash: A description that was used for two values, if there is one.
        heard: All answers so far.
        puzzle: A look-up's pointer that was described though only an answer makes it clear, if there is one.
        shown: The one step that the answer before was about: "the cheapest one" is clear now.
        listed: The steps of which that answer listed the records: "the second of them" is clear too.
    """

    def __init__(self, used: Counter[str] | None = None) -> None:
        self.used = Counter() if used is None else used
        self.names: dict[tuple[int, str], str] = {}
        self.phrases: dict[str, tuple[tuple[int, Path], Any]] = {}
        self.clash = ""
        self.stacked = ""
        self.puzzle = ""
        self.heard = ""
        self.last = -1
        self.shown: frozenset[int] = frozenset()
        self.listed: frozenset[int] = frozenset()
        self._ids: dict[Any, str] = {}  # what an id was called, whichever look-up gave it
        self._mentioned: dict[str, list[_Place]] = {}  # by noun, what this message spoke of, the latest last
        self._said: dict[Any, str] = {}  # what the user called a value
        self._first: dict[str, str] = {}  # whose first name it is
        self._clause: list[_Place] | None = None
        self._before: list[_Place] = []
        self._runs: set[tuple[str, ...]] = set()
        self._same: dict[tuple[int, str], str] = {}
        self._times: dict[_Place, int] = {}  # how often this message spoke of it

    def begin(self, listed: Collection[str]) -> None:
        """Start a message: "that card" may reach back into the message before where that spoke of one card alone.

        Args:
            listed: The nouns of the records that the answer in between listed: "that card" means none of those.
        """
        self._mentioned = {
            noun: found[-1:]
            for noun, found in self._mentioned.items()
            if noun and noun not in listed and len(set(found)) == 1
        }
        self._clause, self._before = None, []
        self._times = {}
        self._runs, self._same = set(), {}
        self.last = -1

    def begin_clause(self) -> None:
        """Start the request for another step."""
        # A request that takes up nothing speaks of something else: "it" is then no longer what it was.
        self._before = [] if self._clause is None else self._clause or [(-1, ())]
        self._clause = []

    def hear(
        self,
        answer: str,
        steps: Sequence[StepContext],
        used: Sequence[tuple[int, str]],
        style: Style,
        told: Sequence[int] = (),
    ) -> None:
        """Take in an answer: which of the values that are used later it names.

        Args:
            answer: Its text.
            steps: All steps.
            used: (step, pointer) of what later messages take up.
            style: How it is written.
            told: The steps that it tells.
        """
        self.heard = f"{self.heard} {answer}"
        for source, pointer in used:
            name = _own_name(steps[source], pointer, answer, style)
            value = resolve(steps[source].result, parse_pointer(pointer))
            if not name and is_id(steps[source], pointer):
                noun = noun_of(steps[source], pointer)
                others = (_other_name(steps[one], value, noun, answer, style) for one in told)
                name = next(filter(None, others), "") if noun else ""
            if name:
                self.names[source, pointer] = name
                if is_id(steps[source], pointer):
                    self._ids[value] = name

    def christen(self, source: int, pointer: str, value: Any, name: str) -> None:
        """Note what the user called a record by its own name."""
        self.names[source, pointer] = name
        if isinstance(value, str | int):
            self._ids.setdefault(value, name)

    def name(self, source: int, pointer: str, value: Any) -> str | None:
        """Return what an answer or the user called a value, whichever look-up gave it; None where neither named it."""
        found = self.names.get((source, pointer))
        if found is not None or not isinstance(value, str | int):
            return found
        return self._ids.get(value) or self._said.get(value)

    def is_fresh(self, source: int, pointer: str, noun: str) -> bool:
        """Say whether "that NOUN" would mean this value: mentioned, and no other of its kind since."""
        found = self._mentioned.get(noun or f"{source}{pointer}")
        return found is not None and found[-1] == _place(source, pointer, noun)

    def is_beside(self, source: int) -> bool:
        """Say whether this very request took up another value of the same look-up."""
        return any(other == source for other, _ in self._clause or ())

    def is_begun(self) -> bool:
        """Say whether this request referred to something already."""
        return bool(self._clause)

    def is_alone(self, source: int, pointer: str, noun: str) -> bool:
        """Say whether nothing else was referred to since this value was: "it" means it."""
        place = _place(source, pointer, noun)
        before = [one for one in self._clause or () if one != place]
        return not before and set(self._before) <= {place}

    def mention(self, source: int, pointer: str, noun: str) -> int:
        """Note that a value was spoken of, and return how often it was before in this message."""
        place = _place(source, pointer, noun)
        found = self._mentioned.setdefault(noun or f"{source}{pointer}", [])
        found.append(place)
        self._clause = [*(self._clause or ()), place]
        before = self._times.get(place, 0)
        self._times[place] = before + 1
        return before

    def touch(self, step: StepContext, pointer: str, text: str) -> None:
        """Note that a description of a value spoke of its record: "that event" after "the start of the first event"."""
        path = parse_pointer(pointer)
        record = _record_at(step, path[:-1])
        if record is None or noun_of(step, pointer) == record.noun or not holds(text, record.noun):
            return
        self._mentioned.setdefault(record.noun, [(step.number, path[:-1])])

    def same(self, source: int, kind: str, phrases: Sequence[str]) -> str:
        """Return the noun of what this message described by one of these phrases, and note them: an item and its name."""
        found = next((self._same[source, one] for one in phrases if self._same.get((source, one))), "")
        for one in phrases:
            self._same.setdefault((source, one), kind)
        return found

    def repeats(self, text: str) -> bool:
        """Say whether a description shares a run of words with another one of this message, and note its own."""
        words = text.lower().split()
        runs = {tuple(words[place : place + _RUN]) for place in range(len(words) - _RUN + 1)}
        shared = bool(runs & self._runs)
        self._runs |= runs
        return shared

    def is_named(self, step: StepContext, pointer: str, before: str) -> bool:
        """Say whether the text before speaks of the record that a value stands in, so that "its" is clear."""
        record = _record_at(step, parse_pointer(pointer)[:-1])
        return record is not None and holds(before, record.noun)

    def is_of_fresh(self, step: StepContext, pointer: str) -> bool:
        """Say whether a value belongs to a record that this message spoke of last: its start is "its start" now."""
        path = parse_pointer(pointer)
        record = _record_at(step, path[:-1])
        if record is None or noun_of(step, pointer):
            return False
        return self._times.get((step.number, path[:-1]), 0) > 0

    def distract(self) -> None:
        """Note that this request speaks of something new, so that "it" is no longer clear."""
        self._clause = [*(self._clause or ()), (-1, ())]

    def meet(self, step: int, argument: str, text: str, schema: Mapping[str, Any], value: Any) -> None:
        """Note a value that the user named: "that day" means it from now on, and a first name nobody else."""
        kind = _kind(schema)
        if isinstance(value, str) and (kind or schema.get("x-surface") in {"name", "word"}):
            self._said[value] = text
        if kind:
            self._mentioned.setdefault(kind, []).append((-1 - step, (argument,)))
        if schema.get("x-surface") == "name":
            self.distract()
        if kind == "person":
            self._first.setdefault(text.split(" ", 1)[0], text)

    def is_only(self, first: str, name: str) -> bool:
        """Say whether a first name means one person of this conversation so far."""
        return self._first.setdefault(first, name) == name

    def describe(self, phrase: str, source: int, pointer: str, value: Any) -> None:
        """Note a description; the same one for a value of another record is a clash."""
        self.last = source
        record = source, parse_pointer(pointer)[:-1]
        known, meant = self.phrases.setdefault(phrase, (record, value))
        if known != record and meant != value:
            self.clash = phrase
