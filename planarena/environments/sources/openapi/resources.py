"""What the paths of an API say about it: its resources, who owns whom, and what each operation does to them.

`/pets` with `/pets/{petId}` is a resource; POST on it creates, GET on it lists, GET on the item reads, and so on;
`/pets/{petId}/feed` acts on an item or reads a part of it. What has no item path is a document (GET) or a
call (anything else).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from planarena.environments.sources.openapi.entities import (
    Entity,
    find_entity,
    is_scalar,
    plain_of,
    property_names,
    reader_of,
)
from planarena.environments.sources.openapi.identifiers import normal, singular, words_of
from planarena.tools.openapi import Conversion, RestOperation

__all__ = ["Api", "Resource", "Role", "Route", "analyse"]

Role = Literal["create", "read", "update", "delete", "list", "search", "part", "act", "document", "call"]
# An item has so many properties at most: the first ones of a description are those that matter.
_MOST_PROPERTIES = 40
_SEARCH = re.compile(r"^(search|find|query|lookup|filter)", re.IGNORECASE)
_PARAMETER = re.compile(r"\{([^{}]+)\}")


class Resource(NamedTuple):
    """A kind of thing that an API keeps.

    Attributes:
        shape: The collection's path with `{}` for each parameter, as `/pets`.
        noun: As `pet`.
        id_name: The parameter that names an item.
        producers: Wire names of the operations whose results show an id.
    """

    shape: str
    noun: str
    id_name: str
    producers: tuple[str, ...]


class Route(NamedTuple):
    """An operation with its role.

    Attributes:
        operation: The operation.
        role: What it does.
        shape: The resource's shape (for documents and calls: the path's own).
        steps: For each path parameter, outermost first: (argument, the shape of its resource or "").
        verb: The last literal of the path: what an action is called.
        entity: Where its response shows an item, or None.
        links: For each required argument outside of the path that is the id of another resource's item, as `projectId`
            of a ticket: (argument, the shape of that resource).
    """

    operation: RestOperation
    role: Role
    shape: str
    steps: tuple[tuple[str, str], ...]
    verb: str
    entity: Entity | None
    links: tuple[tuple[str, str], ...] = ()


class Api(NamedTuple):
    """An API as its paths describe it.

    Attributes:
        routes: By wire name.
        resources: By shape.
        id_types: The JSON type of the ids that responses show, by shape.
        profiles: What is known of the items of a shape: property -> (its schema, the document that it stands in).
        setting: What the API speaks of, in plain words.
        memo: What was found out about shapes, kept by those who did.
    """

    routes: dict[str, Route]
    resources: dict[str, Resource]
    id_types: dict[str, str]
    profiles: dict[str, dict[str, tuple[Any, Any]]]
    setting: str
    memo: dict[str, object]


def _segments(path: str) -> list[str]:
    """Split a path; a parameter stands alone, `{id}.json` loses its ending and `{id}:cancel` becomes two."""
    found: list[str] = []
    for segment in path.split("?", maxsplit=1)[0].strip("/").split("/"):
        match = re.match(r"^(\{[^{}]+\})(?:\.(?:json|xml)|(:.+))?$", segment)
        if match:
            found.append(match.group(1))
            found += [match.group(2)] if match.group(2) else []
        else:
            found.append(re.sub(r"\.(json|xml)$", "", segment))
    return [segment for segment in found if segment]


def _shape(segments: Iterable[str]) -> str:
    return "/" + "/".join(_PARAMETER.sub("{}", segment) for segment in segments)


def _is_parameter(segment: str) -> bool:
    return segment.startswith("{") and segment.endswith("}")


def analyse(conversion: Conversion) -> Api:
    """Give every operation of a description its role."""
    paths = {operation.path: _segments(operation.path) for operation in conversion.operations}
    items = _items(conversion, paths)
    fields = _fields_by_shape(conversion, paths)
    routes: dict[str, Route] = {}
    for operation in conversion.operations:
        segments = paths[operation.path]
        role, shape, verb = _role(operation, segments, items)
        if role == "document" and (single := _single_of(segments, items)):
            role, shape = "list", single
        steps = _steps(operation, segments, items)
        id_name = _id_name(items.get(f"{shape}/{{}}"))
        noun = _noun(shape)
        entity = None
        if operation.tool.output_schema is not None:
            known = fields.get(shape, set())
            entity = find_entity(
                operation.tool.output_schema, role in {"list", "search"}, id_name, noun, known
            )
            if entity is None and role in {"create", "read", "update", "delete", "act"}:
                # Some services answer with a list of one.
                entity = find_entity(operation.tool.output_schema, True, id_name, noun, known)
                entity = entity if entity is not None and entity.id_field else None
        routes[operation.tool.wire_name] = Route(operation, role, shape, steps, verb, entity)
    resources: dict[str, Resource] = {}
    for item, segments in items.items():
        shape = item[:-3]
        producers = tuple(
            name
            for name, route in routes.items()
            if route.shape == shape
            and route.role in {"create", "list", "search"}
            and route.entity is not None
            and route.entity.id_field
        )
        resources[shape] = Resource(
            shape, _called(_noun(shape), shape, routes), _id_name(segments), producers
        )
    profiles = _profiles(routes)
    for name, route in routes.items():
        if _sets_a_field(route, profiles.get(route.shape, {})):
            route = route._replace(role="update")
        routes[name] = route._replace(links=_links(route, resources))
    literals = {segment for segments in paths.values() for segment in segments if not _is_parameter(segment)}
    setting = " ".join((words_of(conversion.title), *sorted({words_of(one) for one in literals})))
    return Api(routes, resources, _id_types(routes), profiles, setting, {})


def _items(conversion: Conversion, paths: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the paths of single items by shape: those that are there, and those that others show to be meant.

    `/customers/{id}/orders` beside `/customers` speaks of a customer, whether one can be read alone or not; what can be
    listed and added to under a plural, as `/todos`, holds items too.
    """
    found = {
        _shape(segments): segments for segments in paths.values() if segments and _is_parameter(segments[-1])
    }
    methods: dict[str, set[str]] = {}
    for operation in conversion.operations:
        methods.setdefault(_shape(paths[operation.path]), set()).add(operation.method)
    for segments in paths.values():
        for end in range(1, len(segments)):
            above = segments[:end]
            if (
                _is_parameter(segments[end])
                and not _is_parameter(above[-1])
                and methods.get(_shape(above), set()) & {"get", "post"}
            ):
                found.setdefault(_shape(segments[: end + 1]), segments[: end + 1])
        kept = methods[_shape(segments)] if segments else set()
        if kept >= {"get", "post"} and not _is_parameter(segments[-1]):
            words = words_of(segments[-1])
            if singular(words) != words and not _SEARCH.match(words):
                found.setdefault(f"{_shape(segments)}/{{}}", [*segments, "{id}"])
    return found


