"""Formats made of tags: one linear scan for the tags, and what all such formats share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import ClassVar, NamedTuple, Protocol

from planarena.errors import UserError
from planarena.formats.parsed import Call, Category, Parsed, Segment, SegmentKind

__all__ = ["Format", "Scan", "TagScanner", "refuse_tags"]


class Format(Protocol):
    """What a policy speaks: a parser, a renderer and a validity predicate by gold category.

    `call_tags` are the literal tags around a call, empty where calls are not tagged.
    """

    name: ClassVar[str]
    call_tags: ClassVar[tuple[str, ...]]

    def parse(self, text: str) -> Parsed:
        """Read any text; never raises, takes time linear in its length."""
        ...

    def check(self, parsed: Parsed, category: Category) -> str:
        """Say why the output does not suit a gold of that category; empty when it does."""
        ...

    def render(
        self, *, plan: str | None = None, calls: Iterable[Call] = (), response: str | None = None
    ) -> str:
        """Write an action so that `parse` returns the same calls.

        Raises:
            UserError: When the format cannot say it.
            CanonicalError: When the arguments are not JSON.
        """
        ...


class Scan(NamedTuple):
    """Tags of one text.

    Attributes:
        segments: Segments in order.
        stray: Ranges of closing tags that close nothing.
        nested: Kinds of the segments whose content holds a further tag.
    """

    segments: tuple[Segment, ...]
    stray: tuple[tuple[int, int], ...]
    nested: frozenset[SegmentKind]

    @property
    def closed(self) -> bool:
        """Whether every segment is closed; only the last can be open."""
        return not self.segments or self.segments[-1].closed

    def first(self, kind: SegmentKind) -> Segment | None:
        """Return the first segment of a kind."""
        for segment in self.segments:
            if segment.kind == kind:
                return segment
        return None

    def order(self) -> tuple[SegmentKind, ...]:
        """Return the kinds in order."""
        return tuple([segment.kind for segment in self.segments])

    def outside_is_blank(self, text: str) -> bool:
        """Whether nothing but white space stands outside the segments."""
        position = 0
        for segment in self.segments:
            if segment.open > position and not text[position : segment.open].isspace():
                return False
            position = segment.close
        return position >= len(text) or text[position:].isspace()


_NO_KINDS: frozenset[SegmentKind] = frozenset()


class TagScanner:
    """Finds the literal tags of one format with a stack of depth one: tags do not nest.

    Args:
        tags: Tag name -> kind of segment, for example {"think": "plan"}.
    """

    def __init__(self, tags: Mapping[str, SegmentKind]) -> None:
        self._kinds: dict[str, tuple[bool, SegmentKind]] = {}
        for tag, kind in tags.items():
            self._kinds[f"<{tag}>"] = (False, kind)
            self._kinds[f"</{tag}>"] = (True, kind)
        self._pattern = re.compile("</?(?:" + "|".join(map(re.escape, tags)) + ")>")

    def scan(self, text: str) -> Scan:
        """Find all segments. A second opening tag inside an open segment is content.

        Args:
            text: Any text.
        """
        kinds = self._kinds
        segments: list[Segment] = []
        stray: list[tuple[int, int]] = []
        nested: set[SegmentKind] | None = None
        current: SegmentKind | None = None
        opened = content = 0
        for match in self._pattern.finditer(text):
            closing, kind = kinds[match[0]]
            if current is None:
                if closing:
                    stray.append(match.span())
                else:
                    current = kind
                    opened, content = match.span()
            elif closing and kind == current:
                start, end = match.span()
                segments.append(Segment(kind, opened, content, start, end, True))
                current = None
            else:
                nested = nested or set()
                nested.add(current)
        if current is not None:
            end = len(text)
            segments.append(Segment(current, opened, content, end, end, False))
        return Scan(tuple(segments), tuple(stray), frozenset(nested) if nested else _NO_KINDS)

    def find(self, text: str) -> str | None:
        """Return the first literal tag in a text, or None."""
        match = self._pattern.search(text)
        return match[0] if match else None


def refuse_tags(scanner: TagScanner, what: str, text: str) -> str:
    """Return text that is to stand inside a segment.

    Raises:
        UserError: When it holds one of the format's tags, which nothing could escape.
    """
    tag = scanner.find(text)
    if tag is not None:
        raise UserError(f"the {what} holds the tag {tag}", fix=f"write the {what} without it")
    return text
