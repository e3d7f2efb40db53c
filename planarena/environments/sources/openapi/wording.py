"""The words of an API's tools, from what its paths say of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planarena.environments.sources.generic_wording import Phrase, tool_wording, words_of
from planarena.environments.sources.openapi.resources import Api, Route
from planarena.environments.wording import Offer, Reference, ToolWording
from planarena.tools.tool import Tool

__all__ = ["word_tool"]

_ON_ITEM = {"read", "update", "delete", "part", "act"}
_OWN = {"field", "form"}


def word_tool(
    api: Api, route: Route, tool: Tool, outputs: Sequence[str], offers: Sequence[Offer]
) -> ToolWording:
    """Make the words of a tool.

    Args:
        api: The API.
        route: The operation's.
        tool: With the semantic types of its ids.
        outputs: What answers report of its results.
        offers: What its results offer for binding.
    """
    resource = api.resources.get(route.shape)
    noun = resource.noun if resource is not None else _noun_of(route)
    phrase = _phrase(api, route, noun, tool)
    paths = {argument for argument, _ in route.steps}
    others = {key: key in tool.required for key in tool.parameters if key not in paths}
    labels = {key: _label(key, *route.operation.placement[key]) for key in others}
    refer = {}
    for offer in offers:
        if route.entity is not None and route.entity.many:
            refer[offer.pointer] = Reference(("the first one found",), (f"the first {noun} on the list",))
        else:
            # What it is made of tells it from others; who asks for it does not.
            own = [key for key, must in others.items() if must and route.operation.placement[key][0] in _OWN]
            full = f"the {noun} with {labels[own[0]]} {{{own[0]}}}" if own else f"the new {noun}"
            refer[offer.pointer] = Reference((f"that {noun}", f"the new {noun}"), (full,))
    return tool_wording(phrase, others, outputs, refer, labels)


def _label(key: str, place: str, name: str) -> str:
    """Return what an argument is called: a whole body has no name, and the `X-` of a header is none."""
    words = words_of(name) or words_of(key) or "value"
    if place == "body":
        return "details"
    return words.removeprefix("x ") if place == "header" else words


def _phrase(api: Api, route: Route, noun: str, tool: Tool) -> Phrase:
    references = [_refer(api, argument, shape, tool) for argument, shape in route.steps]
    own = references.pop() if route.role in _ON_ITEM and references else f"the {noun}"
    where = "".join(f" of {reference}" for reference in reversed(references))
    verb = words_of(route.verb)
    article = "an" if noun[:1] in "aeiou" else "a"
    many = noun if noun.endswith("s") else f"{noun}s"
    told = f"the {noun}"
    if route.role == "create":
        return Phrase(
            (f"create {article} {noun}{_for(where)}", f"add a new {noun}{_for(where)}"),
            f"the new {noun} is there",
            told,
        )
    if route.role in {"list", "search"}:
        return Phrase(
            (f"list the {many}{where}", f"show me the {many}{where}"), "", f"the first {noun} on the list"
        )
    if route.role == "read":
        return Phrase((f"look up {own}{where}", f"show me {own}{where}"), "", told)
    if route.role == "update":
        return Phrase((f"update {own}{where}", f"change {own}{where}"), f"the {noun} is updated", told)
    if route.role == "delete":
        return Phrase((f"delete {own}{where}", f"remove {own}{where}"), f"the {noun} is deleted", told)
    if route.role == "part":
        return Phrase(
            (f"get the {verb} of {own}{where}", f"show me the {verb} of {own}{where}"), "", f"the {verb}"
        )
    if route.role == "act":
        before = {"put": "set", "delete": "clear", "patch": "change"}.get(route.operation.method, "do")
        return Phrase((f"{before} the {verb} of {own}{where}",), f"the {verb} of the {noun} is done", told)
    deed = _deed(route)
    if route.role == "document":
        return Phrase((f"get the {noun}{where} ({deed})",), "", told)
    return Phrase((f"carry out this: {deed}{where}",), f"done: {deed}", "the outcome")


def _deed(route: Route) -> str:
    """Return what an operation does: its name, or a short summary where the name is only its path."""
    tool = route.operation.tool
    words = words_of(tool.name)
    summary = re.split(r"(?<=[a-z)])[.\n]", tool.description.strip(), maxsplit=1)[0].strip(" .")
    if words.startswith(f"{route.operation.method} ") and re.fullmatch(r"[A-Za-z][\w ,'-]{7,59}", summary):
        return summary[0].lower() + summary[1:] if summary[1:2].islower() else summary
    return words


def _refer(api: Api, argument: str, shape: str, tool: Tool) -> str:
    if tool.parameters[argument].get("x-hidden"):
        return f"{{{argument}}}"
    noun = api.resources[shape].noun if shape else words_of(argument)
    return f"the {noun} {{{argument}}}"


def _noun_of(route: Route) -> str:
    return words_of(route.verb) or "overview"


def _for(where: str) -> str:
    return where.replace(" of ", " for ", 1)
