"""A house small enough for a model of a million parameters to learn: nine tools, one-word values, short results.

No build draws it. `planarena bench algorithms` makes its tasks here, since what the algorithms differ in cannot be
told where nothing is learned at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Literal, TypedDict

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.state import View

__all__ = ["ITEMS", "LEVELS", "PEOPLE", "ROOMS", "Errands"]

Item = Literal[
    "ladder", "radio", "kettle", "basket", "mirror", "guitar", "camera", "carpet", "violin", "hammer", "bucket",
    "pillow", "teapot", "globe", "easel", "scarf", "drill", "clock", "chess", "piano",
]  # fmt: skip
Room = Literal[
    "attic", "cellar", "garage", "kitchen", "lounge", "study", "porch", "pantry", "nursery", "hall"
]
Person = Literal["anna", "boris", "clara", "david", "emma", "felix", "greta", "henry", "irene", "jonas"]
Level = Literal["off", "dim", "warm", "bright"]
Door = Literal["locked", "open"]

ITEMS: tuple[str, ...] = Item.__args__  # type: ignore[attr-defined]
ROOMS: tuple[str, ...] = Room.__args__  # type: ignore[attr-defined]
PEOPLE: tuple[str, ...] = Person.__args__  # type: ignore[attr-defined]
LEVELS: tuple[str, ...] = Level.__args__  # type: ignore[attr-defined]


class Place(TypedDict):
    """Where something is."""

    room: Room


class Errands(Environment):
    """A house, what stands in it, and who is where."""

    domain = "errands"
    summary = "A house with things, rooms and people, for studies with very small models."

    def __init__(self, view: View, facts: Mapping[str, Any], story: Mapping[str, Any]) -> None:
        # No clock: a prompt without facts is a line shorter.
        super().__init__(view, {"now": "", **facts}, story)

    @classmethod
    def seed(cls, rng: Random, shared: Mapping[str, Any] | None = None) -> Seed:  # noqa: ARG003  alone in its scenarios
        """Put things and people into rooms."""
        tables: dict[str, dict[str, dict[str, Any]]] = {
            "items": {name: {"room": rng.choice(ROOMS), "owner": ""} for name in ITEMS},
            "people": {name: {"room": rng.choice(ROOMS)} for name in PEOPLE},
            "rooms": {name: {"lamp": "", "door": "", "heat": 0} for name in ROOMS},
            "orders": {},
            "calls": {},
        }
        return Seed(tables, "A house", "A house with things and people in its rooms.", {})

    @tool("read")
    def find(self, item: Item) -> Place:
        """Find a thing.

        Args:
            item: The thing.
        """
        return {"room": self._row("items", item)["room"]}

    @tool("read")
    def locate(self, person: Person) -> Place:
        """Say where somebody is.

        Args:
            person: Who.
        """
        return {"room": self._row("people", person)["room"]}

    @tool("update")
    def carry(self, item: Item, room: Room) -> str:
        """Carry a thing to a room.

        Args:
            item: The thing.
            room: Where to.
        """
        return self._change("items", item, "room", room)

    @tool("update")
    def give(self, item: Item, person: Person) -> str:
        """Give a thing to somebody.

        Args:
            item: The thing.
            person: To whom.
        """
        return self._change("items", item, "owner", person)

    @tool("update")
    def lamp(self, room: Room, level: Level) -> str:
        """Set the lamp of a room.

        Args:
            room: The room.
            level: How bright.
        """
        return self._change("rooms", room, "lamp", level)

    @tool("update")
    def door(self, room: Room, state: Door) -> str:
        """Lock or open a room.

        Args:
            room: The room.
            state: What the door is to be.
        """
        return self._change("rooms", room, "door", state)

    @tool("update")
    def heat(self, room: Room, degrees: int) -> str:
        """Heat a room.

        Args:
            room: The room.
            degrees: To which temperature.
        """
        return self._change("rooms", room, "heat", degrees)

    @tool("create")
    def order(self, item: Item, count: int) -> str:
        """Order things.

        Args:
            item: What.
            count: How many.
        """
        self.state.put("orders", f"{item}/{count}", {"item": item, "count": count})
        return "done"

    @tool("create")
    def call(self, person: Person, hour: int) -> str:
        """Plan a call.

        Args:
            person: Whom to call.
            hour: When.
        """
        self.state.put("calls", f"{person}/{hour}", {"person": person, "hour": hour})
        return "done"

    def _row(self, table: str, key: str) -> dict[str, Any]:
        return self.require(table, key, table)

    def _change(self, table: str, key: str, field: str, value: Any) -> str:
        if self._row(table, key)[field] == value:
            raise ToolError("already", "already so")
        self.state.patch(table, key, **{field: value})
        return "done"
