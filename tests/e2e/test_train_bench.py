"""Validation on the bench: the best checkpoint follows it, and `planarena eval` scores the same model the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planarena import Run
from planarena.bench import BENCH, DoNothing, GoldPolicy, bench_path, load_tasks
from planarena.cli import main
from planarena.eval.algorithms.practice import write_practice
from planarena.records import read_rows, write_shard
from planarena.trainers.config import TrainConfig
from planarena.trainers.loop.bench import play_bench

REPLY = 120
# Learns twenty rows by heart, which is a model that succeeds on some of their tasks and on no other.
SMALL = {
    "model.tiny.hidden": 64,
    "model.tiny.layers": 2,
    "model.tiny.heads": 2,
    "model.tiny.intermediate": 64,
    "model.tiny.vocabulary": 500,
    "rollout.max_prompt_length": 1500,
    "rollout.max_response_length": REPLY,
    "update.expert_batch_size": 20,
    "update.learning_rate": 4e-3,
    "data.limit": 20,
    "threads": 1,
    "validation.every": 60,
    "validation.rows": 2,
    "validation.bench_tasks": 1000,
    "validation.bench_splits": "[test]",
}


@pytest.fixture(scope="module")
def errands(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Ten tasks of one or two errands, short enough to be learnt by heart in a minute, and others."""
    path = tmp_path_factory.mktemp("errands") / "run"
    write_practice(path, tasks=10)
    return Run.open(path)


@pytest.fixture(scope="module")
def held_out(errands: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same once more, with what is trained on held out, and that alone."""
    copy = tmp_path_factory.mktemp("held") / "run"
    copy.mkdir()
    (copy / "run.json").write_bytes((errands.path / "run.json").read_bytes())
    for table in errands.tables:
        for shard in errands.shards(table):
            rows: list[Any] = list(read_rows(shard, table))
            if table == "scenarios":
                rows = [
                    msgspec.structs.replace(row, split="test" if row.split == "train" else "train")
                    for row in rows
                ]
            write_shard(copy, table, shard.stem, rows)
    return copy


def command(run: Run, out: Path, **settings: object) -> list[str]:
    flags = [word for key, value in (SMALL | settings).items() for word in ("--set", f"{key}={value}")]
    words = ["train", "--algorithm", "sft", "--data", str(run.path), "--model", "tiny", "--steps", "120"]
    return [*words, "--out", str(out), "--json", *flags]


def test_the_best_checkpoint_follows_the_bench_and_eval_agrees(
    errands: Run, held_out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert main(command(errands, out, **{"validation.bench": held_out})) == 0
    capsys.readouterr()
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    played = {line["step"]: line for line in lines if "bench/success" in line}
    assert sorted(played) == [0, 60, 120]
    assert played[0]["bench/success"] == 0.0
    values = {step: line["bench/success"] for step, line in played.items() if step}
    info = json.loads((out / "run.json").read_text())
    assert max(values.values()) > 0.0
    assert info["best"]["value"] == max(values.values())
    assert (out / "checkpoints" / "best").resolve().name == f"step_{info['best']['step']}"
    assert info["config"]["validation"]["select"] == "bench"
    tasks = load_tasks(held_out)
    assert info["counts"]["bench tasks"] == len(tasks)
    samples = [json.loads(line) for line in (out / "samples.jsonl").read_text().splitlines()]
    assert {one["task"] for one in samples if "task" in one} <= {task.id for task in tasks}
    assert any("task" in one for one in samples)

    words = ["eval", "planarena", "--model", str(out), "--data", f"planarena={held_out}"]
    assert main([*words, "--max-tokens", str(REPLY), "--out", str(tmp_path / "eval")]) == 0
    scores = json.loads((tmp_path / "eval" / "scores.json").read_text())["suites"]["planarena"]
    best = played[info["best"]["step"]]
    for value in scores["overall"]:
        assert best[f"bench/{value['name'].replace(' ', '_')}"] == pytest.approx(value["value"]), value[
            "name"
        ]
    for name, (value, _) in scores["measures"].items():
        assert best[f"bench/{name.replace(' ', '_')}"] == pytest.approx(value), name
    for row in scores["categories"]:
        name = f"bench/{row['category'].replace(':', '').replace(' ', '_')}"
        assert name.startswith(("bench/no_call", "bench/split")) or best[name] == pytest.approx(
            row["accuracy"]
        )


def test_metrics_of_the_bench_that_ships_tell_policies_apart() -> None:
    with bench_path() as path:
        tasks = load_tasks(path, limit=2)
        gold, shown = play_bench(tasks, GoldPolicy(tasks), 3)
        nothing, _ = play_bench(tasks, DoNothing(), 0)
    assert gold["bench/success"] == gold["bench/7_actions"] == gold["bench/shape_serial"] == 1.0
    assert gold["bench/steps_done"] == 1.0
    assert gold["bench/wasted_calls"] == gold["bench/schema_errors"] == gold["bench/ungrounded_values"] == 0.0
    assert [one["success"] for one in shown] == [1.0] * 3
    assert nothing["bench/with_calls"] == nothing["bench/calls"] == nothing["bench/1_action"] == 0.0
    assert 0.0 < nothing["bench/no_call"] <= 1.0
    assert 0.0 < nothing["bench/success"] < nothing["bench/no_call"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"validation.select": "bench"}, "there is no bench to select by"),
        ({"validation.bench": BENCH, "validation.every": 0}, "would never be played"),
        ({"validation.bench": BENCH, "validation.bench_tasks": 0}, "out of range"),
        ({"validation.bench": "/no/such/run"}, "/no/such/run"),
        (
            {"validation.bench": "{run}", "validation.bench_splits": "[unseen_tools]"},
            "no task of the splits unseen",
        ),
        ({"validation.bench": BENCH, "data.format": "toolrl"}, "pack the history"),
    ],
)
def test_a_bench_that_cannot_be_played_is_one_clear_error(
    built_run: Run,
    settings: dict[str, object],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    filled = {key: str(value).replace("{run}", str(built_run.path)) for key, value in settings.items()}
    assert main(command(built_run, tmp_path / "run", **filled)) == 2
    (said,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    assert words in said
    # Nothing was made that the next attempt would stumble over.
    assert not (tmp_path / "run" / "start").exists()


def test_runs_without_a_bench_stay_the_runs_they_were() -> None:
    told = TrainConfig(out="x").identity()["validation"]
    assert set(told) == {"every", "rows", "select"}
