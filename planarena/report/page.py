"""The frame of a report page: one HTML file with its style and script inside, nothing fetched."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from planarena.export.escaping import escape_html

__all__ = ["MARKS", "PAGE_END", "inline_script", "page_head", "render_page", "script_element", "table"]

_SCRIPTS = ("blocks.js", "graph.js", "detail.js", "list.js")


@cache
def _style() -> str:
    return files("planarena.report").joinpath("report.css").read_text(encoding="utf-8")


@cache
def _script() -> str:
    parts = (files("planarena.report").joinpath(name).read_text(encoding="utf-8") for name in _SCRIPTS)
    return _enclosed("".join(parts))


def _enclosed(script: str) -> str:
    return f'"use strict";\n(() => {{\n{script}}})();\n'


def _source(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


MARKS = (
    '<svg class="marks" aria-hidden="true"><defs>'
    + "".join(
        f'<marker id="arrow-{kind}" viewBox="0 0 8 8" refX="7.4" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path class="{kind}" d="M0 0.6L8 4L0 7.4z"/></marker>'
        for kind in ("data", "order")
    )
    + "</defs></svg>"
)


def render_page(title: str, body: str, blocks: Iterable[str] | None = None) -> str:
    """Return a whole HTML document.

    Its policy allows this style, this script and nothing else, should a value ever escape its escaping: no other
    script, no style attribute, no request.

    Args:
        title: Plain text.
        body: HTML, every value in it escaped by `escape_html` already.
        blocks: Elements that hold data for the script; None leaves the script out.
    """
    return "".join(
        (
            page_head(title, scripted=blocks is not None),
            body,
            "\n</main>\n",
            *(() if blocks is None else (*blocks, script_element())),
            PAGE_END,
        )
    )


PAGE_END = "</body>\n</html>\n"


def page_head(title: str, *, scripted: bool, style: str = "", script: str = "") -> str:
    """Return what stands before the body; see `render_page`.

    Args:
        title: Plain text.
        scripted: Whether a script follows.
        style: On top of the style of all pages.
        script: Of `inline_script`, where it is not the one that reads the blocks.
    """
    style = _style() + style
    policy = f"default-src 'none'; style-src {_source(style)}; base-uri 'none'; form-action 'none'"
    if scripted:
        policy += f"; script-src {_source(_enclosed(script) if script else _script())}"
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            f"<title>{escape_html(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{MARKS}\n<main>\n",
        )
    )


def script_element() -> str:
    """Return the script that reads the blocks."""
    return f"<script>{_script()}</script>\n"


def inline_script(script: str) -> str:
    """Return a script of the page's own; `page_head` must have been given the same."""
    return f"<script>{_enclosed(script)}</script>\n"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table; numbers stand to the right, every cell is escaped."""

    def cell(tag: str, value: object, number: bool) -> str:
        mark = ' class="n"' if number else ""
        return f"<{tag}{mark}>{escape_html(value)}</{tag}>"

    numeric = [
        bool(rows) and all(isinstance(row[at], int | float) for row in rows) for at in range(len(head))
    ]
    top = "".join(cell("th" if name else "td", name, numeric[at]) for at, name in enumerate(head))
    lines = "".join(
        "<tr>" + "".join(cell("td", value, numeric[at]) for at, value in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'
