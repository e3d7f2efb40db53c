"""Hammer: rows of xLAM's shape, with the names of tools and arguments masked (Lin et al. 2025).

Random names make a model read descriptions instead of names. Our names are letters, digits and underscores that any
function-calling interface accepts, 5 to 15 characters for tools and 4 to 10 for arguments. Default values are not
masked, and tools keep their order.
"""

from __future__ import annotations

import string
from random import Random
from typing import Any

import msgspec

from planarena.formats import Call
from planarena.rows.dialogue import Decision, Turn
from planarena.rows.importers import xlam
from planarena.rows.importers.schemas import normalise
from planarena.rows.importers.trace import ImportOptions, SourceTool, Trace

__all__ = ["LICENCE", "mask", "read"]

LICENCE = "unknown"

_CHARACTERS = string.ascii_letters + string.digits + "_"


def read(record: dict[str, Any], options: ImportOptions, number: int) -> Trace:
    """Read one record; the seed and its number decide whether and how it is masked.

    Raises:
        TraceError: It cannot be used.
    """
    trace = xlam.read(record, options, number)
    rng = Random(f"hammer/{options.seed}/{number}")
    return mask(trace, rng) if rng.random() < options.mask else trace


def mask(trace: Trace, rng: Random) -> Trace:
    """Give every tool and every argument of a trace a random name, in schemas and calls alike.

    Args:
        trace: With one name a tool.
        rng: Where names come from.
    """
    taken: set[str] = set()
    tools: list[SourceTool] = []
    names: dict[str, str] = {}
    arguments: dict[str, dict[str, str]] = {}
    for tool in trace.tools:
        if tool.name in names:
            continue
        names[tool.name] = _draw(rng, 5, 15, taken)
        schema, _ = normalise(tool.parameters)
        within: set[str] = set()
        renamed = {name: _draw(rng, 4, 10, within) for name in schema["properties"]}
        arguments[tool.name] = renamed
        schema = {
            **schema,
            "properties": {renamed[name]: inner for name, inner in schema["properties"].items()},
        }
        if "required" in schema:
            schema["required"] = [renamed[name] for name in schema["required"]]
        tools.append(SourceTool(names[tool.name], tool.description, schema))
    turns = tuple(
        Turn(turn.user, tuple(_renamed(decision, names, arguments) for decision in turn.decisions))
        for turn in trace.turns
    )
    return msgspec.structs.replace(trace, tools=tuple(tools), turns=turns)


def _renamed(decision: Decision, names: dict[str, str], arguments: dict[str, dict[str, str]]) -> Decision:
    calls = tuple(
        Call(
            names.get(call.name, call.name),
            {arguments.get(call.name, {}).get(key, key): value for key, value in call.arguments.items()},
        )
        for call in decision.calls
    )
    return msgspec.structs.replace(decision, calls=calls)


def _draw(rng: Random, shortest: int, longest: int, taken: set[str]) -> str:
    while True:
        length = rng.randint(shortest, longest)
        name = rng.choice(string.ascii_letters) + "".join(rng.choices(_CHARACTERS, k=length - 1))
        if name not in taken:
            taken.add(name)
            return name
