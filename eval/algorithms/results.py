"""From units to tables: success by regime, composition, actions and manner, paired with start and controls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from planarena.eval.algorithms.intervals import Estimate, difference, mean
from planarena.eval.algorithms.plan import CONTROLS, StudyConfig, Unit, methods_of
from planarena.eval.algorithms.setting import TEST_SETS
from planarena.eval.algorithms.signs import SIGNS, read_sign
from planarena.eval.algorithms.study import result_path
from planarena.trainers.loop.checkpoints import write_json

__all__ = ["gather", "write_study"]

FORMAT_VERSION = 1
_EXPECTED = 0.05
_MANNERS = ("greedy", "sampled")

Values = list[list[float]]


class _Side:
    """The units of one method in one regime.

    Args:
        results: What their result.json files hold, by seed.
    """

    def __init__(self, results: Sequence[dict[str, Any]]) -> None:
        self.results = list(results)

    def values(self, manner: str, sets: Sequence[str] = TEST_SETS, actions: int | None = None) -> Values:
        """Return per seed the success of each task."""
        found = []
        for result in self.results:
            row: list[float] = []
            for name in sets:
                part = result["results"][manner][name]
                row += [
                    float(value)
                    for value, number in zip(part["success"], part["actions"], strict=True)
                    if actions is None or min(number, 4) == actions
                ]
            found.append(row)
        return found

    def length(self, manner: str) -> float:
        """Return the mean tokens of an episode."""
        tokens = [
            value
            for result in self.results
            for name in TEST_SETS
            for value in result["results"][manner][name]["tokens"]
        ]
        return float(sum(tokens)) / max(len(tokens), 1)

    def measure(self, name: str) -> float | None:
        """Return the mean of a measure over seeds and sets, greedy."""
        found: list[float | None] = [
            result["results"]["greedy"][part]["measures"].get(name)
            for result in self.results
            for part in TEST_SETS
        ]
        known = [value for value in found if value is not None]
        return sum(known) / len(known) if known else None

    def seconds(self) -> float:
        """Return the mean CPU seconds of a training."""
        return sum(float(one["seconds"]["training"]) for one in self.results) / len(self.results)


def gather(config: StudyConfig, units: Sequence[Unit], sets: dict[str, Any]) -> dict[str, Any]:
    """Return everything that scores.json holds.

    Args:
        config: The study.
        units: All of them, done.
        sets: What `prepare` says of the data.
    """
    results = {unit.name: msgspec.json.decode(result_path(config, unit).read_bytes()) for unit in units}
    ceiling = _Side([results["ceiling"]])
    regimes = ("gold",) if config.ablation else config.regimes
    scores: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "kind": "study",
        "config": msgspec.to_builtins(config),
        "sets": {**sets, **_practised(results)},
        "seconds": {name: found["seconds"] for name, found in results.items()},
        "cpu_seconds": round(sum(found["seconds"]["all"] for found in results.values()), 1),
        "regimes": {},
    }
    for regime in regimes:
        start = _Side([results[f"{regime}/start"]])
        sides = {
            method: _Side(
                [
                    results[unit.name]
                    for unit in units
                    if unit.regime == regime and unit.method == method and unit.kind == "train"
                ]
            )
            for method in methods_of(config)
        }
        able = results.get(f"{regime}/able")
        scores["regimes"][regime] = _regime(start, ceiling, sides, _Side([able]) if able else None)
    if config.ablation:
        sides = {
            method: _Side(
                [results[unit.name] for unit in units if unit.method == method and unit.kind == "train"]
            )
            for method in methods_of(config)
        }
        scores["ablation"] = _ablation(config.ablation, sides)
    else:
        scores["findings"] = _findings(scores["regimes"])
    return scores


def _practised(results: dict[str, Any]) -> dict[str, Any]:
    """Return how the tasks of the regime scarce were chosen, where it is part of the study."""
    found = results.get("scarce/start", {}).get("practised")
    return {"practised": found} if found else {}


def _regime(
    start: _Side, ceiling: _Side, sides: dict[str, _Side], able: _Side | None = None
) -> dict[str, Any]:
    controls = {name: sides[name] for name in CONTROLS if name in sides}
    rows = {"start": _row(start, start, controls)}
    if able:
        rows = {"able": _row(able, start, {}), **rows}
    for method, side in sides.items():
        rows[method] = _row(side, start, {} if method in controls else controls)
    rows["ceiling"] = _row(ceiling, start, controls)
    return {
        "rows": rows,
        "curves": {method: [one["curve"] for one in side.results] for method, side in sides.items()},
    }


def _row(side: _Side, start: _Side, controls: dict[str, _Side]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "seeds": len(side.results),
        "cpu_seconds": round(side.seconds(), 1),
        "tokens": round(side.length("greedy"), 1),
        "tokens_sampled": round(side.length("sampled"), 1),
        "measures": {
            name: side.measure(name)
            for name in ("steps done", "wasted calls", "schema errors", "tool errors", "ungrounded values")
        },
    }
    for manner in _MANNERS:
        values = side.values(manner)
        row[manner] = {
            "all": msgspec.to_builtins(mean(values)),
            "seeds": [round(sum(one) / len(one), 4) for one in values],
            **{name: msgspec.to_builtins(mean(side.values(manner, (name,)))) for name in TEST_SETS},
            "actions": {
                str(number): round(_mean(found), 4)
                for number in (1, 2, 3, 4)
                if (found := side.values(manner, actions=number))[0]
            },
        }
        if side is not start:
            row[manner]["from start"] = {
                "all": _difference(side, start, manner),
                **{name: _difference(side, start, manner, (name,)) for name in TEST_SETS},
            }
        for name, control in controls.items():
            row[manner][f"from {name}"] = {
                "all": _difference(side, control, manner),
                "unseen": _difference(side, control, manner, ("unseen",)),
            }
    rise = _rise(side)
    if rise:
        row["rise"] = rise
    return row


def _mean(values: Values) -> float:
    flat = [value for row in values for value in row]
    return sum(flat) / len(flat)


def _difference(left: _Side, right: _Side, manner: str, sets: Sequence[str] = TEST_SETS) -> dict[str, float]:
    found = difference(left.values(manner, sets), right.values(manner, sets))
    fields: dict[str, float] = msgspec.to_builtins(found)
    return fields


def _rise(side: _Side) -> dict[str, Any]:
    """Compare the rewards of the first and of the last third of the batches, over the same repeated tasks."""
    firsts: list[float] = []
    lasts: list[float] = []
    for result in side.results:
        values = [point["reward/mean"] for point in result["curve"] if "reward/mean" in point]
        third = len(values) // 3
        if third:
            firsts += values[:third]
            lasts += values[-third:]
    if not firsts:
        return {}
    found = _unpaired(lasts, firsts)
    return {"first": sum(firsts) / len(firsts), "last": sum(lasts) / len(lasts), **msgspec.to_builtins(found)}


def _unpaired(left: Sequence[float], right: Sequence[float]) -> Estimate:
    import numpy as np

    rng = np.random.default_rng(0)
    a, b = np.asarray(left), np.asarray(right)
    drawn = [rng.choice(a, len(a)).mean() - rng.choice(b, len(b)).mean() for _ in range(2000)]
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Estimate(float(a.mean() - b.mean()), float(low), float(high))


def _findings(regimes: dict[str, Any]) -> list[dict[str, Any]]:
    """Hold what was measured against what was expected before."""
    found: list[dict[str, Any]] = []
    for regime, part in regimes.items():
        for method, row in part["rows"].items():
            if method in ("able", "start", "ceiling", *CONTROLS):
                continue
            if "rise" in row:
                found.append(
                    _finding(
                        f"{regime}: the reward of {method} rises{'' if regime == 'conversations' else ' over repeated tasks'}",
                        row["rise"],
                        unit="reward",
                    )
                )
            change = row["greedy"]["from start"]
            if regime == "repair":
                words = f"repair: {method} ends at least 5 points above its start on unseen compositions"
                found.append(_finding(words, change["unseen"], least=_EXPECTED))
            if regime == "conversations":
                words = f"conversations: {method} ends above its start on held-out conversations"
                found.append(_finding(words, change["all"]))
            if regime == "gold":
                found.append(_finding(f"gold: {method} raises its start", change["all"]))
            for control in CONTROLS:
                against = row["greedy"].get(f"from {control}")
                if regime in ("scarce", "conversations") and against is not None:
                    words = f"{regime}: {method} is above the demonstrations-only control {control}"
                    found.append(_finding(words, against["all"]))
    return found


def _finding(
    words: str, measured: dict[str, float], least: float = 0.0, unit: str = "success"
) -> dict[str, Any]:
    """Return a verdict: seen where the interval excludes 0 and the value reaches `least`, not seen where it ends below."""
    seen = measured["low"] > 0 and measured["value"] >= least
    verdict = "seen" if seen else "not seen" if measured["high"] < least else "cannot be told"
    kept = {name: measured[name] for name in ("value", "low", "high")}
    return {"claim": words, "verdict": verdict, "unit": unit, **kept}


def _ablation(name: str, sides: dict[str, _Side]) -> dict[str, Any]:
    from planarena.trainers.algorithms.ablations import ablation

    signs = []
    for sign in SIGNS[name]:
        for manner in _MANNERS:
            found = difference(sides[sign.better].values(manner), sides[sign.worse].values(manner))
            signs.append(
                {
                    "better": sign.better,
                    "worse": sign.worse,
                    "source": sign.source,
                    "manner": manner,
                    **msgspec.to_builtins(found),
                    "verdict": read_sign(found.sign),
                }
            )
    return {"name": name, "source": ablation(name).source, "signs": signs}


def write_study(root: Path, scores: dict[str, Any]) -> None:
    """Write scores.json, tables.md and report.html."""
    from planarena.eval.algorithms.page import render_study
    from planarena.eval.algorithms.tables import markdown_tables, study_tables

    write_json(root / "scores.json", scores)
    for name, text in (
        ("tables.md", markdown_tables(study_tables(scores))),
        ("report.html", render_study(scores)),
    ):
        draft = root / f".{name}.tmp"
        draft.write_text(text, encoding="utf-8")
        draft.replace(root / name)
