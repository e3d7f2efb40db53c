"""The initial items of an emulated API: owners first."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from planarena.environments.contract import ToolError
from planarena.environments.sources.instances import Generator, NoInstanceError
from planarena.environments.sources.openapi.emulator import EmulatedApi
from planarena.environments.sources.openapi.identifiers import normal
from planarena.environments.sources.openapi.resources import Api, Route
from planarena.environments.sources.openapi.responses import seed_of
from planarena.environments.state import Record, Store

__all__ = ["SEEDED", "seed_tables"]

SEEDED = 3
_MOST_OWNERS = 9


def seed_tables(
    api: Api, shapes: list[str], salt: str, now: str
) -> tuple[dict[str, dict[str, Record]], dict[str, str]]:
    """Make the initial items of some resources, owners first.

    Args:
        api: The API.
        shapes: The resources, outermost first.
        salt: Differs between scenarios.
        now: The world's present.

    Returns:
        The tables, and the value of each path parameter that belongs to no resource, by its name.

    Raises:
        ToolError: The schemas of an id allow none.
    """
    handlers = EmulatedApi(api, Store().view("api"), salt, now, {})
    plain: dict[str, str] = {}
    tables: dict[str, dict[str, Record]] = {}
    for shape in shapes:
        rows = tables.setdefault(f"api.{shape}", {})
        route = _writer(api, shape)
        first = Random(seed_of("titles", salt, shape)).randrange(100)
        owners = _owners(api, shape, tables, plain, handlers)
        named = _named(api, shape)
        others = {one: [row["id"] for row in tables[f"api.{one}"].values()] for one in named.values()}
        # A list of what belongs to one of some things shows several for each of them.
        least = 2 * max((len(ids) for ids in others.values()), default=0)
        for place, inside in enumerate(owners):
            each = SEEDED if len(owners) <= SEEDED else 2
            for number in range(max(each, least)):
                count = first + place * SEEDED + number
                # An id that its creator chooses is chosen for these items too: a field's value.
                chosen = handlers.responder.complete(shape, inside, number, {}, count) if route else {}
                identity = (
                    handlers.make_id(shape, [inside, number])
                    if route is None
                    else handlers.new_id(route, inside, _sent(route, chosen), [inside, number])
                )
                fields = handlers.responder.complete(shape, inside, identity, {}, count)
                for name, one in named.items():
                    fields[name] = others[one][number % len(others[one])] if others[one] else fields[name]
                rows[EmulatedApi.key_of([*inside, str(identity)])] = {
                    "id": identity,
                    "in": inside,
                    "fields": fields,
                    "done": {},
                }
        for key, record in rows.items():
            handlers.state.put(shape, key, record)  # what comes later names these by their ids
    return tables, plain


def _named(api: Api, shape: str) -> dict[str, str]:
    """Return those fields of a resource by which its lists are asked for -> the resource whose items they name."""
    fields = {normal(name): name for name in api.profiles.get(shape, {})}
    return {
        fields[normal(route.operation.placement[argument][1])]: one
        for route in api.routes.values()
        if route.shape == shape and route.role in {"list", "search"}
        for argument, one in route.links
        if normal(route.operation.placement[argument][1]) in fields
    }


def _writer(api: Api, shape: str) -> Route | None:
    return next(
        (route for route in api.routes.values() if route.shape == shape and route.role == "create"), None
    )


def _sent(route: Route, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of an item's fields that a creating call sends."""
    names = {name for place, name in route.operation.placement.values() if place in {"field", "form"}}
    return {name: value for name, value in fields.items() if name in names}


def _owners(
    api: Api,
    shape: str,
    tables: Mapping[str, Mapping[str, Record]],
    plain: dict[str, str],
    handlers: EmulatedApi,
) -> list[list[str]]:
    """Return the values of the path parameters before the item's own: each owner of the first two levels, plain values."""
    route = next((one for one in api.routes.values() if one.shape == shape), None)
    if route is None:
        return [[]]
    steps = route.steps[:-1] if route.role in {"read", "update", "delete", "part", "act"} else route.steps
    found: list[list[str]] = [[]]
    for argument, owner in steps:
        rows = tables.get(f"api.{owner}", {}) if owner else {}
        within = [
            [*inside, str(row["id"])] for inside in found for row in rows.values() if row["in"] == inside
        ]
        found = within[:_MOST_OWNERS] or [
            [*inside, str(plain_value(route, argument, plain, handlers))] for inside in found
        ]
    return found


def plain_value(route: Route, argument: str, plain: dict[str, str], handlers: EmulatedApi) -> str:
    """Return the value that a path parameter of no resource has throughout a world.

    Raises:
        ToolError: Its schema allows none.
    """
    known = plain.get(argument)
    if known is None:
        tool = route.operation.tool
        rng = Random(seed_of("plain", handlers.salt, argument))
        generator = Generator(tool.input_schema, rng, vocabulary=handlers.responder.vocabulary)
        try:
            known = plain[argument] = generator.value(tool.parameters[argument], argument)
        except (NoInstanceError, RecursionError) as error:
            raise ToolError("not_emulated", f"No {argument} of the declared form could be made.") from error
    return known
