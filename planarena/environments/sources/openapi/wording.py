"""The words of an API's tools: how people ask for them, how answers report them, how their items are referred to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from planarena.environments.sources.field_kinds import moment_for
from planarena.environments.sources.openapi.asking import Style, styles_of
from planarena.environments.sources.openapi.naming import names_of
from planarena.environments.sources.openapi.phrases import WORDERS, Case, list_of, said_by
from planarena.environments.sources.openapi.resources import Api, Route
from planarena.environments.sources.openapi.telling import Told, noun_of, pointer_to
from planarena.environments.sources.things import has_people
from planarena.environments.wording import Omission, Record, Reference, ToolWording, parse_pointer
from planarena.tools.tool import Tool

__all__ = ["word_tool"]

_ON_ITEM = {"read", "update", "delete", "part", "act"}


def word_tool(api: Api, route: Route, tool: Tool, told: Told, ids: Sequence[str]) -> ToolWording:
    """Make the words of a tool.

    Args:
        api: The API.
        route: The operation's.
        tool: With the semantic types of its ids.
        told: What answers tell of its results.
        ids: Pointers to the ids in its results that others are called with.
    """
    noun = noun_of(api, route)
    styles = styles_of(api, route, tool, noun)
    references = [_refer(api, argument, shape, tool) for argument, shape in route.steps]
    own = references.pop() if route.role in _ON_ITEM and references else ""
    where = "".join(f" of {reference}" for reference in reversed(references))
    linked = [_refer(api, argument, shape, tool) for argument, shape in route.links]
    where += (" and " if where else " of ") + " and ".join(linked) if linked else ""
    required = [key for key in styles if key in tool.required]
    optional = [key for key in styles if key not in tool.required]
    words = WORDERS[route.role](Case(api, route, noun, styles, required, optional, own, where, told))
    missing = {
        key: Omission(
            tuple(ask for ask, needs in words.without.items() if key not in needs), styles[key].label
        )
        for key in required
        if any(key not in needs for needs in words.without.values())
    }
    values = {key: dict(style.words) for key, style in styles.items() if style.words}
    dates = {
        key: _side(route, noun, key) for key, style in styles.items() if style.kind in {"date", "date-time"}
    }
    return ToolWording(
        ask=words.ask,
        plan=words.plan or words.ask,
        outputs=told.outputs,
        report=words.report,
        refer={pointer: _reference(api, route, noun, styles, pointer) for pointer in ids},
        values=values,
        missing=missing,
        aims=words.aims,
        records=_records(api, route, noun, told),
        # What was set or deleted is left alone then: nobody looks up what they just said, or works on what is gone.
        ends=tuple(argument for argument, _ in route.steps[-1:])
        if route.role in {"update", "delete", "act"}
        else (),
        dates=dates,
    )


def _side(route: Route, noun: str, key: str) -> Literal["past", "future", "any"]:
    """Return on which side of now a date lies: who is born or was hired is there already."""
    role = moment_for(route.operation.placement[key][1], noun)
    return "future" if role in {"start", "end"} else "any" if role == "updated" else "past"


def _records(api: Api, route: Route, noun: str, told: Told) -> dict[str, Record]:
    """Say how a list speaks of what it holds, where it names it."""
    if route.role not in {"list", "part", "document"} or len(told.names) < 2:
        return {}
    fields = [str(parse_pointer(part)[-1]) for part in told.names[0]]
    naming = names_of(api, route.shape) if route.role == "list" else None
    said = " ".join(f"{{{field}}}" for field in fields)
    plain = has_people(noun) or re.search(r"(^| )(country|language|city|state|currency|town|province)$", noun)
    name = naming.line(str) if naming is not None else said if plain else f'"{said}"'
    full = naming.phrase(noun, str) if naming is not None else f"the {noun} {name}"
    return {list_of(told): Record(noun, full, line=name)}


def _reference(api: Api, route: Route, noun: str, styles: Mapping[str, Style], pointer: str) -> Reference:
    naming = names_of(api, route.shape)
    assert naming is not None, "what has no name is not offered"
    name = naming.phrase(noun, str)
    if route.role == "create":
        keys = said_by(route, styles, naming.fields)
        said = naming.phrase(noun, lambda field: keys[field])
        return Reference((f"that {noun}", said), (said,), noun=noun, name=name)
    item = pointer[: pointer.rindex("/")]
    full = naming.phrase(noun, lambda field: item + pointer_to((field,)))
    short = naming.text(lambda field: item + pointer_to((field,)))
    return Reference(
        (full, full if naming.kind in {"number", "whose", "held"} else short), (full,), noun=noun, name=name
    )


def _refer(api: Api, argument: str, shape: str, tool: Tool) -> str:
    if tool.parameters[argument].get("x-hidden"):
        return f"{{{argument}}}"
    if shape:
        return f'the {api.resources[shape].noun} "{{{argument}}}"'
    return f"{{{argument}}}"
