"""What a conversation has mentioned and told so far, hence how a value of an earlier result is called next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from planarena.environments.wording import Path, Record, names_in, parse_pointer, schema_at
from planarena.generate.spelling import Style
from planarena.generate.surfaces import surface
from planarena.generate.templates import render_record
from planarena.tasks.atoms import resolve

if TYPE_CHECKING:
    from planarena.generate.clauses import StepWords

__all__ = ["Memory", "Name", "holds", "is_told", "name_of", "noun_of"]


class Name(NamedTuple):
    """What a value is called by somebody who has seen it.

    Attributes:
        text: The name.
        values: What an answer must have told of it.
    """

    text: str
    values: tuple[str, ...]


def noun_of(step: StepWords, pointer: str) -> str:
    """Return what a value of a step's result is, as "card"; empty where the words do not say it."""
    reference = step.wording.refer.get(pointer)
    if reference is not None and reference.noun:
        return reference.noun
    record = _record_at(step, parse_pointer(pointer)[:-1])
    path = parse_pointer(pointer)
    schema = schema_at(step.operation.tool.output_schema, path) or {}
    # A date or a price of a record is not the record.
    return record.noun if record is not None and schema.get("x-hidden") else ""


def _record_at(step: StepWords, path: Path) -> Record | None:
    place = path[:-1] if path and isinstance(path[-1], int) else path
    return step.wording.records.get("".join(f"/{word}" for word in place))


def name_of(step: StepWords, pointer: str, style: Style) -> Name | None:
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
        return Name(text, (text,))
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


def _own_name(step: StepWords, pointer: str, answer: str, style: Style) -> str:
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


_Place = tuple[int, Path]


def _place(source: int, pointer: str, noun: str) -> _Place:
    """Return what tells a value from others: its record where it stands for that, as an id or a name does."""
    path = parse_pointer(pointer)
    return source, path[:-1] if noun else path


class Memory:
    """What was said up to now in one conversation; `begin` starts the next message.

    Attributes:
        names: (step, pointer) -> what it is called, of everything that an answer told.
        phrases: Every full description used -> (the record, the value) that it meant.
        stacked: A description that itself describes what another look-up gave, if there is one.
        clash: A description that was used for two values, if there is one.
        shown: The one step that the answer before was about: "the cheapest of them" is clear now.
    """

    def __init__(self) -> None:
        self.names: dict[tuple[int, str], str] = {}
        self.phrases: dict[str, tuple[tuple[int, Path], Any]] = {}
        self.clash = ""
        self.stacked = ""
        self.shown: frozenset[int] = frozenset()
        self._mentioned: dict[str, list[_Place]] = {}  # by noun, what this message spoke of, the latest last

    def begin(self, reach: bool) -> None:
        """Start a message.

        Args:
            reach: Whether "that card" may reach back into the message before: it does where that spoke of one card.
        """
        kept = {
            noun: found for noun, found in self._mentioned.items() if reach and noun and len(set(found)) == 1
        }
        self._mentioned = kept

    def hear(
        self, answer: str, steps: Sequence[StepWords], used: Sequence[tuple[int, str]], style: Style
    ) -> None:
        """Take in an answer: which of the values that are used later it names."""
        for source, pointer in used:
            name = _own_name(steps[source], pointer, answer, style)
            if name:
                self.names[source, pointer] = name

    def is_fresh(self, source: int, pointer: str, noun: str) -> bool:
        """Say whether "that NOUN" would mean this value: mentioned, and no other of its kind since."""
        found = self._mentioned.get(noun or f"{source}{pointer}")
        return found is not None and found[-1] == _place(source, pointer, noun)

    def mention(self, source: int, pointer: str, noun: str) -> None:
        """Note that a value was spoken of."""
        self._mentioned.setdefault(noun or f"{source}{pointer}", []).append(_place(source, pointer, noun))

    def describe(self, phrase: str, source: int, pointer: str, value: Any) -> None:
        """Note a description; the same one for a value of another record is a clash."""
        record = source, parse_pointer(pointer)[:-1]
        known, meant = self.phrases.setdefault(phrase, (record, value))
        if known != record and meant != value:
            self.clash = phrase
