"""What a conversation has mentioned and told so far, hence how a value of an earlier result is called next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from planarena.environments.wording import Path, Record, parse_pointer, schema_at
from planarena.generate.spelling import Style
from planarena.generate.surfaces import surface
from planarena.generate.templates import render_record
from planarena.tasks.atoms import resolve

if TYPE_CHECKING:
    from planarena.generate.clauses import StepWords

__all__ = ["Memory", "holds", "name_of", "record_of"]


class Known(NamedTuple):
    """A record in a result: its words, its place and its value."""

    words: Record
    path: Path
    value: Any
    schema: Any


def record_of(step: StepWords, pointer: str) -> Known | None:
    """Return the record that a value of a step's result belongs to, if the words speak of one."""
    path = parse_pointer(pointer)[:-1]
    place = path[:-1] if path and isinstance(path[-1], int) else path
    words = step.wording.records.get("".join(f"/{word}" for word in place))
    if words is None:
        return None
    schema = schema_at(step.operation.tool.output_schema, path)
    return Known(words, path, resolve(step.result, path), schema)


def name_of(step: StepWords, pointer: str, style: Style) -> str | None:
    """Return what a value is called by somebody who has seen it: its record's name, or itself where it is no id."""
    path = parse_pointer(pointer)
    schema = schema_at(step.operation.tool.output_schema, path) or {}
    value = resolve(step.result, path)
    if not schema.get("x-hidden"):
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
            return None
        return surface(value, schema, style.manner, step.wording.values.get(str(path[-1])), style.year)
    known = record_of(step, pointer)
    return None if known is None else render_record(known.words.name, known.value, known.schema, style)


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


class Memory:
    """What was said up to now in one conversation; `begin` starts the next message.

    Attributes:
        names: (step, pointer) -> what it is called, of everything that an answer told.
        phrases: Every full description used -> the value that it meant.
        clash: A description that was used for two values, if there is one.
    """

    def __init__(self) -> None:
        self.names: dict[tuple[int, str], str] = {}
        self.phrases: dict[str, Any] = {}
        self.clash = ""
        self._mentioned: set[tuple[int, str]] = set()
        self._latest: dict[str, tuple[int, str]] = {}

    def begin(self) -> None:
        """Start a message: "that card" must not reach back into an earlier one."""
        self._mentioned.clear()
        self._latest.clear()

    def hear(self, answer: str, steps: Sequence[StepWords], used: Sequence[tuple[int, str]], style: Style) -> None:
        """Take in an answer: which of the values that are used later it names."""
        for source, pointer in used:
            name = name_of(steps[source], pointer, style)
            if name is not None and holds(answer, name):
                self.names[source, pointer] = name

    def is_fresh(self, source: int, pointer: str) -> bool:
        """Say whether "that NOUN" would mean this value: mentioned, and no other of its kind since."""
        place = source, pointer
        return place in self._mentioned and place in self._latest.values()

    def mention(self, source: int, pointer: str, noun: str) -> None:
        """Note that a value was spoken of."""
        self._mentioned.add((source, pointer))
        self._latest[noun or f"{source}{pointer}"] = source, pointer

    def describe(self, phrase: str, value: Any) -> None:
        """Note a description; the same one for another value is a clash."""
        if self.phrases.setdefault(phrase, value) != value:
            self.clash = phrase
