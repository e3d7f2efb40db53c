"""The gateway through LiteLLM against a scripted server: everything that may go wrong, and nothing lost."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planarena import formats
from planarena.llm import (
    Answer,
    CallFailedError,
    Gateway,
    LLMError,
    MalformedAnswerError,
    ModelAccessError,
    ModelConfig,
    Request,
    SyncGateway,
)

sys.path.append(str(Path(__file__).resolve().parents[1]))
from llm_server import FAULTS, Script, ScriptedServer

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"score": {"type": "number"}},
    "required": ["score"],
    "additionalProperties": False,
}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "look_up", "description": "d", "parameters": {"type": "object"}},
    }
]
# What the gateway calls each fault of the server.
KINDS = {
    "drop": "dropped",
    "half_body": "dropped",
    "hang": "timeout",
    "rate_limit": "rate_limited",
    "unknown_model": "unknown_model",
    "revoked_key": "revoked_key",
    "server_error": "server_error",
    "wrong_json": "wrong_json",
    "tool_call_in_text": "tool_call_in_text",
    "truncated": "truncated",
    "empty": "empty",
}


def model(server: ScriptedServer, **changes: Any) -> ModelConfig:
    settings: dict[str, Any] = {"name": "m", "id": "openai/m", "base_url": server.url, "timeout": 20.0}
    return ModelConfig(**(settings | changes))


def ask(text: str, **changes: Any) -> Request:
    return Request(model="m", messages=[{"role": "user", "content": text}], **changes)


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture(autouse=True)
def fresh(server: ScriptedServer) -> None:
    server.script = Script()
    server.asked.clear()
    server.clear()


def collect(gateway: Gateway, requests: list[Request]) -> dict[int, Answer | LLMError]:
    async def work() -> dict[int, Answer | LLMError]:
        async with gateway:
            found: dict[int, Answer | LLMError] = {}
            async for number, outcome in gateway.map(requests):
                assert number not in found
                found[number] = outcome
            return found

    return asyncio.run(work())


def test_a_mixed_run_loses_nothing_and_a_second_run_asks_nothing(
    server: ScriptedServer, tmp_path: Path
) -> None:
    with SyncGateway([model(server)], cache=tmp_path / "warm.sqlite") as warm:
        warm.complete(ask("the first call of a process is slow: it must not count as a hanging one"))
    server.clear()
    server.script = Script(
        seed=1, faults=dict.fromkeys(FAULTS, 0.03), hang=60, retry_after=0.1, delay=0.01, most_faults=2
    )
    requests = [ask(f"question {i}", schema=SCHEMA if i % 2 else None) for i in range(500)]
    gateway = Gateway([model(server, timeout=3.0, concurrency=24)], cache=tmp_path / "c.sqlite")
    found = collect(gateway, requests)

    assert sorted(found) == list(range(500))
    bad = [outcome for outcome in found.values() if isinstance(outcome, LLMError)]
    assert {type(error) for error in bad} <= {MalformedAnswerError}
    assert len(bad) < 10
    # Faults of form count where a schema is asked for; elsewhere such an answer is the caller's to judge.
    served: Counter[str] = Counter()
    for arrival in server.arrivals:
        kind = KINDS.get(arrival.outcome)
        by_schema = "response_format" in server.requests[arrival.digest]
        if kind in {"wrong_json", "truncated", "tool_call_in_text"} and not by_schema:
            continue
        if kind is not None:
            served[kind] += 1
    assert {kind: count for (_, kind), count in gateway.failures.items()} == served
    assert set(served) == set(KINDS.values())
    assert server.max_in_flight <= 24
    # Paid for is what was sent: each answer once, in the records and in the budget's count.
    assert gateway.spent.calls == sum(server.sent.values()) == len(gateway.calls)
    assert len({call.call_id for call in gateway.calls}) == len(gateway.calls)
    assert sum(call.prompt_tokens + call.completion_tokens for call in gateway.calls) == gateway.spent.tokens
    in_text = [i for i, a in found.items() if isinstance(a, Answer) and a.calls_in_text]
    assert in_text and all(i % 2 == 0 for i in in_text)

    server.clear()
    again = collect(Gateway([model(server)], cache=tmp_path / "c.sqlite"), requests)
    assert server.arrivals == []
    assert {i: getattr(a, "text", str(a)) for i, a in again.items()} == {
        i: getattr(a, "text", str(a)) for i, a in found.items()
    }


def test_tools_are_called_natively(server: ScriptedServer, tmp_path: Path) -> None:
    with SyncGateway([model(server)], cache=tmp_path / "c.sqlite") as gateway:
        answer = gateway.complete(ask("x", tools=TOOLS, tool_choice="auto"))
    assert answer.finish == "tool_calls"
    parsed = formats.Native().parse_message(answer.message())
    assert [call.name for call in parsed.calls] == ["look_up"]
    body = next(iter(server.requests.values()))
    sent = [body for body in server.requests.values() if body.get("tools")][-1]
    assert sent["tools"] == TOOLS
    assert sent["tool_choice"] == "auto"
    assert "_skip_mcp_handler" not in sent
    assert body is not None


def test_parameters_arrive_as_given(server: ScriptedServer, tmp_path: Path) -> None:
    with SyncGateway(
        [model(server, options={"presence_penalty": 0.5})], cache=tmp_path / "c.sqlite"
    ) as gateway:
        gateway.complete(
            ask(
                "all",
                temperature=0.0,
                top_p=0.9,
                max_tokens=7,
                stop=("END",),
                seed=5,
                sample=2,
                schema=SCHEMA,
            )
        )
    (sent,) = [b for b in server.requests.values() if b["messages"][-1]["content"] == "all"]
    assert sent == {
        "model": "m",
        "messages": [{"role": "user", "content": "all"}],
        "temperature": 0.0,
        "top_p": 0.9,
        "max_tokens": 7,
        "stop": ["END"],
        "seed": 7,
        "presence_penalty": 0.5,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": SCHEMA, "strict": False},
        },
    }


def test_samples_are_asked_one_by_one_and_can_be_extended(server: ScriptedServer, tmp_path: Path) -> None:
    for samples, calls in ((3, 3), (5, 2)):
        server.clear()
        found = collect(
            Gateway([model(server)], cache=tmp_path / "c.sqlite"),
            [ask("x", temperature=1.0, sample=i) for i in range(samples)],
        )
        assert len(found) == samples
        assert len(server.arrivals) == calls


def test_the_same_question_at_the_same_time_is_paid_once(server: ScriptedServer, tmp_path: Path) -> None:
    server.script = Script(delay=0.1)
    found = collect(Gateway([model(server)], cache=tmp_path / "c.sqlite"), [ask("same")] * 20)
    assert len(server.arrivals) == 1
    assert len({a.text for a in found.values() if isinstance(a, Answer)}) == 1


def test_exactly_one_repair(server: ScriptedServer, tmp_path: Path) -> None:
    server.script = Script(faults={"wrong_json": 1.0}, most_faults=1)
    # The repair is another request: its first asking is faulty too.
    with SyncGateway([model(server)], cache=tmp_path / "c.sqlite") as gateway:
        with pytest.raises(MalformedAnswerError) as caught:
            gateway.complete(ask("x", schema=SCHEMA))
        assert len(server.arrivals) == 2
        with pytest.raises(MalformedAnswerError):
            gateway.complete(ask("x", schema=SCHEMA))
        assert len(server.arrivals) == 2
        server.script = Script()
        assert gateway.complete(ask("x", schema=SCHEMA, sample=1)).value["score"] >= 0
    assert caught.value.kind == "wrong_json"
    assert caught.value.text == '{"score": 0.5, "why": '

    server.script = Script(reply=lambda body: '{"score": 1}' if len(body["messages"]) > 1 else "one, I think")
    with SyncGateway([model(server)], cache=tmp_path / "d.sqlite") as gateway:
        answer = gateway.complete(ask("x", schema=SCHEMA))
        assert (answer.value, answer.repaired, answer.cached) == ({"score": 1}, True, False)
        again = gateway.complete(ask("x", schema=SCHEMA))
        assert (again.value, again.repaired, again.cached) == ({"score": 1}, True, True)
        assert [call.kind for call in gateway.drain_calls()] == ["wrong_json", "ok"]
        assert gateway.drain_calls() == []


def test_empty_answers_are_asked_again_and_never_paid_again(server: ScriptedServer, tmp_path: Path) -> None:
    server.script = Script(faults={"empty": 1.0}, most_faults=99)
    with SyncGateway([model(server)], cache=tmp_path / "c.sqlite") as gateway:
        for _ in range(2):
            with pytest.raises(CallFailedError, match="3 answers were empty"):
                gateway.complete(ask("x"))
        assert len(server.arrivals) == 3
        assert gateway.spent.calls == 3


@pytest.mark.parametrize("fault", ["server_error", "drop", "revoked_key", "unknown_model"])
def test_a_fallback_answers_where_the_model_does_not(
    server: ScriptedServer, tmp_path: Path, fault: str
) -> None:
    server.script = Script(
        models=frozenset({"b"}) if fault == "unknown_model" else None,
        keys=frozenset({"none"}),
    )
    with ScriptedServer(Script(faults={fault: 1.0}, most_faults=999)) as broken:
        models = [model(broken, attempts=1), model(server, name="b", id="openai/b")]
        with SyncGateway(models, fallbacks={"m": ["b"]}, cache=tmp_path / "c.sqlite") as gateway:
            answer = gateway.complete(ask("x"))
            assert answer.model == "b"
            tried = len(broken.arrivals)
            assert tried >= 1
            again = gateway.complete(ask("x"))
            assert (again.model, again.cached) == ("b", True)
            assert (len(broken.arrivals), len(server.arrivals)) == (tried, 1)
            with pytest.raises(LLMError):
                gateway.complete(ask("y", fallback=False))
            # A model that refuses key or name is not asked again at all.
            gateway.complete(ask("z"))
            if fault in {"revoked_key", "unknown_model"}:
                assert len(broken.arrivals) == tried


def test_a_server_without_response_format_gets_the_schema_in_the_prompt(tmp_path: Path) -> None:
    def reply(body: dict[str, Any]) -> str:
        assert "response_format" not in body
        return '{"score": 0.5}' if '"score"' in body["messages"][0]["content"] else "no idea"

    with (
        ScriptedServer(Script(reply=reply)) as server,
        SyncGateway([model(server, structured="prompt")], cache=tmp_path / "c.sqlite") as gateway,
    ):
        assert gateway.complete(ask("x", schema=SCHEMA)).value == {"score": 0.5}


def test_a_server_that_refuses_response_format_is_asked_without(tmp_path: Path) -> None:
    def reply(body: dict[str, Any]) -> str:
        return '{"score": 0.5}' if '"score"' in body["messages"][0]["content"] else "no idea"

    with (
        ScriptedServer(Script(reply=reply, takes_schema=False)) as server,
        SyncGateway([model(server)], cache=tmp_path / "c.sqlite") as gateway,
    ):
        for text in ("x", "y"):
            assert gateway.complete(ask(text, schema=SCHEMA)).value == {"score": 0.5}
        # It is refused once, and remembered.
        assert server.outcomes() == {"bad_request": 1, "good": 2}


def test_a_server_that_goes_away_for_a_while_loses_nothing(tmp_path: Path) -> None:
    requests = [ask(f"q{i}") for i in range(60)]

    async def work() -> tuple[int, int]:
        server = ScriptedServer(Script(delay=0.05)).__enter__()
        done = 0
        async with Gateway([model(server, concurrency=4)], cache=tmp_path / "c.sqlite") as gateway:
            async for _, outcome in gateway.map(requests):
                assert isinstance(outcome, Answer)
                done += 1
                if done == 20:
                    await asyncio.to_thread(server.__exit__)
                    await asyncio.sleep(0.5)
                    server = ScriptedServer(port=server.port).__enter__()
            failed = sum(gateway.failures.values())
        server.__exit__()
        return done, failed

    done, failed = asyncio.run(work())
    assert done == 60
    assert failed > 0


def test_an_answer_under_way_is_kept_when_nobody_waits_any_more(
    server: ScriptedServer, tmp_path: Path
) -> None:
    async def work() -> None:
        server.script = Script(delay=0.3)
        async with Gateway([model(server)], cache=tmp_path / "c.sqlite") as gateway:
            asking = asyncio.create_task(gateway.complete(ask("left alone")))
            while not server.arrivals:
                await asyncio.sleep(0.01)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        async with Gateway([model(server)], cache=tmp_path / "c.sqlite") as gateway:
            assert (await gateway.complete(ask("left alone"))).cached

    asyncio.run(work())
    assert len(server.arrivals) == 1


def test_a_second_run_needs_no_key(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = model(server, key_env="THE_KEY")
    monkeypatch.setenv("THE_KEY", "some-key-0001")
    with SyncGateway([settings], cache=tmp_path / "c.sqlite") as gateway:
        gateway.complete(ask("x"))
    monkeypatch.delenv("THE_KEY")
    with SyncGateway([settings], cache=tmp_path / "c.sqlite") as gateway:
        assert gateway.complete(ask("x")).cached
        with pytest.raises(ModelAccessError, match="export THE_KEY") as caught:
            gateway.complete(ask("y"))
    assert caught.value.kind == "missing_key"


def test_an_estimate_knows_what_is_cached(server: ScriptedServer, tmp_path: Path) -> None:
    with SyncGateway([model(server, price=(1.0, 2.0))], cache=tmp_path / "c.sqlite") as gateway:
        gateway.complete(ask("x"))
        found = gateway.gateway.estimate([ask("x"), ask("y", max_tokens=100), ask("z")])
    assert (found.calls, found.cached) == (2, 1)
    assert found.usd == pytest.approx((found.prompt_tokens + 2 * found.completion_tokens) / 1e6, rel=1e-12)
    assert len(server.arrivals) == 1


def test_costs_follow_the_price_and_are_null_without_one(server: ScriptedServer, tmp_path: Path) -> None:
    priced = model(server, name="m", price=(1.0, 10.0))
    unpriced = model(server, name="gpt", id="openai/gpt-4o-mini")
    with SyncGateway([priced, unpriced], cache=tmp_path / "c.sqlite") as gateway:
        a = gateway.complete(ask("x"))
        b = gateway.complete(Request(model="gpt", messages=[{"role": "user", "content": "x"}]))
    assert a.usd == pytest.approx((a.prompt_tokens + 10 * a.completion_tokens) / 1e6, rel=1e-12)
    assert b.usd is None
    assert b.prompt_tokens > 0
    assert [call.row() for call in gateway.drain_calls()] == [
        (a.call_id, "m", a.prompt_tokens, a.completion_tokens, a.usd),
        (b.call_id, "gpt", b.prompt_tokens, b.completion_tokens, None),
    ]


def test_the_facade_maps_lazily_and_may_be_left_early(server: ScriptedServer, tmp_path: Path) -> None:
    read = 0

    def many() -> Iterator[Request]:
        nonlocal read
        for i in range(10_000):
            read += 1
            yield ask(f"lazy {i}")

    with SyncGateway([model(server, concurrency=4)], cache=tmp_path / "c.sqlite") as gateway:
        for count, _ in enumerate(gateway.map(many()), 1):
            if count == 10:
                break
        assert read < 200
        assert gateway.complete(ask("after")).text


def test_a_slow_reader_holds_the_asking_back(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planarena.llm.sync._MOST_UNREAD", 10)
    read = 0

    def many() -> Iterator[Request]:
        nonlocal read
        for i in range(200):
            read += 1
            yield ask(f"slow {i}")

    with SyncGateway([model(server, concurrency=4)], cache=tmp_path / "c.sqlite") as gateway:
        answers = gateway.map(many())
        next(answers)
        time.sleep(0.5)
        # Ten unread, eight under way, and those that were done in between.
        assert read <= 40
        assert len(list(answers)) == 199


def test_a_server_that_counts_no_tokens_is_counted_by_bytes(tmp_path: Path) -> None:
    with (
        ScriptedServer(Script(usage=False)) as server,
        SyncGateway([model(server)], cache=tmp_path / "c.sqlite") as gateway,
    ):
        answer = gateway.complete(ask("word " * 100))
    assert 100 <= answer.prompt_tokens <= 200
    assert answer.completion_tokens > 0
    assert gateway.spent.tokens == answer.prompt_tokens + answer.completion_tokens
