"""Hosted models: names and addresses, what is sent, what an answer and a failure become."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))
from eval_samples import problems
from llm_server import Script, ScriptedServer

from planarena.bench import Asked
from planarena.cli import main
from planarena.errors import ConfigError
from planarena.eval import EvalConfig
from planarena.eval.models.choosing import settle
from planarena.eval.models.hosted import HostedPolicy, model_of
from planarena.eval.settings import GenerationConfig
from planarena.trainers.config.origin import find_checkpoint

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "cache"))


def config(model: str, form: str = "", samples: int = 1, **made: Any) -> EvalConfig:
    options = GenerationConfig(**made)
    return EvalConfig(("math",), "unused", model=model, format=form, samples=samples, generation=options)


def asked(text: str = "Hello", sample: int = 0) -> Asked:
    return Asked(id="a", messages=({"role": "user", "content": text},), tools=(TOOL,), sample=sample)


def test_a_server_is_named_in_the_model_or_beside_it() -> None:
    for one in (
        config("org/m@http://127.0.0.1:1/v1#KEY"),
        config("org/m", base_url="http://127.0.0.1:1/v1", key_env="KEY"),
        config("org/m@http://127.0.0.1:1/v1", key_env="KEY"),
    ):
        found = model_of(one)
        assert (found.litellm_id, found.base_url, found.key_env) == (
            "openai/org/m",
            "http://127.0.0.1:1/v1",
            "KEY",
        )
    assert model_of(config("openai/gpt-4.1-mini", concurrency=3, timeout=5.0)).concurrency == 3
    with pytest.raises(ConfigError, match="does not say which model"):
        model_of(config("http://127.0.0.1:1/v1"))


def test_what_is_sent_and_what_comes_back() -> None:
    with ScriptedServer() as server:
        with HostedPolicy(
            config(f"m@{server.url}", top_p=0.5, max_tokens=7, options={"presence_penalty": 0.25})
        ) as policy:
            (reply,) = policy.reply([asked()])
        message = json.loads(reply.text)
        assert message["tool_calls"][0]["function"]["name"] == "f"
        assert reply.tokens and reply.prompt_tokens
        (body,) = server.requests.values()
        assert (body["temperature"], body["top_p"], body["max_tokens"], body["presence_penalty"]) == (
            0.0,
            0.5,
            7,
            0.25,
        )
        assert body["tools"] == [TOOL]
        server.requests.clear()
        # A text format states its tools in the prompt alone.
        with HostedPolicy(config(f"m@{server.url}", "hermes", samples=2, temperature="model")) as policy:
            replies = policy.reply([asked(), asked(sample=1), asked("Bye")])
        assert [one.text.startswith("answer ") for one in replies] == [True] * 3
        assert all("tools" not in body and "temperature" not in body for body in server.requests.values())
        assert server.outcomes()["good"] == 4  # each sample is a request of its own


def test_silence_is_an_answer_and_a_failure_is_none() -> None:
    with ScriptedServer(Script(reply=lambda _: "", most_faults=0)) as server:
        with HostedPolicy(config(f"m@{server.url}")) as policy:
            (reply,) = policy.reply([asked()])
        assert json.loads(reply.text)["content"] == ""
        assert not reply.problem
    script = Script(faults={"server_error": 1.0}, most_faults=99)
    with ScriptedServer(script) as server, HostedPolicy(config(f"m@{server.url}", attempts=1)) as policy:
        for reply in (*policy.reply([asked()]), *policy.reply([asked("a"), asked("b")])):
            assert reply.problem.startswith("server_error:")
            assert reply.text == ""


def test_mistakes_with_servers_are_one_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = problems(tmp_path / "math.jsonl")
    monkeypatch.setenv("SOME_KEY", "sk-wrong-0123456789")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with (
        ScriptedServer(Script(keys=frozenset({"right"}), echo_key=True)) as server,
        ScriptedServer(Script(models=frozenset({"known"}))) as choosy,
    ):
        cases = [
            (["--model", "m@http://127.0.0.1:9/v1"], "the server cannot be reached"),
            (["--model", f"m@{server.url}#SOME_KEY"], "refuses the key"),
            (["--model", f"m@{server.url}#NO_SUCH_KEY"], "holds no key"),
            (["--model", "m", "--base-url", choosy.url], "does not know this model"),
            (["--model", f"m@{server.url}", "--format", "nativ"], "there is no format 'nativ'"),
            (["--model", " "], "the model has no name"),
            (["--model", f"m@{server.url}", "--responses", "gold"], "both a model and existing outputs"),
            (
                ["--model", f"m@{server.url}", "--set", "generation.concurency=2"],
                "did you mean generation.concurrency",
            ),
        ]
        for words, said in cases:
            out = tmp_path / "run"
            code = main(["eval", "math", "--data", f"math={path}", "--out", str(out), *words])
            error = capsys.readouterr().err
            assert code in (1, 2), (words, error)
            assert said in error, (words, error)
            assert "fix:" in error
            assert "sk-wrong-0123456789" not in error
            assert "Traceback" not in error
            assert not (out / "scores.json").exists()
            if (out / "responses.jsonl").exists():
                assert (out / "responses.jsonl").read_bytes() == b""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["api-bank"], "API-Bank is not shipped"),
        (["mmlu-pro"], "MMLU-Pro is not shipped"),
        (["math"], "math has no problems of its own"),
        (["math", "--data", "math=/nonexistent/file"], "there is no such file"),
        (["math", "bfcl-v9"], "there is no suite 'bfcl-v9'"),
        (["planarena", "--data", "planarena=/nonexistent/run"], "/nonexistent/run"),
    ],
)
def test_missing_questions_are_said_before_anything_is_asked(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedServer() as server:
        code = main(["eval", *words, "--model", f"m@{server.url}", "--out", str(tmp_path / "run")])
        assert code == 2
        error = capsys.readouterr().err
        assert said in error
        assert "fix:" in error
        assert server.arrivals == []


def test_a_higher_limit_asks_only_what_is_new(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = problems(tmp_path / "math.jsonl")
    words = ["eval", "math", "--data", f"math={path}", "--out", str(tmp_path / "run"), "--json"]
    with ScriptedServer(Script(reply=lambda _: "\\boxed{2}")) as server:
        words += ["--model", f"m@{server.url}"]
        assert main([*words, "--limit", "1"]) == 0
        assert len(server.arrivals) == 1
        capsys.readouterr()
        assert main(words) == 0
        assert len(server.arrivals) == 3
        assert main([*words, "--limit", "2"]) == 0
        # A lower limit scores fewer and loses nothing.
        assert (tmp_path / "run" / "responses.jsonl").read_bytes().count(b"\n") == 3
        assert main([*words, "--fresh"]) == 0
        assert len(server.arrivals) == 3  # the gateway's cache keeps what was paid for
    page = (tmp_path / "run" / "report.html").read_text()
    assert f"Written by <code>m@{server.url}</code>" in page
    assert "<td>math</td>" in page


def test_an_interrupt_keeps_answers_and_says_nothing_else(tmp_path: Path) -> None:
    path = problems(tmp_path / "math.jsonl")
    out = tmp_path / "run"
    with ScriptedServer(Script(reply=lambda _: "\\boxed{2}", delay=1.0)) as server:
        words = ["eval", "math", "--data", f"math={path}", "--out", str(out), "--concurrency", "1"]
        process = subprocess.Popen(
            [sys.executable, "-m", "planarena", *words, "--model", f"m@{server.url}"],
            stderr=subprocess.PIPE,
            text=True,
        )
        end = time.monotonic() + 300  # a busy machine takes a minute to import the client library
        while not (out / "responses.jsonl").exists() or not (out / "responses.jsonl").read_bytes():
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in error
    assert 1 <= (out / "responses.jsonl").read_bytes().count(b"\n") < 3
    assert not (out / "scores.json").exists()


def test_a_budget_stops_and_the_same_command_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = problems(tmp_path / "math.jsonl")
    with ScriptedServer(Script(reply=lambda _: "\\boxed{2}")) as server:
        words = ["eval", "math", "--data", f"math={path}", "--out", str(tmp_path / "run")]
        words += ["--model", f"m@{server.url}", "--concurrency", "1"]
        assert main([*words, "--budget-calls", "2"]) == 2
        assert "the budget of 2 calls is spent" in capsys.readouterr().err
        assert (tmp_path / "run" / "responses.jsonl").read_bytes().count(b"\n") == 2
        assert main([*words, "--json"]) == 0
        assert len(server.arrivals) == 3
    printed = json.loads(capsys.readouterr().out)
    assert printed["suites"]["math"]["overall"] == {"avg@1": pytest.approx(1 / 3)}  # 1 + 1 is 2
    assert printed["generation"]["suites"]["math"]["replies"] == 3


def test_a_checkpoint_brings_its_prompts_along(tmp_path: Path) -> None:
    run = tmp_path / "run"
    for name in ("step_2", "step_10"):
        (run / "checkpoints" / name).mkdir(parents=True)
        (run / "checkpoints" / name / "config.json").write_text("{}")
    (run / "config.yaml").write_text(
        "data: {format: think, template: short, plan: none, signatures: names}\n"
    )
    assert find_checkpoint(run) == run / "checkpoints" / "step_10"
    (run / "checkpoints" / "best").symlink_to("step_2")
    assert find_checkpoint(run) == run / "checkpoints" / "best"
    for path in (run, run / "checkpoints" / "step_2"):
        found = settle(config(str(path)))
        made = found.generation
        assert (found.format, made.template, made.plan, made.signatures) == ("think", "short", False, "names")
    other = settle(config(str(run), "hermes"))
    assert (other.format, other.generation.template, other.generation.plan) == ("hermes", "", None)
    (run / "config.yaml").write_text(": not yaml")
    assert settle(config(str(run))).format == ""


def _generation(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "run.json").read_text())["generation"]
    return found


def test_what_the_cache_answers_costs_nothing(tmp_path: Path) -> None:
    path = problems(tmp_path / "math.jsonl")
    with ScriptedServer(Script(reply=lambda _: "\\boxed{2}")) as server:
        words = ["eval", "math", "--data", f"math={path}", "--model", f"m@{server.url}", "--json"]
        words += ["--set", "generation.price=[1000.0, 1000.0]"]
        assert main([*words, "--out", str(tmp_path / "paid")]) == 0
        assert main([*words, "--out", str(tmp_path / "again")]) == 0
        assert len(server.arrivals) == 3
        assert main([*words, "--out", str(tmp_path / "paid")]) == 0  # nothing is asked, so nothing is added
    paid, again = (_generation(tmp_path / name)["suites"]["math"] for name in ("paid", "again"))
    assert paid["usd"] > 0
    assert paid["usd"] == pytest.approx(paid["usd_of_replies"])
    assert (paid["cached"], again["cached"]) == (0, 3)
    assert again["usd"] == 0
    assert again["usd_of_replies"] == pytest.approx(paid["usd"])
    assert paid["seconds_median"] > 0
    files = [(tmp_path / name / "responses.jsonl").read_bytes() for name in ("paid", "again")]
    assert files[0] == files[1]


def test_the_model_that_the_server_reports_is_kept_and_a_change_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = problems(tmp_path / "math.jsonl")
    script = Script(seed=3, reply=lambda _: "\\boxed{2}", faults={"other_model": 0.5})
    with ScriptedServer(script) as server:
        words = ["eval", "math", "--data", f"math={path}", "--model", f"m@{server.url}", "--samples", "4"]
        assert main([*words, "--out", str(tmp_path / "out")]) == 0
    made = _generation(tmp_path / "out")
    served = made["suites"]["math"]["served_by"]
    assert sum(served.values()) == 12
    assert len(served) == 2
    assert made["notes"][0].startswith("math: WARNING: the server answered as more than one model: ")
    assert "WARNING: the server answered as more than one model" in capsys.readouterr().out
    assert "answered as more than one model" in (tmp_path / "out" / "report.html").read_text()
