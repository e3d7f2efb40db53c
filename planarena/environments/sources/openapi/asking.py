"""What people ask an API for: which arguments they would say and how, which operations nobody asks for, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from planarena.environments.sources.field_kinds import (
    OPAQUE,
    in_address,
    in_place,
    kind_of_number,
    kind_of_text,
    spaced,
)
from planarena.environments.sources.openapi.belonging import (
    acts_on,
    has_content,
    is_moved_alone,
    label_is_sum,
    suits,
)
from planarena.environments.sources.openapi.deeds import DEEDS, can_show
from planarena.environments.sources.openapi.fields import kinds_of, merged_of
from planarena.environments.sources.openapi.identifiers import normal, singular, words_of
from planarena.environments.sources.openapi.labels import (
    choice_words,
    is_counted,
    is_label,
    is_moment_told,
    label_of,
    time_label,
)
from planarena.environments.sources.openapi.naming import HANDLES, Naming, is_person, names_of
from planarena.environments.sources.openapi.relations import counted_elsewhere
from planarena.environments.sources.openapi.resources import Api, Route
from planarena.environments.sources.things import has_titles, topic_of
from planarena.environments.sources.vocabulary import LASTING, is_placeholder
from planarena.tools.tool import Tool

__all__ = [
    "REMARKS",
    "Style",
    "is_credential",
    "is_paging",
    "is_remark",
    "is_speakable",
    "style_of",
    "styles_of",
    "suits_item",
    "tells_nature",
    "why_not",
]

_TECHNICAL = re.compile(
    r"\b(gitignores?|dockerfiles?|licen[sc]es?|commits?|branch(es)?|api|apis|async|auth\w*|batch\w*|blob|bulk|failover|fileset\w*|hypervisor|replica\w*|snapshots?|subnets?|vlans?|vms?|alias\w*|cache\w*|callbacks?|chunk|config\w*|constants?|credentials?|crd|cron|csv|debug\w*|digest|dry|echo|embed|endpoints?|enum\w*|etag|expand|fields?|flags?|force|format|graphql|grant|handshake|hash|health\w*|heartbeat|hooks?|html|http\w*|idempoten\w*|include|index(es)?|ip|json|jwks?|jwt|keys?|live|logs?|lookups?|manifest|meta\w*|metrics?|mutation|namespaces?|nonce|oauth\w*|opt|options|params?|payload|ping|poll|pretty|probe|proxy|query|queue|ready\w*|rest|rpc|rss|saml|schemas?|scim|scopes?|sdk|secrets?|self|sso|ssh|stats|stream|swagger|sync|syntax|telemetry|tokens?|tls|url|urls|uuid|version|versions|webhooks?|wsdl|xml|yaml|odata|delta|diff|ids|v\d+\w*)\b"
)  # fmt: skip
_GENERIC = re.compile(
    r"^(owned|entity|entities|starred|shared|merged|closed|opened|failed|unread|node|element|record|item|items|data|list|lists? of|all|info|get|set|search|find|add|create|update|delete|remove|me|by|new|view|results?|details?|value|values|entries|entry|object|objects|resource|resources|collection|public|private|current|recent|latest|other|test|count|total)$"
)
_PATHS = re.compile(
    r"\b(and|or|by|for|from|with|to|of|in|on|per|is|has|get|set|do|list|find|search|validate|check|upload|download|import|export|generate|process|preview|calculate|verify|send|request)\b"
)
_CREDENTIAL = re.compile(
    r"^(x )?(key|api ?key|app ?key|app ?id|access ?token|access ?key|token|auth ?token|api ?token|oauth token|api version|subscription key|client id|client secret|login|auth ?token|user ?key|apikey|signature|authorization|devid|session ?(id|token)|fields|format|callback)$"
)
_FREE = frozenset(("title", "subject", "description", "message", "bio", "reason", "file", "tag"))
_SET_COUNTS = re.compile(
    r"\b(quantity|qty|stock|seats|guests|capacity|rooms|persons|people|adults|children|nights|days|weeks|hours|copies|units|points|bedrooms|bathrooms)\b"
)
_NUMBERS = frozenset(("price", "count", "rating", "percent", "year", "minutes"))
# The texts that people give themselves.
_SAID = frozenset(
    ("title", "subject", "description", "bio", "reason", "tag", "genre", "city", "country", "region", "street", "postcode", "person", "company", "email", "phone", "department", "job_title", "language", "colour", "priority", "currency", "date", "date-time", "first_name", "last_name", "username", "query")
)  # fmt: skip
_IN_PATHS = frozenset(
    ("title", "username", "city", "country", "currency", "date", "choice", "year", "company", "person", "genre", "colour")
)  # fmt: skip
# What is created to say something of something else.
REMARKS = ("comment", "note", "message", "reply", "remark", "answer", "annotation")
# What somebody is born with is looked up, never set.
_GIVEN = frozenset(
    ("gender", "date of birth", "age", "nationality", "manufacturer", "brand", "author", "artist")
)
_NATURE = frozenset(
    "category type condition genre subject topic theme purpose audience season brand manufacturer language unit species".split()
)
_NOT_TO_PEOPLE = {"start", "stop", "close", "reopen", "send", "resend", "cancel", "complete", "finish", "resolve", "reset", "publish", "feed", "retry", "void", "renew", "refund"}  # fmt: skip


class Style(NamedTuple):
    """How people say an argument.

    Attributes:
        label: What it is called.
        kind: What it holds.
        free: Whether it is text of the user's own, which stands in quotation marks.
        words: What its values are called, where they do not speak for themselves.
    """

    label: str
    kind: str
    free: bool = False
    words: tuple[tuple[Any, str], ...] = ()


@lru_cache(maxsize=16384)
def is_speakable(noun: str) -> bool:
    """Say whether people use a noun: plain words, none of them of the machine's."""
    words = noun.split(" ")
    return (
        0 < len(words) <= 3
        and all(re.fullmatch(r"[a-z]{3,13}", word) and re.search(r"[aeiouy]", word) for word in words)
        and not _TECHNICAL.search(noun)
        and not _GENERIC.match(noun)
        and not _PATHS.search(noun)
        and not any(
            word.endswith("s") and not word.endswith(("ss", "us", "business", "sales")) for word in words[:-1]
        )
    )


