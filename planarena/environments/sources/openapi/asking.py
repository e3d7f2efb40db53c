"""What people ask an API for: which arguments they would say and how, which operations nobody asks for, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

from planarena.environments.sources.field_kinds import OPAQUE, kind_of_number, kind_of_text, spaced
from planarena.environments.sources.instances import Generator, NoInstanceError
from planarena.environments.sources.openapi.deeds import DEEDS
from planarena.environments.sources.openapi.resources import Api, Route, normal, words_of
from planarena.environments.sources.vocabulary import has_people, has_titles, is_placeholder
from planarena.tools.tool import Tool

__all__ = [
    "HANDLES",
    "Style",
    "handle_of",
    "is_label",
    "is_speakable",
    "label_of",
    "plural",
    "styles_of",
    "why_not",
]

_TECHNICAL = re.compile(
    r"\b(gitignores?|dockerfiles?|licen[sc]es?|commits?|branch(es)?|api|apis|async|auth\w*|batch\w*|blob|bulk|cache\w*|callbacks?|chunk|config\w*|constants?|credentials?|crd|cron|csv|debug\w*|digest|dry|echo|embed|endpoints?|enum\w*|etag|expand|fields?|flags?|force|format|graphql|grant|handshake|hash|health\w*|heartbeat|hooks?|html|http\w*|idempoten\w*|include|index(es)?|ip|json|jwks?|jwt|keys?|live|logs?|lookups?|manifest|meta\w*|metrics?|mutation|namespaces?|nonce|oauth\w*|opt|options|params?|payload|ping|poll|pretty|probe|proxy|query|queue|ready\w*|rest|rpc|rss|saml|schemas?|scim|scopes?|sdk|secrets?|self|sso|ssh|stats|stream|swagger|sync|syntax|telemetry|tokens?|tls|url|urls|uuid|version|versions|webhooks?|wsdl|xml|yaml|odata|delta|diff|ids|v\d+\w*)\b"
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
HANDLES = ("name", "title", "displayname", "label", "fullname", "subject", "headline", "question", "caption", "username", "login", "filename", "email")  # fmt: skip
_FREE = frozenset(("title", "subject", "description", "message", "bio", "reason", "file", "tag"))
_SET_COUNTS = re.compile(
    r"\b(quantity|qty|stock|seats|guests|capacity|rooms|persons|people|adults|children|nights|days|weeks|hours|copies|units|points|bedrooms|bathrooms)\b"
)
_NUMBERS = frozenset(("price", "count", "rating", "percent", "temperature", "age", "year", "minutes"))
_CONTROLS = re.compile(
    r"\b(sort\w*|order(by)?|order by|limit|offset|page\w*|per page|cursor|fields?|expand|include\w*|exclude\w*|format|callback|locale|language|lang|fuzzy|mode|verbose|raw|strict|type|kind|opt\b.*|channel|platform|algorithm|encoding|level|strategy|scope|grouping|group by|resolution|interval|granularity|with \w+)$"
)


_JARGON = re.compile(
    r"\b(bcc|cc|costing|first|percentage|complete|employer|compare|seo|default|displayed|internal|external|source|original|legacy|raw|meta|custom|native|system|display|short|long|full|formatted|archival|legal|current|previous|next|last|new|old|is|has|can|en|de|fr)\b"
)


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


def label_of(name: str, noun: str) -> str:
    """Return what a field of something is called: the status of a project is no "project status"."""
    words = spaced(name)
    head = f"{noun.rsplit(' ', maxsplit=1)[-1]} "
    words = words.removeprefix(f"{noun} ").removeprefix(head)
    words = re.sub(r" (text|value|str|string)$", "", words)
    counted = re.fullmatch(r"num (\w+)|(\w+) count", words)
    if counted is not None:
        return f"number of {counted.group(1) or plural(counted.group(2))}"
    return words


def plural(noun: str) -> str:
    """Return the plural of an English noun, roughly."""
    if noun.endswith("person"):
        return f"{noun[:-6]}people"
    if noun.endswith("child"):
        return f"{noun}ren"
    if noun.endswith("s") and not noun.endswith(("ss", "us")):
        return noun
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if re.search(r"(s|x|z|ch|sh)$", noun) else f"{noun}s"


def is_label(label: str) -> bool:
    """Say whether people call something so."""
    words = label.split(" ")
    return (
        0 < len(words) <= 3
        and all(re.fullmatch(r"[a-z]{2,14}", word) for word in words)
        and not _TECHNICAL.search(label)
        and not _JARGON.search(label)
        and not _CONTROLS.search(label)
    )


def handle_of(api: Api, shape: str) -> str:
    """Return the property by which people know the items of a resource, as `title`, or ""."""
    profile = api.profiles.get(shape, {})
    resource = api.resources.get(shape)
    words = resource.noun if resource is not None else ""
    noun = normal(words)
    names = {normal(name): name for name in profile}
    for want in (f"{noun}name", f"{noun}title", *HANDLES):
        found = names.get(want)
        if found is not None:
            schema, root = profile[found]
            merged = _merged(schema, root)
            if _kinds(merged) == {"string"} and "enum" not in merged and "format" not in merged:
                personal = kind_of_text("", found) in {"email", "username"}
                if kind_of_text("", found) != "email" and (
                    has_people(words) if personal else has_titles(words)
                ):
                    return found
    return ""


def _merged(schema: Any, root: Any) -> dict[str, Any]:
    if not isinstance(schema, dict):
        return {}
    try:
        merged = Generator(root, Random(0)).merged(schema)
        for word in ("anyOf", "oneOf"):
            options = [
                one for one in merged.get(word, ()) if isinstance(one, dict) and one.get("type") != "null"
            ]
            if len(options) == 1:
                merged = Generator(root, Random(0)).merged(
                    {"allOf": [{key: value for key, value in merged.items() if key != word}, options[0]]}
                )
    except (NoInstanceError, RecursionError):
        return {}
    return merged


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    stated = schema.get("type")
    return {stated} if isinstance(stated, str) else {one for one in stated or () if one != "null"}


def styles_of(route: Route, tool: Tool, noun: str) -> dict[str, Style]:
    """Return how people say the arguments of a tool besides those of its path; who is not there is not said."""
    found: dict[str, Style] = {}
    paths = {argument for argument, _ in route.steps}
    for key, schema in tool.parameters.items():
        place, name = route.operation.placement.get(key, ("query", key))
        if key not in paths and place in {"query", "field", "form"} and not re.search(r"[{}\[\]]", key):
            style = style_of(name, _merged(schema, tool.input_schema), noun)
            if style is not None:
                found[key] = style
    found = {key: style for key, style in found.items() if _is_own(route, key, style, noun)}
    labels = [style.label for style in found.values()]
    return {key: style for key, style in found.items() if labels.count(style.label) == 1}


def _is_own(route: Route, key: str, style: Style, noun: str) -> bool:
    """A second title is one that nobody would set, and what is renamed is hard to speak of afterwards.

    Nor does somebody's new address bear the name of somebody else, and whose it is an id does not tell.
    """
    if key in route.operation.tool.required:
        return True
    name = normal(route.operation.placement[key][1])
    if route.role == "update":
        personal = {"email", "first_name", "last_name", "person"} if has_people(noun) else set()
        return style.kind not in {"title", "username", *personal} and name not in HANDLES[:-1]
    return route.role != "create" or style.kind != "title" or name in HANDLES


def style_of(name: str, schema: Mapping[str, Any], noun: str) -> Style | None:
    """Return how people say a value of a field, or None where nobody would.

    Args:
        name: The field's.
        schema: With its references followed.
        noun: What it belongs to.
    """
    label = label_of(name, noun)
    kinds = _kinds(schema)
    if not is_label(label) or schema.get("readOnly") is True or "const" in schema:
        return None
    if "enum" in schema:
        words = [one for one in schema["enum"] if one is not None]
        spoken = [
            one
            for one in words
            if isinstance(one, str) and re.fullmatch(r"[A-Za-z][a-z]+([ _-][a-z]+)*", one)
        ]
        if len(words) < 2 or len(spoken) < len(words) or len(words) > 40:
            return None
        return Style(
            label,
            "choice",
            False,
            tuple((one, re.sub(r"[_-]", " ", one)) for one in spoken if re.search(r"[_-]", one)),
        )
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


def _text_style(name: str, label: str, schema: Mapping[str, Any]) -> Style | None:
    kind = kind_of_text(str(schema.get("format", "")), name)
    if (
        "pattern" in schema
        or kind in OPAQUE - {"query"}
        or kind in {"date-time", "time", "duration", "country_code", "locale"}
    ):
        return None
    if kind:
        return Style(label, kind, kind in _FREE or kind == "query")
    examples = schema.get("examples")
    plain = isinstance(examples, list) and any(
        isinstance(one, str)
        and re.fullmatch(r"[A-Za-z][a-z]+( [A-Za-z][a-z]+){0,3}", one)
        and not is_placeholder(one, name)
        for one in examples
    )
    return Style(label, "example", True) if plain else None


def is_credential(place: str, name: str) -> bool:
    """Say whether an argument is what a client sends with every call: a key, a token, the version of the API."""
    words = spaced(name)
    if place in {"header", "cookie"}:
        return True
    return place in {"query", "form"} and _CREDENTIAL.match(words) is not None


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
    for argument, shape in route.steps:
        reason = _path_reason(api, tool, argument, shape)
        if reason:
            return reason
    styles = styles_of(route, tool, noun)
    paths = {argument for argument, _ in route.steps}
    for key in tool.required:
        if key not in paths and key not in styles:
            return "needs a value that nobody would say"
    if route.role in {"create", "update"} and not styles:
        return "nothing of what it writes can be said"
    if route.role == "create":
        handle = handle_of(api, route.shape)
        sent = {normal(route.operation.placement[key][1]) for key in styles}
        if normal(handle) not in sent and not any(key in styles for key in tool.required):
            return "what it creates has no name"
    if route.role == "search" and not any(style.kind == "query" for style in styles.values()):
        return "nothing says what it searches for"
    if route.role == "act" and words_of(route.verb) not in DEEDS:
        return "no everyday word for what it does"
    if route.role == "act" and route.operation.method == "delete":
        return "no everyday word for what it does"
    if route.role == "call":
        return "no everyday word for what it does"
    return ""


def _path_reason(api: Api, tool: Tool, argument: str, shape: str) -> str:
    schema = tool.parameters[argument]
    if schema.get("x-hidden"):
        owner = api.resources[shape]
        if not handle_of(api, shape):
            return "what it is about has no name that people use"
        return "" if is_speakable(owner.noun) else "no everyday word for what it is about"
    style = style_of(argument, _merged(schema, tool.input_schema), "")
    spoken = {
        "title",
        "username",
        "city",
        "country",
        "currency",
        "date",
        "choice",
        "year",
        "company",
        "person",
        "genre",
        "colour",
    }
    personal = bool(shape) and has_people(api.resources[shape].noun)
    if style is None or style.kind not in spoken or (personal and style.kind == "title"):
        return "needs an id that nobody knows"
    return ""
