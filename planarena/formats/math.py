r"""The mathematics format of CHORD (appendix A.3): think, then one \boxed{} with the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from planarena.errors import UserError
from planarena.formats.parsed import Call, Category, Parsed, Segment
from planarena.formats.tagged import TagScanner, refuse_tags

__all__ = ["Math", "find_boxes"]

_BRACES = re.compile(r"\\boxed\s*+\{|\\[\\{}]|[{}]")


def find_boxes(text: str, start: int = 0) -> list[tuple[int, int, int, int]]:
    r"""Find every closed \boxed{...} that lies in no other box, in one pass.

    Args:
        text: Any text; braces inside may nest, escaped braces do not count.
        start: Where to begin.

    Returns:
        (open, start, end, close) of each box, character positions as in `Segment`.
    """
    boxes: list[tuple[int, int, int, int]] = []
    stack: list[re.Match[str] | None] = []
    open_boxes = 0
    for match in _BRACES.finditer(text, start):
        mark = match[0]
        if mark == "{":
            stack.append(None)
        elif mark == "}":
            opener = stack.pop() if stack else None
            if opener is not None:
                open_boxes -= 1
                if open_boxes == 0:
                    boxes.append((opener.start(), opener.end(), match.start(), match.end()))
        elif mark.endswith("{") and mark.startswith("\\boxed"):
            stack.append(match)
            open_boxes += 1
    return boxes


class Math:
    r"""`<think>`, then text with exactly one `\boxed{}` that is not empty.

    The answer (`Parsed.response`) is the last box after `</think>`. An output without that format can
    still answer: without any think tag, or with no box after it, the last box of the text counts; inside
    a think segment that was never closed there is no final answer.
    Deviation: (1) 003 A.2 says "e.g." of its format; the predicate here is A.3's prompt, read strictly.
    """

    name: ClassVar[str] = "math"
    call_tags: ClassVar[tuple[str, ...]] = ()
    _scanner = TagScanner({"think": "plan"})

    def parse(self, text: str) -> Parsed:
        """Read any text; see `Format.parse`."""
        scan = self._scanner.scan(text)
        plan = scan.first("plan")
        after = 0
        if plan is not None:
            after = scan.segments[-1].close
        elif scan.stray:
            after = scan.stray[-1][1]
        boxes = find_boxes(text, after)
        count = len(boxes)
        if not boxes and after and scan.closed:
            boxes = find_boxes(text)
        answer = text[boxes[-1][1] : boxes[-1][2]].strip() if boxes else ""
        segments = scan.segments
        if count:
            segments = (*segments, Segment("response", *boxes[-1], closed=True))
        reason = ""
        if len(scan.segments) != 1 or plan is None or not plan.closed or scan.stray or scan.nested:
            reason = "not exactly one closed think segment"
        elif plan.open and not text[: plan.open].isspace():
            reason = "text before <think>"
        elif count != 1 or not answer:
            reason = "not exactly one \\boxed{} with an answer after </think>"
        return Parsed(
            format=self.name,
            text=text,
            plan=None if plan is None else text[plan.start : plan.end].strip(),
            response=answer or None,
            reason=reason,
            segments=segments,
        )

    def check(self, parsed: Parsed, category: Category) -> str:
        """Return the fault of the output; every gold of this format is an answer. See `Format.check`."""
        del category
        return parsed.reason

    def render(
        self, *, plan: str | None = None, calls: Iterable[Call] = (), response: str | None = None
    ) -> str:
        r"""Write a solution: `response` is the content of the box, the plan stands before it."""
        if tuple(calls):
            raise UserError("the format math knows no calls", fix="use another format for tool use")
        if response is None or not response.strip():
            raise UserError("the format math needs an answer", fix="give the content of the box")
        refuse_tags(self._scanner, "answer", response)
        boxed = f"\\boxed{{{response}}}"
        if [box[3] for box in find_boxes(boxed)] != [len(boxed)]:
            raise UserError("the braces of the answer do not balance", fix="balance or escape them")
        return f"<think>\n{refuse_tags(self._scanner, 'plan', plan or '')}\n</think>\n{boxed}"
