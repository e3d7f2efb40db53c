"""Text for pages: verbatim in HTML, and unable to leave it."""

from __future__ import annotations

import html

from planarena.export.escaping import visible

__all__ = ["escape"]


def escape(text: object) -> str:
    """Return text that is verbatim in HTML and cannot leave it; quotes stay, so nothing may stand in attributes."""
    return html.escape(visible(text), quote=False)
