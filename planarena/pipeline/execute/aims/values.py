"""What the user of an aim says, and what its references mean, while it is carried out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from random import Random
from typing import Any, NamedTuple, Self, TypeVar

from planarena.environments import BOUND
from planarena.environments.goals import Aim, AimCall, Condition, Known, Value, names_said, place_of
from planarena.environments.state import Footprint, Record
from planarena.environments.wording import parse_pointer, schema_at
from planarena.pipeline.execute.aims.choosing import Misfit, draw_plain, fits, near
from planarena.pipeline.execute.workshop import Workshop
from planarena.tasks.atoms import Atom, resolve

__all__ = ["CaughtUp", "MadeCall", "Spoken"]

T = TypeVar("T")


class MadeCall(NamedTuple):
    """A call that was made."""

    name: str
    number: int
    atom: Atom
    bound: tuple[tuple[str, int, str], ...]
    arguments: dict[str, Any]
    result: Any


class CaughtUp(NamedTuple):
    """Where a draw leaves a world that begins in a state, made behind others.

    Attributes:
        start: The state.
        draws: The others.
        changes: What they write.
        touched: What the last call touched.
        total: The state that they leave.
    """

    start: int
    draws: tuple[Any, ...]
    changes: tuple[tuple[str, str, Record | None], ...]
    touched: Footprint
    total: int


class Spoken:
    """What an aim says and shows so far.

    Args:
        shop: The scenario, where the world is in its initial state.
        domain: Whose aim it is.
        name: The aim's name.
        aim: The aim.
        seeds: `seeds.yaml` of its environment.
        rng: Draws.
        said: Values that are said already, as in a draw in another state.
        way: Which of its ways says it.
        topic: What the conversation is about so far, which values are drawn from where they can be.
    """

    def __init__(
        self,
        shop: Workshop,
        domain: str,
        name: str,
        aim: Aim,
        seeds: Mapping[str, Any],
        rng: Random,
        said: Mapping[str, Any] | None = None,
        way: int = -1,
        topic: Collection[Any] = (),
    ) -> None:
        self.shop, self.domain, self.name, self.aim = shop, domain, name, aim
        self.seeds, self.rng = seeds, rng
        self.world = shop.world
        self.now = str(shop.facts.get("now", ""))
        # Nobody speaks of themselves by their own name or address.
        self.me = {shop.facts[name] for name in ("user_name", "user_address") if shop.facts.get(name)}
        self.given = dict(said or {})
        self.said: dict[str, Any] = {}
        self.surfaces: dict[str, str] = {}
        self.places: dict[str, list[tuple[int, str]]] = {}
        self.made: list[MadeCall] = []
        self.footprints: list[Footprint] = []
        self.lines_of: dict[str, list[int]] = {}
        self.picked: dict[str, list[tuple[int, int]]] = {}
        self.many: set[str] = set()
        self.names = names_said(aim, self.world.operations)
        self.branch, self.way, self.topic = "", way, topic
        self.caught_up: CaughtUp | None = None
        self._found: dict[Callable[..., Any], Any] = {}

    def once(self, find: Callable[[Self], T]) -> T:
        """Return what a function finds of the draw, which is carried out: found once, for a draw is looked at many times."""
        if find not in self._found:
            self._found[find] = find(self)
        found: T = self._found[find]
        return found

    def say(self, name: str, value: Any, tool: str, argument: str) -> None:
        """Note a value that the user says, which the next call takes."""
        if name in {"now", "today"}:
            return
        self.said[name] = value
        schema = self.world.operations[tool].tool.parameters[argument]
        self.surfaces[name] = schema.get("x-surface", "plain")
        self.places.setdefault(name, []).append((len(self.made), argument))

    def say_all(self, name: str, call: AimCall) -> None:
        """Draw what is said of a call that is not made, as the request names both outcomes."""
        found = self.drawn(name, call)
        found.update({one: value for one, value in call.given.items() if (name, one) in self.names})
        schemas = self.world.operations[call.tool].tool.parameters
        for argument, value in found.items():
            self.said[self.names[name, argument]] = value
            self.surfaces[self.names[name, argument]] = schemas[argument].get("x-surface", "plain")
        for argument, value in call.given.items():
            if isinstance(value, str) and value.startswith("$"):
                place = place_of(self.aim, value[1:])
                if not place.call and place.field not in {"now", "today"}:
                    self.value(place.field)
                    self.surfaces.setdefault(place.field, schemas[argument].get("x-surface", "plain"))

    def drawn(self, name: str, call: AimCall) -> dict[str, Any]:
        """Draw what a call is not given from one of the tool's proposals, so that its values go together."""
        tool = self.world.operations[call.tool].tool
        wanted = [one for one in tool.required if one not in call.given]
        optional = [one for one in call.draw if one not in call.given and one not in wanted]
        if not wanted and not optional:
            return {}
        known = {one: self.given.get(self.names[name, one]) for one in (*wanted, *optional)}
        if self.given and all(known[one] is not None for one in wanted):
            return {one: value for one, value in known.items() if value is not None}
        good = [
            one
            for one in self._proposals(call.tool)
            if all(one.get(key, BOUND) is not BOUND for key in wanted)
            and not any(isinstance(value, str) and value in self.me for value in one.values())
        ]
        if call.draw:
            good = [one for one in good if any(key in one for key in optional)] or good
        if not good:
            raise Misfit(f"{call.tool} proposes no {', '.join(wanted)}")
        most = max(self._on_topic(one.values()) for one in good)
        good = [one for one in good if self._on_topic(one.values()) == most]
        chosen = good[self.rng.randrange(len(good))]
        return {key: chosen[key] for key in (*wanted, *optional) if chosen.get(key, BOUND) is not BOUND}

    def _on_topic(self, values: Iterable[Any]) -> int:
        return sum(isinstance(one, str | int | float) and one in self.topic for one in values)

    def _proposals(self, tool: str) -> list[dict[str, Any]]:
        """Return what a tool proposes in the present state."""
        return self.world.propose(tool, self.rng)

    def value(self, name: str) -> Any:
        """Return a value that the user says, drawn when it is first needed."""
        if name == "now":
            return self.now
        if name == "today":
            return self.now[:10]
        if name in self.said:
            return self.said[name]
        if name in self.given:
            found = self.given[name]
        elif name in self.aim.values:
            found = self._draw_value(name, self.aim.values[name])
        else:
            raise Misfit(f"there is no value {name}")
        self.said[name] = found
        return found

    def _draw_value(self, name: str, value: Any) -> Any:
        found = draw_plain(value, self.now, self.rng)
        if found is not None:
            return found
        if value.of:
            tool, _, argument = value.of.partition(".")
            schema = self.world.operations[tool].tool.parameters[argument]
            self.surfaces.setdefault(name, schema.get("x-surface", "plain"))
            good = [one[argument] for one in self._proposals(tool) if one.get(argument, BOUND) is not BOUND]
        elif value.fact:
            given = self.shop.facts.get(value.fact)
            good = list(given) if isinstance(given, list) else [given] if given is not None else []
        elif value.seed:
            given = self.seeds
            for word in value.seed.split("."):
                given = given.get(word) if isinstance(given, Mapping) else None
            good = list(given or ())
        elif value.near:
            return near(value, self.reference(value.near.removeprefix("$")), self.rng)
        else:
            good = list(self._known(name, value))
        good = [one for one in good if not (isinstance(one, str) and one in self.me)]
        if not good:
            raise Misfit(f"nothing to draw {name} from")
        good = [one for one in good if self._on_topic([one])] or good
        return good[self.rng.randrange(len(good))]

    def _known(self, name: str, value: Value) -> list[Any]:
        """Return what the user may know of the world: values of a look-up, the records of its list in their order."""
        known = value.known
        assert isinstance(known, Known)
        arguments = {argument: self.filled(one) for argument, one in known.given.items()}
        outcome = self.world.call(known.tool, arguments)
        if outcome.status != "ok":
            return []
        schema = self.world.operations[known.tool].tool.output_schema
        path = parse_pointer(known.rows)
        rows = resolve(outcome.result, path) if known.rows else [outcome.result]
        place = (*path, 0, known.field) if known.rows else (known.field,)
        self.surfaces.setdefault(name, (schema_at(schema, place) or {}).get("x-surface", "plain"))
        where = self.filled(known.where)
        return [
            row[known.field]
            for row in (rows if isinstance(rows, list) else ())
            if row.get(known.field) not in (None, "")
            and all(fits(row.get(one), test) for one, test in where.items())
        ]

    def filled(self, value: Any) -> Any:
        """Return what an aim gives or tests with its references filled in."""
        if isinstance(value, str) and value.startswith("$"):
            return self.reference(value[1:])
        if isinstance(value, Mapping):
            return {key: self.filled(one) for key, one in value.items()}
        return [self.filled(one) for one in value] if isinstance(value, list) else value

    def sources(self, call: str, pick: str, field: str) -> list[tuple[int, str]]:
        """Return (line, pointer) of what a reference means."""
        if pick:
            rows = self.aim.picks[pick][1].rows
            return [(line, f"{rows}/{at}/{field}") for line, at in self.picked.get(pick, ())]
        return [(line, field) for line in self.lines_of.get(call, ())]

    def reference(self, text: str) -> Any:
        """Return what a reference gives, without its `$`.

        Raises:
            Misfit: It is of a call that was not made.
        """
        place = place_of(self.aim, text)
        if not place.call:
            return self.value(place.field)
        if place.pick and place.field == "count":
            return len(self.picked[place.pick])
        found = self.sources(place.call, place.pick, place.field)
        if not found:
            raise Misfit(f"{text} is of a call that was not made")
        line, pointer = found[0]
        value = resolve(self.made[line].result, parse_pointer(pointer))
        return value if isinstance(value, str | int | float | list) else None

    def holds(self, condition: Condition) -> bool:
        """Say whether a condition holds in the present state."""
        head = place_of(self.aim, condition.that.removeprefix("$"))
        value = self.reference(condition.that.removeprefix("$"))
        tests = self.filled(condition.tests())
        self._same_surface(head, condition.tests())
        return fits(value, tests)

    def _same_surface(self, head: Any, tests: Mapping[str, Any]) -> None:
        """Have a value that is compared with another one be written like that."""
        if not head.call or head.field == "count":
            return
        tool = self.aim.calls[head.call].tool
        rows = parse_pointer(self.aim.picks[head.pick][1].rows) if head.pick else ()
        path = (*rows, 0, head.field) if head.pick else parse_pointer(head.field)
        schema = schema_at(self.world.operations[tool].tool.output_schema, path) or {}
        for test in tests.values():
            if isinstance(test, str) and test.startswith("$") and test[1:] in self.aim.values:
                self.surfaces.setdefault(test[1:], schema.get("x-surface", "plain"))
