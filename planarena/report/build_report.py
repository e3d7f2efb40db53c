"""The report of a build: one HTML file that opens from disk, with counts, histograms and example trajectories.

Nothing but `run.json` and the tables goes in, so the same run always gives the same bytes; tables are read
shard by shard, so a large run costs no more memory than a small one.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Mapping
from typing import Any

from planarena.errors import UserError
from planarena.export.escaping import escape_html
from planarena.records import Run
from planarena.report.charts import columns, rows
from planarena.report.examples import choose_examples, render_example
from planarena.report.page import render_page, table
from planarena.tasks.algebra import canonical, parse, render

__all__ = ["render_report"]

_EXAMPLES = 12
_SHAPES_SHOWN = 14
_NAME = re.compile(r"[^\s(),|]+")


def render_report(run: Run) -> str:
    """Return the report of a run as one HTML document."""
    counts: dict[str, Any] = run.info["counts"]
    title = f"Build of {counts.get('gold', 0)} gold trajectories"
    body = [
        f"<h1>{escape_html(title)}</h1>",
        f'<p class="soft">{escape_html(_subtitle(run.info))}</p>',
        _tiles(counts),
        "<h2>What it holds</h2>",
        _kinds(counts),
        f'<div class="grid">{_histograms(run, counts)}</div>',
        _contrast(counts),
        "<h2>What it threw away, and why it stopped</h2>",
        f'<div class="pair">{_discards(run.info, counts)}{_stops(run.info, counts)}</div>',
        "<h2>Examples</h2>",
        _LEGEND,
        *(render_example(example) for example in choose_examples(run, _EXAMPLES)),
    ]
    return render_page(title, "\n".join(body))


_LEGEND = (
    '<div class="legend"><span><i></i>data edge, with the argument it fills</span>'
    '<span><i class="order"></i>order edge: the state demands it (edges that follow from others are left out)</span>'
    '<span><i class="box reads"></i>reads</span><span><i class="box acts"></i>changes the state</span>'
    "<span>calls side by side may go in one turn</span></div>"
)


def _subtitle(info: Mapping[str, Any]) -> str:
    config: Mapping[str, Any] = info.get("config", {})
    sources = ", ".join(map(str, config.get("sources", ())))
    versions: Mapping[str, Any] = info.get("versions", {})
    return f"from {sources} · seed {info.get('seed')} · planarena {versions.get('planarena', '')}"


def _tiles(counts: Mapping[str, Any]) -> str:
    gold = counts.get("gold", 0)

    def share(name: str) -> str:
        return f"{100 * counts.get(name, 0) / gold:.0f} %" if gold else "-"

    tiles = [
        (counts.get("scenarios", 0), "scenarios"),
        (counts.get("steps", 0), "steps"),
        (counts.get("distinct_masked_shapes", 0), "distinct shapes, argument values masked"),
        (share("gold_parallel"), "with a parallel group"),
        (share("gold_data_edge"), "with a data edge"),
        (share("gold_order_edge"), "with an order edge"),
        (share("gold_over_serialised"), "over-serialised"),
    ]
    shown = "".join(
        f'<div class="tile"><b>{escape_html(value)}</b><span>{escape_html(label)}</span></div>'
        for value, label in tiles
    )
    return f'<div class="tiles">{shown}</div>'


def _card(title: str, body: str) -> str:
    return f'<section class="card"><h3>{escape_html(title)}</h3>{body}</section>'


def _kinds(counts: Mapping[str, Any]) -> str:
    """Count by execution kind; the kinds are never added up."""
    gold: Mapping[str, int] = counts.get("gold_kind", {})
    executions: Mapping[str, int] = counts.get("executions", {})
    found = [(kind, gold.get(kind, 0), executions.get(kind, 0)) for kind in sorted({*gold, *executions})]
    body = table(("execution kind", "gold trajectories", "distinct executions"), found)
    return f'<div class="card" style="margin-bottom:14px">{body}</div>'


def _contrast(counts: Mapping[str, Any]) -> str:
    if not counts.get("contrastive") and not counts.get("decision_points"):
        return ""
    cards = (
        _card(
            "Contrastive trajectories, by fault",
            rows(_by_size(counts.get("contrastive_mutation", {})), "Contrastive trajectories")
            + f'<p class="soft">{counts.get("contrastive", 0)} on top of the gold ones</p>',
        ),
        _card(
            "Choices at decision points, by outcome",
            rows(_by_size(counts.get("candidates", {})), "Choices by outcome")
            + f'<p class="soft">{counts.get("decision_points", 0)} decision points; frontier, equivalent and '
            "inefficient are right</p>",
        ),
    )
    return f'<h2>Contrast</h2><div class="pair">{"".join(cards)}</div>'


def _by_number(values: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(values.items(), key=lambda pair: (len(pair[0]), pair[0])))


def _by_size(values: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))


def _histograms(run: Run, counts: Mapping[str, Any]) -> str:
    gold = counts.get("gold", 0)
    parallel = {
        "none": gold - counts.get("gold_parallel", 0),
        "some": counts.get("gold_parallel", 0),
    }
    counted = _graph_shapes(run)
    shapes = _by_size(counted)
    rest = len(shapes) - _SHAPES_SHOWN
    more = f'<p class="soft">{rest} rarer ones are not shown.</p>' if rest > 0 else ""
    return "".join(
        (
            _card("Actions", columns(_by_number(counts.get("gold_length", {})), "Actions", "actions")),
            _card(
                "Longest chain",
                columns(
                    _by_number(counts.get("gold_chain", {})),
                    "Longest chain",
                    "groups of calls, one after another",
                ),
            ),
            _card("Parallel groups", columns(parallel, "Parallel groups", "groups called in one turn")),
            _card("Initial states", _state_sizes(run)),
            *(
                _card(title, columns(_by_number(counts[name]), title, unit))
                for name, title, unit in (("gold_turns", "User turns", "messages of the user"),)
                if counts.get(name)
            ),
            *(
                _card(title, rows(_by_size(counts[name]), title))
                for name, title in (("gold_register", "Manner of speaking"), ("gold_category", "Category"))
                if counts.get(name)
            ),
            _card("Domains", rows(_by_size(counts.get("gold_domain", {})), "Domains")),
            _card("Graph shapes", rows(shapes[:_SHAPES_SHOWN], "Graph shapes", counted.total()) + more),
            _card("Licences of the tools", rows(_by_size(_licences(run)), "Licences of the tools")),
        )
    )


def _graph_shapes(run: Run) -> Counter[str]:
    """Count the tasks by their expression with every tool written as a dot."""
    import pyarrow.parquet

    shapes: Counter[str] = Counter()
    known: dict[str, str] = {}
    for path in run.shards("tasks"):
        for text in pyarrow.parquet.read_table(path, columns=["expression"]).column(0).to_pylist():
            dotted = _NAME.sub("x", text)
            if dotted not in known:
                known[dotted] = _shape(dotted)
            shapes[known[dotted]] += 1
    return shapes


def _shape(dotted: str) -> str:
    try:
        return render(canonical(parse(dotted)), lambda _: "•")
    except UserError:
        return "unreadable"


def _licences(run: Run) -> Counter[str]:
    import pyarrow.parquet

    licences: Counter[str] = Counter()
    for path in run.shards("tools"):
        licences.update(pyarrow.parquet.read_table(path, columns=["licence"]).column(0).to_pylist())
    return licences


def _state_sizes(run: Run) -> str:
    import pyarrow.compute
    import pyarrow.parquet

    sizes = array("q")
    for path in run.shards("scenarios"):
        column = pyarrow.parquet.read_table(path, columns=["seed_state"]).column(0)
        sizes.extend(pyarrow.compute.binary_length(column).to_pylist())
    if not sizes:
        return "<p>No scenario.</p>"
    ordered = sorted(sizes)
    classes: dict[str, int] = {}
    low = 0
    # Doubling classes, from the one that holds the smallest state to the one that holds the largest.
    for high in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024):
        inside = sum(low * 1000 <= size < high * 1000 for size in ordered)
        classes[f"{low}-{high}"] = inside
        low = high
    classes[f"{low}+"] = sum(size >= low * 1000 for size in ordered)
    names = list(classes)
    filled = [place for place, name in enumerate(names) if classes[name]]
    shown = {name: classes[name] for name in names[filled[0] : filled[-1] + 1]}
    middle = ordered[len(ordered) // 2] / 1000
    return (
        columns(shown, "Initial states", "KB of JSON, by scenario")
        + f'<p class="soft">median {middle:.1f} KB, smallest {ordered[0] / 1000:.1f}, largest {ordered[-1] / 1000:.1f}</p>'
    )


def _discards(info: Mapping[str, Any], counts: Mapping[str, Any]) -> str:
    found: Mapping[str, int] = counts.get("discard", {})
    stages: Counter[str] = Counter()
    for key, number in found.items():
        stages[key.partition(":")[0]] += number
    cards = [
        _card("Discards by stage", rows(_by_size(stages), "Discards by stage")) if stages else "",
        _card(
            "Discards by reason",
            table(
                ("stage", "reason", "candidates"),
                [(*key.partition(":")[::2], number) for key, number in _by_size(found)],
            )
            if found
            else "<p>None.</p>",
        ),
    ]
    quarantined = info.get("quarantined", [])
    if quarantined:
        errors = Counter(str(entry["error"]) for entry in quarantined)
        cards.append(
            _card("Scenarios that failed unexpectedly", table(("error", "scenarios"), _by_size(errors)))
        )
    return "".join(cards)


def _stops(info: Mapping[str, Any], counts: Mapping[str, Any]) -> str:
    return _card(
        "Stop reasons",
        f"<p>The build: <b>{escape_html(info.get('stop_reason', ''))}</b></p>"
        + table(("composition of a scenario", "scenarios"), _by_size(counts.get("stop", {}))),
    )
