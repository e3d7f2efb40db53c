"""The sentences of an API's tools, role by role: how people ask for a call, how answers report it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from planarena.environments.sources.openapi.asking import Style, is_remark
from planarena.environments.sources.openapi.deeds import DEEDS
from planarena.environments.sources.openapi.identifiers import normal, words_of
from planarena.environments.sources.openapi.labels import is_or_are, plural, with_article
from planarena.environments.sources.openapi.naming import is_person, names_of
from planarena.environments.sources.openapi.resources import Api, Route
from planarena.environments.sources.openapi.telling import Told

__all__ = ["WORDERS", "Case", "Words", "list_of", "rows", "said_by"]

# What nobody calls "it".
_ALIVE = re.compile(r"(^| )(artist|band|performer|pet|animal|dog|cat|horse|team|family|household)$")
# Who is asked for, not what.
_SOMEBODY = re.compile(
    r"owner|author|manager|organi[sz]er|instructor|director|artist|speaker|supplier|vendor|employer"
)
# What belongs to something else as well: it is taken away from it, not done away with.
_BELONGING = re.compile(
    r"(^| )(role|label|tag|member|membership|owner|participant|attendee|guest|user|permission|follower|collaborator|assignee|student|team member|song|track|video|photo|product|reviewer|watcher|enrollment|enrolment)$"
)


def list_of(told: Told) -> str:
    """Return the pointer to the list that a result holds."""
    return told.names[0][0].rsplit("/", maxsplit=2)[0]


def rows(told: Told) -> str:
    """Name all that a list holds."""
    return f"{{{list_of(told)}*}}"


class Case(NamedTuple):
    """What the sentences of a tool are made of.

    Attributes:
        api: The API.
        route: The operation's.
        noun: What it is about.
        styles: How its arguments are said.
        required: Those that every call has.
        optional: The others.
        own: How the item is called that it acts on, or "".
        where: How its owners are called, as " of the project {project_id}".
        told: What answers tell of its results.
    """

    api: Api
    route: Route
    noun: str
    styles: Mapping[str, Style]
    required: list[str]
    optional: list[str]
    own: str
    where: str
    told: Told


class Words(NamedTuple):
    """The sentences of a tool: see `ToolWording`.

    Attributes:
        ask: Imperatives.
        report: What an answer says.
        plan: Imperatives for plans, where they differ.
        aims: Whole sentences that say what somebody wants.
        without: Imperatives that leave arguments out -> the required ones that they name.
    """

    ask: tuple[str, ...]
    report: tuple[str, ...]
    plan: tuple[str, ...] = ()
    aims: tuple[str, ...] = ()
    without: Mapping[str, tuple[str, ...]] = MappingProxyType({})


def said_by(route: Route, styles: Mapping[str, Style], fields: Sequence[str]) -> dict[str, str]:
    """Return the arguments that say properties of the item, by property."""
    placed = {normal(route.operation.placement[key][1]): key for key in styles}
    return {field: placed[normal(field)] for field in fields if normal(field) in placed}


def _value(style: Style, key: str) -> str:
    return f'"{{{key}}}"' if style.free else f"{{{key}}}"


def _tail(case: Case, required: Sequence[str], optional: Sequence[str], link: str = "with") -> str:
    """Name arguments after a phrase: "with the price 12 and the city Oslo", "with 14 copies"."""
    parts = [_named(case.styles[key], key) for key in required]
    text = f" {link} {' and '.join(parts)}" if parts else ""
    joint = " and " if parts else f" {link} "
    for key in optional:
        text += f"[{joint}{_named(case.styles[key], key)}]"
    return text


def _named(style: Style, key: str) -> str:
    counted = re.fullmatch(r"number of (\w+)", style.label)
    return f"{{{key}}} {counted.group(1)}" if counted else f"the {style.label} {_value(style, key)}"


def _create(case: Case) -> Words:
    naming = names_of(case.api, case.route.shape)
    keys = said_by(case.route, case.styles, naming.fields) if naming is not None else {}
    where = case.where.replace(" of ", " for ", 1)
    if naming is None or len(keys) < len(naming.fields):
        if is_remark(case.noun, case.styles):
            return _remark(case)
        keys, naming = {}, None
    name = naming.text(lambda field: keys[field]) if naming is not None else ""
    link = {"title": " called ", "person": " named "}.get(naming.kind, " ") if naming is not None else ""
    called = link + (name.replace("of ", "for ", 1) if link == " " else name)
    rest = [key for key in case.required if key not in keys.values()]
    more = [key for key in case.optional if key not in keys.values()]
    whose = _whose(case, (*rest, *more)) if not where else ""
    if whose:
        where = f" for {{{whose}}}" if whose in rest else f"[ for {{{whose}}}]"
        rest, more = [key for key in rest if key != whose], [key for key in more if key != whose]
    author = next((key for key in (*rest, *more) if case.styles[key].label == "author"), "")
    if author:
        called += f" by {{{author}}}" if author in rest else f"[ by {{{author}}}]"
        rest, more = [key for key in rest if key != author], [key for key in more if key != author]
    town = _town(case, (*rest, *more)) if not where else ""
    if town:
        where = f" in {{{town}}}" if town in rest else f"[ in {{{town}}}]"
        rest, more = [key for key in rest if key != town], [key for key in more if key != town]
    tail = _tail(case, rest, more)
    person = is_person(case.api, case.route.shape)
    verbs = (f"add {with_article(case.noun)}", f"add a new {case.noun}", f"create {with_article(case.noun)}")
    ask = tuple(f"{verb}{called}{where}{tail}" for verb in (verbs[:2] if person else verbs))
    thing = f"the {case.noun} {name}" if name else f"the new {case.noun}"
    thing = name if case.noun == "person" and name else thing
    facts = _facts_clause(case)
    of = where if whose else ""
    report = [f"I have added {thing}{where}{tail}{facts}", f"{thing}{of} has been added{facts}"]
    if not person:
        report.append(f"{thing}{of} has been created{facts}")
    without = {}
    if keys and set(keys.values()) <= set(case.required):
        told = (
            *rest,
            *((author,) if author in case.required else ()),
            *((whose,) if whose in case.required else ()),
            *((town,) if town in case.required else ()),
        )
        verb = "add" if person else "create"
        by = called[called.index(" by {") :] if author else ""
        without = {
            f"{verb} {with_article(case.noun)}{by.replace('[', '').replace(']', '') if author in case.required else ''}{where}{_tail(case, rest, more)}": told
        }
    aims = (
        f"I need {with_article(case.noun)}{called}{where}{tail}.",
        f"We need a new {case.noun}{called}{where}{tail}.",
    )
    return Words(ask, tuple(report), aims=() if person else aims, without=without)


def _whose(case: Case, keys: Sequence[str]) -> str:
    """Return the argument that says whom something is for: "an invoice for Ann Lee" rather than with a customer's name."""
    if is_person(case.api, case.route.shape):
        return ""
    return next(
        (
            key
            for key in keys
            if re.match(
                r"(customer|client|guest|recipient|patient|passenger|buyer|tenant|member) name$",
                case.styles[key].label,
            )
        ),
        "",
    )


