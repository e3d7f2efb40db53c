"""What an answer tells of a result: the names of what is listed, and the facts that people want to know."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from planarena.environments.sources.field_kinds import (
    OPAQUE,
    in_address,
    in_place,
    kind_of_number,
    kind_of_text,
)
from planarena.environments.sources.openapi.asking import (
    REMARKS,
    styles_of,
    suits_item,
    tells_nature,
)
from planarena.environments.sources.openapi.fields import merged_of
from planarena.environments.sources.openapi.identifiers import normal, singular, words_of
from planarena.environments.sources.openapi.labels import (
    choice_words,
    is_label,
    is_moment_told,
    label_of,
    time_label,
)
from planarena.environments.sources.openapi.naming import HANDLES, is_person, names_of
from planarena.environments.sources.openapi.relations import listing
from planarena.environments.sources.openapi.resources import Api, Route
from planarena.environments.sources.things import generic_names, has_titles
from planarena.environments.wording import parse_pointer

__all__ = ["Told", "main_fields", "noun_of", "pointer_to", "told_of"]

# What people want to know of something, the more telling first.
_TELLING = (
    "status", "choice", "price", "rating", "date", "city", "country", "person", "company", "email", "phone", "genre",
    "subject", "priority", "temperature", "weather", "count", "year", "minutes", "percent", "job_title", "department",
    "colour", "language", "measure", "description", "region", "age", "message", "reason",
)  # fmt: skip
# What people give first to something new.
_GIVEN_FIRST = ("price", "date", "email", "phone", "city", "job_title", "department", "count", "minutes")
# For whom it matters when they were born.
_BORN = re.compile(r"(^| )(student|pupil|child|patient|pet|animal|dog|cat|horse|player|camper|swimmer)$")
# Parts and documents that tell single facts of what they are called after.
_PLACES = {
    "balance",
    "weather",
    "forecast",
    "price",
    "quote",
    "location",
    "address",
    "rating",
    "score",
    "schedule",
    "availability",
    "stock",
    "rate",
    "usage",
    "quota",
}
_QUOTED = {"subject", "message", "description", "bio", "reason", "title", "file"}
_MOST_TOLD = 2
# A name that nobody would say: an id.
_OPAQUE_NAME = re.compile(r"^[0-9a-f-]{8,}$|_[0-9a-f]{10}$|\.example\.com$")
# What has a total.
_SUMS = re.compile(
    r"\b(order|invoice|bill|cart|basket|quote|estimate|receipt|purchase|shipment|payment|expense|booking)s?$"
)


class Told(NamedTuple):
    """What an answer tells of a result.

    Attributes:
        names: Of the first two things listed, or of the first one found: pointers to what makes up each one's name.
        facts: Pointers to single values, with their labels and whether they are text to be quoted.
    """

    names: tuple[tuple[str, ...], ...] = ()
    facts: tuple[tuple[str, str, bool], ...] = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        """All pointers."""
        return (*(part for name in self.names for part in name), *(pointer for pointer, _, _ in self.facts))


def noun_of(api: Api, route: Route) -> str:
    """Return what an operation is about: the resource's items, or for parts and documents what the path ends in."""
    resource = api.resources.get(route.shape)
    if route.role in {"part", "document", "call"} or resource is None:
        return singular(words_of(route.verb))
    return resource.noun


def told_of(api: Api, route: Route, result: Any) -> Told:
    """Choose what an answer tells of a result.

    Args:
        api: The API.
        route: The operation's.
        result: A sample.
    """
    noun = noun_of(api, route)
    if route.role in {"list", "search"}:
        return _listed(api, route, result)
    if route.role in {"part", "document"}:
        path, listed = listing(result, noun)
        named = _names(listed, noun) if listed is not None else ()
        if named and has_titles(noun, api.setting) and words_of(route.verb) != noun:
            return Told(tuple(tuple(pointer_to((*path, place, one)) for one in named) for place in range(2)))
        if noun.rsplit(" ", maxsplit=1)[-1] not in _PLACES:
            return Told()
    elif route.role not in {"read", "create"}:
        return Told()
    base: tuple[str | int, ...] = ()
    if route.entity is not None and route.role not in {"part", "document"}:
        base = (*route.entity.path, *((0,) if route.entity.many else ()))
    start = _at(result, base)
    if not isinstance(start, dict):
        start, base = result, ()
    naming = names_of(api, route.shape)
    if route.role == "create":
        if naming is None or naming.kind != "number" or naming.main not in start:
            return Told()
        return Told((), ((pointer_to((*base, naming.main)), "number", False),))
    avoid = {normal(route.entity.id_field if route.entity else "")}
    if naming is not None and route.role == "read":
        avoid.update(map(normal, naming.fields))
    if route.role != "read":
        return Told((), _facts(start, base, noun, avoid, {})[:_MOST_TOLD])
    facts = _facts(start, base, noun, avoid, api.profiles.get(route.shape, {}))
    facts = tuple(
        one
        for one in facts
        if not tells_nature(api, route.shape, one[1]) and suits_item(api, route.shape, noun, one[1])
    )
    return Told((), facts[:_MOST_TOLD])


def _listed(api: Api, route: Route, result: Any) -> Told:
    naming, entity = names_of(api, route.shape), route.entity
    if entity is None or naming is None or not entity.many or set(naming.fields) - set(entity.properties):
        return Told()
    names = tuple(
        tuple(pointer_to((*entity.path, place, field)) for field in naming.fields)
        for place in range(2 if route.role == "list" else 1)
    )
    values = [tuple(_at(result, parse_pointer(part)) for part in name) for name in names]
    plain = all(
        isinstance(one, int)
        or (isinstance(one, str) and not _OPAQUE_NAME.search(one) and one not in generic_names())
        for value in values
        for one in value
    )
    return Told(names) if plain and len(set(values)) == len(values) else Told()