def _called(noun: str, shape: str, routes: dict[str, Route]) -> str:
    """Return what people call an item: whose membership bears a person's name is a member."""
    known = {
        normal(name)
        for route in routes.values()
        if route.shape == shape and route.entity is not None
        for name in route.entity.properties
    }
    if noun.endswith("membership") and known & {"email", "useremail", "username", "firstname"}:
        return noun.removesuffix("ship")
    return noun


def _profiles(routes: dict[str, Route]) -> dict[str, dict[str, tuple[Any, Any]]]:
    """Join what all responses show and all requests write of an item; what reads show counts first."""
    found: dict[str, dict[str, tuple[Any, Any]]] = {}
    for role in ("read", "list", "search", "update", "create"):
        for route in routes.values():
            if route.role != role or route.entity is None:
                continue
            profile = found.setdefault(route.shape, {})
            known = {normal(name) for name in profile}
            for name, schema in route.entity.properties.items():
                if normal(name) not in known and len(profile) < _MOST_PROPERTIES:
                    profile[name] = schema, route.operation.tool.output_schema
    for route in routes.values():
        if route.role not in {"create", "update"}:
            continue
        profile = found.setdefault(route.shape, {})
        known = {normal(name) for name in profile}
        for key, (place, name) in route.operation.placement.items():
            if place in {"field", "form"} and normal(name) not in known and len(profile) < _MOST_PROPERTIES:
                schema, root = route.operation.tool.parameters[key], route.operation.tool.input_schema
                # An object in a request is mostly its envelope, which items do not have.
                if is_scalar(plain_of(reader_of(root), schema)):
                    profile[name] = schema, root
    return found


def _id_types(routes: dict[str, Route]) -> dict[str, str]:
    found: dict[str, str] = {}
    for route in routes.values():
        if route.entity is None or not route.entity.id_field:
            continue
        schema = plain_of(
            reader_of(route.operation.tool.output_schema), route.entity.properties[route.entity.id_field]
        )
        kinds = (schema or {}).get("type")
        kind = next(
            (one for one in (kinds if isinstance(kinds, list) else [kinds]) if one not in {None, "null"}),
            None,
        )
        if kind in {"string", "integer", "number"}:
            found.setdefault(route.shape, str(kind))
    return found


def _noun(shape: str) -> str:
    literals = [part for part in shape.split("/") if part and "{}" not in part]
    if not literals:
        return "item"
    words = singular(words_of(literals[-1])) or "item"
    return re.sub(r"\bstaff$", "staff member", words)


