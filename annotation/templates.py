"""The templates of structured fields: one small language, read by Argilla's page and by the offline sheet.

They use what Handlebars and our own renderer share: `{{{value}}}`, `{{value}}`, `#if`, `#unless`, `#each`, `#with`,
`else`, `this`, `@last`. Values come escaped (see `items`), which is why they are put in as they are.
"""

from __future__ import annotations

import re
from typing import Any

from planarena.data import read_text

__all__ = ["page_template", "render", "style"]

_TAG = re.compile(r"\{\{\{\s*([^{}]+?)\s*\}\}\}|\{\{\s*([#/]?)\s*([^{}]+?)\s*\}\}")


def style() -> str:
    """Return the style sheet of all templates."""
    return read_text("guidelines/templates/style.css")


def page_template(name: str, field: str) -> str:
    """Return a template for a custom field of Argilla, with its style."""
    return f"<style>{style()}</style>\n{_source(name, f'record.fields.{field}')}"


def _source(name: str, root: str) -> str:
    block = read_text("guidelines/templates/block.html").strip()
    text = read_text(f"guidelines/templates/{name}.html")
    return text.replace("BLOCK", block).replace("FIELD", root)


def render(name: str, value: Any) -> str:
    """Render a template without Argilla.

    Args:
        name: Of the template.
        value: The item's value of the field, its strings escaped.

    Returns:
        HTML.
    """
    tokens = _tokens(_source(name, "field"))
    out: list[str] = []
    _render(tokens, 0, len(tokens), [{"field": value}], {}, out)
    return "".join(out)


def _tokens(text: str) -> list[tuple[str, str]]:
    """Cut a template into ("text", ...), ("value", path), ("open", "if x"), ("else", ""), ("close", "if")."""
    found, at = [], 0
    for tag in _TAG.finditer(text):
        if tag.start() > at:
            found.append(("text", text[at : tag.start()]))
        at = tag.end()
        if tag[1] is not None:
            found.append(("value", tag[1]))
        elif tag[2] == "#":
            found.append(("open", tag[3]))
        elif tag[2] == "/":
            found.append(("close", tag[3]))
        else:
            found.append(("else", "") if tag[3] == "else" else ("value", tag[3]))
    return [*found, ("text", text[at:])]


def _render(
    tokens: list[tuple[str, str]],
    start: int,
    end: int,
    scope: list[Any],
    marks: dict[str, Any],
    out: list[str],
) -> None:
    at = start
    while at < end:
        kind, text = tokens[at]
        if kind != "open":
            out.append(text if kind == "text" else _shown(_look_up(text, scope, marks)))
            at += 1
            continue
        otherwise, close = _ends(tokens, at)
        word, _, path = text.partition(" ")
        value = _look_up(path, scope, marks)
        body, rest = (at + 1, otherwise), (otherwise + 1, close)
        if word == "each":
            for number, one in enumerate(value or ()):
                _render(tokens, *body, [*scope, one], {"@last": number == len(value) - 1}, out)
            if not value:
                _render(tokens, *rest, scope, marks, out)
        elif word == "with":
            _render(tokens, *(body if value else rest), [*scope, value], marks, out)
        else:
            _render(tokens, *(body if bool(value) == (word == "if") else rest), scope, marks, out)
        at = close + 1


def _ends(tokens: list[tuple[str, str]], opened: int) -> tuple[int, int]:
    """Return where the `else` of an opened block stands (its end, if it has none) and where the block ends."""
    depth, otherwise = 0, -1
    for at in range(opened, len(tokens)):
        kind = tokens[at][0]
        depth += (kind == "open") - (kind == "close")
        if kind == "else" and depth == 1:
            otherwise = at
        if depth == 0:
            return (otherwise if otherwise >= 0 else at), at
    raise ValueError(f"the template's {tokens[opened][1]!r} is not closed")


def _look_up(path: str, scope: list[Any], marks: dict[str, Any]) -> Any:
    if path.startswith("@"):
        return marks.get(path)
    value = scope[0] if path.split(".", maxsplit=1)[0] == "field" else scope[-1]
    for name in path.split("."):
        if name == "this":
            continue
        if name == "length" and isinstance(value, list):
            value = len(value)
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value


def _shown(value: Any) -> str:
    return "" if value is None else str(value)
