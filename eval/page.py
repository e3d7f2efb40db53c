"""report.html of an evaluation: one self-contained page, every text escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from planarena.eval.results import CategoryRow, Overall, SuiteResult, Verdict

if TYPE_CHECKING:
    from planarena.eval.run import Evaluation

__all__ = ["page", "render", "text"]

_SHOWN = 200
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:80rem;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.6rem}h2{margin-top:2.5rem;border-bottom:1px solid #d0d7de}
table{border-collapse:collapse;margin:1rem 0;width:100%}th,td{padding:.25rem .6rem;border-bottom:1px solid #eaeef2}
th{text-align:left;font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.bar{background:#eaeef2;height:.7rem;position:relative;min-width:9rem}.bar i{position:absolute;height:100%}
.bar .v{background:#4078c0;left:0}.bar .r{background:#1b1f2455}.quiet{color:#59636e}a{color:#0550ae}code{font-size:.9em;overflow-wrap:anywhere}
td.keep{white-space:nowrap}td.wide{min-width:11rem}th.n{white-space:normal}
@media(max-width:60rem){table{display:block;overflow-x:auto}td{min-width:3.5rem}td.wide,td:last-child:not(.n):not(:empty){min-width:12rem}}
.big{font-size:1.3rem;font-weight:600}details{margin:.5rem 0}td.detail{overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}h2,th,td{border-color:#30363d}
.quiet{color:#9198a1}a{color:#79b8ff}.bar{background:#21262d}.bar .r{background:#e6edf366}}
"""


def render(evaluation: Evaluation) -> str:
    """The page of an evaluation."""
    settings = evaluation.run["config"]
    source = str(settings["responses"] or settings["model"])
    body = [f"<h1>Evaluation {text(evaluation.path.name)}</h1>"]
    body.append(
        f'<p class="quiet">outputs: <code>{text(source)}</code>; planarena {text(evaluation.run["planarena"])}; '
        f"{text(evaluation.run['started'])}</p>"
    )
    if "generation" in evaluation.run:
        body.append(_generation(evaluation.run["generation"]))
    body.append('<p>Every item with its prompt, output and gold: <a href="items.html">items.html</a></p>')
    for name, result in evaluation.suites.items():
        body.append(_suite(name, result))
    return page(f"Evaluation {evaluation.path.name}", "".join(body))


def _generation(made: dict[str, Any]) -> str:
    """Who wrote the outputs, how they were asked, and what it took."""
    settings = ", ".join(f"{key} {value}" for key, value in made["settings"].items() if value not in ("", {}))
    heads = (
        "suite",
        "outputs",
        "replies",
        "prompt tokens",
        "reply tokens",
        "USD paid",
        "from the cache",
        "s an output",
        "cut at a limit",
        "failed",
    )
    rows = "".join(
        f"<tr><td>{text(suite)}</td>"
        + "".join(
            f'<td class="n">{text(value)}</td>'
            for value in (
                taken["outputs"],
                taken["replies"],
                taken["prompt_tokens"],
                taken["completion_tokens"],
                "not known" if taken["usd"] is None else f"{taken['usd']:.4f}",
                taken["cached"],
                "" if taken["seconds_median"] is None else f"{taken['seconds_median']:.2f}",
                taken["cut"],
                sum(taken["failed"].values()),
            )
        )
        + "</tr>"
        for suite, taken in made["suites"].items()
    )
    head = "".join(
        f'<th class="{"n" if place else ""}">{text(word)}</th>' for place, word in enumerate(heads)
    )
    return (
        f"<p>Written by <code>{text(made['name'])}</code>: {text(settings)}.</p>"
        + "".join(f"<p><strong>{text(note)}</strong></p>" for note in made["notes"])
        + f"<table><tr>{head}</tr>{rows}</table>"
    )