def _town(case: Case, keys: Sequence[str]) -> str:
    """Return the argument that says in which town something lies: "a store in Graz" rather than with a city."""
    return next((key for key in keys if case.styles[key].label == "city"), "")


def _remark(case: Case) -> Words:
    """A comment says all itself: "add the comment ... to the task ..."."""
    text = next(
        key for kind in ("message", "description") for key, style in case.styles.items() if style.kind == kind
    )
    rest = [key for key in case.required if key != text]
    to = case.where.replace(" of ", " to ", 1)
    tail = _tail(case, rest, [])
    ask = (
        f'add the {case.noun} "{{{text}}}"{to}{tail}',
        f'leave the {case.noun} "{{{text}}}"{case.where.replace(" of ", " on ", 1)}{tail}',
    )
    where = case.where.replace(" of ", " on ", 1)
    return Words(
        ask, (f'the {case.noun} "{{{text}}}" has been added{where}', f"I have added the {case.noun}{to}")
    )


def _facts_clause(case: Case) -> str:
    if not case.told.facts:
        return ""
    return ", and " + " and ".join(
        f"the {label} {is_or_are(label)} {_shown(pointer, quoted)}"
        for pointer, label, quoted in case.told.facts
    )


def _shown(pointer: str, quoted: bool) -> str:
    return f'"{{{pointer}}}"' if quoted else f"{{{pointer}}}"


