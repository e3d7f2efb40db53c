"""The tool-use format of CHORD (appendix B.3): think, then a call block with a JSON list, or text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from planarena.errors import UserError
from planarena.formats.blocks import BlockError, read_block, write_list
from planarena.formats.parsed import Call, Category, Parsed, Segment
from planarena.formats.tagged import Scan, TagScanner, refuse_tags

__all__ = ["Chord"]


class Chord:
    """`<think>`, then `<tool_call>` with a JSON list (keys name, arguments).

    Deviation: (1) the paper shows calls alone; where the gold responds, plain text follows `</think>`.
    """

    name: ClassVar[str] = "chord"
    call_tags: ClassVar[tuple[str, ...]] = ("<tool_call>", "</tool_call>")
    _scanner = TagScanner({"think": "plan", "tool_call": "tool_call"})

    def parse(self, text: str) -> Parsed:
        """Read any text; see `Format.parse`."""
        scan = self._scanner.scan(text)
        plan, block = scan.first("plan"), scan.first("tool_call")
        segments = scan.segments
        calls: tuple[Call, ...] = ()
        response: str | None = None
        fault = ""
        if block is not None:
            content = text[block.start : block.end]
            try:
                if not block.closed:
                    raise BlockError("the call block is not closed")
                if not content.lstrip().startswith("["):
                    raise BlockError("the call block holds no JSON list")
                calls = read_block(content, "arguments")
            except BlockError as error:
                fault = str(error)
        elif plan is not None and plan.closed:
            tail = Segment("response", plan.close, plan.close, len(text), len(text), True)
            response = text[tail.start :].strip() or None
            segments = (*segments, tail) if response is not None else segments
        return Parsed(
            format=self.name,
            text=text,
            plan=None if plan is None else text[plan.start : plan.end].strip(),
            calls=calls,
            response=response,
            broken=bool(fault),
            reason=fault or self._fault(scan, text, response),
            segments=segments,
        )

    def _fault(self, scan: Scan, text: str, response: str | None) -> str:
        if scan.stray or "plan" in scan.nested or not scan.closed:
            return "a tag is not closed, closed twice or inside the think segment"
        if scan.order() == ("plan",):
            if response is None:
                return "nothing after </think>"
            start = scan.segments[0].open
            return "" if start == 0 or text[:start].isspace() else "text before <think>"
        if scan.order() != ("plan", "tool_call"):
            return "not a think segment followed by one call block or text"
        return "" if scan.outside_is_blank(text) else "text outside the tags"

    def check(self, parsed: Parsed, category: Category) -> str:
        """Return the fault of the output for a gold of that category; see `Format.check`."""
        if parsed.reason:
            return parsed.reason
        if category in ("tool_call", "both") and not parsed.calls:
            return "the gold calls a tool, the output does not"
        if category == "response" and parsed.calls:
            return "the gold responds, the output calls a tool"
        return ""

    def render(
        self, *, plan: str | None = None, calls: Iterable[Call] = (), response: str | None = None
    ) -> str:
        """Write an action; see `Format.render`. The think segment is always there."""
        calls = tuple(calls)
        if bool(calls) == bool(response and response.strip()):
            raise UserError("an action in the format chord either calls or responds", fix="give one")
        head = f"<think>\n{refuse_tags(self._scanner, 'plan', plan or '')}\n</think>\n"
        if calls:
            return f"{head}<tool_call>{write_list(calls, 'arguments')}</tool_call>"
        return head + refuse_tags(self._scanner, "response", response or "")
