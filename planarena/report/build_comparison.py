"""Builds side by side: settings, counts, mixes, and how much they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planarena.records import Run
from planarena.report.comparison import Comparison, ComparisonLine, ComparisonTable, Value, name_folders

__all__ = ["compare_builds"]

_COUNTS = (
    ("gold", "gold trajectories"),
    ("contrastive", "contrastive trajectories"),
    ("no_call", "tasks where no call is right"),
    ("decision_points", "decision points"),
    ("scenarios", "scenarios"),
    ("steps", "steps of gold trajectories"),
    ("distinct_masked_shapes", "distinct shapes, values masked"),
    ("candidates_tried", "candidates tried"),
)
_SHARES = (
    ("gold_parallel", "with a parallel group"),
    ("gold_data_edge", "with a data edge"),
    ("gold_order_edge", "with an order edge"),
    ("gold_over_serialised", "over-serialised"),
)
_MIXES = (
    ("gold_domain", "Domains of gold trajectories"),
    ("gold_length", "Actions of gold trajectories"),
    ("gold_chain", "Longest chains of gold trajectories"),
    ("gold_turns", "User turns of gold trajectories"),
    ("gold_register", "Manners of speaking"),
    ("scenario_split", "Splits of scenarios"),
    ("contrastive_mutation", "Faults of contrastive trajectories"),
    ("candidates", "Outcomes of choices"),
    ("no_call_category", "Why no call is right"),
)


def compare_builds(runs: Sequence[Run]) -> Comparison:
    """Compare builds or imports; one alone gives its own tables.

    Args:
        runs: At least one; differences are taken from the first.
    """
    names = name_folders([run.path for run in runs])
    counts: list[Mapping[str, Any]] = [run.info["counts"] for run in runs]
    tables = [
        _settings(runs),
        _table("Counts", ((words, [one.get(name) for one in counts]) for name, words in _COUNTS)),
        _by_kind(counts),
        _table(
            "Shares of gold trajectories",
            ((words, [_share(one, name) for one in counts]) for name, words in _SHARES),
            "%",
        ),
        *(_mix(title, [one.get(name, {}) for one in counts], names) for name, title in _MIXES),
        _mix("Discards by stage", [_stages(one) for one in counts], names),
        _cost(runs),
        _shared(runs, names),
    ]
    title = " and ".join(names) if len(names) < 3 else f"{len(names)} builds"
    return Comparison(
        f"Comparison of {title}" if len(names) > 1 else f"Counts of {title}",
        names,
        tuple(table for table in tables if table.lines),
    )


def _table(title: str, lines: Iterator[tuple[str, list[Value]]], unit: str = "") -> ComparisonTable:
    kept = [
        ComparisonLine(name, tuple(values))
        for name, values in lines
        if any(value is not None for value in values)
    ]
    return ComparisonTable(title, tuple(kept), unit)


def _settings(runs: Sequence[Run]) -> ComparisonTable:
    """Return the settings that differ."""
    flat = [
        dict(_flatten({"config": run.info.get("config", {}), "versions": run.info.get("versions", {})}))
        | {"stopped by": str(run.info.get("stop_reason"))}
        for run in runs
    ]
    names = dict.fromkeys(name for one in flat for name in one)
    lines: list[tuple[str, list[Value]]] = [(name, [one.get(name) for one in flat]) for name in names]
    return _table("Settings that differ", (line for line in lines if len(set(line[1])) > 1))


def _flatten(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flatten(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        yield name, ", ".join(map(str, value))
    else:
        yield name, str(value)


def _by_kind(counts: Sequence[Mapping[str, Any]]) -> ComparisonTable:
    """Return trajectories and executions by execution kind; the kinds are never added up."""
    lines: list[tuple[str, list[Value]]] = []
    for name, words in (
        ("gold_kind", "gold trajectories"),
        ("contrastive_kind", "contrastive trajectories"),
        ("executions", "distinct executions"),
    ):
        kinds = sorted({kind for one in counts for kind in one.get(name, {})})
        lines += [(f"{words}, {kind}", [one.get(name, {}).get(kind, 0) for one in counts]) for kind in kinds]
    return _table("By execution kind", iter(lines))


def _share(counts: Mapping[str, Any], name: str) -> float | None:
    gold = counts.get("gold", 0)
    return 100 * counts[name] / gold if gold and name in counts else None


def _stages(counts: Mapping[str, Any]) -> Counter[str]:
    stages: Counter[str] = Counter()
    for key, number in counts.get("discard", {}).items():
        stages[key.partition(":")[0]] += number
    return stages


def _mix(title: str, found: Sequence[Mapping[str, int]], names: Sequence[str]) -> ComparisonTable:
    """Return shares of each run's own total, with the total variation distance of each run from the first."""
    totals = [sum(one.values()) for one in found]
    keys = {key for one in found for key in one}
    if all(key.isdecimal() for key in keys):
        ordered = sorted(keys, key=int)
    else:
        ordered = sorted(keys, key=lambda key: (-sum(one.get(key, 0) for one in found), key))
    shares: list[tuple[str, list[float | None]]] = [
        (
            key,
            [
                100 * one.get(key, 0) / total if total else None
                for one, total in zip(found, totals, strict=True)
            ],
        )
        for key in ordered
    ]
    lines = tuple(ComparisonLine(key, tuple(values)) for key, values in shares)
    notes = []
    if keys:
        notes.append(
            f"of {', '.join(f'{total} in {name}' for total, name in zip(totals, names, strict=True))}"
        )
        for at in range(1, len(found)):
            if totals[0] and totals[at]:
                moved = sum(abs((values[at] or 0) - (values[0] or 0)) for _, values in shares) / 2
                notes.append(
                    f"{moved:.1f} % of {names[at]} would have to change class for the mix of {names[0]}"
                )
    return ComparisonTable(title, lines, "%", tuple(notes))


def _cost(runs: Sequence[Run]) -> ComparisonTable:
    lines: list[tuple[str, list[Value]]] = [
        (words, [(run.info.get("cost") or {}).get(name) for run in runs])
        for name, words in (("llm_calls", "calls to language models"), ("tokens", "tokens"), ("usd", "USD"))
    ]
    return _table("Cost", iter(lines))


def _shared(runs: Sequence[Run], names: Sequence[str]) -> ComparisonTable:
    """Count the rows that each run has in common with the first: an id is what identifies the row."""
    if len(runs) < 2:
        return ComparisonTable("In common", ())
    lines: list[tuple[str, list[Value]]] = []
    for table, column in (
        ("trajectories", "trajectory_id"),
        ("scenarios", "scenario_id"),
        ("tools", "tool_id"),
    ):
        first = runs[0].table(table).select(column)
        shared = [
            run.table(table).select(column).join(first, on=column, how="semi").collect().height
            for run in runs
        ]
        lines.append((f"{table} that {names[0]} has too", [*shared]))
    made = _table("In common", iter(lines))
    return ComparisonTable(made.title, made.lines)
