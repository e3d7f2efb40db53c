"""The format of ToolUPT (Eq. 3, Figures 5-6): either one call block or one answer, nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from planarena.errors import UserError
from planarena.formats.blocks import BlockError, read_block, write_call, write_json, write_list
from planarena.formats.parsed import Call, Category, Parsed
from planarena.formats.tagged import Scan, TagScanner, refuse_tags

__all__ = ["ToolUPT"]


class ToolUPT:
    """`<tool_call>` with one JSON object or a JSON list (keys name, params), or `<answer>`.

    Deviations: (1) Eq. 3 asks for the tags alone; here the block must be readable too, as the system
    prompt of Figure 5 demands. `starts_and_ends` is the literal Eq. 3. (2) A call tag inside the answer
    keeps the format: the correctness reward punishes it, and counting it twice is not in the paper.
    """

    name: ClassVar[str] = "toolupt"
    call_tags: ClassVar[tuple[str, ...]] = ("<tool_call>", "</tool_call>")
    _scanner = TagScanner({"tool_call": "tool_call", "answer": "response"})

    def parse(self, text: str) -> Parsed:
        """Read any text; see `Format.parse`."""
        scan = self._scanner.scan(text)
        block, answer = scan.first("tool_call"), scan.first("response")
        calls: tuple[Call, ...] = ()
        fault = ""
        if block is not None:
            content = text[block.start : block.end]
            try:
                if not block.closed:
                    raise BlockError("the call block is not closed")
                calls = read_block(content, "params")
                if len(calls) > 1 and not content.lstrip().startswith("["):
                    raise BlockError("several calls stand outside a JSON list")
            except BlockError as error:
                calls, fault = (), str(error)
        return Parsed(
            format=self.name,
            text=text,
            calls=calls,
            response=None if answer is None else text[answer.start : answer.end].strip(),
            broken=bool(fault),
            reason=fault or self._fault(scan, text),
            segments=scan.segments,
        )

    def _fault(self, scan: Scan, text: str) -> str:
        if len(scan.segments) != 1 or not scan.segments[0].closed or scan.stray:
            return "not exactly one call block or one answer"
        if not scan.outside_is_blank(text):
            return "text outside the tags"
        return ""

    def check(self, parsed: Parsed, category: Category) -> str:
        """Return the fault of the output for a gold of that category; see `Format.check`."""
        if parsed.reason:
            return parsed.reason
        if category in ("tool_call", "both") and not parsed.calls:
            return "the gold calls a tool, the output does not"
        if category == "response" and parsed.response is None:
            return "the gold answers, the output does not"
        return ""

    def starts_and_ends(self, parsed: Parsed, category: Category) -> bool:
        """Whether the output starts and ends with the tags of the category: Eq. 3 as printed."""
        tag = "answer" if category == "response" else "tool_call"
        body = parsed.text.strip()
        return len(body) >= 2 * len(tag) + 5 and body.startswith(f"<{tag}>") and body.endswith(f"</{tag}>")

    def render(
        self, *, plan: str | None = None, calls: Iterable[Call] = (), response: str | None = None
    ) -> str:
        """Write an action; see `Format.render`. The format has no place for a plan: it is left out."""
        del plan
        calls = tuple(calls)
        if bool(calls) == (response is not None):
            raise UserError("an action in the format toolupt either calls or answers", fix="give one")
        if response is not None:
            return f"<answer>\n{refuse_tags(self._scanner, 'answer', response)}\n</answer>"
        if len(calls) == 1:
            body = write_json(write_call(calls[0], "params"))
        else:
            body = write_list(calls, "params")
        return f"<tool_call>\n{body}\n</tool_call>"
