"""The first tasks to train on: held-out requests are held out of every seed's training set, and the run can be read."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from planarena.cli import main
from planarena.errors import UserError
from planarena.eval.algorithms.practice import write_practice
from planarena.rows import RowOptions, load_rows


def _requests(out: Path) -> dict[str, set[str]]:
    tables = {
        name: pl.read_parquet(out / "tables" / name / "*.parquet")
        for name in ("queries", "tasks", "scenarios")
    }
    joined = tables["queries"].join(tables["tasks"], on="task_id").join(tables["scenarios"], on="scenario_id")
    found: dict[str, set[str]] = {}
    for split, turns in joined.select("split", "turns").iter_rows():
        found.setdefault(split, set()).update(json.loads(turns))
    return found


def test_no_seed_trains_on_what_another_holds_out(tmp_path: Path) -> None:
    counts = write_practice(tmp_path / "a", tasks=80, seed=0)
    write_practice(tmp_path / "b", tasks=80, seed=1)
    assert counts == {"train": 80, "validation": 128, "test": 128}
    one, other = _requests(tmp_path / "a"), _requests(tmp_path / "b")
    assert {split: len(found) for split, found in one.items()} == counts
    held_out = one["validation"] | one["test"] | other["validation"] | other["test"]
    assert not held_out & (one["train"] | other["train"])
    assert not (one["validation"] | other["validation"]) & (one["test"] | other["test"])
    rows = list(load_rows(tmp_path / "a", RowOptions(splits=("train",), template="short", plan="none")))
    assert len(rows) > 80


def test_the_command_writes_the_same_bytes_and_says_what_comes_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        assert main(["build", "errands", "--trajectories", "30", "--out", str(tmp_path / name)]) == 0
    assert "planarena train --algorithm sft" in capsys.readouterr().out
    files = [path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file()]
    assert len(files) > 5
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file
    assert main(["inspect", str(tmp_path / "a"), "--limit", "1"]) == 0
    capsys.readouterr()
    assert main(["build", "errands", "--out", str(tmp_path / "a")]) == 2
    assert "is there already" in capsys.readouterr().err
    assert (
        main(["build", "errands", "--trajectories", "12", "--fresh", "-q", "--out", str(tmp_path / "a")]) == 0
    )
    with pytest.raises(UserError, match="is there already"):
        write_practice(tmp_path / "b")