def _id_name(segments: list[str] | None) -> str:
    return segments[-1][1:-1] if segments else ""


def _role(
    operation: RestOperation, segments: list[str], items: dict[str, list[str]]
) -> tuple[Role, str, str]:
    method, shape = operation.method, _shape(segments)
    if segments and _is_parameter(segments[-1]):
        kinds: dict[str, Role] = {"get": "read", "head": "read", "delete": "delete"}
        return kinds.get(method, "update"), _shape(segments[:-1]), ""
    verb = segments[-1].lstrip(":") if segments else ""
    if f"{shape}/{{}}" in items:
        if method in {"post", "put"}:
            return "create", shape, verb
        return ("list", shape, verb) if method == "get" else ("call", shape, verb)
    above = _shape(segments[:-1])
    if _SEARCH.match(verb) and f"{above}/{{}}" in items and method in {"get", "post"}:
        return "search", above, verb
    if above in items:
        return ("part" if method == "get" else "act"), above[:-3], verb
    return ("document" if method in {"get", "head"} else "call"), shape, verb


def _single_of(segments: list[str], items: dict[str, list[str]]) -> str:
    """Return the resource that a path lists under the plural of its name, or "": `/cinemas` beside `/cinema/{id}`."""
    if not segments or any(map(_is_parameter, segments)):
        return ""
    words = words_of(segments[-1])
    beside = [item[:-3] for item, own in items.items() if own[:-2] == segments[:-1]]
    named = [shape for shape in beside if _noun(shape) == singular(words) != words]
    return named[0] if len(named) == 1 else ""


def _steps(
    operation: RestOperation, segments: list[str], items: dict[str, list[str]]
) -> tuple[tuple[str, str], ...]:
    argument_of = {name: key for key, (place, name) in operation.placement.items() if place == "path"}
    steps = []
    for number, segment in enumerate(segments):
        for name in _PARAMETER.findall(segment):
            above = _shape(segments[: number + 1])
            shape = above[:-3] if _is_parameter(segment) and above in items else ""
            if name in argument_of:
                steps.append((argument_of[name], shape))
    return tuple(steps)


def _fields_by_shape(conversion: Conversion, paths: dict[str, list[str]]) -> dict[str, set[str]]:
    """The names that requests write into a resource."""
    found: dict[str, set[str]] = {}
    for operation in conversion.operations:
        if operation.method not in {"post", "put", "patch"}:
            continue
        segments = paths[operation.path]
        shape = _shape(segments[:-1] if segments and _is_parameter(segments[-1]) else segments)
        names = found.setdefault(shape, set())
        for key, (place, name) in operation.placement.items():
            if place in {"field", "form"}:
                names.add(normal(name))
            elif place == "body":
                names.update(property_names(operation.tool.input_schema, operation.tool.parameters[key]))
    return found


def _sets_a_field(route: Route, profile: Iterable[str]) -> bool:
    """Say whether an action is a change of one field: `PATCH /tickets/{id}/status` with a status."""
    tool, verb = route.operation.tool, normal(route.verb)
    paths = {argument for argument, _ in route.steps}
    needed = {normal(route.operation.placement[key][1]) for key in tool.required if key not in paths}
    return route.role == "act" and needed == {verb} and verb in map(normal, profile)


# What names something else in passing: nobody asks for a change of it, and a part or an action is of its own item.
_LINKING = frozenset(("create", "list", "search", "document"))


def _links(route: Route, resources: dict[str, Resource]) -> tuple[tuple[str, str], ...]:
    """Return the required arguments outside of the path that are ids of items which the API lists or creates."""
    tool, found = route.operation.tool, []
    for key in tool.required if route.role in _LINKING else ():
        place, name = route.operation.placement.get(key, ("path", key))
        stem = re.fullmatch(r"(.+) (?:id|uuid)", words_of(name))
        if place not in {"field", "form", "query"} or stem is None:
            continue
        named = [
            shape
            for shape, resource in resources.items()
            if resource.noun == stem.group(1) and resource.producers and "{}" not in shape
        ]
        if named and is_scalar(plain_of(reader_of(tool.input_schema), tool.parameters[key])):
            # Of several that bear the name, the one in the same part of the API.
            near = max(named, key=lambda shape: (_shared(shape, route.shape), -len(shape)))
            found += [(key, near)] if near != route.shape else []
    return tuple(found)


def _shared(shape: str, other: str) -> int:
    """Return how many segments two paths have in common at their beginning."""
    pairs = zip(shape.split("/"), other.split("/"), strict=False)
    return next((place for place, (one, two) in enumerate(pairs) if one != two), len(shape.split("/")))
