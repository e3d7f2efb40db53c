"""The frame of a report page: one HTML file with its style inside, no script, nothing fetched."""

from __future__ import annotations

from collections.abc import Sequence

from planarena.export.escaping import escape_html

__all__ = ["render_page", "table"]

# The policy forbids scripts and any request, should a value ever escape its escaping.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_STYLE = """
:root { color-scheme: light dark; --ground: #fbfbfa; --card: #fff; --ink: #1d2125; --soft: #5d666f; --line: #dcdfe3;
  --bar: #3a6ea5; --data: #1f6f54; --order: #8a6d1c; --reads: #eef3f9; --acts: #fdf1e3; --acts-line: #c98a3a;
  --reads-line: #7d9cc0; --code: #f3f4f5; }
@media (prefers-color-scheme: dark) { :root { --ground: #15181b; --card: #1d2125; --ink: #e6e8ea; --soft: #9aa4ae;
  --line: #343a41; --bar: #6fa3dc; --data: #63c4a0; --order: #d9b75a; --reads: #212d3a; --acts: #37291a;
  --acts-line: #b9843f; --reads-line: #55779c; --code: #262b30; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Noto Sans",
  sans-serif; overflow-wrap: anywhere; }
main { max-width: 1240px; margin: 0 auto; padding: 24px 20px 60px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; } h2 { font-size: 19px; margin: 40px 0 12px; }
h3 { font-size: 15px; margin: 0 0 10px; } p { margin: 0 0 10px; } .soft { color: var(--soft); }
.grid { columns: 3 330px; column-gap: 14px; } .grid > .card { display: inline-block; width: 100%; margin-bottom: 14px; }
.tiles { display: grid; gap: 10px; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); margin: 18px 0; }
.tile, .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; min-width: 0; }
.tile b { display: block; font-size: 24px; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; }
.chart { display: block; width: 100%; max-width: 460px; height: auto; }
.chart text { fill: var(--ink); font-size: 12px; } .chart .axis { stroke: var(--line); } .chart .bar { fill: var(--bar); }
.chart .value, .chart .class, .chart .unit { text-anchor: middle; } .chart .unit, .chart .count { fill: var(--soft); }
.pair { display: grid; gap: 14px; grid-template-columns: repeat(auto-fit, minmax(min(330px, 100%), 1fr)); align-items: start; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { text-align: left; padding: 5px 10px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; overflow-wrap: normal; } .n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.example { margin-bottom: 16px; } .tags { display: flex; flex-wrap: wrap; gap: 6px; margin-bottom: 10px; }
.tags span { border: 1px solid var(--line); border-radius: 999px; padding: 1px 10px; font-size: 12.5px; color: var(--soft); }
.tags code { font-size: 12px; } blockquote { margin: 0 0 12px; padding: 8px 14px; border-left: 3px solid var(--bar);
  background: var(--code); border-radius: 0 8px 8px 0; white-space: pre-wrap; }
.two { display: grid; gap: 18px; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
@media (max-width: 900px) { .two { grid-template-columns: minmax(0, 1fr); } main { padding: 16px 12px 40px; } }
.plan { white-space: pre-wrap; margin: 0 0 12px; } .label { color: var(--soft); font-size: 12.5px; font-weight: 600; margin: 0 0 2px; }
.graph { display: block; margin: 0 auto 10px; max-width: 100%; height: auto; } .graph text { fill: var(--ink); font-size: 12.5px; }
.graph rect { stroke-width: 1.2; } .graph .reads rect { fill: var(--reads); stroke: var(--reads-line); }
.graph .acts rect { fill: var(--acts); stroke: var(--acts-line); } .graph .number { fill: var(--soft); }
.graph .edge { fill: none; stroke-width: 1.5; } .graph .data { stroke: var(--data); }
.graph .order { stroke: var(--order); stroke-dasharray: 5 4; }
.graph .flow { text-anchor: middle; fill: var(--data); font-size: 11.5px; paint-order: stroke; stroke: var(--card);
  stroke-width: 4px; stroke-linejoin: round; }
.marks { position: absolute; width: 0; height: 0; } .marks .data { fill: var(--data); } .marks .order { fill: var(--order); }
ol.steps { list-style: none; margin: 0; padding: 0; } ol.steps > li { padding: 8px 0; border-top: 1px solid var(--line); }
.turn { color: var(--soft); font-size: 12.5px; } code, pre { font: 12.5px/1.45 ui-monospace, "SF Mono", Menlo, Consolas,
  "DejaVu Sans Mono", monospace; } pre { margin: 4px 0; padding: 8px 10px; background: var(--code); border-radius: 6px;
  white-space: pre-wrap; max-height: 420px; overflow: auto; } summary { cursor: pointer; color: var(--soft); font-size: 13px; }
.legend { display: flex; flex-wrap: wrap; gap: 16px; color: var(--soft); font-size: 13px; margin-bottom: 14px; }
.legend i { display: inline-block; width: 22px; margin-right: 6px; vertical-align: middle; border-top: 2px solid var(--data); }
.legend i.order { border-top: 2px dashed var(--order); } .legend i.box { height: 13px; border: 1px solid; border-radius: 4px; }
.legend i.reads { background: var(--reads); border-color: var(--reads-line); }
.legend i.acts { background: var(--acts); border-color: var(--acts-line); }
@media print { body { background: #fff; } .card, .tile { break-inside: avoid; } }
"""

_MARKS = (
    '<svg class="marks" aria-hidden="true"><defs>'
    + "".join(
        f'<marker id="arrow-{kind}" viewBox="0 0 8 8" refX="7.4" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path class="{kind}" d="M0 0.6L8 4L0 7.4z"/></marker>'
        for kind in ("data", "order")
    )
    + "</defs></svg>"
)


def render_page(title: str, body: str) -> str:
    """Return a whole HTML document.

    Args:
        title: Plain text.
        body: HTML, every value in it escaped by `escape_html` already.
    """
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape_html(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{_MARKS}\n<main>\n{body}\n"
        "</main>\n</body>\n</html>\n"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table; numbers stand to the right, every cell is escaped."""

    def cell(tag: str, value: object, number: bool) -> str:
        mark = ' class="n"' if number else ""
        return f"<{tag}{mark}>{escape_html(value)}</{tag}>"

    numeric = [
        bool(rows) and all(isinstance(row[at], int | float) for row in rows) for at in range(len(head))
    ]
    top = "".join(cell("th", name, numeric[at]) for at, name in enumerate(head))
    lines = "".join(
        "<tr>" + "".join(cell("td", value, numeric[at]) for at, value in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'
