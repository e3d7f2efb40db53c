"""Atoms and calls: one schema-valid tool call, its literal arguments and what it takes from earlier steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

__all__ = ["Atom", "Binding", "Call", "fill", "resolve"]

Path = tuple[str | int, ...]
_MISSING = object()


class Atom(msgspec.Struct, frozen=True, array_like=True):
    """An atomic task (DUPO Eq. 1).

    Attributes:
        atom_id: The content id within its scenario.
        tool: The tool's wire name.
        arguments: The literal arguments.
        needs: (argument, semantic type) of each argument that composition must bind; empty for an atom
            that can be executed alone.
    """

    atom_id: str
    tool: str
    arguments: dict[str, Any]
    needs: tuple[tuple[str, str], ...] = ()


class Binding(NamedTuple):
    """A data edge: argument <- value at `path` of the result of step `source`."""

    argument: str
    source: int
    path: Path


class Call(NamedTuple):
    """A step of a program: an atom with its bindings resolved to step numbers."""

    tool: str
    literals: dict[str, Any]
    bound: tuple[Binding, ...]


def resolve(value: Any, path: Path) -> Any:
    """Return the value at a path, or `fill`'s marker for a missing one (use `fill` instead)."""
    for word in path:
        try:
            value = value[word]
        except (KeyError, IndexError, TypeError):
            return _MISSING
    return value


def fill(call: Call, results: list[Any]) -> dict[str, Any] | None:
    """Return the arguments of a call.

    Args:
        call: The call.
        results: The results so far by step number; None for a step without one.

    Returns:
        The arguments, or None when a bound value is missing: its producer failed or did not run.
    """
    if not call.bound:
        return call.literals
    arguments = dict(call.literals)
    for argument, source, path in call.bound:
        value = resolve(results[source], path)
        if value is _MISSING:
            return None
        arguments[argument] = value
    return arguments
