"""Drawing the aims of a task once more, with some of what is said changed: for conversations made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planarena.environments.catalog import goals_of, seeds_of
from planarena.pipeline.aimed import Aimed
from planarena.pipeline.execute.aims.drawing import AimDraw
from planarena.pipeline.execute.workshop import Workshop

__all__ = ["draw_again"]


def draw_again(
    shop: Workshop, aimed: Aimed, before: Sequence[AimDraw] = (), changed: Mapping[str, Any] = {}
) -> AimDraw:
    """Carry out an aim once more; the user says the same, but for some values.

    Args:
        shop: The scenario, staged as the conversation needs it.
        aimed: The aim as its task has it.
        before: What earlier messages ask for.
        changed: Other values, by name.

    Raises:
        Misfit: With these values it makes no sense.
    """
    aim = goals_of(aimed.domain)[aimed.name]
    given = {**{one.name: one.value for one in aimed.said}, **changed}
    draw = AimDraw(shop, aimed.domain, aimed.name, aim, seeds_of(aimed.domain), shop.rng, given, aimed.way)
    return draw.carry_out(before)
