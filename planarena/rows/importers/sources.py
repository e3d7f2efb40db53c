"""The importers by name, and which of them a record is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from planarena.errors import UserError
from planarena.rows.importers import (
    apigen_mt,
    funreason_mt,
    hammer,
    hermes,
    openai,
    openr1_math,
    sharegpt,
    toolace,
    toolrl,
    xlam,
)
from planarena.rows.importers.trace import ImportOptions, Trace

__all__ = ["SOURCES", "Source", "detect", "source"]


class Source(NamedTuple):
    """An importer: its name, its reader, and the licence that the set's card states."""

    name: str
    read: Callable[[dict[str, Any], ImportOptions, int], Trace]
    licence: str


SOURCES: dict[str, Source] = {
    name: Source(name, module.read, module.LICENCE)
    for name, module in {
        "openai": openai,
        "sharegpt": sharegpt,
        "toolace": toolace,
        "xlam": xlam,
        "hammer": hammer,
        "hermes": hermes,
        "apigen-mt": apigen_mt,
        "funreason-mt": funreason_mt,
        "toolrl": toolrl,
        "openr1-math": openr1_math,
    }.items()
}


def source(name: str) -> Source:
    """Return an importer by name.

    Raises:
        UserError: There is none of that name.
    """
    found = SOURCES.get(name)
    if found is None:
        near = get_close_matches(name, SOURCES, n=1, cutoff=0.5)
        fix = f"did you mean {near[0]}?" if near else f"one of: {', '.join(SOURCES)}"
        raise UserError(f"there is no format {name!r}", where="--format", fix=fix)
    return found


def detect(record: Mapping[str, Any]) -> str | None:
    """Return the name of the importer whose shape a record has, or None.

    Sets that share a shape are told apart by their text: ToolACE by a system text with a list of tools and no
    column of tools, Hermes by its tags. Hammer and FunReason-MT look like xLAM and ShareGPT and are read as those.
    """
    keys = record.keys()
    if "conversations" in keys:
        system = record.get("system")
        if not record.get("tools") and isinstance(system, str) and '"parameters"' in system:
            return "toolace"
        text = str(record["conversations"])
        return "hermes" if "<tool_response>" in text or "<tools>" in text else "sharegpt"
    if "messages" in keys and "problem" not in keys:
        return "openai"
    if {"query", "answers", "tools"} <= keys:
        return "xlam"
    if {"instruction", "output"} <= keys or {"prompt", "reward_model"} <= keys:
        return "toolrl"
    if {"problem", "answer"} <= keys:
        return "openr1-math"
    return None
