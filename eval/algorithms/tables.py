"""The study's tables as rows of words, for Markdown and for the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

__all__ = ["Table", "markdown_tables", "points", "share", "study_tables"]


class Table(NamedTuple):
    """A table: its title, what a reader must know, its head and its rows; the first column is words."""

    title: str
    note: str
    head: list[str]
    rows: list[list[str]]


_INTERVAL = "Intervals are 95 %, from a bootstrap over tasks and training seeds."


def share(value: dict[str, float]) -> str:
    """Return a share in per cent with its interval."""
    return f"{100 * value['value']:.1f} ({100 * value['low']:.1f} to {100 * value['high']:.1f})"


def points(value: dict[str, float] | None) -> str:
    """Return a difference in points with its interval; nothing where there is none."""
    if value is None:
        return ""
    return f"{100 * value['value']:+.1f} ({100 * value['low']:+.1f} to {100 * value['high']:+.1f})"


def _finding(found: dict[str, Any]) -> str:
    """Return points of success, or a difference of rewards as it is: each reward has a scale of its own."""
    if found["unit"] == "success":
        return points(found)
    return f"{found['value']:+.3f} ({found['low']:+.3f} to {found['high']:+.3f}) of reward"


def study_tables(scores: dict[str, Any]) -> list[Table]:
    """Return every table of a study; start and ceiling stand in each table of success."""
    tables: list[Table] = []
    for regime, part in scores["regimes"].items():
        rows = part["rows"]
        tables += [
            _success(regime, rows, "greedy"),
            _success(regime, rows, "sampled"),
            _by_actions(regime, rows),
            _against(regime, rows),
            _behaviour(regime, rows),
        ]
    if "findings" in scores:
        tables.append(
            Table(
                "What was expected, and what is seen",
                "Seen: the interval lies above 0 and the value reaches what was expected. Not seen: the whole interval lies "
                "below what was expected. Cannot be told: neither.",
                ["Expectation", "Difference (95 %)", "Verdict"],
                [[one["claim"], _finding(one), one["verdict"]] for one in scores["findings"]],
            )
        )
    if "ablation" in scores:
        found = scores["ablation"]
        tables.append(
            Table(
                f"Signs of {found['source']}",
                "Better minus worse as the paper has them, in points of success on all held-out tasks.",
                ["The paper has above", "below", "Printed", "Manner", "Points (95 %)", "The paper's sign"],
                [
                    [one["better"], one["worse"], one["source"], one["manner"], points(one), one["verdict"]]
                    for one in found["signs"]
                ]
                or [["the paper prints no comparison of these variants", "", "", "", "", ""]],
            )
        )
    return [table for table in tables if table.rows]


def _success(regime: str, rows: dict[str, Any], manner: str) -> Table:
    lines = []
    for method, row in rows.items():
        found = row[manner]
        change = found.get("from start", {})
        lines.append(
            [
                method,
                share(found["all"]),
                share(found["seen"]),
                share(found["unseen"]),
                points(change.get("all")),
                points(change.get("unseen")),
                ", ".join(f"{100 * value:.1f}" for value in found["seeds"]),
            ]
        )
    return Table(
        f"{regime}: success, {manner}",
        f"Per cent of held-out tasks. {_INTERVAL} Differences are paired by task.",
        [
            "Method",
            "All",
            "Seen compositions",
            "Unseen compositions",
            "From start, all",
            "From start, unseen",
            "Seeds",
        ],
        lines,
    )


def _by_actions(regime: str, rows: dict[str, Any]) -> Table:
    lines = [
        [method, *(_number(row["greedy"]["actions"].get(key)) for key in "1234")]
        for method, row in rows.items()
    ]
    return Table(
        f"{regime}: success by number of actions, greedy",
        "Per cent of held-out tasks of both kinds; the last column holds four and more.",
        ["Method", "1", "2", "3", "4+"],
        lines,
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"


def _against(regime: str, rows: dict[str, Any]) -> Table:
    lines = []
    for method, row in rows.items():
        if "from sft-steps" not in row["greedy"]:
            continue
        cells = [method]
        for manner in ("greedy", "sampled"):
            for control in ("sft-steps", "sft-compute"):
                cells.append(points(row[manner].get(f"from {control}", {}).get("all")))
        lines.append(cells)
    return Table(
        f"{regime}: difference from the supervised controls",
        f"Points on all held-out tasks. {_INTERVAL} sft-steps has as many optimiser steps, sft-compute about as much "
        "computation (both CPU times are in the next table).",
        [
            "Method",
            "Greedy, equal steps",
            "Greedy, equal compute",
            "Sampled, equal steps",
            "Sampled, equal compute",
        ],
        lines,
    )


def _behaviour(regime: str, rows: dict[str, Any]) -> Table:
    lines = []
    for method, row in rows.items():
        measures, rise = row["measures"], row.get("rise")
        lines.append(
            [
                method,
                f"{row['tokens']:.1f}",
                f"{row['tokens_sampled']:.1f}",
                _number(measures["steps done"]),
                _number(measures["schema errors"]),
                _number(measures["tool errors"]),
                "" if measures["wasted calls"] is None else f"{measures['wasted calls']:.2f}",
                "" if rise is None else f"{rise['first']:.3f} to {rise['last']:.3f}",
                f"{row['cpu_seconds']:.0f}",
            ]
        )
    return Table(
        f"{regime}: lengths, errors, rewards, cost",
        "Tokens per episode; shares in per cent, greedy; reward in training: mean over the first and over the last third "
        "of the batches, which repeat the same tasks; CPU seconds of a training.",
        [
            "Method", "Tokens, greedy", "Tokens, sampled", "Gold steps done", "Schema errors", "Tool errors",
            "Wasted calls", "Reward", "CPU s",
        ],
        lines,
    )  # fmt: skip


def markdown_tables(tables: Iterable[Table]) -> str:
    """Return tables as Markdown."""
    parts = []
    for table in tables:
        head = "| " + " | ".join(map(_cell, table.head)) + " |"
        line = "|" + "|".join([" --- "] + [" ---: "] * (len(table.head) - 1)) + "|"
        rows = ["| " + " | ".join(map(_cell, row)) + " |" for row in table.rows]
        parts.append("\n".join([f"### {table.title}", "", table.note, "", head, line, *rows, ""]))
    return "\n".join(parts)


def _cell(text: str) -> str:
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())
