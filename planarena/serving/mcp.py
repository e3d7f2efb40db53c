"""MCP: a task's tools, the task as a prompt, and `check`, `send_message` and `start_over` beside them.

Revisions 2024-11-05 to 2025-11-25 of the protocol, as far as tools and prompts go. A client of the revision without
a handshake (2026-07-28) falls back to the handshake. Deviations: no batches, no notifications of the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planarena.records import canonical_json
from planarena.session import Session, SessionTask, observation_text
from planarena.version import __version__

__all__ = ["Connection", "tool_names"]

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
_NO_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
_OURS = {
    "send_message": (
        "Tell the user something, as the answer to the last message, and read what the user says next.",
        {
            "type": "object",
            "properties": {"message": {"type": "string", "description": "What you tell the user."}},
            "required": ["message"],
        },
    ),
    "check": (
        "Say whether the task is done: whether its goal is reached and the user has an answer.",
        _NO_SCHEMA,
    ),
    "start_over": ("Begin the task again, as if nothing had been done.", _NO_SCHEMA),
}


class RpcError(Exception):
    """An error that the protocol has a number for."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def tool_names(task: SessionTask) -> dict[str, str]:
    """Return the names of our own tools beside those of a task: name on the wire by name; none is taken twice."""
    names = {}
    for name in _OURS:
        written = name
        while written in task.offered:
            written += "_task"
        names[name] = written
    return names


class Connection:
    """One client that plays one task.

    Args:
        task: The task.
        most_calls: Calls of an episode.
    """

    def __init__(self, task: SessionTask, most_calls: int | None = None) -> None:
        self._task = task
        self._session = Session(most_calls=most_calls)
        self._session.reset(task)
        self._own = {written: name for name, written in tool_names(task).items()}

    def handle(self, message: Any) -> dict[str, Any] | None:
        """Return the answer to a message; None for notifications and responses."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return _failure(None, -32600, "a message is one JSON-RPC 2.0 object")
        method, number = message.get("method"), message.get("id")
        if not isinstance(method, str):
            known = "result" in message or "error" in message
            return None if known else _failure(_id(number), -32600, "a request has a method")
        if "id" not in message:
            return None
        if not isinstance(number, str | int) or isinstance(number, bool):
            return _failure(None, -32600, "an id is a text or a whole number")
        params = message.get("params", {})
        if not isinstance(params, dict):
            return _failure(number, -32602, "params is an object")
        try:
            return {"jsonrpc": "2.0", "id": number, "result": self._result(method, params)}
        except RpcError as error:
            return _failure(number, error.code, str(error))

    def _result(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            return self._initialize(params)
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": self._tools()}
        if method == "tools/call":
            return self._call(params)
        if method == "prompts/list":
            return {
                "prompts": [{"name": "task", "title": "The task", "description": "What the user asks for."}]
            }
        if method == "prompts/get":
            if params.get("name") != "task":
                raise RpcError(-32602, "there is one prompt, `task`")
            content = {"type": "text", "text": self._prompt()}
            return {
                "description": "What the user asks for.",
                "messages": [{"role": "user", "content": content}],
            }
        raise RpcError(-32601, f"there is no method {method[:80]}")

    def _initialize(self, params: Mapping[str, Any]) -> dict[str, Any]:
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}, "prompts": {}},
            "serverInfo": {"name": "planarena", "version": __version__},
            "instructions": "Read the prompt `task`, call tools until it is done, answer with "
            f"`{tool_names(self._task)['send_message']}`, and `{tool_names(self._task)['check']}`.",
        }

    def _tools(self) -> list[dict[str, Any]]:
        listed = [
            {
                "name": tool["function"]["name"],
                "description": tool["function"].get("description", ""),
                "inputSchema": tool["function"].get("parameters") or _NO_SCHEMA,
            }
            for tool in self._task.tools
        ]
        for written, name in self._own.items():
            description, schema = _OURS[name]
            listed.append({"name": written, "description": description, "inputSchema": schema})
        return listed

    def _call(self, params: Mapping[str, Any]) -> dict[str, Any]:
        name, arguments = params.get("name"), params.get("arguments")
        arguments = {} if arguments is None else arguments
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise RpcError(-32602, "a call has a name and an object of arguments")
        own = self._own.get(name)
        if own is not None:
            return self._call_own(own, arguments)
        outcome = self._session.call(name, arguments)
        return _content(observation_text(outcome), failed=outcome.status != "ok")

    def _call_own(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if name == "check":
            reward = self._session.reward()
            found = {
                "done": bool(reward.value),
                "goal_reached": reward.goal,
                "answered": reward.answered,
                "calls": reward.calls,
                "failed_calls": reward.failed,
            }
            return _content(canonical_json(found))
        if name == "start_over":
            self._session.reset(self._task)
            return _content("The task begins again.")
        text = arguments.get("message")
        if not isinstance(text, str) or not text.strip():
            return _content("write a message", failed=True)
        if self._session.answered:
            return _content("The episode is over.", failed=True)
        said = self._session.answer(text)
        return _content("The user has nothing to add." if said is None else said)

    def _prompt(self) -> str:
        return "\n\n".join(str(message["content"]) for message in self._task.messages)


def _content(text: str, *, failed: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def _id(number: Any) -> Any:
    return number if isinstance(number, str | int) and not isinstance(number, bool) else None


def _failure(number: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
