"""What a parser returns and what a reward compares: calls, segments of the text, gold."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Literal, NamedTuple

import msgspec

__all__ = ["Call", "Category", "Gold", "Parsed", "Segment", "SegmentKind", "Span", "TokenType"]

Category = Literal["tool_call", "response", "both", "none"]
SegmentKind = Literal["plan", "tool_call", "response"]


class TokenType(IntEnum):
    """The six token types of DUPO section 4.1, plus OTHER (outside every segment) and PAD (no token).

    The values index per-type weights; PAD is for whoever pads rows, `token_types` never returns it.
    """

    TAG_PLAN = 0
    TAG_TOOL = 1
    TAG_RESP = 2
    PLAN = 3
    TOOL = 4
    RESP = 5
    OTHER = 6
    PAD = 7


class Call(msgspec.Struct, frozen=True):
    """One tool call.

    Attributes:
        name: The tool's name.
        arguments: JSON object; canonical JSON accepts every value that a parser here returns.
    """

    name: str
    arguments: dict[str, Any]


class Span(NamedTuple):
    """A half-open character range [start, end) of the text and its type."""

    start: int
    end: int
    type: TokenType


class Segment(NamedTuple):
    """One tagged segment: opening tag [open, start), content [start, end), closing tag [end, close).

    A segment without an opening (or closing) tag has open == start (end == close); `closed` is False for
    a segment that runs to the end of the text because its closing tag is missing.
    """

    kind: SegmentKind
    open: int
    start: int
    end: int
    close: int
    closed: bool


_TAG_TYPE = {"plan": TokenType.TAG_PLAN, "tool_call": TokenType.TAG_TOOL, "response": TokenType.TAG_RESP}
_CONTENT_TYPE = {"plan": TokenType.PLAN, "tool_call": TokenType.TOOL, "response": TokenType.RESP}


class Parsed(msgspec.Struct, frozen=True):
    """One output of a policy, read by one format.

    Attributes:
        format: Name of the format that read it.
        text: The text that was read.
        plan: Content of the plan or think segment without surrounding white space; None without one.
        calls: The calls; empty when there is no call block or when the block is broken.
        response: The answer, likewise; for `math` the content of the final box.
        broken: A call was begun and cannot be read: truncated, no JSON, a key missing.
        reason: Why the text breaks the grammar of its format; empty when it does not.
        segments: Every tagged segment, in order.
    """

    format: str
    text: str
    plan: str | None = None
    calls: tuple[Call, ...] = ()
    response: str | None = None
    broken: bool = False
    reason: str = ""
    segments: tuple[Segment, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the text keeps the grammar; whether it suits a gold is `Format.check`."""
        return not self.reason

    @property
    def category(self) -> Category:
        """What the text does: it calls, it responds, both, or neither. A broken call is a call."""
        called = bool(self.calls) or self.broken
        if self.response is not None:
            return "both" if called else "response"
        return "tool_call" if called else "none"

    @property
    def spans(self) -> tuple[Span, ...]:
        """Character spans of every tag and of every content that is not empty, in order."""
        spans: list[Span] = []
        for segment in self.segments:
            if segment.open < segment.start:
                spans.append(Span(segment.open, segment.start, _TAG_TYPE[segment.kind]))
            if segment.start < segment.end:
                spans.append(Span(segment.start, segment.end, _CONTENT_TYPE[segment.kind]))
            if segment.end < segment.close:
                spans.append(Span(segment.end, segment.close, _TAG_TYPE[segment.kind]))
        return tuple(spans)


class Gold(msgspec.Struct, frozen=True):
    """The reference action of one decision.

    Attributes:
        calls: Reference calls.
        response: Reference answer, or None.
        plan: Reference plan or rationale, or None.
    """

    calls: tuple[Call, ...] = ()
    response: str | None = None
    plan: str | None = None

    @property
    def category(self) -> Category:
        """What the reference action does, which decides what a valid output must hold."""
        if self.response is not None:
            return "both" if self.calls else "response"
        return "tool_call" if self.calls else "none"

    @classmethod
    def of(cls, parsed: Parsed) -> Gold:
        """Make a gold of a parsed reference output."""
        return cls(calls=parsed.calls, response=parsed.response, plan=parsed.plan)
