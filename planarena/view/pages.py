"""Pages from templates: every value is text, long values are cut with a link to the whole, addresses hold all state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

import jinja2
import msgspec
from markupsafe import Markup

from planarena.export.escaping import visible
from planarena.report.page import MARKS

__all__ = ["MOST_SHOWN", "POLICY", "capped", "laid_out", "link", "render", "static", "text_of"]

# Characters of a value on a page; the whole is a link away.
MOST_SHOWN = 6_000
_INLINE = 76
_STATIC = {
    "view.css": ("text/css", (("planarena.report", "report.css"), ("planarena.view", "view.css"))),
    "view.js": (
        "text/javascript",
        (("planarena.report", "blocks.js"), ("planarena.report", "graph.js"), ("planarena.view", "view.js")),
    ),
}
# Nothing but this server is asked for anything, should a value ever escape its escaping.
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def render(template: str, **values: Any) -> str:
    """Return a page; in templates every expression is escaped.

    Control codes are written out in the page as a whole: so no filter or macro can let one through.
    """
    return _printable(visible(_templates().get_template(template).render(**values)))


@cache
def _templates() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("planarena.view", "templates"),
        autoescape=True,
        finalize=lambda value: "" if value is None else value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # The arrows that graphs refer to.
    made.globals.update(link=link, graph_data=_embedded, marks=Markup(MARKS), dict=dict)  # noqa: S704  a constant
    made.filters.update(number=_number, laid_out=laid_out, words=_words, whole=_whole)
    return made


def _printable(text: str) -> str:
    """JSON may hold halves of surrogate pairs, which no page can."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _whole(value: Any) -> str:
    text, more = capped(text_of(value))
    return f"{text} ... ({more:,} more characters)" if more else text


def _words(value: Any) -> str:
    return str(value).replace("_", " ")


def _embedded(value: Any) -> Markup:
    """Return JSON for a data block: nothing in it ends the element."""
    # ASCII alone, so that what pages write out of their text cannot change it.
    text = json.dumps(value, separators=(",", ":")).replace("\x7f", "\\u007f")
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))  # noqa: S704


def link(path: str, parameters: Mapping[str, Any] | None = None, **changed: Any) -> str:
    """Return an address: a path, and parameters with some changed; what is empty is left out."""
    given = {**(parameters or {}), **changed}
    pairs = [(key, str(value)) for key, value in given.items() if value not in (None, "", ())]
    whole = quote(path, safe="/")
    return f"{whole}?{urlencode(pairs, errors='replace')}" if pairs else whole


def capped(text: str, most: int = MOST_SHOWN) -> tuple[str, int]:
    """Return the beginning of a text, and how many characters are left out."""
    return (text, 0) if len(text) <= most else (text[:most], len(text) - most)


def text_of(value: Any) -> str:
    """Return a value as it is read: text as it is, all else as JSON in lines."""
    if isinstance(value, str):
        return value
    try:
        return laid_out(msgspec.json.encode(value).decode())
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return str(value)


def laid_out(text: str) -> str:
    """Return JSON text in lines where it is long."""
    if len(text) <= _INLINE:
        return text
    try:
        return msgspec.json.format(text, indent=2)
    except (msgspec.MsgspecError, RecursionError):
        return text


@cache
def static(name: str) -> tuple[str, bytes] | None:
    """Return type and content of a file that pages link to."""
    if name not in _STATIC:
        return None
    kind, parts = _STATIC[name]
    text = "".join(files(package).joinpath(part).read_text(encoding="utf-8") for package, part in parts)
    if kind == "text/javascript":
        text = f'"use strict";\n(() => {{\n{text}}})();\n'
    return kind, text.encode()
