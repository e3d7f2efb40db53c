"""Drawing one aim in a scenario: its calls with their values, carried out one after the other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from planarena.environments import World
from planarena.environments.goals import AimCall, Pick, place_of
from planarena.environments.wording import parse_pointer, schema_at
from planarena.pipeline.aimed import Aimed, Picked, Said
from planarena.pipeline.execute.aims.choosing import Misfit, choose
from planarena.pipeline.execute.aims.values import CaughtUp, MadeCall, Spoken
from planarena.pipeline.execute.carried import outputs_of
from planarena.proofs import is_tied
from planarena.records.canonical import canonical_bytes, content_id
from planarena.tasks.atoms import Atom, resolve

__all__ = ["AimDraw", "Misfit"]

_MOST_CALLS = 12


class AimDraw(Spoken):
    """One draw of an aim: see `Spoken`."""

    def carry_out(self, before: Sequence[AimDraw] = ()) -> AimDraw:
        """Carry the aim out; the world is left in its initial state.

        Args:
            before: What earlier messages of the conversation ask for: it is done first.

        Raises:
            Misfit: It makes no sense in this world.
        """
        try:
            self._catch_up(before)
            self._carry_out()
        finally:
            self.world.rollback(self.shop.start)
        return self

    def _catch_up(self, before: Sequence[AimDraw]) -> None:
        """Bring the world to where earlier messages leave it; several aims are tried behind the same ones."""
        if not before:
            return
        world, last = self.world, before[-1]
        start: int | None = None
        if isinstance(world, World):  # only of worlds of ours one sees the whole state
            start = world.store.total()
        known = last.caught_up
        if (
            known is not None
            and start == known.start
            and len(before) == len(known.draws) + 1
            and all(one is other for one, other in zip(before, known.draws, strict=False))
        ):
            world.store.replay(known.changes, known.touched, known.total)
            return
        mark = world.mark()
        for earlier in before:
            for one in earlier.made:
                world.call(one.atom.tool, one.arguments)
        if start is not None:
            changes, total = world.store.changes_since(mark), world.store.total()
            last.caught_up = CaughtUp(start, tuple(before[:-1]), changes, world.footprint(), total)

    def _carry_out(self) -> None:
        left = list(self.aim.calls)
        decided = self.aim.if_ is None
        for name in left:
            call = self.aim.calls[name]
            if call.branch and not decided:
                assert self.aim.if_ is not None
                self.branch = "then" if self.holds(self.aim.if_) else "else"
                decided = True
            if call.branch and call.branch != self.branch:
                self.say_all(name, call)
                continue
            self._call(name, call)
            if len(self.made) > _MOST_CALLS:
                raise Misfit("it takes too many calls")
        if not decided:
            assert self.aim.if_ is not None
            self.branch = "then" if self.holds(self.aim.if_) else "else"
        for one in self.aim.needs:
            if not self.holds(one):
                raise Misfit(f"needs {one.that}")

    def _call(self, name: str, call: AimCall) -> None:
        drawn = self.drawn(name, call)
        taken = {
            argument: place_of(self.aim, value[1:])
            for argument, value in call.given.items()
            if isinstance(value, str) and value.startswith("$")
        }
        sources = {
            argument: self.sources(place.call, place.pick, place.field)
            for argument, place in taken.items()
            if place.call
        }
        count = 1
        for argument, found in sources.items():
            place = taken[argument]
            if place.pick in self.many or place.call in self.many:
                self.many.add(name)
                count = len(found)
        for number in range(count):
            literals: dict[str, Any] = {}
            bound: list[tuple[str, int, str]] = []
            for argument in (*call.given, *drawn):
                if argument in sources:
                    found = sources[argument]
                    line, pointer = found[number] if len(found) == count else found[0]
                    bound.append((argument, line, pointer))
                elif argument in drawn:
                    literals[argument] = drawn[argument]
                    self.say(self.names[name, argument], drawn[argument], call.tool, argument)
                elif argument in taken:
                    said = taken[argument].field
                    literals[argument] = self.value(said)
                    self.say(said, literals[argument], call.tool, argument)
                else:
                    literals[argument] = call.given[argument]
                    self.say(self.names[name, argument], literals[argument], call.tool, argument)
            self._make(name, number, call, literals, tuple(bound))
        for pick_name, pick in call.picks.items():
            self._pick(name, pick_name, pick)

    def _make(
        self,
        name: str,
        number: int,
        call: AimCall,
        literals: dict[str, Any],
        bound: tuple[tuple[str, int, str], ...],
    ) -> None:
        arguments = dict(literals)
        for argument, line, pointer in bound:
            value = resolve(self.made[line].result, parse_pointer(pointer))
            if not isinstance(value, str | int | float) or value == "":
                raise Misfit(f"{pointer} of {self.made[line].name} gives nothing")
            arguments[argument] = value
        outcome = self.world.call(call.tool, arguments)
        self.footprints.append(self.world.footprint())
        if outcome.status != "ok":
            assert outcome.error is not None
            raise Misfit(f"{name}: {outcome.error['message']}")
        parameters = self.world.operations[call.tool].tool.parameters
        needs = tuple((argument, parameters[argument].get("x-semantic", "")) for argument, _, _ in bound)
        atom = Atom(content_id("atom", "aim", call.tool, literals, bound), call.tool, literals, needs)
        self.lines_of.setdefault(name, []).append(len(self.made))
        self.made.append(MadeCall(name, number, atom, bound, arguments, outcome.result))

    def _pick(self, call: str, name: str, pick: Pick) -> None:
        where = self.filled(pick.where)
        path = parse_pointer(pick.rows)
        found: list[tuple[int, int]] = []
        for line in self.lines_of[call]:
            result = self.made[line].result
            orders = self.shop.orders.get(self.made[line].atom.tool, {})

            def tied(at: int, result: Any = result, orders: Any = orders) -> bool:
                return is_tied(result, (*path, at, ""), orders)

            rows = resolve(result, path)
            if (known := self.given.get(f"{name}.{pick.named}")) is not None:
                # In another state the user still names the same one.
                where = {**where, pick.named: known}
            places = choose(pick, rows, where, tied, self.rng, self.topic, self.me)
            found += [(line, at) for at in places]
            if pick.named:
                self._note(name, pick, rows[places[0]], line)
        self.picked[name] = found
        if pick.all or call in self.many:
            self.many.add(name)

    def _note(self, name: str, pick: Pick, row: dict[str, Any], line: int) -> None:
        """Note what the user says of a record: the fields by which ways may name it."""
        schema = schema_at(
            self.world.operations[self.made[line].atom.tool].tool.output_schema,
            (*parse_pointer(pick.rows), 0),
        )
        for field, inner in (schema or {}).get("properties", {}).items():
            value = row.get(field)
            if not inner.get("x-hidden") and isinstance(value, str | int | float) and value != "":
                self.said[f"{name}.{field}"] = value
                self.surfaces[f"{name}.{field}"] = inner.get("x-surface", "plain")

    # -- what the proofs are given -------------------------------------------------------------

    def told(self) -> list[str]:
        """Return the names of the calls that the answer tells."""
        return self.once(AimDraw._find_told)

    def _find_told(self) -> list[str]:
        told = [name for name in self.aim.told() if name in self.lines_of]
        if self.aim.if_ is not None and not self.aim.tell:
            # What only the outcome hangs on is told: nobody takes a branch without saying why.
            head = place_of(self.aim, self.aim.if_.that.removeprefix("$"))
            told += [head.call] if head.call and head.call not in told else []
        return told

    def deciding(self) -> list[int]:
        """Return the calls that the condition looks at: nobody acts on it before they have been made."""
        return self.once(AimDraw._find_deciding)

    def _find_deciding(self) -> list[int]:
        if self.aim.if_ is None:
            return []
        read = [self.aim.if_.that, *self.aim.if_.tests().values()]
        names = [place_of(self.aim, one[1:]).call for one in read if isinstance(one, str) and one[:1] == "$"]
        return [line for name in names for line in self.lines_of.get(name, ())]

    def literals(self) -> list[bytes]:
        """Return by call what it is given and does not take from another."""
        return self.once(AimDraw._find_literals)

    def _find_literals(self) -> list[bytes]:
        return [canonical_bytes(one.atom.arguments) for one in self.made]

    def outputs(self) -> dict[int, tuple[str, ...]]:
        """Return by call the pointers of what is told, where the aim says it."""
        return self.once(AimDraw._find_outputs)

    def _find_outputs(self) -> dict[int, tuple[str, ...]]:
        return {
            number: outputs
            for number, one in enumerate(self.made)
            if (outputs := outputs_of(self.aim, one.name, self._at(number))) is not None
        }

    def _at(self, line: int) -> list[tuple[str, int]]:
        """Return the records of a call's result that are meant, as (pick, place)."""
        return [(name, at) for name, found in self.picked.items() for one, at in found if one == line]

    def noted(self, steps: Sequence[int], turn: int, taken: Collection[int] = ()) -> Aimed:
        """Return the aim as it is noted in its task.

        Args:
            steps: By call, its step.
            turn: The message.
            taken: The calls that an earlier message has made.
        """
        said = tuple(
            Said(
                name,
                value,
                self.surfaces.get(name, "plain"),
                tuple((steps[line], argument) for line, argument in self.places.get(name, ())),
            )
            for name, value in sorted(self.said.items())
        )
        picked = tuple(
            Picked(name, steps[line], at, number, len(found))
            for name, found in self.picked.items()
            for number, (line, at) in enumerate(found)
        )
        calls = tuple(
            sorted(
                (steps[line], one.name, one.number) for line, one in enumerate(self.made) if line not in taken
            )
        )
        return Aimed(self.domain, self.name, turn, calls, said, picked, self.branch, self.way)
