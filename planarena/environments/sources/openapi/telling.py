"""What an answer tells of a result: the names of what is listed, and the facts that people want to know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from planarena.environments.sources.field_kinds import OPAQUE, kind_of_number, kind_of_text
from planarena.environments.sources.openapi.asking import HANDLES, handle_of, is_label, label_of, styles_of
from planarena.environments.sources.openapi.resources import Api, Route, normal, singular, words_of
from planarena.environments.sources.vocabulary import has_titles
from planarena.environments.wording import parse_pointer

__all__ = ["Told", "main_fields", "noun_of", "pointer_to", "told_of"]

# What people want to know of something, the more telling first.
_TELLING = (
    "status", "choice", "price", "rating", "date", "city", "country", "person", "company", "email", "phone", "genre",
    "subject", "priority", "temperature", "weather", "count", "year", "minutes", "percent", "job_title", "department",
    "colour", "language", "currency", "message", "description", "bio", "region", "age", "username", "street", "reason",
)  # fmt: skip
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


class Told(NamedTuple):
    """What an answer tells of a result.

    Attributes:
        names: Pointers to the names of the first two things listed, or of the first one found.
        facts: Pointers to single values, with their labels and whether they are text to be quoted.
    """

    names: tuple[str, ...] = ()
    facts: tuple[tuple[str, str, bool], ...] = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        """All pointers."""
        return (*self.names, *(pointer for pointer, _, _ in self.facts))


def noun_of(api: Api, route: Route) -> str:
    """Return what an operation is about: the resource's items, or for parts and documents what the path ends in."""
    resource = api.resources.get(route.shape)
    if route.role in {"part", "document", "call"} or resource is None:
        return words_of(route.verb)
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
        handle = handle_of(api, route.shape)
        entity = route.entity
        if entity is None or not entity.many or handle not in entity.properties:
            return Told()
        names = tuple(
            pointer_to((*entity.path, place, handle)) for place in range(2 if route.role == "list" else 1)
        )
        return Told(tuple(name for name in names if isinstance(_at(result, parse_pointer(name)), str)))
    if route.role in {"part", "document"}:
        path, listed = _listing(result)
        named = _names(listed, noun) if listed is not None else ""
        if named and has_titles(noun):
            return Told(tuple(pointer_to((*path, place, named)) for place in range(2)))
    if route.role in {"part", "document"} and noun.rsplit(" ", maxsplit=1)[-1] not in _PLACES:
        needed = [
            key
            for key in styles_of(route, route.operation.tool, noun)
            if key in route.operation.tool.required
        ]
        if route.role == "part" or not needed:
            return Told()
    base = route.entity.path if route.entity is not None and not route.entity.many else ()
    start = _at(result, base)
    if not isinstance(start, dict):
        start, base = result, ()
    avoid = {normal(handle_of(api, route.shape)), normal(route.entity.id_field if route.entity else "")}
    if route.role == "document":
        avoid = set()
    lasting = None if route.role in {"part", "document"} else main_fields(api, route.shape)
    facts = _facts(start, base, noun, avoid, lasting)
    if route.role == "create":
        # What was just said is no news, and of a new thing little else is.
        sent = {normal(name) for _, name in route.operation.placement.values()}
        facts = tuple(fact for fact in facts if normal(fact[0].rsplit("/", maxsplit=1)[-1]) not in sent)
        facts = tuple(fact for fact in facts if not fact[1].startswith("number of"))
    return Told((), facts)


def main_fields(api: Api, shape: str) -> frozenset[str] | None:
    """Return the normal names of the fields that everybody fills in who creates an item; None where nobody creates one."""
    route = next((one for one in api.routes.values() if one.shape == shape and one.role == "create"), None)
    if route is None:
        return None
    styles = styles_of(route, route.operation.tool, noun_of(api, route))
    handle = normal(handle_of(api, shape))
    required, optional = set(), []
    for key, style in styles.items():
        name = normal(route.operation.placement[key][1])
        if key in route.operation.tool.required or name == handle:
            required.add(name)
        elif style.kind in _TELLING:
            optional.append((_TELLING.index(style.kind), name))
    return frozenset((*required, *(name for _, name in sorted(optional)[:1])))


def _facts(
    start: Any, base: Sequence[str | int], noun: str, avoid: set[str], lasting: frozenset[str] | None
) -> tuple[tuple[str, str, bool], ...]:
    found: list[tuple[int, int, str, str, bool]] = []
    if not isinstance(start, dict):
        return ()
    for place, (name, value) in enumerate(start.items()):
        kind = _kind(name, value)
        label = label_of(name, noun)
        if kind == "count" and label.endswith("s") and " " not in label:
            label = f"number of {label}"
        if lasting is not None and normal(name) not in lasting and kind not in {"status", "count"}:
            continue  # an item that was just created has no such value
        if normal(name) in avoid or kind not in _TELLING or not is_label(label) or label == noun:
            continue
        found.append((_TELLING.index(kind), place, pointer_to((*base, name)), label, kind in _QUOTED))
    chosen = sorted(found)[:_MOST_TOLD]
    return tuple((pointer, label, quoted) for _, _, pointer, label, quoted in chosen)


def _kind(name: str, value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float):
        return kind_of_number(name)
    if not isinstance(value, str) or not 0 < len(value) <= 90 or re.search(r"[{}\[\]<>\n\"]", value):
        return ""
    kind = kind_of_text("", name)
    if kind in {"date", "date-time"}:
        return "date" if re.fullmatch(r"\d{4}-\d\d-\d\d", value) else ""
    if kind in OPAQUE or kind == "title":
        return ""
    return kind


def _listing(value: Any, path: tuple[str | int, ...] = ()) -> tuple[tuple[str | int, ...], list[Any] | None]:
    """Find the list of things in a result: it, or one in an envelope."""
    if isinstance(value, list):
        return path, value
    if isinstance(value, dict) and len(path) < 2:
        for name, inner in value.items():
            if (
                isinstance(inner, list)
                and len(inner) > 1
                and isinstance(inner[0], dict)
                and (not path or len(value) < 8)
            ):
                return (*path, name), inner
    return path, None


def _names(listed: list[Any], noun: str) -> str:
    """Return the property that names each of two listed things, or ""."""
    if len(listed) < 2 or not all(isinstance(one, dict) for one in listed[:2]):
        return ""
    for name, value in listed[0].items():
        other = listed[1].get(name)
        if (
            isinstance(value, str)
            and isinstance(other, str)
            and value != other
            and normal(name)
            in {*HANDLES[:9], f"{normal(singular(noun))}name", f"{normal(singular(noun))}title"}
        ):
            return str(name)
    return ""


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
