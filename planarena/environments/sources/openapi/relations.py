"""What a part of an item lists, where the API keeps it as well: the tasks of a project are tasks of the same world."""

from __future__ import annotations

import re
from collections.abc import Iterable
from random import Random
from typing import Any

from planarena.environments.sources.field_kinds import spaced
from planarena.environments.sources.openapi.identifiers import normal, singular, words_of
from planarena.environments.sources.openapi.naming import names_of
from planarena.environments.sources.openapi.resources import Api, Route
from planarena.environments.state import Record

__all__ = ["WRAPPERS", "chosen", "counted_elsewhere", "counted_in", "listing", "related_shape", "shown_as"]

WRAPPERS = frozenset("data item result record list value entry content response row element object".split())


def related_shape(api: Api, route: Route) -> str:
    """Return the resource whose items a part or a document lists, or ""."""
    if route.role not in {"part", "document"} or singular(words_of(route.verb)) == words_of(route.verb):
        return ""
    noun = singular(words_of(route.verb))
    for shape, resource in api.resources.items():
        if resource.noun == noun and shape != route.shape and "{}" not in shape:
            fields = names_of(api, shape)
            return shape if fields is not None and resource.producers else ""
    return ""


def _many(name: str, noun: str) -> str:
    """Return what a field counts, as `member` for `memberCount`, or ""."""
    words = spaced(name).removeprefix(f"{noun} ")
    told = re.fullmatch(r"(?:num|number of|total) (\w+)|(\w+) (?:count|total)", words)
    return singular(told.group(1) or told.group(2)) if told is not None else ""


def counted_in(api: Api, shape: str, names: Iterable[str]) -> dict[str, str]:
    """Return those fields of an item that say how many of something it owns -> the resource of what it owns."""
    noun = api.resources[shape].noun if shape in api.resources else ""
    inner = {
        resource.noun: one
        for one, resource in api.resources.items()
        if one.startswith(f"{shape}/{{}}/") and one.count("/") == shape.count("/") + 2
    }
    return {name: inner[_many(name, noun)] for name in names if inner and _many(name, noun) in inner}


def counted_elsewhere(api: Api, name: str, noun: str) -> bool:
    """Say whether a field counts what the API lists."""
    many = _many(name, noun)
    return bool(many) and any(
        resource.noun.rsplit(" ", maxsplit=1)[-1] == many for resource in api.resources.values()
    )


def listing(value: Any, noun: str) -> tuple[tuple[str | int, ...], list[Any] | None]:
    """Find the list of things in a result: it, or one in an envelope that says no other thing."""
    if isinstance(value, list):
        return (), value
    if isinstance(value, dict):
        for name, inner in value.items():
            if (
                isinstance(inner, list)
                and len(inner) > 1
                and isinstance(inner[0], dict)
                and normal(singular(words_of(name)))
                in {*WRAPPERS, normal(noun), normal(noun.rsplit(" ", 1)[-1])}
            ):
                return (name,), inner
    return (), None


def chosen(records: list[Record], rng: Random) -> list[Record]:
    """Return those of some items that belong to something: two of three, mostly."""
    if len(records) < 3 or rng.randrange(3) == 0:
        return records
    left = rng.randrange(len(records))
    return [record for place, record in enumerate(records) if place != left]


def shown_as(shown: Any, record: Record, api: Api, shape: str) -> Any:
    """Return a listed thing with the values of an item that the API keeps.

    Args:
        shown: As the schema makes it.
        record: The item.
        api: The API.
        shape: The item's resource.
    """
    if not isinstance(shown, dict):
        return shown
    ids = {
        normal(route.entity.id_field)
        for route in api.routes.values()
        if route.shape == shape and route.entity is not None and route.entity.id_field
    }
    mine = {normal(name): value for name, value in record["fields"].items()}
    made = {}
    for name, value in shown.items():
        plain = normal(name)
        if plain in ids:
            made[name] = str(record["id"]) if isinstance(value, str) else record["id"]
        elif plain in mine:
            made[name] = mine[plain]
        else:
            made[name] = value
    return made
