"""A revoked key, an unknown model, an unreachable server, a spent budget: one clear error, and the run goes on later."""

from __future__ import annotations

import logging
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

from planarena.errors import UserError
from planarena.llm import (
    Answer,
    Budget,
    BudgetSpent,
    LLMError,
    ModelAccessError,
    ModelConfig,
    Request,
    RequestRefusedError,
    SyncGateway,
)

sys.path.append(str(Path(__file__).resolve().parents[1]))
from llm_server import Script, ScriptedServer

KEY = "kx91-very-secret-value-0042"
REQUESTS = [Request(model="m", messages=[{"role": "user", "content": f"q{i}"}]) for i in range(40)]


def model(server: ScriptedServer, **changes: Any) -> ModelConfig:
    settings: dict[str, Any] = {
        "name": "m",
        "id": "openai/m",
        "base_url": server.url,
        "timeout": 20.0,
        "concurrency": 4,
        "answers_as": "m",
    }
    return ModelConfig(**(settings | changes))


def run(gateway: SyncGateway) -> tuple[dict[int, Answer | LLMError], LLMError | None]:
    found: dict[int, Answer | LLMError] = {}
    try:
        for number, outcome in gateway.map(REQUESTS):
            found[number] = outcome
    except LLMError as error:
        return found, error
    return found, None


@pytest.mark.parametrize(
    ("script", "kind", "fix"),
    [
        (Script(keys=frozenset({"another"}), echo_key=True), "revoked_key", "check the key in THE_KEY"),
        (Script(models=frozenset({"another"}), echo_key=True), "unknown_model", "PROVIDER/MODEL"),
    ],
)
def test_one_clear_error_and_a_later_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script, kind: str, fix: str
) -> None:
    monkeypatch.setenv("THE_KEY", KEY)
    good = Script(keys=frozenset({KEY}))
    with ScriptedServer(good) as server:
        settings = model(server, key_env="THE_KEY")
        with SyncGateway([settings], cache=tmp_path / "c.sqlite") as gateway:
            for request in REQUESTS[:10]:
                gateway.complete(request)
        server.script = script
        server.clear()
        with SyncGateway([settings], cache=tmp_path / "c.sqlite") as gateway:
            found, error = run(gateway)
        assert sorted(found) == list(range(10))
        assert isinstance(error, ModelAccessError)
        assert isinstance(error, UserError)
        assert (error.kind, error.exit_code) == (kind, 2)
        assert fix in error.fix
        # Six in a row are enough, and three more may be under way.
        assert len(server.arrivals) <= 9
        server.script = good
        server.clear()
        with SyncGateway([settings], cache=tmp_path / "c.sqlite") as gateway:
            found, error = run(gateway)
        assert (len(found), error) == (40, None)
        assert len(server.arrivals) == 30


def test_an_unreachable_server_is_one_clear_error(tmp_path: Path) -> None:
    with ScriptedServer() as server:
        settings = model(server)
    with SyncGateway([settings], cache=tmp_path / "c.sqlite") as gateway:
        found, error = run(gateway)
    assert found == {}
    assert isinstance(error, ModelAccessError)
    assert error.kind == "unreachable"
    assert "check that it runs" in error.fix
    with (
        ScriptedServer(port=server.port) as again,
        SyncGateway([settings], cache=tmp_path / "c.sqlite") as gateway,
    ):
        found, error = run(gateway)
        assert (len(found), error, len(again.arrivals)) == (40, None, 40)


@pytest.mark.parametrize(
    "name", ["no-such-provider/model", "just-a-name", "openai/gpt-4o-mini", "gemini/gemini-2.0-flash"]
)
def test_names_without_provider_or_key_fail_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for variable in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with SyncGateway(cache=tmp_path / "c.sqlite") as gateway, pytest.raises(ModelAccessError) as caught:
        gateway.complete(Request(model=name, messages=[{"role": "user", "content": "x"}]))
    assert caught.value.kind == ("missing_key" if name[0] in "og" else "unknown_model")


@pytest.mark.parametrize(
    ("budget", "word"),
    [(Budget(calls=15), "calls"), (Budget(tokens=400), "tokens"), (Budget(usd=0.004), "USD")],
)
def test_a_spent_budget_stops_cleanly_and_the_rest_is_done_later(
    tmp_path: Path, budget: Budget, word: str
) -> None:
    with ScriptedServer(Script(delay=0.01)) as server:
        settings = model(server, price=(10.0, 10.0))
        with SyncGateway([settings], cache=tmp_path / "c.sqlite", budget=budget) as gateway:
            found, error = run(gateway)
            spent = gateway.spent
        assert isinstance(error, BudgetSpent)
        assert word in str(error)
        assert 0 < len(found) < 40
        assert len(server.arrivals) == len(found) == spent.calls
        assert spent.calls <= (budget.calls or 1e9)
        assert spent.tokens <= (budget.tokens or 1e9)
        assert spent.usd <= (budget.usd or 1e9)
        with SyncGateway([settings], cache=tmp_path / "c.sqlite") as gateway:
            rest, error = run(gateway)
        assert (len(rest), error) == (40, None)
        assert len(server.arrivals) == 40


def test_a_budget_in_usd_needs_prices(tmp_path: Path) -> None:
    with (
        ScriptedServer() as server,
        SyncGateway([model(server)], cache=tmp_path / "c.sqlite", budget=Budget(usd=1)) as gateway,
    ):
        with pytest.raises(ModelAccessError, match="price is not known"):
            gateway.complete(REQUESTS[0])
        assert server.arrivals == []


def test_a_request_that_is_no_json_is_its_own_failure(tmp_path: Path) -> None:
    odd = Request(model="m", messages=[{"role": "user", "content": "half \ud800"}])
    with ScriptedServer() as server, SyncGateway([model(server)], cache=tmp_path / "c.sqlite") as gateway:
        found = dict(gateway.map([REQUESTS[0], odd, REQUESTS[1]]))
    assert isinstance(found[1], RequestRefusedError)
    assert isinstance(found[0], Answer)
    assert isinstance(found[2], Answer)


def test_a_key_is_never_written_logged_or_shown(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("THE_KEY", KEY)
    texts: list[str] = []
    with caplog.at_level(logging.DEBUG):
        for fault in ("revoked_key", "server_error", "rate_limit", "unknown_model", "drop", "hang", None):
            script = Script(
                faults={fault: 1.0} if fault else {},
                most_faults=99 if fault != "rate_limit" else 1,
                echo_key=True,
                retry_after=0.01,
                reply=lambda body: f"your key is {KEY}",
            )
            with (
                ScriptedServer(script) as server,
                SyncGateway(
                    [model(server, key_env="THE_KEY", attempts=2, timeout=1.0)], cache=tmp_path / "c.sqlite"
                ) as gateway,
            ):
                try:
                    texts.append(gateway.complete(REQUESTS[0]).text)
                except LLMError as error:
                    texts.append("".join(traceback.format_exception(error)))
                texts.extend(map(repr, gateway.drain_calls()))
    assert len(texts) >= 7
    texts += [caplog.text, *capfd.readouterr()]
    assert not [text for text in texts if KEY in text]
    assert "[key removed]" in "".join(texts)
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        assert KEY.encode() not in content, path
        assert b"q0" not in content, "prompts are not kept"
