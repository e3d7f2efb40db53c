"""What stands behind a domain's name: one of our own environments, or a unit of a source, `SOURCE#UNIT`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from planarena.environments.contract import SEEDS, WORDS, read_seeds
from planarena.environments.domains import load_domain
from planarena.environments.goals import GOALS, Aim, load_goals
from planarena.environments.presented import present
from planarena.environments.sources import Drawn, Source, Unit, open_source, split_source, startable
from planarena.environments.sources.session_unit import Verdict
from planarena.environments.wording import Offer, ToolWording, load_wording, offers
from planarena.environments.world import Operation, World, operations
from planarena.errors import SourceError

__all__ = [
    "ACROSS",
    "describe_environment",
    "draw_unit",
    "execution_kind_of",
    "goals_of",
    "group_of",
    "is_builtin",
    "is_observable",
    "nothing_usable",
    "offers_of",
    "operations_of",
    "restore_world",
    "seeds_of",
    "unit_names",
    "verdicts_of",
    "wording_of",
]


# Whose aims span several domains.
ACROSS = "across"


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
    if not any(startable(unit.operations, unit.offers) for unit in opened.drawable):
        raise nothing_usable(opened)
    return tuple(f"{source}#{unit.name}" for unit in opened.drawable)


def nothing_usable(source: Source) -> SourceError:
    """Return the fault of a source of which nothing can be called, with the reasons and what to write."""
    verdicts = [one for unit in source.units for one in getattr(unit, "verdicts", list)()]
    listed = "".join(f"\n  {one.tool}: {one.why}" for one in verdicts[:12])
    fix = next(
        (f"write {one.write}" for one in verdicts if one.write),
        "`planarena tools check` says what is missing",
    )
    return SourceError(
        f"nothing of it can be executed{':' if listed else ''}{listed}", where=source.text, fix=fix
    )


def verdicts_of(source: str) -> list[Verdict]:
    """Return for each tool of a source of the user's own whether it is used, and why not."""
    return [one for unit in open_source(source).units for one in getattr(unit, "verdicts", list)()]


def operations_of(name: str) -> dict[str, Operation]:
    """Return a domain's operations by wire name."""
    return operations(load_domain(name)) if is_builtin(name) else _unit(name).operations


def wording_of(name: str) -> dict[str, ToolWording]:
    """Return the words of a domain's tools."""
    return load_wording(load_domain(name).folder() / WORDS) if is_builtin(name) else _unit(name).wording


@cache
def _own_goals(name: str) -> Mapping[str, Aim]:
    folder = Path(__file__).with_name("domains") if name == ACROSS else load_domain(name).folder()
    return load_goals(folder / GOALS)


def goals_of(name: str) -> Mapping[str, Aim]:
    """Return the aims of a domain by name, or those across domains; none where it has no `goals.yaml`."""
    if name == ACROSS or is_builtin(name):
        return _own_goals(name)
    folder = getattr(_unit(name), "folder", None)
    return {} if folder is None else load_goals(folder / GOALS)


def seeds_of(name: str) -> Mapping[str, Any]:
    """Return what `seeds.yaml` of a domain's folder holds; nothing where there is none."""
    if name == ACROSS:
        return {}
    if is_builtin(name):
        return load_domain(name).seeds()
    folder = getattr(_unit(name), "folder", None)
    file = None if folder is None else folder / SEEDS
    return read_seeds(file) if file is not None and file.is_file() else {}


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
    kind = split_source(names[0].partition("#")[0])[0]
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


def restore_world(
    names: Sequence[str],
    tables: Mapping[str, Any],
    facts: Mapping[str, Any],
    presented: Mapping[str, Any] | None = None,
) -> World:
    """Return the world of a stored scenario in its initial state.

    Args:
        names: Its domains.
        tables: As in the column `seed_state`.
        facts: As in the column `context`.
        presented: How it is shown, as under `presented` in the column `environment`; None for as it is.

    Raises:
        SourceError: It needs an environment that is not here.
    """
    if all(map(is_builtin, names)):
        world = World.restore([load_domain(name) for name in names], tables, facts)
    else:
        # A world over a session has all that callers use of a `World`: see `LiveWorld`.
        world = cast(World, _unit(names[0]).restore(tables, facts))
    return present(world, presented)
