"""Texts by models: what none may hold, where a value is stated, and which numbers were made up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from planarena.generate.clauses import StepContext
from planarena.generate.semantic_values import hidden_values
from planarena.judges.overlap import words

__all__ = ["TextFaultError", "check_text", "content_words", "find_stated", "foreign_numbers", "refuse_values"]

# Tags of the formats that policies speak, and marks that chat templates read: a text that holds one would break
# the row that it becomes part of.
_MARKS = re.compile(
    r"</?\s*(?:plan|tool_call|tool_calls|tool_response|response|think|answer|function|tools?|parameters?|params?)\b"
    r"|<\||\|>|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]|<</?SYS>>|\{\{|\}\}",
    re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_COMMON = frozenset(
    "a an and any are at be been by can did do for from had has have he her his i if in into is it its me my no not of "
    "on one or our out she so that the their them then there these they this those to up us was we were what when "
    "where which who will with you your all about also each it's please now".split()
)


class TextFaultError(Exception):
    """A proposal of a model that must not be used.

    Args:
        reason: A stable word.
        detail: The evidence.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


def check_text(text: str, what: str, most: int, *, lines: bool = False) -> str:
    """Return a text without surrounding white space.

    Args:
        text: By a model.
        what: For the detail.
        most: Most characters.
        lines: Whether it may have several lines.

    Raises:
        TextFaultError: `empty`, `too_long` or `markup`.
    """
    text = text.strip()
    if not text:
        raise TextFaultError("empty_text", what)
    if len(text) > most:
        raise TextFaultError("too_long", f"{what}: {len(text)} characters, at most {most} are allowed")
    mark = _MARKS.search(text) or _CONTROL.search(text)
    if mark is not None:
        raise TextFaultError("markup", f"{what}: it holds {mark[0]!r}")
    if not lines and "\n" in text:
        raise TextFaultError("markup", f"{what}: it has several lines")
    return text


def find_stated(text: str, ways: Iterable[str]) -> str | None:
    """Return where a text states a value in one of these ways, as it stands there; None where it does not.

    Capitals and white space do not count. The phrase must stand there as whole words: "€12" is not said by "€120".
    """
    small = text.lower() if text.isascii() else ""
    for way in ways:
        # Most ways do not stand there; a pattern for each value takes long to make.
        if small and way.isascii() and not all(word in small for word in way.lower().split()):
            continue
        pattern = r"\s+".join(map(re.escape, way.split()))
        joined = r"(?<!\w)" if way[:1].isalnum() else ""
        ends = r"(?!\w)(?![.,:]\d)" if way[-1:].isalnum() else ""
        found = re.search(joined + pattern + ends, text, re.IGNORECASE)
        if found is not None:
            return found[0]
    return None


def content_words(text: str) -> set[str]:
    """Return the words of a text that carry meaning."""
    return {word for word in words(text) if word not in _COMMON}


def foreign_numbers(text: str, sources: Sequence[str]) -> list[str]:
    """Return the numbers in a text that no source has; numbers below 13 are counted things, not values."""
    known = {_plain(number) for source in sources for number in _NUMBER.findall(source)}
    known |= {part for number in known for part in re.split(r"[.:]", number)}
    return [
        number
        for number in _NUMBER.findall(text)
        if (plain := _plain(number)) not in known and not (plain.isdigit() and int(plain) < 13)
    ]


def _plain(number: str) -> str:
    """Write a number in one way: 1,234.50 and 1234.5 are equal."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", number):
        number = number.replace(",", "")
    if re.fullmatch(r"\d+\.\d+", number):
        number = number.rstrip("0").rstrip(".")
    return number.lstrip("0") or "0"


def refuse_values(text: str, values: Iterable[str], reason: str, what: str) -> None:
    """Refuse a text that states one of these values.

    Raises:
        TextFaultError: With the reason.
    """
    for value in values:
        if value in text:
            raise TextFaultError(reason, f"{what}: it states {value!r}")


def hidden_in(steps: Sequence[StepContext]) -> Iterator[str]:
    """Yield the texts in the steps' arguments and results that a user is never shown, such as ids."""
    for step in steps:
        tool = step.operation.tool
        yield from hidden_values(tool.output_schema, step.result)
        yield from hidden_values(tool.input_schema, step.arguments)


def texts_in(value: Any) -> Iterator[str]:
    """Yield every scalar of a JSON value as text."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif item is not None:
            yield str(item)
