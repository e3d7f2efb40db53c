"""Long: several tasks of a scenario one after the other, 8 to 20 actions over several messages.

The parts are proven together, from the state that each is reached in: what makes sense alone may repeat, undo or tell what
an earlier part has shown.
"""

from __future__ import annotations

from msgspec.structs import replace

from planarena.pipeline.execute.aims import AimDraw, Misfit, draw_again, go_on
from planarena.pipeline.execute.drafting import Settled, lines_of, owned, settle, twin
from planarena.pipeline.execute.ordering import Line
from planarena.pipeline.execute.workshop import Made, Workshop
from planarena.pipeline.products import Executed, Talk

__all__ = ["go_on_for_long"]

_FEWEST, _MOST = 8, 20
_MOST_PARTS = 4
# Messages of one that follows aims: how many it goes on to where it can, and how many it may need [ours].
_MESSAGES, _MOST_MESSAGES = (4, 6), 7


def go_on_for_long(shop: Workshop, task: Executed) -> Made | None:
    """Return a task and others of the scenario as one conversation; None where too few fit together."""
    if task.aims:
        return _of_aims(shop, task)
    others = [one for one in shop.spare if one is not task and not one.aims]
    shop.rng.shuffle(others)
    # Long parts first: they reach the length with the fewest breaks.
    others.sort(key=lambda one: -len(one.steps))
    parts, lines, turns = [task], lines_of(shop, task), task.turns
    for one in others:
        if len(lines) >= _FEWEST or len(parts) >= _MOST_PARTS:
            break
        if len(lines) + len(one.steps) > _MOST:
            continue
        longer = [*lines, *_after(shop, one, lines, turns)]
        # Found out here, so that a part that does not fit is left out and not the whole conversation.
        if settle(shop, longer, turns + one.turns) is None:
            continue
        parts, lines, turns = [*parts, one], longer, turns + one.turns
    if len(lines) < _FEWEST or turns < 2:
        return None
    settled = settle(shop, lines, turns)
    if settled is None:
        return None
    return Made(replace(owned(shop, settled), talk=Talk("long", (), turns)), parts=tuple(parts[1:]))


def _of_aims(shop: Workshop, task: Executed) -> Made | None:
    """Other aims follow until there are enough calls: as long as there are some, ones about the same thing."""
    draws: list[AimDraw] = []
    try:
        for one in task.aims:
            draws.append(draw_again(shop, one, draws))
    except Misfit:
        return None
    settled: Settled | None = None
    most = shop.rng.randint(*_MESSAGES)
    anything = False
    while len(draws) < most or settled is None or len(settled.task.steps) < _FEWEST:
        longer = (
            go_on(shop, draws, shop.rng, _MOST, anything=anything) if len(draws) < _MOST_MESSAGES else None
        )
        if longer is not None:
            settled = longer
        elif anything or (settled is not None and len(settled.task.steps) >= _FEWEST):
            break
        else:
            anything = True
    if settled is None or len(settled.task.steps) < _FEWEST:
        return None
    return Made(replace(owned(shop, settled), talk=Talk("long", (), len(draws))))


def _after(shop: Workshop, task: Executed, lines: list[Line], turns: int) -> list[Line]:
    """Return a task's lines as they stand behind others; an atom that those have too becomes a twin of its own."""
    known = {line.atom.atom_id for line in lines}
    first = len(lines)
    return [
        line._replace(
            atom=twin(line.atom, first + number) if line.atom.atom_id in known else line.atom,
            bound=tuple((name, source + first, pointer) for name, source, pointer in line.bound),
            after=frozenset(one + first for one in line.after),
            turn=line.turn + turns,
        )
        for number, line in enumerate(lines_of(shop, task))
    ]
