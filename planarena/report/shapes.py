"""The shape of a task: its expression in canonical form with every tool written as a dot."""

from __future__ import annotations

import re
from functools import lru_cache

from planarena.errors import UserError
from planarena.tasks.algebra import canonical, parse, render

__all__ = ["shape_of"]

_NAME = re.compile(r"[^\s(),|]+")


def shape_of(expression: str) -> str:
    """Return the shape, as `•, (• || •)`; empty for a task without a call, `unreadable` for what is no expression."""
    return _shape(_NAME.sub("x", expression)) if expression else ""


@lru_cache(maxsize=4096)
def _shape(dotted: str) -> str:
    try:
        return render(canonical(parse(dotted)), lambda _: "•")
    except UserError:
        return "unreadable"
