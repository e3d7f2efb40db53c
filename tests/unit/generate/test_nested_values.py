"""Objects as arguments: said value by value in a query, or the task is not drawn."""

from __future__ import annotations

import re
from random import Random

import pytest

from planarena.config import AllowedConfig, BuildConfig, CompositionConfig, ContrastConfig
from planarena.environments.sources.generic_wording import is_sayable, sayable_value
from planarena.environments.sources.instances import Generator
from planarena.environments.wording import FIELD
from planarena.generate.surfaces import surface
from planarena.pipeline.execute.scenario_run import execute_scenario
from planarena.pipeline.execute.scenarios import draw_scenario
from planarena.pipeline.language.describe import ScenarioLanguage
from planarena.pipeline.phases import allow_for
from planarena.pipeline.products import Discard, Executed, Language

ADDRESS = {
    "type": "object",
    "required": ["street", "city"],
    "properties": {
        "street": {"type": "string"},
        "city": {"type": "string"},
        "floor": {"type": "integer"},
        "checked_at": {"type": "string", "format": "date-time", "readOnly": True},
    },
}
LINE = {
    "type": "object",
    "required": ["sku", "count"],
    "properties": {
        "sku": {"type": "string"},
        "count": {"type": "integer"},
        "gift": {"type": "boolean"},
        "size": {"type": "object", "required": ["width"], "properties": {"width": {"type": "integer"}}},
    },
}
WIDE = {"type": "object", "properties": {f"field{n}": {"type": "string"} for n in range(30)}}
ENDLESS = {
    "type": "object",
    "required": [f"part{n}" for n in range(9)],
    "properties": {f"part{n}": {"type": "string"} for n in range(9)},
}


MODULE = '''"""Orders of a small shop."""
from typing import NotRequired, TypedDict


class Address(TypedDict):
    """Where to."""

    street: str
    city: str
    floor: NotRequired[int]


class Line(TypedDict):
    """What."""

    sku: str
    count: int
    gift: NotRequired[bool]


def quote_order(ship_to: Address, lines: list[Line]) -> dict[str, int]:
    """Return what an order would cost.

    Args:
        ship_to: Where to.
        lines: What.
    """
    return {"price": 10 * sum(line["count"] for line in lines) + len(ship_to["city"])}


def quote_delivery(ship_to: Address) -> dict[str, int]:
    """Return what a delivery would cost.

    Args:
        ship_to: Where to.
    """
    return {"price": len(ship_to["street"])}
'''


def _scalars(value):
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _scalars(item)
    else:
        yield value


def test_every_value_of_a_nested_body_stands_in_the_query(tmp_path):
    file = tmp_path / "orders.py"
    file.write_text(MODULE)
    config = BuildConfig(
        sources=(f"python:{file}",),
        allowed=AllowedConfig(unsafe_no_sandbox=True),
        composition=CompositionConfig(mixed_share=0.0),
        contrast=ContrastConfig(candidates=0, trajectories=0, no_calls=0),
    )
    allow_for(config)
    nested = lists = 0
    for number in range(4):
        scenario = execute_scenario(config, draw_scenario(config, number))
        writer = ScenarioLanguage(config, scenario)
        for task in scenario.items:
            if not isinstance(task, Executed):
                continue
            said = writer.describe(task)
            if isinstance(said, Discard):
                assert said.reason == "repeated_phrase", said.detail
                continue
            assert isinstance(said, Language)
            text = " ".join(said.turns)
            assert FIELD not in text
            for step in task.steps:
                bound = {argument for argument, _, _ in step.bound}
                for name, value in step.arguments.items():
                    if name in bound or not isinstance(value, dict | list):
                        continue
                    nested += 1
                    lists += isinstance(value, list)
                    for scalar in _scalars(value):
                        shown = "yes" if scalar is True else "no" if scalar is False else str(scalar)
                        assert re.search(rf"(?<!\w){re.escape(shown)}(?!\w)", text), (shown, text)
    assert nested > 10
    assert lists > 3


def test_objects_are_written_with_the_names_of_their_values():
    address = {"street": "Elm Road 5", "city": "Oslo", "floor": 2}
    assert surface(address, ADDRESS) == "(street Elm Road 5, city Oslo, floor 2)"
    lines = [{"sku": "a-1", "count": 2, "gift": True}, {"sku": "b-2", "count": 1, "size": {"width": 3}}]
    schema = {"type": "array", "items": LINE}
    assert surface(lines, schema) == "(sku a-1, count 2, gift yes) and (sku b-2, count 1, size (width 3))"
    # Where a comma would run into the next name; a key that the user chose is said as it is.
    assert surface({"street": "Elm Road 5, left"}, ADDRESS) == '(street "Elm Road 5, left")'
    free = {"type": "object", "additionalProperties": {"type": "integer"}}
    assert surface({"redBox": 3}, free) == "(redBox 3)"
    assert surface({"redBox": 3}, {"$ref": "#/$defs/Boxes"}) == "(red box 3)"
    due = {"type": "object", "properties": {"due": {"type": "string", "x-surface": "date"}}}
    assert surface({"due": "2026-03-04"}, due, 1) == '(due "March 4, 2026")'


@pytest.mark.parametrize(
    "value",
    [
        {},
        [{}],
        {"a": None},
        {"a": {"b": {"c": 1}}},
        {"petId": 1, "pet_id": 2},
        {"a b": 1},
        {"a": "x) and (y"},
        {f"field{n}": n for n in range(9)},
        [{"a": 1}, 2],
        [{"a": n} for n in range(4)],
        {"a": [[1]]},
        {"a": "line\nbreak"},
        {"{a}": 1},
    ],
)
def test_what_cannot_be_said_is_refused(value):
    assert not is_sayable(value)


def test_an_object_is_made_small_where_its_schema_lets_it():
    for seed in range(20):
        generator = Generator({}, Random(seed), written=True)
        wide = sayable_value(generator, WIDE, "extras")
        assert isinstance(wide, dict)
        assert 1 <= len(wide) <= 2
        assert sayable_value(generator, ENDLESS, "form") is None
        made = sayable_value(generator, ADDRESS, "address")
        assert {"street", "city"} <= set(made) <= {"street", "city", "floor"}