def main_fields(api: Api, shape: str) -> frozenset[str] | None:
    """Return the normal names of the fields that everybody fills in who creates an item; None where nobody creates one."""
    route = next((one for one in api.routes.values() if one.shape == shape and one.role == "create"), None)
    if route is None:
        return None
    styles = styles_of(api, route, route.operation.tool, noun_of(api, route))
    naming = names_of(api, shape)
    handles = set(map(normal, naming.fields)) if naming is not None else set()
    required, optional = set(), []
    for key, style in styles.items():
        name = normal(route.operation.placement[key][1])
        if key in route.operation.tool.required or name in handles:
            required.add(name)
        elif style.kind in _TELLING:
            rank = _GIVEN_FIRST.index(style.kind) if style.kind in _GIVEN_FIRST else 99
            if style.label == "date of birth" and not _BORN.search(noun_of(api, route)):
                rank = 98
            rank = -1 if style.label == "city" and not is_person(api, shape) else rank
            optional.append((rank, _TELLING.index(style.kind), name))
    return frozenset((*required, *(name for _, _, name in sorted(optional)[:1])))


def _facts(
    start: Any,
    base: Sequence[str | int],
    noun: str,
    avoid: set[str],
    schemas: Mapping[str, tuple[Any, Any]],
) -> tuple[tuple[str, str, bool], ...]:
    found: list[tuple[int, int, str, str, bool]] = []
    if not isinstance(start, dict):
        return ()
    for place, (name, value) in enumerate(start.items()):
        merged = merged_of(*schemas[name]) if name in schemas else {}
        called = in_place(name, start, str(merged.get("description", "")))
        kind = _kind(called, value, merged, noun)
        label = label_of(called, noun, moment=kind == "date")
        if kind == "date" and isinstance(value, str) and len(value) > 10:
            label = time_label(label)
        if label in {"total", "sum"} and not _SUMS.search(noun):
            continue  # how many there are in all, mostly
        if kind == "region" and not in_address(start):
            continue
        if label == "last date" or (
            not isinstance(value, str) and re.search(r"\b(status|state|stage|type|method)$", label)
        ):
            continue  # a code of the service's
        if normal(name) in avoid or kind not in _TELLING or not is_label(label) or label == noun:
            continue
        found.append((_TELLING.index(kind), place, pointer_to((*base, name)), label, kind in _QUOTED))
    chosen: list[tuple[int, int, str, str, bool]] = []
    for entry in sorted(found, key=lambda one: (one[0], one[3].startswith("end"), one[1])):
        if entry[3] not in {one[3] for one in chosen}:
            chosen.append(entry)
    return tuple((pointer, label, quoted) for _, _, pointer, label, quoted in chosen)


def _kind(name: str, value: Any, schema: Mapping[str, Any], noun: str) -> str:
    """Return what a value is that an answer may tell, or ""."""
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float):
        kind = kind_of_number(name)
        # How wide something is says nothing without a unit.
        return "" if kind in {"measure", "position", "size", "page", "id"} else kind
    if not isinstance(value, str) or not 0 < len(value) <= 90 or re.search(r"[{}\[\]<>\n\"]", value):
        return ""
    kind = kind_of_text(str(schema.get("format", "")), name)
    if "enum" in schema:
        return (
            "choice"
            if choice_words(value) and normal(value) != normal(noun) and kind not in OPAQUE - {"type"}
            else ""
        )
    if kind in {"date", "date-time"}:
        day = re.fullmatch(r"\d{4}-\d\d-\d\d", value) is not None
        return "date" if day or (is_moment_told(name) and value[10:11] == "T") else ""
    if kind in OPAQUE or kind == "title" or (kind == "country" and len(value) <= 3):
        return ""
    if kind == "message" and noun.rsplit(" ", maxsplit=1)[-1] not in REMARKS:
        return ""
    return kind


def _names(listed: list[Any], noun: str) -> tuple[str, ...]:
    """Return the properties that name each of two listed things, or nothing."""
    if len(listed) < 2 or not all(isinstance(one, dict) for one in listed[:2]):
        return ()
    own = {f"{normal(singular(noun))}name", f"{normal(singular(noun))}title"}
    wanted = {*HANDLES[:9], *own}
    for name, value in listed[0].items():
        other = listed[1].get(name)
        if isinstance(value, str) and (value in generic_names() or other in generic_names()):
            continue  # nothing is known of what it is called
        titled = kind_of_text("", str(name)) in {
            "title",
            "person",
            "company",
            "username",
            "language",
            "country",
            "city",
        }
        if (
            isinstance(value, str)
            and isinstance(other, str)
            and value != other
            and normal(name) in wanted
            and titled
        ):
            return (str(name),)
    plain = {normal(name): str(name) for name in listed[0]}
    return (plain["firstname"], plain["lastname"]) if {"firstname", "lastname"} <= set(plain) else ()


def _at(value: Any, path: Sequence[str | int]) -> Any:
    for word in path:
        try:
            value = value[word]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def pointer_to(words: Sequence[str | int]) -> str:
    """Return a JSON pointer."""
    return "".join(f"/{str(word).replace('~', '~0').replace('/', '~1')}" for word in words)
