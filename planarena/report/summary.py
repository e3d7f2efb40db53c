"""What a report says of a run as a whole: counts by execution kind, histograms, contrast, discards, provenance."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from planarena.export.escaping import escape_html
from planarena.llm.models import tell_served
from planarena.quality.difficulty import BANDS, difficulty_of
from planarena.records import Run
from planarena.records.shards import read_columns
from planarena.report.charts import columns, rows
from planarena.report.page import table
from planarena.report.scorecard import render_scorecard
from planarena.report.shapes import shape_of

__all__ = ["render_summary", "subtitle"]

_SHAPES_SHOWN = 14
_BARS_SHOWN = 30


def render_summary(run: Run) -> str:
    """Return the summary of a run as HTML: everything but the title and the list of trajectories."""
    counts: dict[str, Any] = run.info["counts"]
    tools = _tools(run)
    return "\n".join(
        (
            _tiles(counts),
            "<h2>What it holds</h2>",
            _kinds(counts),
            f'<div class="grid">{_histograms(run, counts)}{_licences(tools)}</div>',
            _contrast(counts),
            render_scorecard(run.info),
            _difficulty(run),
            '<h2 id="discards">What it threw away, and why it stopped</h2>',
            f'<div class="pair">{_discards(run.info, counts)}{_stops(run.info, counts)}</div>',
            '<h2 id="origin">Contamination and cost</h2>',
            f'<div class="pair">{_contamination(run.info, tools)}{_cost(run.info)}</div>',
        )
    )


def subtitle(info: Mapping[str, Any]) -> str:
    """Return where a run comes from, as plain text."""
    config: Mapping[str, Any] = info.get("config", {})
    sources = ", ".join(map(str, config.get("sources", ()))) or " ".join(
        str(config[name]) for name in ("format", "source") if name in config
    )
    versions: Mapping[str, Any] = info.get("versions", {})
    origin = f"from {sources} · seed {info.get('seed')} · planarena {versions.get('planarena', '')}"
    return f"{origin} · nothing was executed or proven" if info.get("kind") == "import" else origin


def _tiles(counts: Mapping[str, Any]) -> str:
    """Show what was counted; what a run did not measure is no zero."""
    gold = counts.get("gold", 0)
    tiles = [(counts[name], label) for name, label in _NUMBERS if name in counts]
    tiles[3:3] = [
        (f"{100 * counts[name] / gold:.0f} %" if gold else "-", label)
        for name, label in _SHARES
        if name in counts
    ]
    shown = "".join(
        f'<div class="tile"><b>{escape_html(value)}</b><span>{escape_html(label)}</span></div>'
        for value, label in tiles
    )
    return f'<div class="tiles">{shown}</div>'


_NUMBERS = (
    ("scenarios", "scenarios"),
    ("steps", "steps of gold trajectories"),
    ("distinct_masked_shapes", "distinct shapes, argument values masked"),
    ("contrastive", "contrastive trajectories"),
    ("no_call", "tasks where no call is right"),
    ("decision_points", "decision points"),
)
_SHARES = (
    ("gold_parallel", "with a parallel group"),
    ("gold_data_edge", "with a data edge"),
    ("gold_order_edge", "with an order edge"),
    ("gold_over_serialised", "over-serialised"),
)


def _card(title: str, body: str) -> str:
    return f'<section class="card"><h3>{escape_html(title)}</h3>{body}</section>'


def _kinds(counts: Mapping[str, Any]) -> str:
    """Count by execution kind; the kinds are never added up."""
    gold: Mapping[str, int] = counts.get("gold_kind", {})
    wrong: Mapping[str, int] = counts.get("contrastive_kind", {})
    executions: Mapping[str, int] = counts.get("executions", {})
    found = [
        (kind, gold.get(kind, 0), wrong.get(kind, 0), executions.get(kind, 0))
        for kind in sorted({*gold, *wrong, *executions})
    ]
    body = table(
        ("execution kind", "gold trajectories", "contrastive trajectories", "distinct executions"), found
    )
    return f'<div class="card wide">{body}</div>'


def _contrast(counts: Mapping[str, Any]) -> str:
    cards = []
    for name, title, note in (
        (
            "contrastive_mutation",
            "Contrastive trajectories, by fault",
            "contrastive",
        ),
        ("candidates", "Choices at decision points, by outcome", "decision_points"),
        ("no_call_category", "Where no call is right, by reason", "no_call"),
    ):
        found: Mapping[str, int] = counts.get(name, {})
        if found:
            words = _NOTES[note].format(counts.get(note, 0))
            body = rows(_by_size(found), title) + f'<p class="soft">{escape_html(words)}</p>'
            cards.append(_card(title, body))
    return f'<h2 id="contrast">Contrast</h2><div class="pair">{"".join(cards)}</div>' if cards else ""


_NOTES = {
    "contrastive": "{} on top of the gold ones",
    "decision_points": "{} decision points; frontier, equivalent and harmless are right",
    "no_call": "{} on top of the gold ones",
}


def _by_number(values: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(values.items(), key=lambda pair: (len(pair[0]), pair[0])))


def _by_size(values: Mapping[str, int]) -> list[tuple[str, int]]:
    ordered = sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))
    rest = ordered[_BARS_SHOWN:]
    others = [(f"{len(rest)} others", sum(number for _, number in rest))] if rest else []
    return ordered[:_BARS_SHOWN] + others


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
            *(
                _card(title, columns(_by_number(counts[name]), title, unit))
                for name, title, unit in (
                    ("gold_length", "Actions", "actions"),
                    ("gold_chain", "Longest chain", "groups of calls, one after another"),
                    ("gold_turns", "User turns", "messages of the user"),
                )
                if counts.get(name)
            ),
            _card("Parallel groups", columns(parallel, "Parallel groups", "groups called in one turn")),
            _state_sizes(run),
            *(
                _card(title, rows(_by_size(counts[name]), title))
                for name, title in (
                    ("gold_domain", "Domains"),
                    ("gold_register", "Manner of speaking"),
                    ("scenario_split", "Scenarios by split"),
                )
                if counts.get(name)
            ),
            *(
                [_card("Graph shapes", rows(shapes[:_SHAPES_SHOWN], "Graph shapes", counted.total()) + more)]
                if shapes
                else []
            ),
        )
    )


def _graph_shapes(run: Run) -> Counter[str]:
    """Count the tasks that have calls by their shape."""
    shapes: Counter[str] = Counter()
    for path in run.shards("tasks"):
        for text in read_columns(path, "expression")[0]:
            if text:
                shapes[shape_of(text)] += 1
    return shapes


def _tools(run: Run) -> dict[str, Counter[str]]:
    """Count the tools by licence and by what they share with benchmarks."""
    found: dict[str, Counter[str]] = {"licence": Counter(), "contamination": Counter()}
    for path in run.shards("tools"):
        licences, contamination = read_columns(path, "licence", "contamination")
        found["licence"].update(licences)
        for marks in contamination:
            found["contamination"].update(map(str, msgspec.json.decode(marks)))
    return found


def _licences(tools: Mapping[str, Counter[str]]) -> str:
    title = "Licences of the tools"
    return _card(title, rows(_by_size(tools["licence"]), title)) if tools["licence"] else ""


def _difficulty(run: Run) -> str:
    """Show how often the models that were asked do the tasks."""
    found = [
        (model, tasks, tries, f"{mean:.3f}", *bands.values())
        for model, tasks, tries, mean, bands in difficulty_of(run)
    ]
    if not found:
        return ""
    head = ("model", "tasks", "tries", "mean pass rate", *(name for name, _, _ in BANDS))
    return f'<h2 id="difficulty">Difficulty</h2>{_card("Tasks by pass rate", table(head, found))}'


def _contamination(info: Mapping[str, Any], tools: Mapping[str, Counter[str]]) -> str:
    checked: Mapping[str, Any] = info.get("contamination") or {}
    if checked:
        body = table(
            ("benchmark", "finding"), [(name, str(found)) for name, found in sorted(checked.items())]
        )
    else:
        body = (
            "<p><b>Queries were not checked</b> against any benchmark: no benchmark's rows were given to "
            "this build.</p>"
        )
    flagged = _by_size(tools["contamination"])
    body += (
        table(("tools that resemble a benchmark's", "tools"), flagged)
        if flagged
        else '<p class="soft">No tool is marked as a benchmark\'s.</p>'
    )
    return _card("Contamination", body)


def _cost(info: Mapping[str, Any]) -> str:
    cost: Mapping[str, Any] = info.get("cost") or {}
    calls = cost.get("llm_calls", 0)
    if not calls:
        body = "<p>No language model was called; nothing was spent.</p>"
    else:
        usd = cost.get("usd")
        shown = "not known" if usd is None else f"{usd:.2f} USD"
        body = table(("calls to language models", "tokens", "cost"), [(calls, cost.get("tokens", 0), shown)])
        body += "".join(f"<p>{escape_html(note)}</p>" for note in tell_served(cost.get("served_by") or {}))
    versions = ", ".join(f"{name} {value}" for name, value in sorted(info.get("versions", {}).items()))
    return _card("Cost and versions", body + f'<p class="soft">{escape_html(versions)}</p>')


def _state_sizes(run: Run) -> str:
    sizes = array("q")
    for path in run.shards("scenarios"):
        sizes.extend(len(text.encode()) for text in read_columns(path, "seed_state")[0])
    if not sizes or max(sizes) <= len("null"):
        return ""  # dialogues that were imported have no state
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
    body = (
        columns(shown, "Initial states", "KB of JSON, by scenario")
        + f'<p class="soft">median {middle:.1f} KB, smallest {ordered[0] / 1000:.1f}, largest {ordered[-1] / 1000:.1f}</p>'
    )
    return _card("Initial states", body)


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
                [
                    (*key.partition(":")[::2], number)
                    for key, number in sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
                ],
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
