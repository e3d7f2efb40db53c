"""Proving aims that were carried out: one message for each, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from planarena.environments.wording import parse_pointer
from planarena.episodes import Episode
from planarena.pipeline.execute.aims.choosing import Misfit
from planarena.pipeline.execute.aims.drawing import AimDraw
from planarena.pipeline.execute.drafting import Settled, settle, twin
from planarena.pipeline.execute.ordering import Line
from planarena.proofs import find_dependences
from planarena.records.canonical import canonical_json
from planarena.tasks.atoms import Binding, Call

__all__ = ["prove_aims"]


class _Program:
    """The calls of a conversation that follows aims; what an earlier message has looked up is not looked up again."""

    def __init__(self, draws: Sequence[AimDraw]) -> None:
        self.calls: list[Call] = []
        self.bound: list[tuple[tuple[str, int, str], ...]] = []
        self.owner: list[tuple[int, int]] = []
        self.place: list[list[int]] = []
        self.taken: list[set[int]] = []
        known: dict[tuple[str, bytes, tuple[tuple[str, int, str], ...]], int] = {}
        for number, draw in enumerate(draws):
            told = draw.told()
            places: list[int] = []
            taken: set[int] = set()
            for line, one in enumerate(draw.made):
                bound = tuple((name, places[source], pointer) for name, source, pointer in one.bound)
                key = one.atom.tool, draw.literals()[line], bound
                reads = draw.shop.reads(one.atom.tool)
                first = known.get(key)
                if reads and first is not None and one.name not in told and self.owner[first][0] < number:
                    places.append(first)
                    taken.add(line)
                    continue
                if reads:
                    known.setdefault(key, len(self.owner))
                places.append(len(self.owner))
                self.owner.append((number, line))
                self.bound.append(bound)
                self.calls.append(
                    Call(
                        one.atom.tool,
                        one.atom.arguments,
                        tuple(
                            Binding(name, source, parse_pointer(pointer)) for name, source, pointer in bound
                        ),
                    )
                )
            self.place.append(places)
            self.taken.append(taken)


def prove_aims(
    draws: Sequence[AimDraw],
    *,
    undone: bool = False,
    failing: Sequence[tuple[int, int]] = (),
    most: int | None = None,
) -> Settled:
    """Prove what aims ask for as one conversation, with the aims noted in its task.

    Args:
        draws: Carried out, each in the state that those before it leave.
        undone: A later one takes the place of an earlier one.
        failing: (draw, call) of what fails in the state as it is staged.
        most: Most calls of the whole; None for any number.

    Raises:
        Misfit: A proof fails, or there are too many calls.
    """
    shop = draws[0].shop
    made = _Program(draws)
    if most is not None and len(made.owner) > most:
        raise Misfit(f"there are more than {most} calls")
    if not failing:
        # Found out here, as it is the commonest fault by far, and a proof takes a hundred calls.
        one_call = {
            (draws[number].made[line].atom.tool, canonical_json(draws[number].made[line].arguments))
            for number, line in made.owner
        }
        if len(one_call) < len(made.owner):
            raise Misfit("one call is made twice")
    footprints = [draws[number].footprints[line] for number, line in made.owner]
    names, swaps = shop.beginnings.swaps(shop.world, made.calls)
    found = find_dependences(made.calls, footprints, Episode(shop.world, made.calls), names, swaps)
    shop.world.rollback(shop.start)
    lines: list[Line] = []
    outputs: dict[int, tuple[str, ...]] = {}
    met: set[str] = set()
    for at, (number, line) in enumerate(made.owner):
        draw = draws[number]
        one = draw.made[line]
        if (told := draw.outputs().get(line)) is not None:
            outputs[at] = told
        atom = twin(one.atom, at) if one.atom.atom_id in met else one.atom
        met.add(one.atom.atom_id)
        after = frozenset(other for other in range(at) if found.before[at] >> other & 1)
        if draw.aim.calls[one.name].branch:
            after |= {made.place[number][other] for other in draw.deciding()}
        fails = (number, line) in failing
        lines.append(Line(atom, made.bound[at], number, one.name in draw.told(), after, fails))
    faults: list[str] = []
    settled = settle(
        shop,
        lines,
        len(draws),
        undone=undone,
        aimed=True,
        designed=len(draws) == 1,
        outputs=outputs,
        faults=faults,
    )
    if settled is None:
        raise Misfit(faults[0] if faults else "a proof fails")
    if not undone and (tool := _shown_twice(settled)):
        raise Misfit(f"another call of {tool} shows what is told of one, too")
    aims = tuple(
        draw.noted([settled.place[at] for at in made.place[turn]], turn, made.taken[turn])
        for turn, draw in enumerate(draws)
    )
    return settled._replace(task=replace(settled.task, aims=aims))


def _shown_twice(settled: Settled) -> str:
    """Return a look-up whose told values another one shows, too: whoever makes that alone would seem to have made both."""
    required = settled.task.goal.required_outputs
    for one in required:
        shown = [
            step
            for step in settled.task.steps
            if step.tool == one.tool and step.status == "ok" and one.shown_by(step.result)
        ]
        if not one.error and len(shown) > required.count(one):
            return one.tool
    return ""
