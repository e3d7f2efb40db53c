"""Chat completions as clients of OpenAI's API ask for them: read, checked, and turned into what a policy is asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from planarena import formats
from planarena.bench import Asked
from planarena.errors import SchemaError, UserError
from planarena.formats import Call, Native
from planarena.records import canonical_json
from planarena.rows.templates import default_template, template
from planarena.tools.validation import SchemaValidator

__all__ = ["BadRequestError", "ChatRequest", "Dialect", "read_request"]

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
# What this server cannot do is refused where it would change the answer, not passed over.
_UNKNOWN = ("logprobs", "logit_bias", "functions", "function_call", "audio", "web_search_options")


class BadRequestError(Exception):
    """A request that cannot be answered; the message says why, and `code` is OpenAI's name for it."""

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class ChatRequest(msgspec.Struct, frozen=True):
    """A request, checked.

    Attributes:
        messages: Each with `role` and text as `content`, or null beside calls.
        tools: In the OpenAI shape.
        max_tokens: Of each reply; None for the server's limit.
        temperature: None for the server's.
        seed: Of the draws; None where no two requests need agree.
        n: Replies.
        stop: Texts that end a reply.
        stream: In pieces.
        usage: Of a stream: tokens at its end.
        model: As it was named.
    """

    messages: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...]
    max_tokens: int | None
    temperature: float | None
    seed: int | None
    n: int
    stop: tuple[str, ...]
    stream: bool
    usage: bool
    model: str


def read_request(body: Any) -> ChatRequest:
    """Check the body of a request.

    Raises:
        BadRequestError: It asks for what is not there, or is no request.
    """
    if not isinstance(body, dict):
        raise BadRequestError("the body is one JSON object")
    for name in _UNKNOWN:
        if body.get(name):
            raise BadRequestError(f"{name} is not supported")
    if body.get("top_p") not in (None, 1, 1.0):
        raise BadRequestError("top_p is not supported: the whole distribution is drawn from")
    shape = body.get("response_format")
    if shape is not None and shape != {"type": "text"}:
        raise BadRequestError("response_format is not supported")
    choice = body.get("tool_choice") or "auto"
    if choice not in ("auto", "none"):
        raise BadRequestError("tool_choice is auto or none")
    tools = () if choice == "none" else tuple(map(_tool, _list(body, "tools")))
    messages = tuple(map(_message, _list(body, "messages")))
    if not messages:
        raise BadRequestError("messages is empty")
    stop = body.get("stop") or ()
    stop = (stop,) if isinstance(stop, str) else stop
    if not isinstance(stop, list | tuple) or not all(isinstance(one, str) and one for one in stop):
        raise BadRequestError("stop is a text or a list of texts")
    options = body.get("stream_options")
    return ChatRequest(
        messages=messages,
        tools=tools,
        max_tokens=_whole(body, "max_completion_tokens", 1, 1 << 20)
        or _whole(body, "max_tokens", 1, 1 << 20),
        temperature=_temperature(body),
        seed=_whole(body, "seed", -(1 << 62), 1 << 62),
        n=_whole(body, "n", 1, 64) or 1,
        stop=tuple(stop),
        stream=body.get("stream") is True,
        usage=isinstance(options, dict) and options.get("include_usage") is True,
        model=str(body.get("model") or "")[:200],
    )


def _list(body: dict[str, Any], name: str) -> list[Any]:
    found = body.get(name)
    found = [] if found is None else found
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise BadRequestError(f"{name} is a list of objects")
    return found


def _whole(body: dict[str, Any], name: str, least: int, most: int) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if type(value) is not int or not least <= value <= most:
        raise BadRequestError(f"{name} is a whole number from {least} to {most}")
    return value


def _temperature(body: dict[str, Any]) -> float | None:
    value = body.get("temperature")
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 <= value <= 10:
        raise BadRequestError("temperature is a number from 0 to 10")
    return float(value)


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    function = tool.get("function")
    if tool.get("type", "function") != "function" or not isinstance(function, dict):
        raise BadRequestError("a tool has the type function and an object `function`")
    name, parameters = function.get("name"), function.get("parameters")
    if not isinstance(name, str) or not name:
        raise BadRequestError("a function has a name")
    if parameters is not None and not isinstance(parameters, dict):
        raise BadRequestError("parameters is a JSON Schema")
    try:
        SchemaValidator(parameters or {}, "parameters")
    except SchemaError as error:
        raise BadRequestError(f"parameters is a JSON Schema: {error.what}"[:1000]) from error
    description = function.get("description")
    written = {
        "name": name,
        "description": description if isinstance(description, str) else "",
        "parameters": parameters or {"type": "object", "properties": {}},
    }
    return {"type": "function", "function": written}


