"""A served checkpoint: OpenAI's own client and `planarena eval` get what the opened policy says."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from planarena import Run
from planarena.cli import main
from planarena.rows import RowOptions, load_rows
from planarena.serving.chat_request import read_request
from planarena.serving.checkpoint import dialect_of, open_checkpoint
from planarena.trainers import TrainConfig, train
from planarena.trainers.config import (
    DataConfig,
    ModelConfig,
    RolloutConfig,
    TinyConfig,
    UpdateConfig,
    ValidationConfig,
)

LIMIT = 24


@pytest.fixture(scope="module")
def checkpoint(built_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training run of a microscopic model."""
    config = TrainConfig(
        out=str(tmp_path_factory.mktemp("tiny") / "run"),
        algorithm="sft",
        steps=2,
        threads=1,
        data=DataConfig(path=str(built_run.path), limit=8),
        model=ModelConfig(tiny=TinyConfig(hidden=16, layers=1, heads=2, intermediate=16, vocabulary=400)),
        rollout=RolloutConfig(max_prompt_length=4000, max_response_length=64),
        update=UpdateConfig(updates_per_batch=1, expert_batch_size=4, learning_rate=1e-2),
        validation=ValidationConfig(every=0),
    )
    train(config)
    return Path(config.out)


@pytest.fixture(scope="module")
def address(checkpoint: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "planarena", "serve", "policy", str(checkpoint), "--port", "0"]
    words = [*command, "--max-tokens", str(LIMIT), "--name", "tiny"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("tiny (format planarena): http://127.0.0.1:"), line
        yield line.split()[-1]
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def questions(run: Run, number: int) -> list[dict[str, Any]]:
    rows = list(load_rows(run.path, RowOptions(format="native", plan="none", splits=())))
    chosen = rows[:: max(len(rows) // number, 1)][:number]
    return [
        {
            "messages": [
                {key: value for key, value in message.items() if key != "reasoning_content"}
                for message in row.prompt
            ],
            "tools": list(row.tools),
        }
        for row in chosen
    ]


@pytest.mark.full
def test_the_client_of_openai_gets_the_policys_greedy_answers(
    address: str, checkpoint: Path, built_run: Run
) -> None:
    import openai

    asked = questions(built_run, 6)
    with openai.OpenAI(base_url=address, api_key="none", max_retries=0) as client:
        assert [one.id for one in client.models.list()] == ["tiny"]

        def ask(one: dict[str, Any]) -> Any:
            return client.chat.completions.create(model="tiny", temperature=0, max_tokens=LIMIT, **one)

        single = [ask(one) for one in asked]
        with ThreadPoolExecutor(len(asked)) as pool:
            together = list(pool.map(ask, asked))
        streamed = []
        for one in asked:
            pieces = list(
                client.chat.completions.create(
                    model="tiny", temperature=0, max_tokens=LIMIT, stream=True, **one
                )
            )
            streamed.append("".join(piece.choices[0].delta.content or "" for piece in pieces))
    opened, config = open_checkpoint(str(checkpoint), max_tokens=LIMIT)
    with opened:
        dialect = dialect_of(config, opened.format)
        dialogues = [dialect.asked(read_request(one), "k", 0) for one in asked]
        own = [opened.reply([one])[0] for one in dialogues]
    for reply, dialogue, one, other, text in zip(own, dialogues, single, together, streamed, strict=True):
        message = dialect.message(reply.text, dialogue, tools=True)
        assert one.choices[0].message.content == other.choices[0].message.content == message["content"]
        assert text == (message["content"] or "")
        assert one.usage.completion_tokens == reply.tokens
        assert one.usage.prompt_tokens == reply.prompt_tokens
        assert one.choices[0].finish_reason == ("length" if reply.truncated else "stop")
    assert any(reply.text for reply in own)


@pytest.mark.full
def test_evaluation_of_the_served_policy_is_that_of_its_folder(
    address: str, checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = ["eval", "planarena", "--limit", "1", "--max-tokens", str(LIMIT), "--json"]
    outputs = []
    prompts = [
        "--set",
        "generation.template=short",
        "--set",
        "generation.plan=false",
        "--format",
        "planarena",
    ]
    for name, model in (("folder", str(checkpoint)), ("served", f"tiny@{address}")):
        assert main([*shared, "--model", model, *prompts, "--out", str(tmp_path / name)]) == 0
        capsys.readouterr()
        lines = (tmp_path / name / "responses.jsonl").read_text().splitlines()
        outputs.append({row["id"]: row["response"] for row in map(json.loads, lines)})
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) >= 7
    assert any(text for listed in outputs[0].values() for text in listed)


@pytest.mark.full
def test_chat_shows_a_policy_at_work(
    checkpoint: Path, built_run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = iter(["", "undo", "all", "", "next", "help", "again", "quit"])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    assert main(["chat", str(checkpoint), "--run", str(built_run.path), "--max-tokens", "8"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("task ") >= 3
    assert "took back the last step" in shown
    assert "the end: no success" in shown
    assert "the episode is over" in shown
    lines = iter(["hello", "quit"])
    assert main(["chat", str(checkpoint), "--max-tokens", "4"]) == 0


def test_what_is_no_checkpoint_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["serve", "policy", str(tmp_path / "absent")]) == 2
    assert "there is no such folder" in capsys.readouterr().err
    assert main(["serve", "policy", str(tmp_path), "--host", "0.0.0.0"]) == 2
    assert "can be reached from other machines" in capsys.readouterr().err
