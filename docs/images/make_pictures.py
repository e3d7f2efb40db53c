"""Draw the README's pictures from a real build: `python docs/images/make_pictures.py RUN`.

`pipeline.svg` is drawn from one of the run's gold trajectories; `report.png` is a photograph of the run's report in a
headless Chromium. The pictures of the audit page come from the browser tests.
"""

from __future__ import annotations

import html
import json
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from planarena import Run

HERE = Path(__file__).parent
INK, PAPER, LINE, SOFT, GREEN, RED = "#1c2330", "#ffffff", "#c9d1dc", "#5b6675", "#16794c", "#b3362b"


def choose(run: Run) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a short gold trajectory with a parallel group and a data edge: itself, its query, steps and candidates."""
    queries = {row["query_id"]: row for row in run.table("queries").collect().to_dicts()}
    points: dict[str, list[dict[str, Any]]] = {}
    for row in run.table("decision_points").collect().to_dicts():
        points.setdefault(row["trajectory_id"], []).extend(json.loads(row["candidates"]))
    steps: dict[str, list[dict[str, Any]]] = {}
    for row in run.table("steps").collect().sort("step").to_dicts():
        steps.setdefault(row["trajectory_id"], []).append(row)
    best = None
    for row in run.table("trajectories").collect().filter(kind="gold", n_actions=4).to_dicts():
        mine = steps[row["trajectory_id"]]
        groups = [one["group"] for one in mine]
        query = queries[row["query_id"]]
        turns = json.loads(query["turns"])
        if (
            len(turns) == 1
            and len(set(groups)) < len(groups)
            and any(json.loads(one["bound_from"]) for one in mine)
        ):
            length = len(turns[0]) + len(row["response"])
            if best is None or length < best[0]:
                best = (length, row, query, mine, points.get(row["trajectory_id"], []))
    assert best is not None, "no such trajectory in this run: build more"
    return best[1], best[2], best[3], best[4]


def text(x: float, y: float, words: str, size: int = 13, colour: str = INK, weight: str = "400") -> str:
    """Return a line of text."""
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" font-weight="{weight}">{html.escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, stroke: str = LINE) -> str:
    """Return a box."""
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="{PAPER}" stroke="{stroke}"/>'
    )


def lines(x: float, y: float, words: str, width: int, most: int, colour: str = INK) -> str:
    """Return wrapped text."""
    found = textwrap.wrap(words, width)
    found = [*found[: most - 1], found[most - 1] + " ..."] if len(found) > most else found
    return "".join(text(x, y + 17 * number, line, 12, colour) for number, line in enumerate(found))


def draw(run: Run) -> str:
    """Return the picture of the pipeline as SVG."""
    row, query, steps, candidates = choose(run)
    executions = run.table("executions").collect().filter(execution_kind="real").height
    parts = ['<rect width="1160" height="400" fill="#f6f8fb"/>']
    parts.append(text(24, 34, "tools", 15, INK, "600") + box(24, 46, 210, 320))
    for number, name in enumerate(dict.fromkeys(step["tool"] for step in steps)):
        parts.append(box(38, 62 + number * 46, 182, 34) + text(50, 84 + number * 46, name, 12))
    parts.append(
        text(38, 330, "schemas, a seeded world,", 12, SOFT) + text(38, 347, "undo for every call", 12, SOFT)
    )
    parts.append(text(266, 34, "task graph", 15, INK, "600") + box(266, 46, 270, 320))
    place = {}
    for group in sorted({step["group"] for step in steps}):
        mine = [step for step in steps if step["group"] == group]
        for number, step in enumerate(mine):
            place[step["step"]] = (282 + number * 124, 70 + group * 78, 238 if len(mine) == 1 else 116)
    for step in steps:
        x, y, width = place[step["step"]]
        for source in {found["step"] for found in json.loads(step["bound_from"]).values()}:
            a, b, w = place[source]
            parts.append(
                f'<path d="M {a + w / 2} {b + 36} C {a + w / 2} {b + 60}, {x + width / 2} {y - 24}, {x + width / 2} {y}"'
                f' fill="none" stroke="{GREEN}" stroke-width="1.6"/>'
            )
    for step in steps:
        x, y, width = place[step["step"]]
        short = step["tool"] if width > 120 or len(step["tool"]) < 16 else step["tool"][:13] + "..."
        parts.append(box(x, y, width, 36, GREEN) + text(x + 8, y + 22, f"{step['step'] + 1} {short}", 11))
    parts.append(text(282, 347, "green: a result becomes an argument", 12, SOFT))
    parts.append(text(568, 34, "executed, proven, said", 15, INK, "600") + box(568, 46, 330, 320))
    parts.append(text(582, 70, "user", 12, SOFT) + lines(582, 88, json.loads(query["turns"])[0], 50, 6))
    parts.append(text(582, 206, "assistant", 12, SOFT) + lines(582, 224, row["response"], 50, 5))
    parts.append(text(582, 330, f"{executions:,} calls executed for {gold_of(run)} trajectories;", 12, SOFT))
    parts.append(text(582, 347, "every order ends alike, every step is necessary", 12, SOFT))
    parts.append(text(930, 34, "and what goes wrong", 15, INK, "600") + box(930, 46, 206, 320))
    wrong = [one for one in candidates if one["outcome"] in {"diverges", "error", "ungrounded", "useless"}]
    kinds = dict.fromkeys(one["mutation"].replace("_", " ") for one in wrong)
    for number, kind in enumerate(list(kinds)[:7]):
        parts.append(text(944, 76 + number * 24, f"x  {kind}", 12, RED))
    parts.append(text(944, 280, "gold and contrast as data for", 12, SOFT))
    for number, line in enumerate(("audit in Argilla", "SFT, preferences, RL", "benchmarks")):
        parts.append(text(944, 302 + number * 22, line, 13, INK, "600"))
    body = "\n".join(parts)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1160 400" font-family="Inter, Helvetica, Arial, sans-serif" '
        f'role="img">\n{body}\n</svg>\n'
    )


def gold_of(run: Run) -> int:
    """Return the number of gold trajectories."""
    rows = run.table("trajectories").collect().filter(kind="gold")
    return rows.filter(rows["n_actions"] > 0).height


def photograph(run: Path, out: Path) -> None:
    """Photograph the report."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium is not None, "install chromium"
    with tempfile.TemporaryDirectory() as profile:
        page = (run / "report.html").resolve().as_uri()
        subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--hide-scrollbars",
             "--window-size=1280,900", "--virtual-time-budget=8000", f"--screenshot={out}", page],
            check=True, capture_output=True,
        )  # fmt: skip


def main() -> None:
    """Draw both pictures of a run."""
    folder = Path(sys.argv[1])
    run = Run.open(folder)
    (HERE / "pipeline.svg").write_text(draw(run), encoding="utf-8")
    photograph(folder, HERE / "report.png")


if __name__ == "__main__":
    main()
