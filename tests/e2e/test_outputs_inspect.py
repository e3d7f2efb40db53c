"""`planarena inspect`: summary, one trajectory as a tree, discards with evidence, hostile text."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from planarena import Run
from planarena.cli import main


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing is wrapped, so that texts are found as they are.
    monkeypatch.setenv("COLUMNS", "2000")


def _json(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["inspect", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def _row(run: Run, **wanted: Any) -> dict[str, Any]:
    import polars

    frame = run.table("trajectories").filter(**wanted).head(1).collect()
    assert isinstance(frame, polars.DataFrame)
    return frame.row(0, named=True)


def test_summary(built_run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(built_run.path), "--limit", "3"]) == 0
    out = capsys.readouterr().out
    ids = built_run.table("trajectories").collect()["trajectory_id"].to_list()
    assert all(name[:12] in out for name in ids[:3])
    assert ids[3][:12] not in out
    assert "real: 60" in out
    assert f"next: planarena inspect {built_run.path} {ids[0][:8]}" in out
    found = _json(capsys, str(built_run.path), "--limit", "3")
    assert found["counts"] == built_run.info["counts"]
    assert [row["trajectory_id"] for row in found["trajectories"]] == ids[:3]


def test_tree_shows_all_of_a_trajectory(built_run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    row = _row(built_run, n_actions=5)
    assert main(["inspect", str(built_run.path), row["trajectory_id"]]) == 0
    out = capsys.readouterr().out
    data = _json(capsys, str(built_run.path), row["trajectory_id"])
    assert row["response"] in out
    assert all(line in out for line in row["plan"].splitlines())
    assert all(turn in out for turn in data["turns"])
    assert len(data["steps"]) == 5
    for step in data["steps"]:
        assert f"{step['step'] + 1}. {step['tool']}" in out
        for pointer, source in step["bound_from"].items():
            value = json.dumps(step["arguments"][pointer[1:]])
            assert f"{pointer[1:]} = {value}  <- step {source['step'] + 1} {source['pointer']}" in out
    groups = {step["group"] for step in data["steps"]}
    assert len(re.findall(r"── group \d", out)) == len(groups)


def test_where_each_value_came_from(built_run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """Every argument of the first twelve gold trajectories is traced to the query, the context or a step."""
    gold = built_run.table("trajectories").filter(kind="gold")
    ids = gold.collect()["trajectory_id"].to_list()[:12]
    for name in ids:
        main(["inspect", str(built_run.path), name])
        out = capsys.readouterr().out
        arguments = re.findall(r"─ \w+ = .*", out)
        steps = _json(capsys, str(built_run.path), name)["steps"]
        assert len(arguments) == sum(len(step["arguments"]) for step in steps)
        assert all(re.search(r"  <- (query|context|step \d)", line) for line in arguments)


def test_prefixes(built_run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    ids = built_run.table("trajectories").collect()["trajectory_id"].to_list()
    assert _json(capsys, str(built_run.path), ids[7][:10])["trajectory_id"] == ids[7]
    # 60 ids over 16 digits: one of them begins two.
    digit = next(d for d in "0123456789abcdef" if sum(name.startswith(d) for name in ids) > 1)
    assert main(["inspect", str(built_run.path), digit]) == 2
    err = capsys.readouterr().err
    assert "begins several ids" in err
    assert sum(name in err for name in ids if name.startswith(digit)) >= 2
    assert main(["inspect", str(built_run.path), "xyz"]) == 2
    assert "no trajectory whose id begins with 'xyz'" in capsys.readouterr().err


def test_discards_by_stage_and_reason(built_run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    counted = built_run.info["counts"]["discard"]
    key, number = max(counted.items(), key=lambda pair: pair[1])
    stage, reason = key.split(":")
    for wanted in (key, reason, stage, "all"):
        total = sum(count for name, count in counted.items() if wanted in {"all", name, *name.split(":")})
        found = _json(capsys, str(built_run.path), "--discarded", wanted, "--limit", "2")
        assert found["total"] == total >= number
        assert len(found["rows"]) == min(2, total)
    assert main(["inspect", str(built_run.path), "--discarded", reason]) == 0
    out = capsys.readouterr().out
    detail = _json(capsys, str(built_run.path), "--discarded", reason)["rows"][0]["detail"]
    assert detail.splitlines()[0] in out
    assert main(["inspect", str(built_run.path), "--discarded", stage + "x"]) == 2
    assert f"did you mean {stage}?" in capsys.readouterr().err


def test_quarantine_is_read_from_the_ledger(
    built_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(built_run.path, run)
    with sqlite3.connect(run / "ledger.sqlite") as db:
        db.execute(
            "INSERT INTO quarantine VALUES (17, 2, 'execute', 'KeyError', 'Traceback\n  \x1b[31mKeyError: 3')"
        )
    db.close()
    found = _json(capsys, str(run), "--discarded", "quarantine")
    assert found["total"] == 1
    assert found["rows"][0]["scenario"] == 17
    assert main(["inspect", str(run), "--discarded", "quarantine"]) == 0
    out = capsys.readouterr().out
    assert "KeyError: 3" in out
    assert "\x1b" not in out
    (run / "ledger.sqlite").unlink()
    assert _json(capsys, str(run), "--discarded", "quarantine")["total"] == 0


@pytest.mark.parametrize("terminal", [False, True])
def test_control_codes_and_markup_in_data_do_nothing(
    hostile_run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm-256color")
    row = _row(hostile_run, n_actions=4)
    for words in ([], [row["trajectory_id"]], ["--discarded", "all"]):
        assert main(["inspect", str(hostile_run.path), *words]) == 0
        out = capsys.readouterr().out
        # What rich itself writes to a terminal are colours; the hostile text asks for red, which it never uses.
        ours = re.sub(r"\x1b\[[\d;]*m", "", out) if terminal else out
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", ours)
        assert "\x1b[31m" not in out
        assert "\\x1b[31m" in ours
        assert "[bold red]rich[/bold red]" in ours


def test_a_folder_that_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(tmp_path)]) == 2
    assert "is not a planarena run" in capsys.readouterr().err
    assert main(["inspect", str(tmp_path / "none")]) == 2
    assert "there is no such folder" in capsys.readouterr().err


def test_id_and_discarded_exclude_each_other(built_run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(built_run.path), "a", "--discarded", "all"]) == 2
    assert "leave one out" in capsys.readouterr().err


def test_a_contrastive_trajectory_says_where_it_departs(
    built_run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    row = _row(built_run, kind="contrastive", mutation="neighbour_value")
    assert main(["inspect", str(built_run.path), row["trajectory_id"]]) == 0
    out = capsys.readouterr().out
    assert f"departs from {row['parent_id']} at step {row['diverge_step'] + 1}: neighbour_value" in out
    gold = _json(capsys, str(built_run.path), row["parent_id"])["steps"]
    wrong = _json(capsys, str(built_run.path), row["trajectory_id"])["steps"]
    at = row["diverge_step"]
    assert wrong[:at] == gold[:at]
    assert wrong[at]["arguments"] != gold[at]["arguments"]
