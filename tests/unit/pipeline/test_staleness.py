"""An answer tells what is so at the end of its message."""

from __future__ import annotations

from typing import Any

from planarena.environments import Environment, Seed, World
from planarena.environments.contract import tool
from planarena.environments.wording import Record, ToolWording
from planarena.episodes import Episode, ExecutedCall
from planarena.pipeline.execute.staleness import _counted_twice, stale_answer
from planarena.tasks.atoms import Call


class Lists(Environment):
    """Lists with things on them."""

    domain = "lists"
    summary = "Lists."

    @classmethod
    def seed(cls, rng: Any, shared: Any = None) -> Seed:
        rows = {name: {"name": name, "things": ["a"]} for name in ("food", "tools")}
        return Seed({"lists": rows}, "Lists", "Two lists.", {"now": "2026-05-01T09:00"})

    @tool("read")
    def show_list(self, name: str) -> dict[str, Any]:
        """Show a list.

        Args:
            name: Which.
        """
        things = self.require("lists", name, "list")["things"]
        return {"name": name, "count": len(things), "things": [{"thing": one} for one in things]}

    @tool("update")
    def add_thing(self, name: str, thing: str) -> dict[str, Any]:
        """Add a thing to a list.

        Args:
            name: Which list.
            thing: What.
        """
        things = [*self.require("lists", name, "list")["things"], thing]
        self.state.patch("lists", name, things=things)
        return {"name": name, "count": len(things)}


SHOW = ToolWording(
    ask=("a",),
    plan=("A",),
    outputs=("/name",),
    report=("r",),
    records={"/things": Record("thing", "{thing}")},
)
WORDING = {"show_list": SHOW}


def found(*steps: tuple[str, dict[str, str], int], told: Any = ("name",)) -> Any:
    """Judge calls, each with its message, of which the answers tell some fields."""
    world = World([Lists], [Lists.seed(None)])
    start, before = world.mark(), world.digest()
    episode = Episode(world, [Call(name, arguments, ()) for name, arguments, _ in steps])
    made = [episode.perform_fully(number) for number in range(len(steps))]
    world.rollback(start)
    values = {
        number: tuple(((field,), one.result[field]) for field in told) for number, one in enumerate(made)
    }
    turn_of = [turn for _, _, turn in steps]
    answer = stale_answer(world, made, values, list(range(len(steps))), turn_of, WORDING)
    assert world.digest() == before, "the world is left as it was"
    return answer


FOOD = {"name": "food"}


def test_a_list_that_the_same_message_changes_is_out_of_date() -> None:
    changed = found(("show_list", FOOD, 0), ("add_thing", {**FOOD, "thing": "b"}, 0))
    assert changed is not None
    assert changed[0] == "stale_answer"
    assert found(("show_list", FOOD, 0), ("add_thing", {**FOOD, "thing": "b"}, 1)) is None
    assert found(("add_thing", {**FOOD, "thing": "b"}, 0), ("show_list", FOOD, 0)) is None
    assert found(("show_list", FOOD, 0), ("add_thing", {"name": "tools", "thing": "b"}, 0)) is None


def test_two_counts_of_one_thing_are_one_too_many() -> None:
    twice = ("add_thing", {**FOOD, "thing": "b"}, 0), ("add_thing", {**FOOD, "thing": "c"}, 0)
    again = found(*twice, told=("name", "count"))
    assert again is not None
    assert "count" in again[1]
    assert found(*twice) is None, "no count is told"
    apart = (*twice[:1], ("add_thing", {**FOOD, "thing": "c"}, 1))
    assert found(*apart, told=("name", "count")) is None, "each message has its count"
    others = (
        *twice[:1],
        ("add_thing", {"name": "tools", "thing": "c"}, 0),
        ("add_thing", {"name": "tools", "thing": "d"}, 1),
    )
    assert found(*others, told=("name", "count")) is None


def test_the_reason_is_the_same_in_every_process() -> None:
    """Of several counts that differ the first of the result is named, not the first of a set of names."""
    names = ["unbilled", "amount", "hours", "total", "open", "rate", "due"]
    made = [
        ExecutedCall("bill", {"matter": "m"}, "ok", {}, None, f"state {step}", f"state {step + 1}")
        for step in range(2)
    ]
    values: dict[int, tuple[tuple[tuple[str | int, ...], Any], ...]] = {
        step: (
            (("title",), "Ridge v Hale"),
            *(((name,), 10 * step + place) for place, name in enumerate(names)),
        )
        for step in range(2)
    }
    fault = _counted_twice(made, values, [0, 1], (0, 0))
    assert fault == ("stale_answer", "steps 0 and 1 tell unbilled of one thing")
