"""Long: several tasks of a scenario one after the other, 8 to 20 actions over several messages.

The parts are proven together, from the state that each is reached in: what makes sense alone may repeat, undo or tell what
an earlier part has shown.
"""

from __future__ import annotations

from msgspec.structs import replace

from planarena.pipeline.execute.carried import carried, outputs_by_step
from planarena.pipeline.execute.conversations.drafting import Line, lines_of, owned, settle, twin
from planarena.pipeline.execute.conversations.workshop import Made, Workshop
from planarena.pipeline.products import Executed, Talk

__all__ = ["go_on_for_long"]

_FEWEST, _MOST = 8, 20
_MOST_PARTS = 4


def go_on_for_long(shop: Workshop, task: Executed) -> Made | None:
    """Return a task and others of the scenario as one conversation; None where too few fit together."""
    # What aims say and what is said of free tasks does not go together: the former look up what they name anew.
    others = [one for one in shop.spare if one is not task and bool(one.aims) == bool(task.aims)]
    shop.rng.shuffle(others)
    # Long parts first: they reach the length with the fewest breaks.
    others.sort(key=lambda one: -len(one.steps))
    parts, lines, turns = [task], lines_of(shop, task), task.turns
    aims, outputs = task.aims, outputs_by_step(task.aims)
    for one in others:
        if len(lines) >= _FEWEST or len(parts) >= _MOST_PARTS:
            break
        if len(lines) + len(one.steps) > _MOST:
            continue
        if {(own.domain, own.name) for own in one.aims} & {(own.domain, own.name) for own in aims}:
            continue  # nobody asks for the same twice in the same words
        longer = [*lines, *_after(shop, one, lines, turns)]
        # Found out here, so that a part that does not fit is left out and not the whole conversation.
        first = len(lines)
        added = carried(one.aims, {step: first + step for step in range(len(one.steps))}, turns)
        told = {**outputs, **outputs_by_step(added)}
        if settle(shop, longer, turns + one.turns, aimed=bool(aims), outputs=told) is None:
            continue
        parts, lines, turns = [*parts, one], longer, turns + one.turns
        aims, outputs = (*aims, *added), told
    if len(lines) < _FEWEST or turns < 2:
        return None
    settled = settle(shop, lines, turns, aimed=bool(aims), outputs=outputs)
    if settled is None:
        return None
    made = replace(owned(shop, settled), aims=carried(aims, settled.place))
    return Made(replace(made, talk=Talk("long", (), turns)), parts=tuple(parts[1:]))


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
