"""BFCL from question to score against a scripted server: the ground truth over the wire, kills, failing requests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))
from gold_model import GoldModel
from llm_server import Script, ScriptedServer

from planarena import managed
from planarena.bench import Asked, Reply
from planarena.environments import sandbox
from planarena.errors import EnvironmentUnavailableError
from planarena.eval import EvalConfig, Evaluation, evaluate
from planarena.eval.bfcl.workers import open_pool
from planarena.eval.models.generation import UnansweredError
from planarena.eval.settings import GenerationConfig

LIMIT = 2
FILES = ("scores.json", "responses.jsonl")


@pytest.fixture(scope="module")
def gold() -> GoldModel:
    if sandbox.missing() is not None:
        pytest.skip(f"no sandbox here: {sandbox.missing()}")
    try:
        managed.environment("bfcl", progress=lambda *_: None)
    except EnvironmentUnavailableError as error:
        pytest.skip(f"bfcl-eval cannot be installed here: {error.what}")
    return GoldModel(LIMIT)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of answers of the test's own, beside the user's managed environments."""
    return own_cache(tmp_path / "cache", monkeypatch)


def own_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder.mkdir()
    environments = managed.cache_directory() / "environments"
    environments.mkdir(parents=True, exist_ok=True)
    (folder / "environments").symlink_to(environments)
    monkeypatch.setenv("PLANARENA_CACHE", str(folder))
    return folder


def run(url: str, out: Path, **options: object) -> Evaluation:
    made = GenerationConfig(concurrency=4, **options)  # type: ignore[arg-type]
    return evaluate(
        EvalConfig(suites=("bfcl-v3",), out=str(out), model=f"m@{url}", limit=LIMIT, generation=made)
    )


