"""The page of a training: curves of what was measured, outputs escaped, nothing that is not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planarena.cli._curve import draw_curve
from planarena.errors import UserError
from planarena.report import render_training
from planarena.report.charts import Line, lines


def _write(folder: Path) -> Path:
    folder.mkdir()
    measured = [{"step": step, "loss/sft": 4.0 / (step + 1)} for step in range(1, 401)]
    measured[199]["validation/success"] = 0.25
    measured[399]["validation/success"] = 0.75
    start = {"step": 0, "validation/success": 0.0}
    text = "\n".join(json.dumps(line) for line in [start, *measured])
    (folder / "metrics.jsonl").write_text(f'{text}\n{{"step": 401, "los')
    sample = {
        "step": 400,
        "last_message": "<b>hi</b>",
        "output": "<img src=x>",
        "target": "y",
        "success": False,
    }
    (folder / "samples.jsonl").write_text(json.dumps(sample) + "\n")
    return folder


def test_the_page_draws_what_was_measured(tmp_path: Path) -> None:
    page = render_training(_write(tmp_path / "run"), ["planarena eval planarena --model 'a b'"])
    assert "0.0% → 75.0%" in page
    assert "planarena eval planarena --model" in page
    assert page.count("<polyline") == 2, "success and loss"
    assert "<img src=x>" not in page and "&lt;img src=x&gt;" in page
    assert "Entropy" not in page
    # 400 losses are drawn as at most 160 points.
    longest = max(page.split('points="')[1:], key=lambda part: len(part.partition('"')[0])).partition('"')[0]
    assert len(longest.split()) <= 160


def test_a_folder_without_steps_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no metrics\.jsonl"):
        render_training(tmp_path)


@pytest.mark.parametrize("points", [[(0, 0.0)], [(3, -1.0), (4, 2.0)], [(0, 0.5), (9, 0.5)]])
def test_a_curve_stays_in_its_frame(points: list[tuple[int, float]]) -> None:
    drawn = lines([Line("one", points)], "title")
    frame = float(drawn.partition('viewBox="0 0 ')[2].partition('"')[0].split()[1])
    placed = drawn.partition('points="')[2].partition('"')[0].split()
    assert len(placed) == len(points)
    for pair in placed:
        x, y = map(float, pair.split(","))
        assert 0 <= x <= 400 and 0 <= y <= frame


def test_the_curve_of_a_terminal_is_as_high_as_the_share() -> None:
    drawn = draw_curve([(0, 0.0), (10, 0.5), (20, 1.0)], height=4)
    assert drawn[0].startswith(" 100% |") and drawn[-1].strip() == "step 0 to 20"
    columns = [[line[7 + 3 * place] for line in drawn[:4]] for place in range(3)]
    assert [column.count("█") for column in columns] == [0, 2, 4]
    assert len(draw_curve([(n, 0.5) for n in range(500)], width=60)[0]) <= 70
    assert all(
        ord(letter) < 128 for line in draw_curve([(0, 0.3), (1, 0.9)], blocks=False) for letter in line
    )