def page(title: str, body: str) -> str:
    """A self-contained page around a body that is HTML already."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{text(title)}</title><style>{_STYLE}</style></head><body><main>{body}</main></body></html>\n"
    )


def text(value: object) -> str:
    """Escape, and show control codes instead of sending them."""
    shown = "".join(sign if sign >= " " and sign != "\x7f" else " " for sign in str(value))
    return escape(shown)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f} %"


def _suite(name: str, result: SuiteResult) -> str:
    parts = [f'<section id="{text(name)}"><h2>{text(name)}</h2>']
    headline = next((value for value in result.overall if value.name == result.headline), None)
    if headline is not None:
        parts.append(
            f'<p class="big">{_percent(headline.value) or "not run"} <span class="quiet">{text(headline.name)}'
        )
        parts.append(f", 95 % interval {_percent(headline.low)} to {_percent(headline.high)}</span></p>")
        if headline.not_run and headline.value is not None:
            words = "Counted as 0, not run:" if name.startswith("bfcl") else "Not in this value:"
            parts.append(f"<p><strong>{words}</strong> {text(', '.join(headline.not_run))}.</p>")
    if result.part:
        parts.append(f"<p><strong>This is a part: {text(result.part)}.</strong></p>")
    parts.append(f"<p>Computed on {text(result.revision)}.")
    if result.tokens is not None:
        parts.append(
            f" Mean length of an output: {result.tokens:.1f} tokens, counted by {text(result.tokens_from)}."
        )
    if result.sandbox == "none":
        parts.append(" <strong>Executed without a sandbox.</strong>")
    parts.append("</p>")
    parts += [f'<p class="quiet">{text(note)}</p>' for note in result.notes]
    parts.append(_overall_table(result.overall))
    if result.several:
        parts.append(
            f"<h3>Over {result.samples} samples of each item</h3>"
            + _overall_table(list(result.several.values()))
        )
    if result.columns:
        cells = "".join(
            f'<tr><td>{text(key)}</td><td class="n">{_percent(value)}</td></tr>'
            for key, value in result.columns.items()
        )
        parts.append(f"<h3>Columns that papers print</h3><table>{cells}</table>")
    parts.append(_category_table(result.categories))
    if result.measures:
        cells = "".join(
            f'<tr><td>{text(key)}</td><td class="n">{value:.4g}</td><td>{text(words)}</td></tr>'
            for key, (value, words) in result.measures.items()
        )
        parts.append(f"<h3>Measures</h3><table>{cells}</table>")
    if result.base is not None:
        parts.append(_base_table(result))
    parts.append(_reasons(result))
    parts.append(_wrong(result.verdicts))
    return "".join(parts) + "</section>"


def _overall_table(values: list[Overall]) -> str:
    rows = []
    for value in values:
        absent = f"not run: {', '.join(value.not_run)}" if value.not_run else ""
        rows.append(
            f'<tr><td>{text(value.name)}</td><td class="n">{_percent(value.value) or "not run"}</td>'
            f'<td class="n">{_percent(value.low)}</td><td class="n">{_percent(value.high)}</td>'
            f'<td>{text(value.formula)}<br><span class="quiet">{text(absent)}</span></td></tr>'
        )
    head = '<tr><th>Overall</th><th class="n">Value</th><th class="n">Low</th><th class="n">High</th><th>Formula</th></tr>'
    return f"<table>{head}{''.join(rows)}</table>"


def _category_table(rows: list[CategoryRow]) -> str:
    lines = []
    for row in rows:
        if row.accuracy is None:
            lines.append(
                f'<tr><td>{text(row.category)}</td><td class="n">{row.items}</td>'
                f'<td colspan="7" class="quiet">not run: {text(row.not_run)}</td></tr>'
            )
            continue
        low, high = row.low or 0.0, row.high if row.high is not None else 1.0
        bar = (
            f'<div class="bar"><i class="v" style="width:{100 * row.accuracy:.2f}%"></i>'
            f'<i class="r" style="left:{100 * low:.2f}%;width:{100 * (high - low):.2f}%;height:.2rem;top:.25rem"></i></div>'
        )
        lines.append(
            f'<tr><td>{text(row.category)}</td><td class="n">{row.items}</td><td class="n">{row.correct:g}</td>'
            f'<td class="n">{_percent(row.accuracy)}</td><td>{bar}</td><td class="n">{_percent(low)}</td>'
            f'<td class="n">{_percent(high)}</td><td class="n">{row.missing + row.unreadable or ""}</td>'
            f'<td class="n">{"" if row.tokens is None else f"{row.tokens:.1f}"}</td></tr>'
        )
    head = "".join(
        f"<th{' class=n' if name != 'Category' else ''}>{name}</th>" if name else "<td></td>"
        for name in ("Category", "Items", "Correct", "Accuracy", "", "Low", "High", "Missing", "Tokens")
    )
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>"


def _base_table(result: SuiteResult) -> str:
    base = result.base
    assert base is not None
    lines = []
    for name, row in (("all items", base["items"]), *base["categories"].items()):
        lines.append(
            f'<tr><td>{text(name)}</td><td class="n">{row["items"]}</td><td class="n">{100 * row["difference"]:+.2f}</td>'
            f'<td class="n">{100 * row["low"]:+.2f}</td><td class="n">{100 * row["high"]:+.2f}</td>'
            f'<td class="n">{row["gained"]}</td><td class="n">{row["lost"]}</td><td class="n">{row["p"]:.3g}</td></tr>'
        )
    head = (
        '<tr><th>Item by item</th><th class="n">Items</th><th class="n">Points</th><th class="n">Low</th>'
        '<th class="n">High</th><th class="n">Gained</th><th class="n">Lost</th><th class="n">p</th></tr>'
    )
    return f"<h3>Difference from {text(base['name'])}</h3><table>{head}{''.join(lines)}</table>"


def _reasons(result: SuiteResult) -> str:
    if not result.reasons:
        return ""
    lines = "".join(
        f'<tr><td>{text(key)}</td><td class="n">{count}</td></tr>' for key, count in result.reasons.items()
    )
    return f"<details><summary>Wrong outputs by reason</summary><table>{lines}</table></details>"


def _wrong(verdicts: list[Verdict]) -> str:
    wrong = [verdict for verdict in verdicts if not verdict.correct]
    if not wrong:
        return ""
    lines = "".join(
        f"<tr><td>{text(verdict.id)}</td><td>{text(verdict.reason)}</td>"
        f'<td class="detail">{text(verdict.detail or verdict.answer or "")}</td></tr>'
        for verdict in wrong[:_SHOWN]
    )
    shown = f"the first {_SHOWN} of {len(wrong)}" if len(wrong) > _SHOWN else str(len(wrong))
    return f"<details><summary>Wrong outputs: {shown} (all are in scores.json)</summary><table>{lines}</table></details>"