def _message(message: dict[str, Any]) -> dict[str, Any]:
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise BadRequestError(f"a message's role is one of {', '.join(sorted(_ROLES))}")
    content = message.get("content")
    if isinstance(content, list):
        parts = [
            one.get("text") if isinstance(one, dict) and one.get("type") == "text" else None
            for one in content
        ]
        if not all(isinstance(part, str) for part in parts):
            raise BadRequestError("content has parts of the type text alone")
        content = "".join(map(str, parts))
    if content is not None and not isinstance(content, str):
        raise BadRequestError("content is a text, a list of texts or null")
    found: dict[str, Any] = {"role": "system" if role == "developer" else role, "content": content}
    if role == "assistant" and message.get("tool_calls"):
        parsed = Native().parse_message(
            {"role": "assistant", "content": None, "tool_calls": message["tool_calls"]}
        )
        if parsed.broken:
            raise BadRequestError(f"tool_calls cannot be read: {parsed.reason}")
        found["tool_calls"] = [
            {**one, "type": "function", "function": dict(one["function"])} for one in message["tool_calls"]
        ]
    elif content is None:
        raise BadRequestError("a message without calls has content")
    if role == "tool" and isinstance(message.get("tool_call_id"), str):
        found["tool_call_id"] = message["tool_call_id"]
    return found


class Dialect:
    """Between the API's messages and what a policy reads and says.

    A policy of the format native takes tools beside messages. One that was trained to write calls as text gets them
    in its own prompt, and its replies are read back; without tools a request goes to it as it is, so that a client
    that writes such prompts itself, as `planarena eval --format` does, is answered with the plain text.

    Args:
        form: The policy's format.
        name: Of the prompt template; empty for the format's own.
        plan: Whether prompts ask for a plan.
        signatures: How prompts write tools; empty for the template's way.
    """

    def __init__(self, form: str, name: str = "", *, plan: bool = True, signatures: str = "") -> None:
        self.format = form
        self._form = formats.get(form)
        self._template = template(name or default_template(form), form)
        self._plan, self._signatures = plan, signatures

    def asked(self, request: ChatRequest, key: str, sample: int) -> Asked:
        """Return what the policy is asked.

        Args:
            request: The request.
            key: Names the draws.
            sample: Of the request's replies.

        Raises:
            BadRequestError: The format cannot write an earlier message.
        """
        if self.format == "native" or not request.tools:
            messages, tools = list(request.messages), request.tools if self.format == "native" else ()
            if self.format != "native" and any(one.get("tool_calls") for one in messages):
                messages = self._written(messages)
        else:
            messages, tools = self._written(request.messages), ()
            system = self._template.render_system(
                self._form,
                request.tools,
                {},
                plan=self._plan,
                signatures=self._signatures or None,  # type: ignore[arg-type]
            )
            if messages and messages[0]["role"] == "system":
                messages[0] = {"role": "system", "content": f"{system}\n\n{messages[0]['content']}"}
            else:
                messages.insert(0, {"role": "system", "content": system})
        turn = sum(one["role"] == "assistant" for one in request.messages)
        return Asked(
            id=key,
            messages=tuple(messages),
            tools=tools,
            sample=sample,
            turn=turn,
            max_tokens=request.max_tokens,
        )

    def _written(self, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Write calls and results as the policy's own dialogues have them."""
        written: list[dict[str, Any]] = []
        called: dict[str, str] = {}
        role = self._template.observations
        for message in messages:
            if message["role"] == "assistant":
                written.append({"role": "assistant", "content": self._said(message, called)})
            elif message["role"] == "tool" and role == "user":
                name = called.get(str(message.get("tool_call_id")), "the tool")
                written.append({"role": "user", "content": f"Result of {name}: {message['content']}"})
            else:
                written.append({key: message[key] for key in ("role", "content")})
        return written

    def _said(self, message: dict[str, Any], called: dict[str, str]) -> str:
        """Return an earlier message of the assistant in the format, and note the ids of its calls."""
        calls = []
        for one in message.get("tool_calls") or ():
            function = one["function"]
            called[str(one.get("id"))] = str(function["name"])
            given = function.get("arguments")
            given = json.loads(given or "{}") if isinstance(given, str | None) else given
            calls.append(Call(str(function["name"]), given))
        content = message["content"] or ""
        try:
            if not calls:
                return self._form.render(response=content) if content.strip() else content
            return self._form.render(plan=content or None, calls=calls)
        except UserError as error:
            raise BadRequestError(f"an earlier message cannot be written: {error.what}") from error

    def message(self, text: str, asked: Asked, *, tools: bool) -> dict[str, Any]:
        """Return a reply as the API's message.

        Args:
            text: Of the policy.
            asked: What it answers.
            tools: The request offered tools.
        """
        if self.format == "native":
            found = json.loads(text)
            message = {"role": "assistant", "content": found.get("content"), "refusal": None}
            if found.get("reasoning_content"):
                message["reasoning_content"] = found["reasoning_content"]
            calls = found.get("tool_calls") or []
            if calls:
                message["tool_calls"] = [
                    {**call, "id": f"call_{asked.turn}_{place}"} for place, call in enumerate(calls)
                ]
            return message
        if not tools:
            return {"role": "assistant", "content": text, "refusal": None}
        parsed = self._form.parse(text)
        if parsed.broken or not (parsed.calls or parsed.response):
            return {"role": "assistant", "content": text, "refusal": None}
        message = {"role": "assistant", "content": parsed.response, "refusal": None}
        if parsed.plan:
            message["reasoning_content"] = parsed.plan
        if parsed.calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{asked.turn}_{place}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": canonical_json(call.arguments)},
                }
                for place, call in enumerate(parsed.calls)
            ]
        return message