@pytest.fixture(scope="module")
def whole(gold: GoldModel, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, int]:
    """An uninterrupted run: its folder, the requests that it took, and the port of its server."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch, ScriptedServer(Script(reply=gold)) as server:
        own_cache(folder / "cache", patch)
        run(server.url, folder / "run")
        return folder / "run", len(server.arrivals), server.port


def test_the_ground_truth_over_the_wire_scores_one(whole: tuple[Path, int, int], gold: GoldModel) -> None:
    scores = json.loads((whole[0] / "scores.json").read_bytes())["suites"]["bfcl-v3"]
    wrong = [verdict for verdict in scores["verdicts"] if not verdict["correct"]]
    assert wrong == []
    assert len(scores["verdicts"]) == 17 * LIMIT
    assert next(value for value in scores["overall"] if value["name"] == "v3")["value"] == 1.0
    assert scores["tokens_from"] == "the outputs' file"
    # The calls of several turns really ran: results are bfcl-eval's own, and none is an error.
    assert any(result.startswith("{") for result in gold.results)
    assert not any("Error during execution" in result for result in gold.results)
    account = json.loads((whole[0] / "run.json").read_bytes())["generation"]
    assert account["suites"]["bfcl-v3"]["outputs"] == 17 * LIMIT
    # Categories share questions; a request that two items have in common is asked once.
    assert account["suites"]["bfcl-v3"]["replies"] >= whole[1] > 2 * LIMIT * 17 * 0.5
    assert account["settings"]["format"] == "native"


def test_killed_three_times_it_ends_as_if_it_had_not_been(
    whole: tuple[Path, int, int], gold: GoldModel, tmp_path: Path, cache: Path
) -> None:
    folder, requests, port = whole
    out = tmp_path / "run"
    command = [sys.executable, "-m", "planarena", "eval", "bfcl-v3", "--out", str(out), "--limit", str(LIMIT)]
    # The same address: it is a part of the model's name, and so of the settings in the folder.
    with ScriptedServer(Script(reply=gold, delay=0.2), port=port) as server:
        command += ["--model", f"m@{server.url}", "--concurrency", "4"]
        kept = [0]
        for kill in range(1, 4):
            process = subprocess.Popen(command, stderr=subprocess.PIPE, env=os.environ | {"COLUMNS": "200"})
            try:
                wait_for(out / "responses.jsonl", kept[-1] + 5, process)
            finally:
                process.send_signal(signal.SIGKILL)
                process.communicate()
            kept.append(lines_of(out / "responses.jsonl"))
            assert not (out / "scores.json").exists(), f"kill {kill} came too late"
            # A kill in the middle of writing a line.
            with (out / "responses.jsonl").open("ab") as stream:
                stream.write(b'{"suite":"bfcl-v3","id":"simple_pyth')
        server.script.delay = 0.0
        run(server.url, out)
        asked = len(server.arrivals)
    assert kept[1] < kept[2] < kept[3] < 17 * LIMIT
    for name in FILES:
        assert (out / name).read_bytes() == (folder / name).read_bytes(), name
    # Of a killed process at most what was in flight is asked again.
    assert requests <= asked <= requests + 3 * 4


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for(path: Path, lines: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 300  # a busy machine takes a minute to import the client library
    while lines_of(path) < lines:
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.02)


def test_one_request_in_five_failing_changes_nothing(
    whole: tuple[Path, int, int], gold: GoldModel, tmp_path: Path, cache: Path
) -> None:
    folder, _, port = whole
    out = tmp_path / "run"
    script = Script(
        reply=gold, seed=4, faults={"server_error": 0.1, "drop": 0.05, "half_body": 0.05}, most_faults=2
    )
    with ScriptedServer(script, port=port) as server:
        # One attempt: what fails is left open by the run, and asked again by the next.
        runs = 0
        while True:
            runs += 1
            try:
                run(server.url, out, attempts=1)
                break
            except UnansweredError as error:
                assert "run the same command again" in error.fix
                assert not (out / "scores.json").exists()
                rows = [json.loads(line) for line in (out / "responses.jsonl").read_text().splitlines()]
                assert all(("response" in row) != ("error" in row) for row in rows)
            assert runs < 20
        failed = len(server.arrivals) - server.outcomes()["good"]
    assert runs > 1
    assert failed > 0.1 * len(server.arrivals)
    for name in FILES:
        assert (out / name).read_bytes() == (folder / name).read_bytes(), name


class ByItem:
    """Says what is written down for an item, and nothing elsewhere."""

    name = "by item"

    def __init__(self, texts: dict[str, str], form: str) -> None:
        self.texts, self.format = texts, form
        self.asked: dict[str, Asked] = {}

    def reply(self, asked: Sequence[Asked]) -> list[Reply]:
        self.asked |= {one.id: one for one in asked}
        return [Reply(text=self.texts.get(one.id, "No."), tokens=3, prompt_tokens=5) for one in asked]


def test_prompt_formats_are_asked_where_they_are_wanted(gold: GoldModel, tmp_path: Path) -> None:
    pool = open_pool(EvalConfig(suites=("bfcl-v4",), out="unused", responses="gold"))
    try:
        texts = dict(pool.call("gold", "format_sensitivity")[:26])
        prompts = {
            key: pool.call(
                "prepare", {"category": "format_sensitivity", "id": key, "given": None, "underscored": False}
            )
            for key in texts
        }
    finally:
        pool.close()
    # Every format is a prompt of its own, and each states the item's function in the way that its name says.
    systems = {key: shown["turns"][0][0]["content"] for key, shown in prompts.items()}
    assert len(set(systems.values())) == 26
    for key, words in systems.items():
        assert ("<TOOLCALL>" in words) == ("tool_call_tag=True" in key), key

    def made(form: str, wanted: bool) -> tuple[ByItem, dict[str, dict[str, object]]]:
        policy = ByItem(texts, form)
        out = tmp_path / f"{form}-{wanted}"
        config = EvalConfig(
            ("bfcl-v4",),
            str(out),
            model="by item",
            limit=LIMIT,
            generation=GenerationConfig(format_sensitivity=wanted),
        )
        evaluate(config, policy=policy)
        scores = json.loads((out / "scores.json").read_bytes())["suites"]["bfcl-v4"]
        return policy, {row["category"]: row for row in scores["categories"]}

    policy, rows = made("hermes", True)
    assert (rows["format_sensitivity"]["accuracy"], rows["format_sensitivity"]["items"]) == (1.0, LIMIT)
    asked = [one for key, one in policy.asked.items() if key.startswith("format_sensitivity")]
    assert [one.messages[0]["content"] for one in asked] == [systems[one.id] for one in asked]
    assert len(asked) == LIMIT
    for name in ("web_search_base", "memory_vector"):
        assert rows[name]["accuracy"] is None
        assert "outputs that are given are scored" in str(rows[name]["not_run"])
    for policy, rows in (made("native", True), made("hermes", False)):
        assert "generation.format_sensitivity=true" in str(rows["format_sensitivity"]["not_run"])
        assert not any(key.startswith("format_sensitivity") for key in policy.asked)
