"""Every other scorer takes twice the time for twice the items.

`python tests/bench/bench_suites.py` prints seconds and ratio of each suite and exits 1 where a ratio is above 2.6: the
best of three rounds, on invented items in the layouts of the benchmarks, with outputs that are right. What starting a
worker takes is measured with one item and taken off.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "unit" / "eval"))
import test_eval_acebench
import test_eval_nestful
import test_eval_tau2
import test_eval_workbench

from planarena.eval import EvalConfig, evaluate

BOUND, ROUNDS = 2.6, 3


def workbench(path: Path, count: int) -> None:
    test_eval_workbench.make(path)
    for file in (path / "data" / "processed" / "queries_and_answers").glob("*.csv"):
        with file.open(newline="") as source:
            head, *rows = list(csv.reader(source))
        with file.open("w", newline="") as sink:
            made = [[f"{row[0]} {n}", *row[1:]] for n in range(count) for row in rows]
            csv.writer(sink).writerows([head, *made])


def acebench(path: Path, count: int) -> None:
    test_eval_acebench.make(path)
    name = "data_normal_similar_api.json"
    for file in (path / "data_all" / "data_en").rglob("data_*.json"):
        if file.name != name:
            file.unlink()
            continue
        row = json.loads(file.read_text())
        file.write_text(
            "\n".join(json.dumps({**row, "id": f"normal_similar_api_{n}"}) for n in range(4 * count))
        )


def nestful(path: Path, count: int) -> None:
    file = test_eval_nestful.make(path) / "data_v2" / "nestful_data.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    made = [{**row, "sample_id": f"{row['sample_id']}-{n}"} for n in range(2 * count) for row in rows]
    file.write_text("\n".join(map(json.dumps, made)))


def tau2(path: Path, count: int) -> None:
    test_eval_tau2.make_first(path)
    file = path / "tau_bench" / "envs" / "retail" / "tasks_test.py"
    file.write_text(f"{test_eval_tau2.FIRST_TASKS}\nTASKS = TASKS * {count}\n")


def math(path: Path, count: int) -> None:
    path.mkdir()
    rows = [{"id": str(n), "problem": "?", "answer": f"\\frac{{{n}}}{{7}}"} for n in range(4 * count)]
    (path / "problems.jsonl").write_text("\n".join(map(json.dumps, rows)))


def own(path: Path, count: int) -> None:
    path.mkdir()
    (path / "suite.yaml").write_text("rule: calls\n")
    calls = [{"name": "f", "arguments": {"x": [1, 2, 3]}}]
    rows = [{"id": str(n), "prompt": "?", "expected": calls} for n in range(4 * count)]
    (path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))


SUITES: dict[str, tuple[Callable[[Path, int], None], int, dict[str, Any]]] = {
    "workbench": (workbench, 400, {}),
    "acebench": (acebench, 1_000, {}),
    "nestful": (nestful, 600, {}),
    "tau2": (tau2, 1_500, {}),
    "math": (math, 1_500, {"judge": "rules"}),
    "suite:": (own, 1_500, {}),
}


def seconds(folder: Path, suite: str, count: int) -> float:
    make, _, options = SUITES[suite]
    data = folder / f"{suite.strip(':')}-{count}"
    make(data, count)
    name = f"suite:{data}" if suite == "suite:" else suite
    given = {} if suite == "suite:" else {suite: str(data)}
    best = float("inf")
    for number in range(ROUNDS):
        out = folder / f"out-{suite.strip(':')}-{count}-{number}"
        config = EvalConfig(suites=(name,), out=str(out), responses="gold", data=given, **options)
        begun = time.perf_counter()
        result = evaluate(config).suites[name]
        best = min(best, time.perf_counter() - begun)
        assert all(verdict.correct for verdict in result.verdicts), suite
    return best


def main() -> int:
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        for suite, (_, count, _) in SUITES.items():
            start = seconds(Path(name), suite, 1)
            once, twice = (seconds(Path(name), suite, many) - start for many in (count, 2 * count))
            worst = max(worst, twice / once)
            print(f"{suite:<10} {once:7.2f} s, twice the items {twice:7.2f} s: {twice / once:.2f} times")
    return int(worst > BOUND)


if __name__ == "__main__":
    sys.exit(main())
