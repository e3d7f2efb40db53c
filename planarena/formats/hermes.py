"""The Hermes format: text, then one block per call; the chat template of the Qwen models uses it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from planarena.errors import UserError
from planarena.formats.blocks import BlockError, read_call, read_json, write_call, write_json
from planarena.formats.parsed import Call, Category, Parsed, Segment
from planarena.formats.tagged import Scan, TagScanner, refuse_tags

__all__ = ["Hermes"]


class Hermes:
    """Optional `<think>`, optional text, then any number of `<tool_call>` blocks of one object each.

    No block makes the text the response. Between and after blocks only white space may stand.
    """

    name: ClassVar[str] = "hermes"
    call_tags: ClassVar[tuple[str, ...]] = ("<tool_call>", "</tool_call>")
    _scanner = TagScanner({"think": "plan", "tool_call": "tool_call"})

    def parse(self, text: str) -> Parsed:
        """Read any text; see `Format.parse`."""
        scan = self._scanner.scan(text)
        plan, block = scan.first("plan"), scan.first("tool_call")
        begin = plan.close if plan is not None and (block is None or plan.open < block.open) else 0
        end = block.open if block is not None else len(text)
        response = text[begin:end].strip() or None if end > begin else None
        segments = scan.segments
        if response is not None:
            said = Segment("response", begin, begin, end, end, True)
            segments = tuple(sorted((*segments, said), key=lambda segment: segment.open))
        calls: list[Call] = []
        fault = ""
        for segment in scan.segments:
            if segment.kind != "tool_call":
                continue
            try:
                if not segment.closed:
                    raise BlockError("a call block is not closed")
                calls.append(read_call(read_json(text[segment.start : segment.end].strip()), "arguments"))
            except BlockError as error:
                calls, fault = [], str(error)
                break
        return Parsed(
            format=self.name,
            text=text,
            plan=None if plan is None else text[plan.start : plan.end].strip(),
            calls=tuple(calls),
            response=response,
            broken=bool(fault),
            reason=fault or self._fault(scan, text, end, response),
            segments=segments,
        )

    def _fault(self, scan: Scan, text: str, end: int, response: str | None) -> str:
        order = scan.order()
        if "plan" in order[1:] or scan.stray or "plan" in scan.nested:
            return "a think segment or a stray tag where none belongs"
        if not scan.closed:
            return "a tag is not closed"
        if "tool_call" not in order:
            return "" if response is not None else "neither a call nor text"
        head = text[: scan.segments[0].open] if order[0] == "plan" else ""
        rest = scan._replace(segments=tuple([s for s in scan.segments if s.kind == "tool_call"]))
        if head.strip() or not rest.outside_is_blank(" " * end + text[end:]):
            return "text before <think>, or between or after the call blocks"
        return ""

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
        """Write an action; see `Format.render`. Text may stand before calls."""
        parts = []
        if plan is not None:
            parts.append(f"<think>\n{refuse_tags(self._scanner, 'plan', plan)}\n</think>\n")
        if response is not None and response.strip():
            parts.append(refuse_tags(self._scanner, "response", response))
        for call in calls:
            parts.append(f"<tool_call>\n{write_json(write_call(call, 'arguments'))}\n</tool_call>")
        if len(parts) == (plan is not None):
            raise UserError("an action in the format hermes calls or responds", fix="give calls or text")
        return "\n".join(parts)
