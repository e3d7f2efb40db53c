"""The four overall values that the papers print under one name, each as weights of the categories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from planarena.eval.bfcl.categories import AGENTIC, COUNTS, LIVE, LIVE_AST, MULTI_TURN, NON_LIVE, SIMPLE
from planarena.eval.results import CategoryRow, Overall
from planarena.eval.statistics import weighted_interval

__all__ = ["FORMULAS", "columns", "covered", "overall", "weights"]

Weights = dict[str, float]

_NON_LIVE_INSTANCES = ("simple_python", "multiple", "parallel", "parallel_multiple")

FORMULAS = {
    "v3": "mean of Live (six categories by items), Non-Live (mean of simple, multiple, parallel, parallel multiple, "
    "irrelevance; simple = mean of Python, Java, JavaScript) and Multi-Turn (mean of four); DUPO and AWPO",
    "v4": "0.1 Non-Live (AST) + 0.1 Live (AST) + 0.1 Irrelevance + 0.3 Multi-Turn + 0.4 Agentic; what was not run "
    "counts 0",
    "v4-without-agentic": "(0.1 Non-Live (AST) + 0.1 Live (AST) + 0.1 Irrelevance + 0.3 Multi-Turn) / 0.6; ToolUPT",
    "by-instance": "correct items of Live (AST) and Non-Live (AST, Python) / 2351; CHORD",
}


def _evenly(names: Iterable[str], share: float = 1.0) -> Weights:
    listed = list(names)
    return dict.fromkeys(listed, share / len(listed))


def _by_items(names: Iterable[str], share: float = 1.0) -> Weights:
    listed = list(names)
    total = sum(COUNTS[name] for name in listed)
    return {name: share * COUNTS[name] / total for name in listed}


def _non_live(parts: Iterable[str], share: float) -> Weights:
    found = _evenly(["simple", *parts], share)
    return found | _evenly(SIMPLE, found.pop("simple"))


def _non_live_ast(share: float) -> Weights:
    return _non_live(["multiple", "parallel", "parallel_multiple"], share)


def _irrelevance(share: float) -> Weights:
    return _evenly(["irrelevance", "live_irrelevance"], share)


def _agentic(share: float) -> Weights:
    return _evenly(AGENTIC[:2], share / 2) | _evenly(AGENTIC[2:], share / 2)


def weights(name: str) -> Weights:
    """The weight of each category in a formula; they sum to 1."""
    if name == "v3":
        third = 1 / 3
        return (
            _by_items(LIVE, third)
            | _non_live(["multiple", "parallel", "parallel_multiple", "irrelevance"], third)
            | _evenly(MULTI_TURN, third)
        )
    if name == "by-instance":
        return _by_items([*LIVE_AST, *_NON_LIVE_INSTANCES])
    agentic = 0.4 if name == "v4" else 0.0
    rest = 1.0 if name == "v4" else 1 / 0.6
    parts = _non_live_ast(0.1 * rest) | _by_items(LIVE_AST, 0.1 * rest) | _irrelevance(0.1 * rest)
    return parts | _evenly(MULTI_TURN, 0.3 * rest) | (_agentic(agentic) if agentic else {})


def overall(name: str, rows: Mapping[str, CategoryRow]) -> Overall:
    """Compute one overall value from the rows; a category that was not run counts 0 and is named."""
    shares = weights(name)
    run = {key: row for key, row in rows.items() if key in shares and row.accuracy is not None}
    absent = tuple(key for key in shares if key not in run)
    if not run:
        return Overall(name, FORMULAS[name], None, not_run=absent)
    value = sum(shares[key] * (row.accuracy or 0.0) for key, row in run.items())
    low, high = weighted_interval(
        {key: (shares[key], row.accuracy or 0.0, row.items) for key, row in run.items()}
    )
    return Overall(name, FORMULAS[name], value, low, high, absent)


_COLUMNS: dict[str, Callable[[], Weights]] = {
    "Non-Live (AST)": lambda: _non_live_ast(1.0),
    "Live": lambda: _by_items(LIVE),
    "Live (AST)": lambda: _by_items(LIVE_AST),
    "Multi-Turn": lambda: _evenly(MULTI_TURN),
    "Agentic": lambda: _agentic(1.0),
    "Relevance": lambda: {"live_relevance": 1.0},
    "Irrelevance": lambda: _irrelevance(1.0),
    "Non-Live (by instance)": lambda: _by_items(_NON_LIVE_INSTANCES),
    "Non-Live (with irrelevance)": lambda: _non_live(NON_LIVE[len(SIMPLE) :], 1.0),
}


def covered(names: Iterable[str]) -> set[str]:
    """The categories that the columns of those names are made of."""
    return {category for name in names if name in _COLUMNS for category in _COLUMNS[name]()}


def columns(rows: Mapping[str, CategoryRow]) -> dict[str, float]:
    """The columns that papers print, where every category of the column was run."""
    found = {}
    for name, shares_of in _COLUMNS.items():
        shares = shares_of()
        if all(key in rows and rows[key].accuracy is not None for key in shares):
            found[name] = sum(share * (rows[key].accuracy or 0.0) for key, share in shares.items())
    return found