def styles_of(api: Api, route: Route, tool: Tool, noun: str) -> dict[str, Style]:
    """Return how people say the arguments of a tool besides those of its path; who is not there is not said."""
    found: dict[str, Style] = {}
    paths = {argument for argument, _ in route.steps}
    siblings = [name for _, name in route.operation.placement.values()]
    for key, schema in tool.parameters.items():
        place, name = route.operation.placement.get(key, ("query", key))
        derived = key not in tool.required and counted_elsewhere(api, name, noun)
        if derived:
            continue  # how many there are follows from what the API lists
        if key not in paths and place in {"query", "field", "form"} and not re.search(r"[{}\[\]]", key):
            merged = merged_of(schema, tool.input_schema)
            called = in_place(name, siblings, str(merged.get("description", "")))
            style = style_of(called, merged, noun, named=_is_name(api, route, name))
            if style is not None:
                found[key] = style
    found = {
        key: style
        for key, style in found.items()
        if not (style.kind == "region" and not in_address(siblings))
        and _is_own(api, route, key, style)
        and not tells_nature(api, route.shape, style.label)
    }
    labels = [style.label for style in found.values()]
    return {key: style for key, style in found.items() if labels.count(style.label) == 1}


def tells_nature(api: Api, shape: str, label: str) -> bool:
    """Say whether a field tells what its item is: where the title tells that already, no other value fits by chance."""
    naming = names_of(api, shape)
    return naming is not None and naming.kind == "title" and label.rsplit(" ", maxsplit=1)[-1] in _NATURE


def suits_item(api: Api, shape: str, noun: str, label: str) -> bool:
    """Say whether people speak of a field for the items of a resource."""
    person = is_person(api, shape)
    return suits(label, noun, person=person, company=topic_of(noun, api.setting) == "company")


def _is_name(api: Api, route: Route, name: str) -> bool:
    naming = names_of(api, route.shape)
    return naming is not None and normal(name) in map(normal, naming.fields)


def _is_own(api: Api, route: Route, key: str, style: Style) -> bool:
    """A second title is one that nobody would set, and what is renamed is hard to speak of afterwards.

    Nor does somebody's new address bear the name of somebody else, and whose it is an id does not tell. What is new
    has the state that the service gives it.
    """
    if key in route.operation.tool.required:
        return True
    name = route.operation.placement[key][1]
    noun = api.resources[route.shape].noun if route.shape in api.resources else ""
    if route.role in {"create", "update"} and not suits_item(api, route.shape, noun, style.label):
        return False
    if route.role == "update" and not is_moved_alone(style.kind, style.label, noun):
        return False
    if route.role == "update":
        personal = {"email", "first_name", "last_name", "person"} if is_person(api, route.shape) else set()
        own = (
            style.kind in {"title", "username", *personal}
            or style.label in _GIVEN
            or normal(name) in HANDLES[:-1]
        )
        # An hour that begins or ends something is moved together with the other; what year it is of never changes.
        resource = api.resources.get(route.shape)
        brief = resource is not None and any(pattern.search(resource.noun) for pattern, _ in LASTING)
        lasts = (
            style.kind == "year"
            or (brief and style.label in {"start date", "end date"})
            or (style.kind == "date-time" and style.label.endswith(("start time", "end time")))
        )
        return not own and not lasts and not _is_name(api, route, name)
    if route.role == "create":
        states = re.search(r"\b(status|stage|phase|availability|presence|health)$", style.label)
        given = (
            (states is not None and style.kind in {"choice", "status"})
            or label_is_sum(style.label)
            or (style.kind == "rating" and not is_moved_alone(style.kind, style.label, noun))
        )
        return not given and (style.kind != "title" or normal(name) in HANDLES or _is_name(api, route, name))
    return True


