"""Native function calling: one assistant message of the OpenAI chat format, as JSON text or as a dict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from planarena.errors import UserError
from planarena.formats.blocks import BlockError, read_call, read_json, write_call, write_json
from planarena.formats.parsed import Call, Category, Parsed, Segment, SegmentKind

__all__ = ["Native"]


class Native:
    """`{"role": "assistant", "content": ..., "tool_calls": [...]}`; arguments are JSON text or an object.

    Reasoning is read from `reasoning_content` (or `reasoning`), where servers put it.
    """

    name: ClassVar[str] = "native"
    call_tags: ClassVar[tuple[str, ...]] = ()

    def parse(self, text: str) -> Parsed:
        """Read the JSON text of one assistant message; see `Format.parse`."""
        try:
            message = read_json(text.strip())
        except BlockError as error:
            return Parsed(format=self.name, text=text, broken=True, reason=str(error))
        if type(message) is not dict:
            return Parsed(format=self.name, text=text, broken=True, reason="a message is no JSON object")
        return self.parse_message(message, text)

    def parse_message(self, message: Mapping[str, Any], text: str = "") -> Parsed:
        """Read one assistant message.

        Args:
            message: The message, as a client or a server gives it.
            text: The text it was read from; its one segment is then the whole text.
        """
        fault = ""
        role, content, tool_calls = message.get("role"), message.get("content"), message.get("tool_calls")
        plan = message.get("reasoning_content") or message.get("reasoning")
        calls: list[Call] = []
        broken = False
        try:
            if tool_calls is not None and type(tool_calls) is not list:
                raise BlockError("tool_calls is no list")
            for entry in tool_calls or ():
                calls.append(self._call(entry))
        except BlockError as error:
            calls, fault, broken = [], str(error), True
        response = content.strip() or None if isinstance(content, str) else None
        if not fault:
            if role != "assistant":
                fault = "the role is not assistant"
            elif content is not None and not isinstance(content, str):
                fault = "the content is no text"
            elif not calls and response is None:
                fault = "neither a call nor content"
        kind: SegmentKind = "tool_call" if calls or broken else "response"
        return Parsed(
            format=self.name,
            text=text,
            plan=plan.strip() if isinstance(plan, str) else None,
            calls=tuple(calls),
            response=response,
            broken=broken,
            reason=fault,
            segments=(Segment(kind, 0, 0, len(text), len(text), True),) if text else (),
        )

    def _call(self, entry: Any) -> Call:
        function = entry.get("function") if isinstance(entry, Mapping) else None
        if not isinstance(function, Mapping):
            raise BlockError("a tool call has no function")
        arguments = function.get("arguments")
        # Servers write a call without arguments as "" as well as "{}".
        if isinstance(arguments, str):
            arguments = read_json(arguments) if arguments.strip() else {}
        return read_call({"name": function.get("name"), "arguments": arguments}, "arguments")

    def check(self, parsed: Parsed, category: Category) -> str:
        """Return the fault of the output for a gold of that category; see `Format.check`."""
        if parsed.reason:
            return parsed.reason
        if category in ("tool_call", "both") and not parsed.calls:
            return "the gold calls a tool, the output does not"
        if category == "response" and parsed.calls:
            return "the gold responds, the output calls a tool"
        return ""

    def message(
        self, *, plan: str | None = None, calls: Iterable[Call] = (), response: str | None = None
    ) -> dict[str, Any]:
        """Build the assistant message; call ids are call_0, call_1, ...

        Raises:
            UserError: When there is neither a call nor a response.
            CanonicalError: When the arguments are not JSON.
        """
        message: dict[str, Any] = {"role": "assistant", "content": response}
        if plan is not None:
            message["reasoning_content"] = plan
        tool_calls = []
        for index, call in enumerate(calls):
            arguments = write_json(write_call(call, "arguments")["arguments"])
            function = {"name": call.name, "arguments": arguments}
            tool_calls.append({"id": f"call_{index}", "type": "function", "function": function})
        if tool_calls:
            message["tool_calls"] = tool_calls
        elif response is None or not response.strip():
            raise UserError("a message calls or responds", fix="give calls, or a response with text")
        return message

    def render(
        self, *, plan: str | None = None, calls: Iterable[Call] = (), response: str | None = None
    ) -> str:
        """Write the message as JSON text; see `Format.render`."""
        return write_json(self.message(plan=plan, calls=calls, response=response))
