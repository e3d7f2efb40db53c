"""Proving aims that were carried out: one message for each, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from planarena.environments.wording import parse_pointer
from planarena.episodes import Episode
from planarena.pipeline.execute.aims.choosing import Misfit
from planarena.pipeline.execute.aims.drawing import AimDraw
from planarena.pipeline.execute.conversations.drafting import Line, Settled, settle
from planarena.proofs import find_dependences
from planarena.tasks.atoms import Binding, Call

__all__ = ["prove_aims"]


def prove_aims(draws: Sequence[AimDraw]) -> Settled:
    """Prove what aims ask for as one conversation, with the aims noted in its task.

    Args:
        draws: Carried out, each in the state that those before it leave.

    Raises:
        Misfit: A proof fails.
    """
    shop = draws[0].shop
    starts = [sum(len(one.made) for one in draws[:number]) for number in range(len(draws))]
    program = [
        Call(
            one.atom.tool,
            one.atom.arguments,
            tuple(
                Binding(name, source + start, parse_pointer(pointer)) for name, source, pointer in one.bound
            ),
        )
        for draw, start in zip(draws, starts, strict=True)
        for one in draw.made
    ]
    footprints = [footprint for draw in draws for footprint in draw.footprints]
    found = find_dependences(program, footprints, Episode(shop.world, program))
    shop.world.rollback(shop.start)
    lines: list[Line] = []
    outputs: dict[int, tuple[str, ...]] = {}
    for turn, (draw, start) in enumerate(zip(draws, starts, strict=True)):
        told = draw.told()
        outputs.update({number + start: found for number, found in draw.outputs().items()})
        for number, one in enumerate(draw.made, start=start):
            bound = tuple((name, source + start, pointer) for name, source, pointer in one.bound)
            after = frozenset(other for other in range(number) if found.before[number] >> other & 1)
            lines.append(Line(one.atom, bound, turn, one.name in told, after))
    faults: list[str] = []
    settled = settle(
        shop, lines, len(draws), aimed=True, designed=len(draws) == 1, outputs=outputs, faults=faults
    )
    if settled is None:
        raise Misfit(faults[0] if faults else "a proof fails")
    aims = tuple(
        draw.noted([settled.place[start + line] for line in range(len(draw.made))], turn)
        for turn, (draw, start) in enumerate(zip(draws, starts, strict=True))
    )
    return settled._replace(task=replace(settled.task, aims=aims))
