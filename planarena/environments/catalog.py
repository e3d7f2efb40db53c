"""What stands behind a domain's name: one of our own environments, or a unit of a source, `SOURCE#UNIT`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from planarena.environments.contract import WORDS
from planarena.environments.domains import load_domain
from planarena.environments.sources import Drawn, Unit, open_source
from planarena.environments.wording import Offer, ToolWording, load_wording, offers
from planarena.environments.world import Operation, World, operations
from planarena.errors import SourceError

__all__ = [
    "describe_environment",
    "draw_unit",
    "execution_kind_of",
    "group_of",
    "is_builtin",
    "is_observable",
    "offers_of",
    "operations_of",
    "restore_world",
    "unit_names",
    "wording_of",
]


def is_builtin(name: str) -> bool:
    """Say whether a name is that of a domain of ours."""
    return "#" not in name


def group_of(name: str) -> str:
    """Return what a domain counts as where domains are balanced: a source with many units is one of them."""
    return name.partition("#")[0]


def _unit(name: str) -> Unit:
    source, _, unit = name.partition("#")
    return open_source(source).unit(unit)


def unit_names(source: str) -> tuple[str, ...]:
    """Return the names of a source's units of which scenarios can be made.

    Raises:
        SourceError: The source cannot be read, or nothing of it can be executed.
    """
    opened = open_source(source)
    if not opened.drawable:
        raise SourceError(
            "nothing of it can be executed", where=source, fix="`planarena tools check` says what is missing"
        )
    return tuple(f"{source}#{unit.name}" for unit in opened.drawable)


def operations_of(name: str) -> dict[str, Operation]:
    """Return a domain's operations by wire name."""
    return operations(load_domain(name)) if is_builtin(name) else _unit(name).operations


def wording_of(name: str) -> dict[str, ToolWording]:
    """Return the words of a domain's tools."""
    return load_wording(load_domain(name).folder() / WORDS) if is_builtin(name) else _unit(name).wording


def offers_of(name: str) -> dict[str, tuple[Offer, ...]]:
    """Return what the results of a domain's tools offer for binding."""
    return dict(offers(load_domain(name))) if is_builtin(name) else _unit(name).offers


def draw_unit(
    name: str, seed: int, number: int, tools: tuple[int, int], only: Collection[str] | None = None
) -> Drawn:
    """Draw a scenario of a source's unit: see `Source.draw_from`."""
    source = name.partition("#")[0]
    return open_source(source).draw_from(_unit(name), seed, number, tools, only)


def describe_environment(names: Sequence[str]) -> dict[str, Any]:
    """Return what the table `scenarios` says of an environment: kind, domains, safety, how its calls are executed."""
    if all(map(is_builtin, names)):
        return {"kind": "builtin", "domains": list(names), "safety": "snapshot"}
    unit = _unit(names[0])
    kind = names[0].partition(":")[0]
    found: dict[str, Any] = {"kind": kind, "domains": list(names), "safety": unit.safety}
    found["execution_kind"] = unit.execution_kind
    observable = getattr(unit, "observable", None)
    return found if observable is None else {**found, "state_observable": observable}


def execution_kind_of(names: Sequence[str]) -> str:
    """Return how honest the executions of an environment are: `real`, `emulated` or `simulated`."""
    return str(describe_environment(names).get("execution_kind", "real"))


def is_observable(names: Sequence[str]) -> bool:
    """Say whether what calls of an environment change can be seen by reading."""
    return bool(describe_environment(names).get("state_observable", True))


def restore_world(names: Sequence[str], tables: Mapping[str, Any], facts: Mapping[str, Any]) -> World:
    """Return the world of a stored scenario in its initial state.

    Args:
        names: Its domains.
        tables: As in the column `seed_state`.
        facts: As in the column `context`.

    Raises:
        SourceError: It needs an environment that is not here.
    """
    if all(map(is_builtin, names)):
        return World.restore([load_domain(name) for name in names], tables, facts)
    # A world over a session has all that callers use of a `World`: see `LiveWorld`.
    return cast(World, _unit(names[0]).restore(tables, facts))