def style_of(name: str, schema: Mapping[str, Any], noun: str, *, named: bool = False) -> Style | None:
    """Return how people say a value of a field, or None where nobody would.

    Args:
        name: The field's.
        schema: With its references followed.
        noun: What it belongs to.
        named: Whether it is what things of the noun are called.
    """
    kinds = kinds_of(schema)
    moment = kinds == {"string"} and kind_of_text(str(schema.get("format", "")), name) in {
        "date",
        "date-time",
    }
    label = label_of(name, noun, moment=moment)
    if (not is_label(label) and not named) or schema.get("readOnly") is True or "const" in schema:
        return None
    if "enum" in schema:
        return _choice_style(label, schema, noun)
    if kinds == {"string"}:
        return _text_style(name, label, schema)
    if kinds and kinds <= {"integer", "number"}:
        kind = kind_of_number(name)
        # How many comments there are follows from the comments.
        counted = kind == "count" and not _SET_COUNTS.search(label)
        return Style(label, kind) if kind in _NUMBERS and not counted else None
    if kinds == {"array"}:
        items = schema.get("items")
        kind = (
            kind_of_text(str(items.get("format", "")), name)
            if isinstance(items, dict) and items.get("type") == "string"
            else ""
        )
        return (
            Style(label, kind)
            if kind in {"tag", "genre", "language", "city", "country"} and "enum" not in (items or {})
            else None
        )
    return None


def _choice_style(label: str, schema: Mapping[str, Any], noun: str) -> Style | None:
    """An enumeration is said where most of its values are words; the others are never chosen."""
    stated = [one for one in schema["enum"] if one not in (None, "")]
    codes = [one for one in stated if isinstance(one, str) and re.fullmatch(r"[A-Z]{2,3}", one)]
    if label.endswith(("currency", "country")):
        spoken = tuple((one, one) for one in stated if isinstance(one, str))
    else:
        spoken = tuple(
            (one, choice_words(one)) for one in stated if isinstance(one, str) and choice_words(one)
        )
    if label != "currency" and len(codes) > 2 and len(codes) == len(stated):
        return None  # states and countries by their codes
    spoken = tuple((one, words) for one, words in spoken if words != noun)
    if label.startswith("number of") or is_counted(label):
        return None
    distinct = len({words for _, words in spoken}) == len(spoken)
    few = 2 <= len(spoken) <= 40 and 2 * len(spoken) > len(stated)
    return Style(label, "choice", False, spoken) if few and distinct else None


def _text_style(name: str, label: str, schema: Mapping[str, Any]) -> Style | None:
    kind = kind_of_text(str(schema.get("format", "")), name)
    if "pattern" in schema or kind in OPAQUE - {"query"}:
        return None
    if kind == "date-time" and not is_moment_told(name):
        return None
    if kind == "date-time":
        label = time_label(label)
    if kind in _SAID or (
        kind == "message" and label in {"message", "comment", "reply", "text", "body", "content"}
    ):
        return Style(label, kind, kind in _FREE or kind == "query")
    examples = schema.get("examples")
    plain = isinstance(examples, list) and any(
        isinstance(one, str)
        and re.fullmatch(r"[A-Za-z][a-z]+( [A-Za-z][a-z]+){0,3}", one)
        and not is_placeholder(one, name)
        for one in examples
    )
    return Style(label, "example", True) if plain and not kind else None


def is_credential(place: str, name: str) -> bool:
    """Say whether an argument is what a client sends with every call: a key, a token, the version of the API."""
    words = spaced(name)
    if place in {"header", "cookie"}:
        return True
    return place in {"query", "form"} and _CREDENTIAL.match(words) is not None


_PAGING = re.compile(
    r"^(page|page ?(number|no|num|index|size)|size|limit|offset|skip|take|per ?page|start index|max results)$"
)


def is_paging(place: str, name: str) -> bool:
    """Say whether an argument says which part of a list a client fetches: nobody asks for page 0 of size 20."""
    return place == "query" and _PAGING.match(spaced(name)) is not None


# -- operations ------------------------------------------------------------------------------------


