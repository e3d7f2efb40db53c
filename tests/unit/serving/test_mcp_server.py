"""MCP in process: an episode over it, isolation, limits, and requests that nobody meant."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from planarena.errors import UserError
from planarena.serving import Limits, SessionPool
from planarena.serving.http import check_address
from planarena.serving.mcp import Connection, tool_names
from planarena.serving.mcp_transport import http_app, serve_lines
from planarena.serving.pool import FullError
from planarena.session import SessionTask, TaskSet

BODIES = [
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "check", "arguments": {}}},
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "send_message", "arguments": {"message": "hello"}}},
    {"jsonrpc": "2.0", "id": 4, "method": "prompts/get", "params": {"name": "task"}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]  # fmt: skip


def ask(connection: Connection, method: str, **params: Any) -> dict[str, Any]:
    answer = connection.handle({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    assert answer is not None
    return answer["result"]


def call(connection: Connection, name: str, /, **arguments: Any) -> tuple[str, bool]:
    found = ask(connection, "tools/call", name=name, arguments=arguments)
    return found["content"][0]["text"], found["isError"]


def play(connection: Connection, task: SessionTask, *, skip_last: bool = False) -> dict[str, Any]:
    answers = iter(task.answers)
    left = task.actions
    for decision in task.gold:
        for one in decision:
            left -= 1
            if left or not skip_last:
                call(connection, one.name, **one.arguments)
        if not decision:
            call(connection, tool_names(task)["send_message"], message=next(answers))
    found: dict[str, Any] = json.loads(call(connection, tool_names(task)["check"])[0])
    return found


def test_gold_is_done_and_wrong_is_not(tasks: TaskSet) -> None:
    for task in tasks:
        connection = Connection(task)
        assert play(connection, task)["done"]
        call(connection, tool_names(task)["start_over"])
        assert not json.loads(call(connection, tool_names(task)["check"])[0])["answered"]
        if task.actions:
            assert not play(connection, task, skip_last=True)["done"]


def test_tools_are_those_of_the_task_and_three_of_ours(tasks: TaskSet) -> None:
    for task in tasks:
        listed = ask(Connection(task), "tools/list")["tools"]
        names = [one["name"] for one in listed]
        assert names == [tool["function"]["name"] for tool in task.tools] + list(tool_names(task).values())
        assert len(set(names)) == len(names)
        assert all(one["inputSchema"]["type"] == "object" for one in listed)
    text = ask(Connection(tasks[0]), "prompts/get", name="task")["messages"][0]["content"]["text"]
    assert text.endswith(tasks[0].turns[0])


def test_names_of_ours_give_way(tasks: TaskSet) -> None:
    import msgspec

    tool = {"type": "function", "function": {"name": "check", "description": "", "parameters": {}}}
    task = msgspec.structs.replace(tasks[0], tools=(*tasks[0].tools, tool))
    assert tool_names(task)["check"] == "check_task"


def test_nothing_shows_what_would_be_right(tasks: TaskSet, hidden: list[str]) -> None:
    for task in tasks:
        connection = Connection(task)
        shown = [ask(connection, "tools/list"), ask(connection, "prompts/get", name="task")]
        shown.append(ask(connection, "initialize", protocolVersion="2025-11-25"))
        shown.append(call(connection, tool_names(task)["check"]))
        text = json.dumps(shown, ensure_ascii=False)
        assert not [secret for secret in hidden if secret in text]


def test_lines_in_and_lines_out(tasks: TaskSet) -> None:
    task = tasks[0]
    lines = [
        *map(json.dumps, BODIES[:3]),
        "",
        "nonsense",
        json.dumps(BODIES[5]),
        '"' + "a" * 5000 + '"',
        json.dumps(BODIES[1]),
    ]
    sink = io.BytesIO()
    serve_lines(task, io.BytesIO("\n".join(lines).encode()), sink, Limits(body=4000))
    answers = [json.loads(line) for line in sink.getvalue().splitlines()]
    assert [one.get("id") for one in answers] == [1, 2, "x", None, None, 2]
    assert answers[3]["error"]["code"] == -32700
    assert answers[4]["error"]["code"] == -32600
    assert answers[0]["result"]["protocolVersion"] == "2025-06-18"


def open_session(client: Any) -> str:
    answer = client.post("/mcp", BODIES[0])
    assert answer.status_code == 200
    return str(answer.headers["mcp-session-id"])


def test_http_sessions_do_not_see_each_other(tasks: TaskSet, client: Any) -> None:
    task = max(tasks, key=lambda one: one.actions)
    made = client(http_app(task, Limits()))
    left, right = open_session(made), open_session(made)
    for decision in task.gold:
        for one in decision:
            body = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": one.name, "arguments": one.arguments},
            }
            made.post("/mcp", body, **{"mcp-session-id": left})
    states = [
        json.loads(
            made.post("/mcp", BODIES[2], **{"mcp-session-id": name}).json()["result"]["content"][0]["text"]
        )
        for name in (left, right)
    ]
    assert [one["calls"] for one in states] == [task.actions, 0]
    assert made.request("DELETE", "/mcp", headers={"mcp-session-id": left}).status_code == 204
    gone = made.post("/mcp", BODIES[1], **{"mcp-session-id": left})
    assert gone.status_code == 404
    assert "initialize again" in gone.text
    assert made.post("/mcp", BODIES[1]).status_code == 400


def test_limits_hold(tasks: TaskSet, client: Any) -> None:
    made = client(http_app(tasks[0], Limits(sessions=2, body=300)), Limits(body=300))
    assert [made.post("/mcp", BODIES[0]).status_code for _ in range(3)] == [200, 200, 503]
    assert made.post("/mcp", {"a": "b" * 400}).status_code == 413
    chunked = made.request("POST", "/mcp", content=b"x" * 1000, headers={"transfer-encoding": "chunked"})
    assert chunked.status_code == 413


def test_sessions_end_by_age_and_idleness() -> None:
    now = [0.0]
    pool: SessionPool[str] = SessionPool(Limits(sessions=2, idle=10, age=100), lambda: now[0])
    first, second = pool.add("first"), pool.add("second")
    now[0] = 9.0
    assert pool.get(first) == "first"
    with pytest.raises(FullError):
        pool.add("third")
    now[0] = 15.0  # the second has been idle for longer than ten seconds
    third = pool.add("third")
    assert pool.get(second) is None
    assert (pool.get(first), pool.get(third)) == ("first", "third")
    now[0] = 101.0
    assert pool.get(first) is None
    assert pool.get(third) == "third"


def test_a_token_is_asked_for_and_other_pages_are_refused(tasks: TaskSet, client: Any) -> None:
    closed = client(http_app(tasks[0], Limits()), token="secret")
    assert closed.post("/mcp", BODIES[0]).status_code == 401
    assert closed.post("/mcp", BODIES[0], authorization="Bearer wrong").status_code == 401
    assert closed.post("/mcp", BODIES[0], authorization="Bearer secret").status_code == 200
    free = client(http_app(tasks[0], Limits()))
    assert free.post("/mcp", BODIES[0], origin="http://evil.example").status_code == 403
    assert free.post("/mcp", BODIES[0], host="evil.example:80").status_code == 403
    assert free.post("/mcp", BODIES[0], origin="http://localhost:3000").status_code == 200
    with pytest.raises(UserError, match="can be reached from other machines"):
        check_address("0.0.0.0", "")
    check_address("0.0.0.0", "secret")


@pytest.mark.parametrize("number", [300, pytest.param(10_000, marks=pytest.mark.full)])
def test_fuzzed_requests_have_answers(tasks: TaskSet, client: Any, fuzzer: Any, number: int) -> None:
    task = max(tasks, key=lambda one: one.actions)
    bodies = [*BODIES]
    for decision in task.gold:
        for one in decision:
            params = {"name": one.name, "arguments": one.arguments}
            bodies.append({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    made = client(http_app(task, Limits(sessions=50)))
    session = open_session(made)
    statuses = made.fuzz(fuzzer(7, ["/mcp"], bodies), number, session)
    assert statuses[200] > number / 10, statuses
    assert made.post("/mcp", BODIES[1], **{"mcp-session-id": session}).status_code in (200, 404)


def test_a_missing_extra_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    from planarena.errors import EnvironmentUnavailableError
    from planarena.serving.http import need_extra

    need_extra()
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "uvicorn" else found(name))
    with pytest.raises(EnvironmentUnavailableError, match="serving needs uvicorn") as caught:
        need_extra()
    assert "planarena[serve]" in str(caught.value)
