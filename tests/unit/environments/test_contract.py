"""What the contract offers to every environment: shapes of results, rows by value, proposals as a table."""

from __future__ import annotations

from random import Random

import pytest

from planarena.environments import Environment, Seed, World, tool
from planarena.environments.contract import all_bound
from planarena.environments.shapes import Fields, between, ordered
from planarena.errors import SchemaError

record = Fields(name=str, price=float, to=str, count=int)


class Shed(Environment):
    """Tools with a record field that no result shows."""

    domain = "shed"
    summary = "A shed."
    proposals = {"list_free_tools": lambda _env, _rng: [{}, {"most": 2}]}  # noqa: RUF012

    @classmethod
    def seed(cls, rng, shared=None):
        rows = {
            name: {"lent": name == "axe", "price": 3.0, "name": name, "secret": 1}
            for name in ("axe", "rake", "saw")
        }
        return Seed({"tools": rows}, "A shed", "A shed with tools.", {"now": "2026-05-04T09:00"})

    @tool("read", gives=record("count tools", tools=[record("name price")]))
    def list_free_tools(self, most: int = 9):
        """List what is not lent.

        Args:
            most: How many at most.
        """
        found = self.rows("tools", lent=False)
        return {"tools": found[:most], "count": len(found)}

    @tool("update", gives=record("name"), proposes=lambda _env, rng: [{"name": rng.choice(["rake", "saw"])}])
    def lend_tool(self, name: str):
        """Lend a tool.

        Args:
            name: Which.
        """
        return self.state.patch("tools", name, lent=True)

    @tool("read", gives=record("name"))
    def find_tool(self, name: str, when: str):
        """Find a tool for a day or moment that is yet to come.

        Args:
            name: Which.
            when: For when.
        """
        self.refuse_past(when)
        return self.named("tools", "tool", name=name)


@pytest.fixture
def world() -> World:
    return World([Shed], [Shed.seed(Random(0))])


def test_a_shape_picks_the_declared_fields_in_their_order() -> None:
    row = {"secret": 1, "price": 3.0, "name": "saw"}
    assert list(record("name price").pick(row).items()) == [("name", "saw"), ("price", 3.0)]
    assert list(record("name to? price").pick(row)) == ["name", "price"]
    assert list(record("name to? price").pick({**row, "to": "Ana"})) == ["name", "to", "price"]
    with pytest.raises(KeyError):
        record("name to").pick(row)


def test_the_schema_is_the_shapes() -> None:
    shape = record("name tools to?", tools=[record("price")])
    assert shape.schema("here") == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "tools": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"price": {"type": "number"}},
                    "required": ["price"],
                },
            },
            "to": {"type": "string"},
        },
        "required": ["name", "tools"],
    }


@pytest.mark.parametrize(("names", "others"), [("name colour", {}), ("name", {"colour": str})])
def test_a_field_without_a_type_or_without_a_place_is_refused(names, others) -> None:
    with pytest.raises(SchemaError, match="colour"):
        record(names, **others)


def test_rows_are_found_by_value_and_count_as_read(world: World) -> None:
    found = world.call("list_free_tools", {})
    assert found.result == {
        "count": 2,
        "tools": [{"name": "rake", "price": 3.0}, {"name": "saw", "price": 3.0}],
    }
    assert world.footprint().reads == frozenset({("shed.tools", None)})


def test_proposals_come_from_the_table(world: World) -> None:
    assert world.propose("list_free_tools", Random(1)) == [{}, {"most": 2}]


def test_a_tool_may_say_itself_what_is_asked_of_it(world: World) -> None:
    (found,) = world.propose("lend_tool", Random(1))
    assert found["name"] in {"rake", "saw"}
    assert world.call("lend_tool", found).result == found


def test_listed_records_are_ordered_by_fields() -> None:
    rows = [{"price": 2, "id": "b"}, {"price": 2, "id": "a"}, {"price": 1, "id": "c"}]
    assert [row["id"] for row in ordered(rows, "price", "id")] == ["c", "a", "b"]
    assert [row["id"] for row in ordered(rows, "price", "id", last_first=True)] == ["b", "a", "c"]
    assert [row["id"] for row in rows] == ["b", "a", "c"]


def test_a_limit_that_is_left_open_keeps_all_records() -> None:
    rows = [{"price": 1}, {"price": 2}, {"price": 3}]
    assert between(rows, "price") == rows
    assert between(rows, "price", least=2) == rows[1:]
    assert between(rows, "price", most=2) == rows[:2]
    assert between(rows, "price", 2, 2) == rows[1:2]


def test_a_record_is_found_by_its_name(world: World) -> None:
    assert world.call("find_tool", {"name": "saw", "when": "2026-05-04"}).result == {"name": "saw"}
    error = world.call("find_tool", {"name": "hoe", "when": "2026-05-04"}).error
    assert error == {"code": "not_found", "message": "There is no tool named hoe."}


@pytest.mark.parametrize(
    ("when", "past"),
    [("2026-05-03", True), ("2026-05-04", False), ("2026-05-04T09:00", True), ("2026-05-04T09:01", False)],
)
def test_a_day_is_past_after_it_and_a_moment_once_it_is_there(world: World, when: str, past: bool) -> None:
    outcome = world.call("find_tool", {"name": "saw", "when": when})
    assert (outcome.error or {}).get("code") == ("in_the_past" if past else None)


def test_tools_without_anything_to_propose_get_one_empty_proposal_each_time() -> None:
    table = all_bound("lend_tool", "return_tool")
    assert list(table) == ["lend_tool", "return_tool"]
    first, second = (table["lend_tool"](None, Random(1)) for _ in range(2))
    assert first == second == [{}]
    assert first is not second
