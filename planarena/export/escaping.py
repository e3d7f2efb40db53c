"""Making text of unknown origin harmless where people read it: control codes, HTML and Markdown."""

from __future__ import annotations

import html
import re

__all__ = ["escape_html", "escape_markdown", "visible"]

# Control codes could rewrite a terminal, direction marks could make text read differently from what it says.
_UNSEEN = {
    code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    for code in (
        *(code for code in range(0x20) if chr(code) not in "\n\t"),
        *range(0x7F, 0xA0),
        *(0x061C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
        *(0xFEFF, 0xFFFE, 0xFFFF),
    )
}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def visible(text: object) -> str:
    """Return text in which control codes and direction marks are written out; newlines and tabs stay."""
    return str(text).translate(_UNSEEN)


def escape_html(text: object) -> str:
    """Return text for HTML or SVG, inside an element or a quoted attribute."""
    return html.escape(visible(text), quote=True)


def escape_markdown(text: object) -> str:
    """Return text for one line or table cell of Markdown: nothing in it is markup, HTML or a new line."""
    return _MARKDOWN.sub(r"\\\1", " ".join(visible(text).split()))
