"""Calls written like Python, as ToolACE does: `[Get Weather(city="Oslo", days=[1, 2]), clock.now()]`.

Names may hold spaces, dots and slashes and arguments may be called `from`, so Python's own parser will not do.
"""

from __future__ import annotations

import re
from typing import Any

from planarena.formats import Call

__all__ = ["CallSyntaxError", "looks_like_calls", "read_calls"]

# A name, and in its parentheses nothing or an argument's name: prose in brackets has neither.
_BEGINNING = re.compile(r"\s*\[\s*[^\s\[\]{}\"',()][^\[\]{}\"'()]{0,200}\(\s*(?:\)|[^=()\[\]{},]{1,100}=)")
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORDS = {"true": True, "false": False, "none": None, "null": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0"}
_DEEPEST = 50


class CallSyntaxError(ValueError):
    """The text is not a list of calls; the message says where it stops being one."""


def looks_like_calls(text: str) -> bool:
    """Whether a text begins like a list of calls; `read_calls` decides."""
    return bool(_BEGINNING.match(text))


def read_calls(text: str) -> tuple[Call, ...]:
    """Read a bracketed list of calls.

    Raises:
        CallSyntaxError: The text is something else, or has more after the list.
    """
    reader = _Reader(text)
    calls = reader.calls()
    if not calls:
        raise CallSyntaxError("no call in the list")
    return tuple(calls)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def calls(self) -> list[Call]:
        self.expect("[")
        found: list[Call] = []
        while not self.take("]"):
            if found:
                self.expect(",")
                if self.take("]"):
                    break
            found.append(self.call())
        self.space()
        if self.at < len(self.text):
            self.fail("text after the calls")
        return found

    def call(self) -> Call:
        self.space()
        start = self.at
        opening = self.text.find("(", start)
        name = self.text[start:opening].strip() if opening > start else ""
        if not name or "]" in name or "\n" in name:
            self.fail("no name of a tool")
        self.at = opening + 1
        arguments: dict[str, Any] = {}
        while not self.take(")"):
            if arguments:
                self.expect(",")
                if self.take(")"):
                    break
            key = self.key()
            arguments[key] = self.value(0)
        return Call(name, arguments)

    def key(self) -> str:
        self.space()
        if self.peek() in "\"'":
            key = self.string()
        else:
            start = self.at
            while self.at < len(self.text) and self.text[self.at] not in "=,()[]{}\"'\n":
                self.at += 1
            key = self.text[start : self.at].strip()
        if not key:
            self.fail("no name of an argument")
        self.expect("=")
        return key

    def value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            self.fail("values nest too deep")
        self.space()
        mark = self.peek()
        if mark and mark in "\"'":
            return self.string()
        if mark == "[":
            return self.sequence("[", "]", depth)
        if mark == "(":
            return self.sequence("(", ")", depth)
        if mark == "{":
            return self.mapping(depth)
        number = _NUMBER.match(self.text, self.at)
        if number:
            self.at = number.end()
            return _number(number[0])
        word = re.compile(r"[A-Za-z]+").match(self.text, self.at)
        if word and word[0].lower() in _WORDS:
            self.at = word.end()
            return _WORDS[word[0].lower()]
        return self.fail("no value")

    def sequence(self, opening: str, closing: str, depth: int) -> list[Any]:
        self.expect(opening)
        items: list[Any] = []
        while not self.take(closing):
            if items:
                self.expect(",")
                if self.take(closing):
                    break
            items.append(self.value(depth + 1))
        return items

    def mapping(self, depth: int) -> dict[str, Any]:
        self.expect("{")
        items: dict[str, Any] = {}
        while not self.take("}"):
            if items:
                self.expect(",")
                if self.take("}"):
                    break
            key = self.value(depth + 1)
            if not isinstance(key, str):
                self.fail("a key that is no text")
            self.expect(":")
            items[key] = self.value(depth + 1)
        return items

    def string(self) -> str:
        quote = self.text[self.at]
        self.at += 1
        parts: list[str] = []
        while self.at < len(self.text):
            mark = self.text[self.at]
            self.at += 1
            if mark == quote:
                return self.whole("".join(parts))
            if mark != "\\" or self.at >= len(self.text):
                parts.append(mark)
                continue
            escaped = self.text[self.at]
            self.at += 1
            if escaped == "u" and re.fullmatch(r"[0-9a-fA-F]{4}", self.text[self.at : self.at + 4]):
                parts.append(chr(int(self.text[self.at : self.at + 4], 16)))
                self.at += 4
            elif escaped in _ESCAPES:
                parts.append(_ESCAPES[escaped])
            else:
                parts.append(escaped if escaped in "\"'\\/" else f"\\{escaped}")
        return str(self.fail("a text that does not end"))

    def whole(self, text: str) -> str:
        """Join the halves of characters that were escaped as two."""
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            return str(self.fail("half a character"))

    def space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self, mark: str) -> bool:
        self.space()
        if self.peek() != mark:
            return False
        self.at += 1
        return True

    def expect(self, mark: str) -> None:
        if not self.take(mark):
            self.fail(f"no {mark!r}")

    def fail(self, what: str) -> Any:
        raise CallSyntaxError(f"{what} at character {self.at}")


def _number(text: str) -> int | float:
    plain = text.replace("_", "")
    try:
        return int(plain)
    except ValueError:
        return float(plain)
