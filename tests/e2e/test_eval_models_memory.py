"""BFCL's memories: a model fills one over a chain of dialogues, and its questions are answered from what it kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from planarena import managed
from planarena.bench import Asked, Reply
from planarena.environments import sandbox
from planarena.errors import EnvironmentUnavailableError
from planarena.eval import EvalConfig, evaluate
from planarena.eval.bfcl.memory import spread
from planarena.eval.bfcl.workers import open_pool
from planarena.eval.responses import Response
from planarena.formats import Call, write_output

EMPTY = "There is no content in the"


class Rememberer:
    """Keeps the opening of each dialogue and answers rightly as long as its memory still begins with the first."""

    name = "rememberer"

    def __init__(self, gold: dict[str, str], form: str) -> None:
        self.gold, self.format = gold, form
        self.systems: dict[str, list[str]] = {}

    def reply(self, asked: Sequence[Asked]) -> list[Reply]:
        return [Reply(text=self._text(one)) for one in asked]

    def _text(self, one: Asked) -> str:
        users = [message["content"] for message in one.messages if message["role"] == "user"]
        if one.messages[-1]["role"] == "tool" or users[-1].startswith("Result of "):
            return self._said("Noted.")
        listed = self.systems.setdefault(one.id, [])
        system = one.messages[0]["content"]
        if len(users) == 1:
            listed.append(system)
        if (answer := self.gold.get(users[-1])) is not None:
            return self._said(answer if "first things first" in system else "I do not know.")
        if len(users) > 1:
            return self._said("I see.")
        words = "first things first" if EMPTY in system else "more"
        if "rec_sum" in one.id:
            return self._written(Call("memory_append", {"text": f"{words}. "}))
        return self._written(
            Call("core_memory_add", {"key": f"note_{words.replace(' ', '_')}", "value": words})
        )

    def _said(self, text: str) -> str:
        return json.dumps({"role": "assistant", "content": text}) if self.format == "native" else text

    def _written(self, call: Call) -> str:
        return write_output(self.format, [call])


@pytest.fixture(scope="module")
def gold() -> dict[str, str]:
    """An accepted answer by question."""
    if sandbox.missing() is not None:
        pytest.skip(f"no sandbox here: {sandbox.missing()}")
    try:
        managed.environment("bfcl", progress=lambda *_: None)
    except EnvironmentUnavailableError as error:
        pytest.skip(f"bfcl-eval cannot be installed here: {error.what}")
    pool = open_pool(EvalConfig(suites=("bfcl-v4",), out="unused", responses="gold"))
    try:
        rows = pool.call("describe", {"category": "memory_kv"})
    finally:
        pool.close()
    return {question["question"][0][-1]["content"]: answer[0] for _, question, answer in rows}


@pytest.mark.parametrize("form", ["native", "hermes"])
def test_questions_are_answered_from_a_memory_that_a_chain_filled(
    gold: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr("planarena.eval.bfcl.asking.asked_categories", lambda *_: ())
    policy = Rememberer(gold, form)
    config = EvalConfig(suites=("bfcl-v4",), out=str(tmp_path / "out"), model="m", limit=2, workers=1)
    result = evaluate(config, policy=policy).suites["bfcl-v4"]
    rows = {row.category: row for row in result.categories}
    for name in ("memory_kv", "memory_rec_sum"):
        assert (rows[name].accuracy, rows[name].items) == (1.0, 2)
        told = policy.systems[f"{name}:customer"]
        # Ten dialogues, each told what the last one left; then the questions, each with the same memory.
        assert len(told) == 10 + 2
        assert EMPTY in told[0]
        assert "first things first" in told[1]
        assert EMPTY not in told[1]
        assert told[-1].split("Here is the content")[1] == told[-2].split("Here is the content")[1]
    assert "embedding model" in rows["memory_vector"].not_run
    if form == "hermes":
        return
    forgetful = Rememberer(gold, form)
    monkeypatch.setattr(forgetful, "_written", lambda call: forgetful._said("I see."))
    result = evaluate(
        EvalConfig(suites=("bfcl-v4",), out=str(tmp_path / "none"), model="m", limit=2, workers=1),
        policy=forgetful,
    ).suites["bfcl-v4"]
    assert [one.correct for one in result.verdicts if one.category.startswith("memory_")] == [False] * 4


def test_a_scenarios_outputs_are_its_questions() -> None:
    rows: dict[str, list[Any]] = {
        "memory_kv:customer": [
            Response({"memory_kv_0-customer-0": [["a"]]}),
            Response({"memory_kv_0-customer-0": [["b"]]}),
        ],
        "simple_python_0": [Response("f()")],
    }
    found = spread(rows)
    assert [one.value for one in found["memory_kv_0-customer-0"]] == [[["a"]], [["b"]]]
    assert list(found) == ["memory_kv_0-customer-0", "simple_python_0"]
    assert spread({"memory_kv:customer": [Response("nonsense")]}) == {}