def _list(case: Case) -> Words:
    many = plural(case.noun)
    tail = _tail(case, case.required, case.optional)
    listed, where = rows(case.told), case.where.replace(" of ", " for ", 1)
    ask: tuple[str, ...] = (
        f"list the {many}{case.where}{tail}", f"show me the {many}{case.where}{tail}",
        f"tell me which {many} there are{where}{tail}", f"find out which {many} there are{where}{tail}",
    )  # fmt: skip
    naming = names_of(case.api, case.route.shape)
    if naming is not None and naming.kind == "title":
        ask += (f"go through the {many}{case.where}{tail} and tell me what they are called",)
    aims = (
        f"Which {many} are there{where}{tail}?", f"What {many} do we have{where}{tail}?",
        f"I need to know which {many} there are{where}{tail}.", f"I'd like to see the {many}{case.where}{tail}.",
    )  # fmt: skip
    report = (
        f"these are the {many}{case.where}{tail}: {listed}", f"there are these {many}{where}{tail}: {listed}",
        f"I found these {many}{where}{tail}: {listed}",
    )  # fmt: skip
    return Words(ask, report, aims=aims)


def _search(case: Case) -> Words:
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
    naming = names_of(case.api, case.route.shape)
    assert naming is not None, "a search tells names"
    at = dict(zip(naming.fields, case.told.names[0], strict=True))
    found = naming.phrase(case.noun, lambda field: at[field])
    return Words(
        ask,
        (
            f'the first match for "{{{words}}}" is {found}',
            f'for "{{{words}}}" I found {found}',
        ),
    )


def _read(case: Case) -> Words:
    labels = " and the ".join(label for _, label, _ in case.told.facts)
    is_are = "are" if len(case.told.facts) > 1 else is_or_are(case.told.facts[0][1])
    tail = _tail(case, case.required, case.optional)
    thing = case.own + case.where
    naming = names_of(case.api, case.route.shape)
    of = "for" if naming is not None and naming.kind == "held" else "of"
    ask = (
        f"tell me the {labels} {of} {thing}{tail}", f"look up the {labels} {of} {thing}{tail}",
        f"check the {labels} {of} {thing}{tail}", f"find out what the {labels} {of} {thing} {is_are}{tail}",
    )  # fmt: skip
    values = " and ".join(
        f"the {label} {is_or_are(label)} {_shown(pointer, quoted)}"
        for pointer, label, quoted in case.told.facts
    )
    first = case.told.facts[0]
    report = (
        f"for {thing}, {values}",
        f"the {first[1]} {of} {thing} {is_or_are(first[1])} {_shown(first[0], first[2])}"
        + "".join(
            f", and the {label} {is_or_are(label)} {_shown(pointer, quoted)}"
            for pointer, label, quoted in case.told.facts[1:]
        ),
    )
    counted = re.fullmatch(r"number of (\w+)", labels)
    if counted is not None and not tail:
        many = counted.group(1)
        pointer = case.told.facts[0][0]
        return Words(
            (f"find out how many {many} {thing} has", f"check how many {many} {thing} has"),
            (f"the number of {many} of {thing} is {{{pointer}}}",),
            aims=(f"How many {many} does {thing} have?",),
        )
    if _SOMEBODY.fullmatch(labels):
        return Words(
            (
                f"tell me who the {labels} {of} {thing} is{tail}",
                f"find out who the {labels} {of} {thing} is{tail}",
            ),
            report,
            aims=(f"Who is the {labels} {of} {thing}{tail}?",),
        )
    aims = (
        f"What {is_are} the {labels} {of} {thing}{tail}?", f"I need the {labels} {of} {thing}{tail}.",
        f"I would like to know the {labels} {of} {thing}{tail}.",
    )  # fmt: skip
    return Words(ask, report, aims=aims)


