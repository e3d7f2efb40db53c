"""Trainings: curves of what is written now, several over each other; files that grow, are cut or are written again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from planarena.view.curves import draw, panels_of
from planarena.view.lines import Growing


def line(step: int, reward: float, **more: Any) -> str:
    return (
        json.dumps({"step": step, "phase": "rl", "reward/mean": reward, "coefficient/mixing": 0.5, **more})
        + "\n"
    )


def training(folder: Path, steps: int, name: str = "dupo") -> Path:
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(
        json.dumps({"kind": "training", "status": "running", "steps": 50, "config": {"algorithm": name}})
    )
    (folder / "metrics.jsonl").write_text("".join(line(step, step / 10) for step in range(1, steps + 1)))
    return folder


def test_what_a_training_writes_is_on_the_page_at_the_next_look(
    tmp_path: Path, client_of: Callable[..., Any]
) -> None:
    folder = training(tmp_path / "one", 3)
    other = training(tmp_path / "<b>two", 9, "gear")
    client = client_of(tmp_path)
    keys = ",".join(client.key(path) for path in (folder, other))
    page = client.page(f"/training?t={keys}")
    assert "<b>step 3 of 50</b>" in page and "<b>step 9 of 50</b>" in page and "&lt;b&gt;two" in page
    first = client.get(f"/training/live?t={keys}")
    tag = first.headers["etag"]
    assert client.get(f"/training/live?t={keys}", headers={"if-none-match": tag}).status_code == 304
    with (folder / "metrics.jsonl").open("a") as sink:
        sink.write(line(4, 0.8))
        sink.write('{"step": 5, "reward/me')  # the rest is still to come
    second = client.get(f"/training/live?t={keys}", headers={"if-none-match": tag})
    assert (
        second.status_code == 200 and "<b>step 4 of 50</b>" in second.text and second.headers["etag"] != tag
    )
    assert "reward/mean, 0.8 at step 4" in second.text and "step 5" not in second.text
    with (folder / "metrics.jsonl").open("a") as sink:
        sink.write('an": 0.9}\n')
    assert "<b>step 5 of 50</b>" in client.get(f"/training/live?t={keys}").text
    assert "coefficient/mixing" in client.page(f"/training?t={keys}&m=coefficient/")


def test_a_file_that_is_written_again_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    growing = Growing(lambda line, *_: line)
    assert growing.lines(path) == []
    path.write_text(line(1, 0) + "not json\n[1]\n" + line(2, 0) + '{"step": true}\n{"step": "3"}\n')
    assert [one["step"] for one in growing.lines(path)] == [1, 2, True]
    kept = tmp_path / "new"
    kept.write_text(line(1, 7) + line(2, 8) + line(3, 9) * 40)
    kept.replace(path)
    assert [one["reward/mean"] for one in growing.lines(path)][:3] == [7, 8, 9]
    path.write_text(line(1, 5))
    assert [one["reward/mean"] for one in growing.lines(path)] == [5]
    path.unlink()
    assert growing.lines(path) == []


def test_curves_stand_where_their_values_are() -> None:
    runs = [
        [{"step": step, "reward/mean": float(step**2), "validation/reward": None} for step in range(1, 11)]
    ]
    ((title, series),) = panels_of(runs)
    assert title == "reward" and series[0].points == [(step, step**2) for step in range(1, 11)]
    drawn = str(draw(title, series, ["<i>"]))
    places = [tuple(map(float, one.split(","))) for one in re.findall(r'points="([^"]+)"', drawn)[0].split()]
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)
    low, high = places[0][1], places[-1][1]
    for (_, y), step in zip(places, range(1, 11), strict=True):
        assert abs(y - (low + (high - low) * (step**2 - 1) / 99)) < 0.11  # one digit is written
    assert "&lt;i&gt;" in drawn and "<i>" not in drawn


def test_odd_numbers_draw_nothing_wrong() -> None:
    odd: list[Any] = [float("inf"), float("nan"), None, "x", True, 1e308, -1e308, 0, 5e-324]
    for values in (odd, odd[:4], [1e308], [0], [5e-324, 0]):
        lines = [{"step": step, "reward/mean": value} for step, value in enumerate(values)]
        for title, series in panels_of([lines, lines]):
            drawn = str(draw(title, series, ["a", "b"]))
            assert "nan" not in drawn and "inf" not in re.sub(r"<title>.*?</title>", "", drawn)
    assert panels_of([[{"step": 10**400, "reward/mean": 1.0}]]) == []


def test_outputs_over_time(tmp_path: Path, client_of: Callable[..., Any]) -> None:
    folder = training(tmp_path / "one", 3)
    rows = [
        {
            "step": step,
            "row": f"r{n}",
            "last_message": f"ask {n}",
            "output": f"out {step} {n} <b>",
            "target": "t",
            "reward": step / 10,
            "success": n,
            "parts": {"format": 1.0},
        }
        for step in (0, 5, 10)
        for n in (0, 1)
    ]
    rows.append({"step": 10, "row": 5, "output": {"a": 1}, "target": None, "reward": "x", "parts": 7})
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    client = client_of(tmp_path)
    key = client.key(folder)
    page = client.page(f"/training/samples?t={key}&step=5")
    assert "out 5 0 &lt;b&gt;" in page and "out 10 0" not in page and "format 1" in page
    over = client.page(f"/training/samples?t={key}&row=r1")
    assert [f"out {step} 1" in over for step in (0, 5, 10)] == [True] * 3 and "out 5 0" not in over
    assert client.get(f"/training/samples?t={key}&step=10").status_code == 200
