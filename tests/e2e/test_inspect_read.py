"""`planarena inspect --read`: the same page for the same seed, all that was said in it, clear refusals."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from planarena import Run
from planarena.cli import main
from planarena.export import join_trajectories


def _ids(page: Path) -> list[str]:
    return re.findall(r'data-id="([0-9a-f]+)"', page.read_text(encoding="utf-8"))


def test_a_seed_draws_the_same_and_another_draws_others(
    built_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = [tmp_path / f"{name}.html" for name in "abc"]
    for page, seed in zip(pages, ("4", "4", "5"), strict=True):
        assert main(["inspect", str(built_run.path), "--read", "20", "--seed", seed, "--out", str(page)]) == 0
    assert "20 trajectories" in capsys.readouterr().out
    assert pages[0].read_bytes() == pages[1].read_bytes()
    first, other = _ids(pages[0]), _ids(pages[2])
    assert len(set(first)) == len(set(other)) == 20
    assert set(first) != set(other)


def test_the_page_holds_all_that_was_said_and_only_gold_with_calls(built_run: Run, tmp_path: Path) -> None:
    page = tmp_path / "all.html"
    assert main(["inspect", str(built_run.path), "--read", "1000", "--out", str(page)]) == 0
    joined = {
        one.row.trajectory_id: one
        for one in join_trajectories(built_run)
        if one.row.kind == "gold" and one.task.category == "call"
    }
    assert sorted(_ids(page)) == sorted(joined)
    text = html.unescape(page.read_text(encoding="utf-8"))
    for one in joined.values():
        assert all(said in text for said in (*one.turns, *one.responses))
        assert all(f"{action.number + 1}. <b>{action.tool.wire_name}</b>" in text for action in one.actions)


def test_json_names_the_page_and_what_was_drawn(
    built_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["inspect", str(built_run.path), "--read", "3", "--out", str(page), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"page": str(page), "seed": 0, "trajectories": _ids(page)}


def test_two_wishes_at_once_and_a_page_that_cannot_be_written_are_refused(
    built_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", str(built_run.path), "--read", "3", "--discarded", "all"]) == 2
    assert "--read draws at random" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert (
        main(["inspect", str(built_run.path), "--read", "3", "--out", str(tmp_path / "file" / "x.html")]) == 2
    )
    assert "the page cannot be written" in capsys.readouterr().err