def _update(case: Case) -> Words:
    thing = case.own + case.where
    naming = names_of(case.api, case.route.shape)
    keys = said_by(case.route, case.styles, naming.fields) if naming is not None else {}
    if (
        naming is not None
        and keys
        and set(case.required) <= set(keys.values())
        and len(keys) == len(naming.fields)
    ):
        # Nobody says more than the new name: other changes need it too, but then it is not what is asked for.
        name = naming.text(lambda field: keys[field])
        return Words(
            (f"rename {thing} to {name}", f"change the name of {thing} to {name}"),
            (f"I have renamed {thing} to {name}", f"{thing} is called {name} now"),
            aims=(f"{thing} should be called {name} from now on.",),
        )
    if case.required:
        (key,) = case.required
        style = case.styles[key]
        value, be = _value(style, key), is_or_are(style.label)
        return Words(
            (
                f"change the {style.label} of {thing} to {value}",
                f"set the {style.label} of {thing} to {value}",
            ),
            (
                f"I have updated {thing}, so the {style.label} {be} now {value}",
                f"the {style.label} of {thing} {be} now {value}",
            ),
        )

    def each(text: str) -> str:
        return "".join(
            text.format(label=style.label, value=_value(style, key), be=is_or_are(style.label))
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
    return Words(ask, report, plan=(f"update {thing}{each('[ so that the {label} {be} {value}]')}",))


def _delete(case: Case) -> Words:
    thing = case.own + case.where
    if case.where and _BELONGING.search(case.noun):
        thing = case.own + case.where.replace(" of ", " from ", 1)
        return Words(
            (f"remove {thing}",),
            (
                f"{case.own} has been removed{case.where.replace(' of ', ' from ', 1)}",
                f"I have removed {thing}",
            ),
        )
    if is_person(case.api, case.route.shape):
        login = re.search(r"(^| )(user|account|subaccount|profile|login|member)$", case.noun)
        return Words(
            (f"remove {thing}", f"delete {thing}") if login else (f"remove {thing}",),
            (f"{thing} has been removed", f"I have removed {thing}"),
        )
    alive = _ALIVE.search(case.noun) is not None
    return Words(
        (f"delete {thing}", f"remove {thing}", f"get rid of {thing}")[alive : 3 - alive],
        (f"{thing} is deleted", f"{thing} has been removed", f"I have deleted {thing}"),
        aims=() if alive else (f"We no longer need {thing}, so delete it.",),
    )


def _act(case: Case) -> Words:
    deed = DEEDS[words_of(case.route.verb)]
    thing, tail = case.own + case.where, _tail(case, case.required, case.optional)
    asked: tuple[str, ...] = (f"{deed.ask} {thing}{tail}", f"{deed.ask} {thing} for me{tail}")
    if deed.ask in {"complete", "finish", "resolve"}:
        asked = (f"mark {thing} as {deed.done}{tail}",)
    return Words(
        asked,
        (
            f"{thing} is {deed.done} now",
            f"{thing} has been {deed.done}"
            if deed.done not in {"open", "active"}
            else f"{thing} is {deed.done} again",
        ),
    )


def _part(case: Case) -> Words:
    thing = f" of {case.own}{case.where}" if case.own else case.where
    tail = _tail(case, case.required, case.optional, "for")
    if case.told.names:
        many, listed = plural(case.noun), rows(case.told)
        ask = (f"list the {many}{thing}{tail}", f"show me the {many}{thing}{tail}")
        aims = (f"What are the {many}{thing}{tail}?", f"I need to know the {many}{thing}{tail}.")
        if not case.own:
            aims = (f"Which {many} are there{tail}?", f"I need to know which {many} there are{tail}.")
        return Words(
            ask,
            (f"these are the {many}{thing}: {listed}", f"I found these {many}{thing}: {listed}"),
            aims=aims,
        )
    labels = " and the ".join(label for _, label, _ in case.told.facts)
    values = " and ".join(
        f"the {label} {is_or_are(label)} {_shown(pointer, quoted)}"
        for pointer, label, quoted in case.told.facts
    )
    ask = (
        f"look up the {case.noun}{thing}{tail} and tell me the {labels}",
        f"tell me the {labels} in the {case.noun}{thing}{tail}",
    )
    return Words(
        ask, (f"according to the {case.noun}{thing}, {values}", f"in the {case.noun}{thing}, {values}")
    )


WORDERS: dict[str, Any] = {
    "create": _create, "list": _list, "search": _search, "read": _read, "update": _update, "delete": _delete, "act": _act,
    "part": _part, "document": _part,
}  # fmt: skip
