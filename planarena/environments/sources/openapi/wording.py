"""The words of an API's tools: how people ask for them, how answers report them, how their items are referred to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from planarena.environments.sources.openapi.asking import Style, handle_of, plural, styles_of
from planarena.environments.sources.openapi.deeds import DEEDS
from planarena.environments.sources.openapi.resources import Api, Route, normal, words_of
from planarena.environments.sources.openapi.telling import Told, noun_of, pointer_to
from planarena.environments.sources.vocabulary import has_people
from planarena.environments.wording import Omission, Record, Reference, ToolWording, parse_pointer
from planarena.tools.tool import Tool

__all__ = ["word_tool"]

# So many things a bare list names: more than a small world holds.
_MOST_NAMED = 9
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
    styles = styles_of(route, tool, noun)
    references = [_refer(api, argument, shape, tool) for argument, shape in route.steps]
    own = references.pop() if route.role in _ON_ITEM and references else ""
    where = "".join(f" of {reference}" for reference in reversed(references))
    required = [key for key in styles if key in tool.required]
    optional = [key for key in styles if key not in tool.required]
    words = _WORDERS[route.role](_Case(api, route, noun, styles, required, optional, own, where, told))
    missing = {
        key: Omission(
            tuple(ask for ask, needs in words.without.items() if key not in needs), styles[key].label
        )
        for key in required
        if any(key not in needs for needs in words.without.values())
    }
    values = {key: dict(style.words) for key, style in styles.items() if style.words}
    return ToolWording(
        ask=words.ask,
        plan=words.plan or words.ask,
        outputs=told.outputs,
        report=words.report,
        refer={pointer: _reference(api, route, noun, styles, pointer) for pointer in ids},
        values=values,
        missing=missing,
        aims=words.aims,
        records=_records(route, noun, told),
        # What was set or deleted is left alone then: nobody looks up what they just said, or works on what is gone.
        ends=tuple(argument for argument, _ in route.steps[-1:])
        if route.role in {"update", "delete", "act"}
        else (),
    )


def _records(route: Route, noun: str, told: Told) -> dict[str, Record]:
    """Say how a list speaks of what it holds, where it names it."""
    if route.role not in {"list", "part", "document"} or len(told.names) < 2:
        return {}
    name = f'"{{{parse_pointer(told.names[0])[-1]}}}"'
    return {_list_of(told): Record(noun, f"the {noun} {name}", line=name)}


def _list_of(told: Told) -> str:
    return told.names[0].rsplit("/", maxsplit=2)[0]


def _rows(told: Told, *, exactly: bool = False) -> str:
    """Name all that a list holds; where the whole result is the list, one after the other."""
    place = _list_of(told)
    if place:
        return f"{{{place}*}}"
    name = told.names[0].rsplit("/", maxsplit=1)[-1]
    if exactly:
        return " and ".join(f'"{{/{number}/{name}}}"' for number in range(2))
    first, *others = (f'"{{/{number}/{name}}}"' for number in range(_MOST_NAMED))
    return first + "".join(f"[, {other}]" for other in others)


class _Case(NamedTuple):
    api: Api
    route: Route
    noun: str
    styles: Mapping[str, Style]
    required: list[str]
    optional: list[str]
    own: str
    where: str
    told: Told


class _Words(NamedTuple):
    ask: tuple[str, ...]
    report: tuple[str, ...]
    plan: tuple[str, ...] = ()
    aims: tuple[str, ...] = ()
    without: Mapping[str, tuple[str, ...]] = MappingProxyType(
        {}
    )  # asks that leave arguments out -> those that they name


def _reference(api: Api, route: Route, noun: str, styles: Mapping[str, Style], pointer: str) -> Reference:
    handle = handle_of(api, route.shape)
    if route.role == "create":
        named = next(
            (key for key in styles if normal(route.operation.placement[key][1]) == normal(handle)), ""
        )
        if named:
            shown = route.entity is not None and handle in route.entity.properties
            return Reference(
                (f"that {noun}", f"the new {noun}"),
                (f'the {noun} "{{{named}}}"', f'the new {noun} "{{{named}}}"'),
                noun=noun if shown else "",
                name=f'the {noun} "{{{handle}}}"' if shown else "",
            )
        return Reference((f"that {noun}", f"the new {noun}"), (f"the new {noun}",))
    at = pointer[: pointer.rindex("/")] + pointer_to((handle,))
    name = f'the {noun} "{{{handle}}}"'
    return Reference(
        (f'the {noun} "{{{at}}}"', f'"{{{at}}}"'), (f'the {noun} "{{{at}}}"',), noun=noun, name=name
    )


def _refer(api: Api, argument: str, shape: str, tool: Tool) -> str:
    if tool.parameters[argument].get("x-hidden"):
        return f"{{{argument}}}"
    if shape:
        return f'the {api.resources[shape].noun} "{{{argument}}}"'
    return f"{{{argument}}}"


def _value(style: Style, key: str) -> str:
    return f'"{{{key}}}"' if style.free else f"{{{key}}}"


def _tail(case: _Case, required: Sequence[str], optional: Sequence[str], link: str = "with the") -> str:
    """Name arguments after a phrase: "with the price 12 and the city Oslo"."""
    parts = [f"{case.styles[key].label} {_value(case.styles[key], key)}" for key in required]
    text = f" {link} {' and the '.join(parts)}" if parts else ""
    joint = " and the " if parts else f" {link} "
    for key in optional:
        style = case.styles[key]
        text += f"[{joint}{style.label} {_value(style, key)}]"
    return text


def _an(noun: str) -> str:
    return f"an {noun}" if noun[:1] in "aeiou" and not noun.startswith(("use", "uni", "eu")) else f"a {noun}"


def _create(case: _Case) -> _Words:
    handle = normal(handle_of(case.api, case.route.shape))
    named = next((key for key in case.styles if normal(case.route.operation.placement[key][1]) == handle), "")
    called = (
        f' called "{{{named}}}"'
        if named and case.styles[named].kind == "title"
        else f' "{{{named}}}"'
        if named
        else ""
    )
    rest = [key for key in case.required if key != named]
    more = [key for key in case.optional if key != named]
    where = case.where.replace(" of ", " for ", 1)
    tail = _tail(case, rest, more)
    ask = tuple(
        f"{verb}{called}{where}{tail}"
        for verb in (f"create {_an(case.noun)}", f"add a new {case.noun}", f"set up {_an(case.noun)}")
    )
    thing = f'the {case.noun} "{{{named}}}"' if named else f"the new {case.noun}"
    facts = _facts_clause(case)
    report = [f"{thing} is created{facts}", f"{thing} is there now{facts}", f"I have added {thing}{facts}"]
    without = (
        {f"create {_an(case.noun)}{where}{_tail(case, rest, more)}": tuple(rest)}
        if named in case.required
        else {}
    )
    aims = (
        f"I need {_an(case.noun)}{called}{where}{tail}.",
        f"We need a new {case.noun}{called}{where}{tail}.",
    )
    return _Words(ask, tuple(report), aims=aims, without=without)


def _facts_clause(case: _Case) -> str:
    if not case.told.facts:
        return ""
    return ", and " + " and ".join(
        f"the {label} {_is(label)} {_shown(pointer, quoted)}" for pointer, label, quoted in case.told.facts
    )


def _is(label: str) -> str:
    return (
        "are"
        if re.search(r"[^su]s$", label)
        and not label.endswith(("address", "status", "is"))
        and not label.startswith("number")
        else "is"
    )


def _shown(pointer: str, quoted: bool) -> str:
    return f'"{{{pointer}}}"' if quoted else f"{{{pointer}}}"


def _list(case: _Case) -> _Words:
    many = plural(case.noun)
    tail = _tail(case, case.required, case.optional)
    if len(case.told.names) < 2:
        (first,) = case.told.names
        single = (
            f"tell me which {case.noun} comes first{case.where}{tail}",
            f"find the first {case.noun}{case.where}{tail}",
        )
        return _Words(single, (f'the first {case.noun}{case.where} is "{{{first}}}"',))
    rows, where = _rows(case.told), case.where.replace(" of ", " for ", 1)
    ask = (
        f"list the {many}{case.where}{tail}", f"show me the {many}{case.where}{tail}",
        f"tell me which {many} there are{where}{tail}", f"find out which {many} there are{where}{tail}",
        f"go through the {many}{case.where}{tail} and tell me what they are called",
    )  # fmt: skip
    aims = (
        f"Which {many} are there{where}{tail}?", f"What {many} do we have{where}{tail}?",
        f"I need to know which {many} there are{where}{tail}.", f"I'd like to see the {many}{case.where}{tail}.",
    )  # fmt: skip
    report = (
        f"these are the {many}{case.where}{tail}: {rows}", f"there are these {many}{where}{tail}: {rows}",
        f"I found these {many}{where}{tail}: {rows}",
    )  # fmt: skip
    return _Words(ask, report, aims=aims)


def _search(case: _Case) -> _Words:
    many = plural(case.noun)
    words = next(key for key, style in case.styles.items() if style.kind == "query")
    rest = [key for key in case.required if key != words]
    more = [key for key in case.optional if key != words]
    tail = _tail(case, rest, more)
    ask = tuple(
        f"{text}{case.where}{tail}"
        for text in (
            f'search the {many} for "{{{words}}}"',
            f'find the first {case.noun} that mentions "{{{words}}}"',
            f'look for "{{{words}}}" among the {many}',
        )
    )
    found = case.told.names[0]
    return _Words(
        ask,
        (
            f'the first match for "{{{words}}}" is the {case.noun} "{{{found}}}"',
            f'for "{{{words}}}" I found the {case.noun} "{{{found}}}"',
        ),
    )


def _read(case: _Case) -> _Words:
    labels = " and the ".join(label for _, label, _ in case.told.facts)
    is_are = "are" if len(case.told.facts) > 1 else _is(case.told.facts[0][1])
    tail = _tail(case, case.required, case.optional)
    thing = case.own + case.where
    ask = (
        f"tell me the {labels} of {thing}{tail}", f"look up the {labels} of {thing}{tail}",
        f"check the {labels} of {thing}{tail}", f"find out what the {labels} of {thing} {is_are}{tail}",
    )  # fmt: skip
    values = " and ".join(
        f"the {label} {_is(label)} {_shown(pointer, quoted)}" for pointer, label, quoted in case.told.facts
    )
    first = case.told.facts[0]
    report = (
        f"for {thing}, {values}",
        f"the {first[1]} of {thing} {_is(first[1])} {_shown(first[0], first[2])}"
        + "".join(
            f", and the {label} {_is(label)} {_shown(pointer, quoted)}"
            for pointer, label, quoted in case.told.facts[1:]
        ),
    )
    aims = (
        f"What {is_are} the {labels} of {thing}{tail}?", f"I need the {labels} of {thing}{tail}.",
        f"I would like to know the {labels} of {thing}{tail}.",
    )  # fmt: skip
    return _Words(ask, report, aims=aims)


def _update(case: _Case) -> _Words:
    thing = case.own + case.where
    handle = normal(handle_of(case.api, case.route.shape))
    named = [key for key in case.required if normal(case.route.operation.placement[key][1]) == handle]
    if named and len(case.required) == 1:
        # Nobody says more than the new name: other changes need it too, but then it is not what is asked for.
        name = f'"{{{named[0]}}}"'
        return _Words(
            (f"rename {thing} to {name}", f"change the name of {thing} to {name}"),
            (f"I have renamed {thing} to {name}", f"{thing} is called {name} now"),
            aims=(f"{thing} should be called {name} from now on.".replace("the ", "The ", 1),),
        )
    if case.required:
        tail = _tail(case, case.required, case.optional, "so that it has the")
        said = _tail(case, case.required, case.optional)
        return _Words(
            (f"update {thing}{tail}", f"change {thing}{tail}"),
            (f"{thing} is updated{said}", f"I have updated {thing}{said}"),
        )

    def each(text: str) -> str:
        return "".join(
            text.format(label=style.label, value=_value(style, key), be=_is(style.label))
            for key, style in case.styles.items()
        )

    ask = tuple(
        each(
            f"[{verb} the {{label}} of {thing} to {{value}}]".replace(
                thing, thing.replace("{", "{{").replace("}", "}}")
            )
        )
        for verb in ("change", "set")
    )
    report = (
        f"I have updated {thing}{each('[, so the {label} {be} now {value}]')}",
        f"{thing} is updated{each('[, and the {label} {be} now {value}]')}",
    )
    return _Words(ask, report, plan=(f"update {thing}{each('[ so that the {label} {be} {value}]')}",))


def _delete(case: _Case) -> _Words:
    thing = case.own + case.where
    no_more = f"We no longer need {thing}, so delete it."
    return _Words(
        (f"delete {thing}", f"remove {thing}", f"get rid of {thing}"),
        (f"{thing} is deleted", f"{thing} has been removed", f"I have deleted {thing}"),
        aims=() if has_people(case.noun) else (no_more,),
    )


def _act(case: _Case) -> _Words:
    deed = DEEDS[words_of(case.route.verb)]
    thing, tail = case.own + case.where, _tail(case, case.required, case.optional)
    return _Words(
        (f"{deed.ask} {thing}{tail}", f"{deed.ask} {thing} for me{tail}"),
        (
            f"{thing} is {deed.done} now",
            f"{thing} has been {deed.done}"
            if deed.done not in {"open", "active"}
            else f"{thing} is {deed.done} again",
        ),
    )


def _part(case: _Case) -> _Words:
    thing = f" of {case.own}{case.where}" if case.own else case.where
    tail = _tail(case, case.required, case.optional, "for the")
    if case.told.names:
        many, rows = plural(case.noun), _rows(case.told, exactly=True)
        ask = (f"list the {many}{thing}{tail}", f"show me the {many}{thing}{tail}")
        aims = (f"What are the {many}{thing}{tail}?", f"I need to know the {many}{thing}{tail}.")
        return _Words(
            ask, (f"these are the {many}{thing}: {rows}", f"I found these {many}{thing}: {rows}"), aims=aims
        )
    labels = " and the ".join(label for _, label, _ in case.told.facts)
    values = " and ".join(
        f"the {label} {_is(label)} {_shown(pointer, quoted)}" for pointer, label, quoted in case.told.facts
    )
    ask = (
        f"look up the {case.noun}{thing}{tail} and tell me the {labels}",
        f"tell me the {labels} in the {case.noun}{thing}{tail}",
    )
    return _Words(
        ask, (f"according to the {case.noun}{thing}, {values}", f"in the {case.noun}{thing}, {values}")
    )


_WORDERS: dict[str, Any] = {
    "create": _create, "list": _list, "search": _search, "read": _read, "update": _update, "delete": _delete, "act": _act,
    "part": _part, "document": _part,
}  # fmt: skip
