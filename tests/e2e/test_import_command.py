"""`planarena import`: every format through the command line, its counts, its runs and its refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planarena import Run
from planarena.cli import main
from planarena.export import ExportOptions, export
from planarena.records import read_rows
from planarena.rows import RowOptions, load_rows
from planarena.rows.importers import SOURCES
from planarena.rows.run_reading import read_dialogues

# Of the samples: records, usable ones, and step-wise decisions.
COUNTS = {
    "openai": (2, 1, 2),
    "sharegpt": (1, 1, 2),
    "toolace": (3, 2, 5),
    "xlam": (2, 2, 2),
    "hammer": (2, 2, 2),
    "hermes": (1, 1, 2),
    "apigen-mt": (1, 1, 4),
    "funreason-mt": (2, 2, 4),
    "toolrl": (3, 3, 3),
    "openr1-math": (3, 2, 2),
}


@pytest.fixture(scope="module")
def samples(root: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(
        (root / "tests/unit/rows/import_samples.json").read_text()
    )
    return found


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize("name", list(SOURCES))
def test_a_set_becomes_a_run(
    name: str, samples: dict[str, list[dict[str, Any]]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = write(tmp_path / "a.jsonl", samples[name]), tmp_path / "run"
    assert main(["import", str(file), "--format", name, "--out", str(out), "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    original, usable, processed = COUNTS[name]
    assert (counts["original"], counts["sampled"]) == (original, original)
    assert (counts["gold"], counts["processed"]) == (usable, processed)
    assert counts["rejected"] == original - usable == sum(counts["discard"].values())
    run = Run.open(out)
    assert run.info["counts"] == counts
    assert run.info["kind"] == "import"
    trajectories = [row for path in run.shards("trajectories") for row in read_rows(path, "trajectories")]
    assert {(row.kind, row.source, row.minimal) for row in trajectories} == {("gold", "import", False)}
    executions = [row for path in run.shards("executions") for row in read_rows(path, "executions")]
    assert all((row.execution_kind, row.proven) == ("none", False) for row in executions)
    discards = [row for path in run.shards("discards") for row in read_rows(path, "discards")]
    assert len(discards) == original - usable
    assert all("a.jsonl, record" in row.detail for row in discards)
    rows = list(load_rows(out, RowOptions(format="math" if name == "openr1-math" else "hermes", splits=())))
    assert len(rows) == processed
    assert {row.environment for row in rows} == {None}
    assert main(["inspect", str(out), "--json"]) == 0


@pytest.mark.parametrize("format", ["openai", "sharegpt"])
def test_what_was_exported_is_imported_as_it_was(built_run: Run, tmp_path: Path, format: str) -> None:
    out = export(built_run, format, tmp_path / "out", ExportOptions()).path
    assert main(["import", str(out), "--format", format, "--out", str(tmp_path / "run")]) == 0

    def steps(run: Run) -> list[object]:
        return sorted(
            (
                [
                    [turn.user, [[d.text, [[c.name, c.arguments] for c in d.calls], [o and o.value for o in d.observations]] for d in turn.decisions]]
                    for turn in dialogue.turns
                ]
                for dialogue in read_dialogues(run)
            ),
            key=repr,
        )  # fmt: skip

    before, after = steps(built_run), steps(Run.open(tmp_path / "run"))
    assert json.dumps(after, sort_keys=True) == json.dumps(before, sort_keys=True)
    assert len(before) >= 60
    # And once more: what was imported is exported in the same way.
    again = export(Run.open(tmp_path / "run"), format, tmp_path / "again", ExportOptions(context=False)).path
    assert main(["import", str(again), "--format", format, "--out", str(tmp_path / "run2")]) == 0
    assert json.dumps(steps(Run.open(tmp_path / "run2")), sort_keys=True) == json.dumps(
        before, sort_keys=True
    )


def test_an_import_is_the_same_every_time(samples: dict[str, list[dict[str, Any]]], tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", samples["hammer"])
    for name in ("one", "two"):
        assert (
            main(["import", str(file), "--format", "hammer", "--seed", "5", "--out", str(tmp_path / name)])
            == 0
        )
    files = {path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file()}
    assert len(files) > 7
    for inner in files:
        assert (tmp_path / "one" / inner).read_bytes() == (tmp_path / "two" / inner).read_bytes()


def test_samples_are_drawn_by_the_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tools = json.dumps([{"name": "f", "parameters": {"n": {"type": "int"}}}])
    records = [
        {"query": f"Do {n}.", "tools": tools, "answers": json.dumps([{"name": "f", "arguments": {"n": n}}])}
        for n in range(2500)
    ]
    file = write(tmp_path / "a.jsonl", [*records, records[0]])
    drawn = {}
    for name, seed in (("one", "0"), ("same", "0"), ("other", "1")):
        words = [
            str(file),
            "--format",
            "xlam",
            "--sample",
            "300",
            "--seed",
            seed,
            "--out",
            str(tmp_path / name),
        ]
        assert main(["import", *words]) == 0
        drawn[name] = {dialogue.trajectory_id for dialogue in read_dialogues(Run.open(tmp_path / name))}
    assert drawn["one"] == drawn["same"] != drawn["other"]
    assert all(len(found) == 300 for found in drawn.values())
    capsys.readouterr()
    assert main(["import", str(file), "--format", "xlam", "--out", str(tmp_path / "all")]) == 0
    said = capsys.readouterr().out
    assert "2501 original, 2501 sampled, 2500 usable dialogues, 2500 processed decisions" in said
    assert "left out 1: the same as an earlier record" in said
    run = Run.open(tmp_path / "all")
    assert len(run.shards("trajectories")) == 3
    assert len(run.shards("tools")) == 1  # one tool, stored once
    splits = {
        name: sum(d.split == name for d in read_dialogues(run)) for name in ("train", "validation", "test")
    }
    assert sum(splits.values()) == 2500
    assert 60 < splits["validation"] < 190  # 5 % of 2500, within six standard errors (11 each)


def test_options_of_single_sets(samples: dict[str, list[dict[str, Any]]], tmp_path: Path) -> None:
    for name, word, left in (("openr1-math", "--integer-answers", 1), ("funreason-mt", "--drop-errors", 1)):
        file = write(tmp_path / f"{name}.jsonl", samples[name])
        assert main(["import", str(file), "--format", name, word, "--out", str(tmp_path / name)]) == 0
        assert Run.open(tmp_path / name).info["counts"]["gold"] == left
    file = write(tmp_path / "x.jsonl", samples["xlam"])
    words = ["--format", "hammer", "--mask", "0", "--licence", "MIT", "--out", str(tmp_path / "x")]
    assert main(["import", str(file), *words]) == 0
    tools = [row for path in Run.open(tmp_path / "x").shards("tools") for row in read_rows(path, "tools")]
    assert {(tool.wire_name, tool.licence) for tool in tools} == {("live_scores", "MIT"), ("odds", "MIT")}


def test_mistakes(
    samples: dict[str, list[dict[str, Any]]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "a.jsonl", samples["xlam"])
    empty = write(tmp_path / "b.jsonl", [])
    broken = tmp_path / "c.jsonl"
    broken.write_text("{\n")
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine").write_text("x")
    new = str(tmp_path / "new")
    for words, said in (
        ([str(file), "--format", "xlam", "--out", str(full)], "is not an empty folder"),
        ([str(file), "--format", "toolac", "--out", new], "did you mean toolace"),
        ([str(file), "--format", "toolace", "--out", new], "no usable record of the format toolace; 2 of 2"),
        ([str(empty), "--format", "xlam", "--out", new], "holds no record"),
        ([str(broken), "--format", "xlam", "--out", new], "line 1: is no JSON"),
        ([str(tmp_path / "nowhere"), "--format", "xlam", "--out", new], "there is no such file or folder"),
    ):
        assert main(["import", *words]) == 2
        assert said in capsys.readouterr().err
    assert not Path(new).exists()
