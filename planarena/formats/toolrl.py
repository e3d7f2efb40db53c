"""The format of ToolRL: think, a call block of JSON lines, a response, each by what the gold holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from planarena.formats.blocks import BlockError, read_call, read_json, write_lines
from planarena.formats.parsed import Call, Category, Parsed
from planarena.formats.tagged import TagScanner, refuse_tags

__all__ = ["ToolRL", "call_lines"]


def call_lines(text: str) -> list[Any] | None:
    """Read the first call block of a text line by line, as ToolRL's reward does.

    Args:
        text: Any text.

    Returns:
        One JSON value per line, of any type; None when a tag is missing or a line is no JSON.
    """
    if "<tool_call>" not in text or "</tool_call>" not in text:
        return None
    # What follows a second opening tag does not belong to the first block, closed or not.
    block = text.split("<tool_call>", 2)[1].split("</tool_call>", 1)[0]
    try:
        return [read_json(line) for line in block.strip().split("\n")]
    except BlockError:
        return None


def _ends_with(text: str, tag: str) -> int:
    """Return where the closing tag starts that ends the text, at most one line feed after it; else -1."""
    if text.endswith(tag):
        return len(text) - len(tag)
    if text.endswith(tag + "\n"):
        return len(text) - len(tag) - 1
    return -1


class ToolRL:
    """`<think>`, then by the gold a call block, a response, both in this order, or neither.

    The predicate equals the regular expressions of ToolRL's reward (with DOTALL; `$` allows one final
    line feed) without their backtracking: the first place where a part can end leaves most room for
    the next. Line feeds around the call block are required; the tags asked for stand exactly once.
    No deviation.
    """

    name: ClassVar[str] = "toolrl"
    call_tags: ClassVar[tuple[str, ...]] = ("<tool_call>", "</tool_call>")
    _scanner = TagScanner({"think": "plan", "tool_call": "tool_call", "response": "response"})

    def parse(self, text: str) -> Parsed:
        """Read any text; see `Format.parse`."""
        scan = self._scanner.scan(text)
        plan, response = scan.first("plan"), scan.first("response")
        calls: tuple[Call, ...] = ()
        fault = ""
        if "<tool_call>" in text:
            lines = call_lines(text)
            try:
                if lines is None:
                    fault = "the call block is not closed or holds a line that is no JSON"
                else:
                    calls = tuple([read_call(line, "parameters") for line in lines])
            except BlockError as error:
                fault = str(error)
        parsed = Parsed(
            format=self.name,
            text=text,
            plan=None if plan is None else text[plan.start : plan.end].strip(),
            calls=calls,
            response=None if response is None else text[response.start : response.end].strip(),
            broken=bool(fault),
            segments=scan.segments,
        )
        reason = fault or self.check(parsed, parsed.category)
        if not reason:
            return parsed
        return Parsed(
            parsed.format, text, parsed.plan, calls, parsed.response, bool(fault), reason, scan.segments
        )

    def check(self, parsed: Parsed, category: Category) -> str:
        """Return the fault of the output for a gold of that category; see `Format.check`.

        A call block that holds no calls keeps the format, as in ToolRL: only its tags count here.
        """
        text = parsed.text
        if not text.startswith("<think>"):
            return "no <think> at the start"
        if category == "none":
            return "" if _ends_with(text, "</think>") >= 7 else "no </think> at the end"
        if category in ("tool_call", "both"):
            if text.count("<tool_call>") != 1 or text.count("</tool_call>") != 1:
                return "not exactly one call block"
            head = "</think>\n<tool_call>\n"
            start = text.find(head, 7)
            if start < 0:
                return "no <tool_call> on the line after </think>"
            start += len(head)
            if category == "tool_call":
                return "" if _ends_with(text, "\n</tool_call>") >= start else "no </tool_call> at the end"
            head = "\n</tool_call>\n<response>"
        else:
            start, head = 7, "</think>\n<response>"
        if text.count("<response>") != 1 or text.count("</response>") != 1:
            return "not exactly one response"
        start = text.find(head, start)
        if start < 0:
            return "no <response> where it belongs"
        return "" if _ends_with(text, "</response>") >= start + len(head) else "no </response> at the end"

    def render(
        self, *, plan: str | None = None, calls: Iterable[Call] = (), response: str | None = None
    ) -> str:
        """Write an action; see `Format.render`. The think segment is always there."""
        parts = [f"<think>{refuse_tags(self._scanner, 'plan', plan or '')}</think>"]
        calls = tuple(calls)
        if calls:
            parts.append(f"<tool_call>\n{write_lines(calls, 'parameters')}\n</tool_call>")
        if response is not None:
            parts.append(f"<response>{refuse_tags(self._scanner, 'response', response)}</response>")
        return "\n".join(parts)
