"""Wire names: what a model may call a tool, and the way back to its own name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from planarena.tools.tool import Tool

__all__ = ["MAX_WIRE_NAME", "WireNames", "to_wire_name", "with_wire_names"]

MAX_WIRE_NAME = 64
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")


def to_wire_name(name: str) -> str:
    """Return a name of `[A-Za-z0-9_-]{1,64}`; a name that must be cut keeps its beginning and a digest of the whole."""
    plain = _FOREIGN.sub("_", name).strip("_") or "tool"
    if len(plain) <= MAX_WIRE_NAME:
        return plain
    return f"{plain[: MAX_WIRE_NAME - 9]}_{_digest(name)}"


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


class WireNames:
    """The names of one build: each wire name belongs to one tool, whatever order the tools come in.

    Two tools whose names meet both get a digest of (namespace, name), so neither depends on which came first.

    Args:
        names: (namespace, name) of every tool.
    """

    def __init__(self, names: Iterable[tuple[str, str]]) -> None:
        self._names = sorted(set(names))
        taken: dict[str, list[tuple[str, str]]] = {}
        for pair in self._names:
            taken.setdefault(to_wire_name(pair[1]), []).append(pair)
        self._wire: dict[tuple[str, str], str] = {}
        for wire, pairs in taken.items():
            for pair in pairs:
                tail = f"_{_digest(chr(0).join(pair))}" if len(pairs) > 1 else ""
                self._wire[pair] = wire[: MAX_WIRE_NAME - len(tail)] + tail
        self._back = {wire: pair for pair, wire in self._wire.items()}

    def wire(self, namespace: str, name: str) -> str:
        """Return the wire name of a tool.

        Raises:
            KeyError: The tool was not among the names.
        """
        return self._wire[namespace, name]

    def original(self, wire: str) -> tuple[str, str]:
        """Return (namespace, name).

        Raises:
            KeyError: No tool has this wire name.
        """
        return self._back[wire]


def with_wire_names(tools: Iterable[Tool]) -> list[Tool]:
    """Return the tools with wire names that are unique among them."""
    found = list(tools)
    names = WireNames((tool.namespace, tool.name) for tool in found)
    return [msgspec.structs.replace(tool, wire_name=names.wire(tool.namespace, tool.name)) for tool in found]
