"""One person's path: build, audit by two annotators, export what they called right, train, evaluate, report."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))
from audit_server import answer_all, records_of, shared_server
from eval_samples import problems

from planarena import Run
from planarena.cli import main

Said = dict[tuple[str, str], dict[str, str]]
PEOPLE = ("ann", "bob")


def judge(names: list[str]) -> Said:
    """Both refuse the first item, they disagree on the second, and the rest is right."""
    yes, no = {"query_ok": "yes", "goal_ok": "yes"}, {"query_ok": "yes", "goal_ok": "no"}
    said: Said = {}
    for place, name in enumerate(sorted(names)):
        said[name, "ann"] = no if place == 0 else yes
        said[name, "bob"] = no if place in (0, 1) else yes
    return said


def on_a_server(run: Path, folder: Path, command: Callable[..., Any]) -> tuple[Said, dict[str, Any]]:
    """Push to the embedded server, answer as its page does, pull."""
    del folder
    place = shared_server()
    command("audit", "push", run, "--overlap", 2, "--data-dir", place)
    items = {one["external_id"]: one["id"] for one in records_of(place, f"{run.name}-trajectories")}
    said = judge(list(items))
    for person in PEOPLE:
        answer_all(place, person, {items[name]: said[name, person] for name in items})
    return said, command("audit", "pull", run, "--data-dir", place)


def on_sheets(run: Path, folder: Path, command: Callable[..., Any]) -> tuple[Said, dict[str, Any]]:
    """Write the sheet, fill it in twice, import."""
    command("audit", "export", run, "--overlap", 2, "--out", folder / "sheet")
    lines = (folder / "sheet" / "trajectories.jsonl").read_text().splitlines()
    said = judge([json.loads(line)["item_id"] for line in lines])
    told: dict[str, Any] = {}
    for person in PEOPLE:
        filled = []
        for line in map(json.loads, lines):
            line["annotator"] = person
            line["answers"] |= said[line["item_id"], person]
            filled.append(json.dumps(line))
        (folder / f"{person}.jsonl").write_text("\n".join(filled) + "\n")
        told = command("audit", "import", run, folder / f"{person}.jsonl")
    return said, told


@pytest.mark.slow
@pytest.mark.parametrize(
    "audit", [on_sheets, pytest.param(on_a_server, marks=pytest.mark.full)], ids=["sheets", "server"]
)
def test_from_tools_to_a_compared_evaluation(
    audit: Callable[..., tuple[Said, dict[str, Any]]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(*words: object) -> Any:
        code = main([*map(str, words), "--json"])
        printed = capsys.readouterr()
        assert code == 0, printed.err
        return json.loads(printed.out)

    run = tmp_path / "chain"
    command("build", "builtin:email", "builtin:files", "--out", run, "--trajectories", 30, "--workers", 1)
    gold = Run.open(run).table("trajectories").collect().to_dicts()

    said, told = audit(run, tmp_path, command)
    names = sorted({name for name, _ in said})
    assert set(names) <= {row["trajectory_id"] for row in gold}
    # Two of two say yes: positive; both no: negative; one each: disputed, and no positive either.
    assert told["labels"] == {"positive": len(names) - 2, "negative": 2}
    assert told["disagreements"] == 1
    labels = {
        row["trajectory_id"]: row["label"] for row in Run.open(run).table("labels").collect().to_dicts()
    }
    refused = {name for name, label in labels.items() if label == "negative"}
    assert refused == set(names[:2])

    exported = command("export", run, "--format", "openai", "--out", tmp_path / "rows")
    # The lines hold what the API reads; which trajectory each one is stands in the table beside them.
    text = (tmp_path / "rows" / "metadata.csv").read_text()
    kinds = {row["trajectory_id"]: row["kind"] for row in gold}
    accepted = [name for name, kind in kinds.items() if kind == "gold" and name not in refused]
    assert sum(exported["rows"].values()) == len(accepted)
    assert all(name in text for name in accepted)
    assert not any(name in text for name in refused)

    trained = command(
        "train", "--algorithm", "sft", "--data", tmp_path / "rows" / "train.jsonl", "--model", "tiny",
        "--steps", 4, "--out", tmp_path / "train", "--set", "model.tiny.hidden=16", "--set", "model.tiny.layers=1",
        "--set", "model.tiny.heads=2", "--set", "model.tiny.intermediate=16", "--set", "model.tiny.vocabulary=500",
        "--set", "rollout.max_prompt_length=1500", "--set", "rollout.max_response_length=64",
        "--set", "data.limit=24", "--set", "threads=1", "--set", "update.expert_batch_size=4",
    )  # fmt: skip
    assert trained["steps"] == 4

    data = ("--data", f"math={problems(tmp_path / 'math.jsonl')}")
    limits = ("--limit", 2, "--max-tokens", 16)
    first = command(
        "eval",
        "planarena",
        "math",
        "--model",
        tmp_path / "train",
        "--out",
        tmp_path / "scores",
        *limits,
        *data,
    )
    assert set(first["suites"]) == {"planarena", "math"}
    assert 0 <= first["suites"]["planarena"]["overall"]["success"] <= 1
    assert first["generation"]["settings"]["format"] == "planarena"
    command(
        "eval", "planarena", "math", "--responses", "gold", "--out", tmp_path / "gold", "--limit", 2, *data
    )

    page, table = tmp_path / "comparison.html", tmp_path / "comparison.md"
    compared = command("report", tmp_path / "gold", tmp_path / "scores", "--out", page, "--markdown", table)
    values = {entry["suite"]: entry["rows"] for entry in compared["tables"]}
    assert set(values) == {"planarena", "math"}
    assert {"gold", "scores"} <= set(values["math"])
    assert "scores" in page.read_text()
    assert "scores" in table.read_text()
    command("report", run)
    assert (run / "report.html").is_file()
    command("report", tmp_path / "train", "--out", tmp_path / "training.html")
    assert (tmp_path / "training.html").stat().st_size > 1000
