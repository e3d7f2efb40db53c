"""How given outputs are read: the format that was forced, or each output's own; and which do not fit the forced one."""

from __future__ import annotations

from typing import Any

from planarena.errors import UserError
from planarena.eval.config import EvalConfig
from planarena.eval.responses import Responses
from planarena.formats import READERS, read_output

__all__ = ["mark_unfit", "reader_of"]

_OPEN = ("auto", "native", "plain")


def reader_of(config: EvalConfig) -> str:
    """Return the way to read given outputs: the format named, else "auto"; a model of ours needs no guessing.

    Raises:
        UserError: There is no reader of that name.
    """
    if config.model is not None or not config.format:
        return "auto"
    if config.format not in READERS:
        raise UserError(
            f"there is no way {config.format!r} to read an output",
            where="--format",
            fix="one of: " + ", ".join(READERS),
        )
    return config.format


def mark_unfit(responses: Responses, form: str) -> None:
    """Mark outputs that carry calls in another way than the forced one: they are unreadable, not wrong."""
    if form in _OPEN:
        return
    for listed in responses.by_id.values():
        for response in listed:
            if not response.problem:
                response.problem = _misfit(response.value, form)


def _misfit(value: Any, form: str) -> str:
    if not isinstance(value, str):
        return ""
    forced = read_output(value, form)
    if forced.calls or forced.problem:
        return ""
    found = read_output(value)
    return f"written as {found.written}, not as {form}" if found.calls else ""
