"""The format of DUPO (Eq. 7) and its variants: plan, then one call block or one response."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from planarena.errors import UserError
from planarena.formats.blocks import BlockError, read_block, write_lines
from planarena.formats.parsed import Call, Category, Parsed
from planarena.formats.tagged import Scan, TagScanner, refuse_tags

__all__ = ["Answer", "Parameters", "Params", "PlanArena", "Think"]

_ORDERS = (("plan", "tool_call"), ("plan", "response"), ("tool_call",), ("response",))


class PlanArena:
    """Optional plan, then either one call block or one response; each tag once, closed, in order.

    A call block holds JSON objects, one per line, or one JSON list of them (DUPO Eq. 7).

    Deviations: (1) Eq. 7 prints all three segments; an action calls or responds, and the plan may be
    absent, which DUPO Table 3 needs. (2) Tags inside the strings of a call block are data.
    """

    name: ClassVar[str] = "planarena"
    plan_tag: ClassVar[str] = "plan"
    response_tag: ClassVar[str] = "response"
    arguments_key: ClassVar[str] = "arguments"
    call_tags: ClassVar[tuple[str, ...]] = ("<tool_call>", "</tool_call>")

    def __init__(self) -> None:
        self._scanner = TagScanner(
            {self.plan_tag: "plan", "tool_call": "tool_call", self.response_tag: "response"}
        )

    def parse(self, text: str) -> Parsed:
        """Read any text; see `Format.parse`."""
        scan = self._scanner.scan(text)
        plan, block, response = scan.first("plan"), scan.first("tool_call"), scan.first("response")
        calls: tuple[Call, ...] = ()
        fault = ""
        if block is not None:
            if block.closed:
                try:
                    calls = read_block(text[block.start : block.end], self.arguments_key)
                except BlockError as error:
                    fault = str(error)
            else:
                fault = "the call block is not closed"
        return Parsed(
            format=self.name,
            text=text,
            plan=None if plan is None else text[plan.start : plan.end].strip(),
            calls=calls,
            response=None if response is None else text[response.start : response.end].strip(),
            broken=bool(fault),
            reason=fault or self._fault(scan, text),
            segments=scan.segments,
        )

    def _fault(self, scan: Scan, text: str) -> str:
        if scan.order() not in _ORDERS:
            return "not an optional plan followed by one call block or one response"
        if not scan.closed:
            return "a tag is not closed"
        if scan.stray:
            return "a tag is closed that was not opened"
        if "plan" in scan.nested or "response" in scan.nested:
            return "a tag inside the plan or the response"
        if not scan.outside_is_blank(text):
            return "text outside the tags"
        return ""

    def check(self, parsed: Parsed, category: Category) -> str:
        """Return the fault of the output for a gold of that category; see `Format.check`."""
        if parsed.reason:
            return parsed.reason
        if category in ("tool_call", "both") and not parsed.calls:
            return "the gold calls a tool, the output does not"
        if category == "response" and (parsed.calls or parsed.response is None):
            return "the gold responds, the output does not"
        return ""

    def render(
        self, *, plan: str | None = None, calls: Iterable[Call] = (), response: str | None = None
    ) -> str:
        """Write an action; see `Format.render`."""
        calls = tuple(calls)
        if bool(calls) == (response is not None):
            raise UserError(
                f"an action in the format {self.name} either calls or responds",
                fix="give calls, or a response",
            )
        parts = []
        if plan is not None:
            parts.append(f"<{self.plan_tag}>{refuse_tags(self._scanner, 'plan', plan)}</{self.plan_tag}>")
        if response is not None:
            body = refuse_tags(self._scanner, "response", response)
            parts.append(f"<{self.response_tag}>{body}</{self.response_tag}>")
        else:
            parts.append(f"<tool_call>\n{write_lines(calls, self.arguments_key)}\n</tool_call>")
        return "\n".join(parts)


class Think(PlanArena):
    """`planarena` with `<think>` for `<plan>`."""

    name = "think"
    plan_tag = "think"


class Parameters(PlanArena):
    """`planarena` with the key "parameters" for "arguments"."""

    name = "parameters"
    arguments_key = "parameters"


class Params(PlanArena):
    """`planarena` with the key "params" for "arguments"."""

    name = "params"
    arguments_key = "params"


class Answer(PlanArena):
    """`planarena` with `<answer>` for `<response>`."""

    name = "answer"
    response_tag = "answer"