def why_not(api: Api, route: Route, tool: Tool, noun: str, observable: bool) -> str:
    """Return why nobody would ask for an operation, or "".

    Args:
        api: The API.
        route: The operation's.
        tool: With the semantic types of its ids.
        noun: What it is about.
        observable: Whether reads show what it writes.
    """
    if route.operation.deprecated:
        return "deprecated"
    if not is_speakable(noun):
        return "no everyday word for what it is about"
    if route.role not in {"read", "list", "search", "part", "document"} and not observable:
        return "what it changes cannot be seen"
    for argument, shape in (*route.steps, *route.links):
        reason = _path_reason(api, tool, argument, shape)
        if reason:
            return reason
    styles = styles_of(api, route, tool, noun)
    paths = {argument for argument, _ in (*route.steps, *route.links)}
    for key in tool.required:
        if key not in paths and key not in styles:
            return "needs a value that nobody would say"
    dated = [key for key in tool.required if key in styles and styles[key].kind in {"date", "date-time"}]
    if route.role in {"list", "part", "document"} and len(dated) > 1:
        return "needs a value that nobody would say"  # from when until when
    if route.role in {"create", "update"} and not styles:
        return "nothing of what it writes can be said"
    if route.role == "update":
        needed = [key for key in tool.required if key not in paths]
        naming = names_of(api, route.shape)
        renames = naming is not None and needed == [key for key in styles if _is_name(api, route, route.operation.placement[key][1])]  # fmt: skip
        if len(needed) > 1 or (needed and renames and naming is not None and naming.kind != "title"):
            return "a change of it says everything anew"
    if route.role == "create":
        sent = {normal(route.operation.placement[key][1]) for key in styles}
        naming = names_of(api, route.shape)
        named = naming is not None and sent >= set(map(normal, naming.fields))
        if not named and not is_remark(noun, styles) and not _is_numbered(naming, tool, paths):
            return "what it creates has no name"
        if has_content(noun):
            return "nobody could say what is in it"
    if route.role == "search" and not any(style.kind == "query" for style in styles.values()):
        return "nothing says what it searches for"
    if (
        route.role == "document"
        and "search" in words_of(route.operation.path).split(" ")
        and not any(style.kind == "query" for style in styles.values())
    ):
        return "nothing says what it searches for"
    if route.role == "act":
        return _deed_reason(api, route)
    if route.role == "document" and _belongs(route):
        return "its path does not tell whose it is"
    if route.role == "call":
        return "no everyday word for what it does"
    return ""


def _belongs(route: Route) -> bool:
    """Say whether a path goes through other things: what `/properties/users` lists are no users."""
    before = [words_of(part) for part in route.operation.path.strip("/").split("/")[:-1] if "{" not in part]
    others = [
        one
        for one in before
        if singular(one) != one and not re.match(r"(v\d|.*(news|series|statuses)$)", one)
    ]
    return bool(others) and route.shape.count("/") > 1


def is_remark(noun: str, styles: Mapping[str, Style]) -> bool:
    """Say whether what is created is a text about something: a comment, which has no name but says all itself."""
    said = {style.kind for style in styles.values()}
    return noun.rsplit(" ", maxsplit=1)[-1] in REMARKS and bool(said & {"message", "description"})


def _is_numbered(naming: Naming | None, tool: Tool, paths: Iterable[str]) -> bool:
    """Say whether the service gives a number to what is created, and something of it is said."""
    return naming is not None and naming.kind == "number" and bool(set(tool.required) - set(paths))


def _deed_reason(api: Api, route: Route) -> str:
    deed = DEEDS.get(words_of(route.verb))
    if deed is None or route.operation.method == "delete":
        return "no everyday word for what it does"
    if is_person(api, route.shape) and deed.ask in _NOT_TO_PEOPLE:
        return "no everyday word for what it does"
    if not acts_on(deed.ask, api.resources[route.shape].noun):
        return "no everyday word for what it does"
    if not can_show(api, route.shape, deed):
        return "what it changes cannot be seen"
    return ""


def _path_reason(api: Api, tool: Tool, argument: str, shape: str) -> str:
    schema = tool.parameters[argument]
    if schema.get("x-hidden"):
        owner = api.resources[shape]
        if names_of(api, shape) is None:
            return "what it is about has no name that people use"
        return "" if is_speakable(owner.noun) else "no everyday word for what it is about"
    style = style_of(argument, merged_of(schema, tool.input_schema), "")
    personal = bool(shape) and is_person(api, shape)
    if style is None or style.kind not in _IN_PATHS or (personal and style.kind == "title"):
        return "needs an id that nobody knows"
    called = api.resources[shape].noun if shape else style.label
    if style.kind == "title" and not has_titles(called, api.setting):
        return "what it is about has no name that people use"
    return ""
