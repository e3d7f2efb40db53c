"""Twins: the same request where the state gives the other outcome of its condition."""

from __future__ import annotations

from typing import Any

from planarena.environments import World
from planarena.pipeline.execute.aims.drawing import AimDraw, Misfit
from planarena.pipeline.execute.aims.proving import prove_aims
from planarena.pipeline.execute.workshop import Made, Workshop

__all__ = ["draw_twin"]

_Changes = list[tuple[str, str, dict[str, Any]]]


def draw_twin(shop: Workshop, draw: AimDraw) -> list[Made]:
    """Return an aim as it goes where some records are as its `twin` says, if that gives the other outcome.

    Args:
        shop: The scenario.
        draw: The draw, carried out and proven.
    """
    if not draw.aim.twin or not isinstance(shop.world, World):
        return []
    for number in range(max(len(values) for one in draw.aim.twin for values in one.set.values())):
        changes = _changes(draw, number)
        if not changes:
            continue
        with shop.changed(changes):
            again = AimDraw(shop, draw.domain, draw.name, draw.aim, draw.seeds, draw.rng, draw.said, draw.way)
            try:
                settled = prove_aims([again.carry_out()])
            except Misfit:
                continue
            if again.branch == draw.branch:
                continue
            state, digest = shop.state()
        return [Made(settled.task, seed_state=state, atoms=settled.atoms, digest=digest)]
    return []


def _changes(draw: AimDraw, number: int) -> _Changes:
    """Return the changes of records with the values of one number; none where a record has them already."""
    found: _Changes = []
    tables = draw.world.store.dump()
    for one in draw.aim.twin:
        try:
            key = draw.reference(one.key.removeprefix("$"))
        except Misfit:
            return []
        table = f"{draw.domain}.{one.table}"
        record = tables.get(table, {}).get(key)
        if record is None:
            return []
        fields = {field: values[min(number, len(values) - 1)] for field, values in one.set.items()}
        if all(record.get(field) == value for field, value in fields.items()):
            return []
        found.append((table, key, fields))
    return found
