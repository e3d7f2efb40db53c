"""The initial items of an emulated API: owners first, each made from its create's own schema."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from planarena.environments.contract import ToolError
from planarena.environments.sources.instances import Generator, NoInstanceError
from planarena.environments.sources.openapi.emulator import EmulatedApi, seed_of
from planarena.environments.sources.openapi.fields import fields_of
from planarena.environments.sources.openapi.resources import Api, Route
from planarena.environments.state import Record, Store
from planarena.records.canonical import CanonicalError, canonical_bytes

__all__ = ["SEEDED", "seed_tables"]

SEEDED = 3


def seed_tables(
    api: Api, shapes: list[str], salt: str
) -> tuple[dict[str, dict[str, Record]], dict[str, str]]:
    """Make the initial items of some resources, owners first.

    Args:
        api: The API.
        shapes: The resources, outermost first.
        salt: Differs between scenarios.

    Returns:
        The tables, and the value of each path parameter that belongs to no resource, by its name.

    Raises:
        ToolError: The schemas of an id allow none.
    """
    store = Store()
    handlers = EmulatedApi(api, store.view("api"), salt, {})
    plain: dict[str, str] = {}
    tables: dict[str, dict[str, Record]] = {}
    for shape in shapes:
        rows = tables.setdefault(f"api.{shape}", {})
        route = _writer(api, shape)
        for inside in _owners(api, shape, tables, plain, salt):
            for number in range(SEEDED):
                fields = _sample_fields(route, Random(seed_of("seed", salt, shape, inside, number)))
                identity = (
                    handlers.make_id(shape, [inside, number])
                    if route is None
                    else handlers.new_id(route, inside, fields)
                )
                rows[EmulatedApi.key_of([*inside, str(identity)])] = {
                    "id": identity,
                    "in": inside,
                    "fields": fields,
                    "done": {},
                }
    return tables, plain


def _writer(api: Api, shape: str) -> Route | None:
    roles = {"create": 0, "update": 1}
    found = [route for route in api.routes.values() if route.shape == shape and route.role in roles]
    return min(found, key=lambda route: roles[route.role], default=None)


def _sample_fields(route: Route | None, rng: Random) -> dict[str, Any]:
    if route is None:
        return {}
    tool = route.operation.tool
    arguments: dict[str, Any] = {}
    for key, (place, name) in route.operation.placement.items():
        if place not in {"field", "form", "body"}:
            continue
        try:
            value = Generator(tool.input_schema, rng).value(tool.parameters[key], name, 1)
            canonical_bytes(value)
        except (NoInstanceError, RecursionError, CanonicalError):
            continue
        arguments[key] = value
    return fields_of(route, arguments)


def _owners(
    api: Api, shape: str, tables: Mapping[str, Mapping[str, Record]], plain: dict[str, str], salt: str
) -> list[list[str]]:
    """Return the values of the path parameters before the item's own: the first owner, and plain values."""
    route = next((one for one in api.routes.values() if one.shape == shape), None)
    if route is None:
        return [[]]
    steps = route.steps[:-1] if route.role in {"read", "update", "delete", "part", "act"} else route.steps
    inside: list[str] = []
    for argument, owner in steps:
        rows = tables.get(f"api.{owner}", {}) if owner else {}
        match = next((row for row in rows.values() if row["in"] == inside), None)
        if match is not None:
            inside.append(str(match["id"]))
            continue
        known = plain.get(argument)
        if known is None:
            schema = route.operation.tool.parameters[argument]
            try:
                made = Generator(
                    route.operation.tool.input_schema, Random(seed_of("plain", salt, argument))
                ).value(schema, argument)
            except (NoInstanceError, RecursionError) as error:
                raise ToolError(
                    "not_emulated", f"No {argument} of the declared form could be made."
                ) from error
            known = plain[argument] = made
        inside.append(str(known))
    return [inside]
