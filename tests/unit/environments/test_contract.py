"""What the contract offers to every environment: views of records, rows by value, proposals that stay the same."""

from __future__ import annotations

from random import Random
from typing import TypedDict

import pytest

from planarena.environments import Environment, Seed, World, fixed, tool, view


class Tool(TypedDict):
    """A tool of the shed."""

    name: str
    price: float


class Loan(Tool):
    """A tool that is lent."""

    to: str


class Shed(Environment):
    """Tools with a record field that no result shows."""

    domain = "shed"
    summary = "A shed."
    _propose_list = fixed("list_free_tools", {}, {"most": 2})

    @classmethod
    def seed(cls, rng, shared=None):
        rows = {
            name: {"lent": name == "axe", "price": 3.0, "name": name, "secret": 1}
            for name in ("axe", "rake", "saw")
        }
        return Seed({"tools": rows}, "A shed", "A shed with tools.", {"now": "2026-05-04T09:00"})

    @tool("read")
    def list_free_tools(self, most: int = 9) -> list[Tool]:
        """List what is not lent.

        Args:
            most: How many at most.
        """
        return [view(Tool, row) for row in self.rows("tools", lent=False)][:most]


@pytest.fixture
def world() -> World:
    return World([Shed], [Shed.seed(Random(0))])


def test_a_view_shows_the_declared_fields_in_their_order() -> None:
    row = {"secret": 1, "price": 3.0, "name": "saw"}
    assert list(view(Tool, row).items()) == [("name", "saw"), ("price", 3.0)]
    assert list(view(Loan, row, to="Ana", price=0.0).items()) == [
        ("name", "saw"),
        ("price", 0.0),
        ("to", "Ana"),
    ]
    with pytest.raises(KeyError):
        view(Loan, row)


def test_rows_are_found_by_value_and_count_as_read(world: World) -> None:
    found = world.call("list_free_tools", {})
    assert found.result == [{"name": "rake", "price": 3.0}, {"name": "saw", "price": 3.0}]
    reads = world.footprint().reads
    assert reads == frozenset({("shed.tools", None)})


def test_fixed_proposals_are_new_dictionaries_each_time(world: World) -> None:
    first = world.propose("list_free_tools", Random(1))
    assert first == [{}, {"most": 2}]
    first[1]["most"] = 7
    assert world.propose("list_free_tools", Random(2)) == [{}, {"most": 2}]


def test_today_is_the_day_of_now() -> None:
    seed = Shed.seed(Random(0))
    world = World([Shed], [seed])
    assert Shed(world.store.view("shed"), seed.facts, seed.story).today == "2026-05-04"
