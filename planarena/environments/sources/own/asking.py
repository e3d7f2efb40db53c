"""How people ask for a tool that nobody wrote words for: by its verb, what it is about, and its arguments in their places."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from planarena.environments.sources.generic_wording import is_nameable, words_of
from planarena.environments.sources.own.naming import Deed, begins_with_verb, creates, is_id, plural
from planarena.environments.wording import FIELD

__all__ = ["Argument", "asks_of", "described", "label_of", "label_of_change", "participle", "unit_of"]

_PLAIN_READS = {"get", "show", "see", "display", "fetch", "read", "retrieve", "load", "view", "list", "find", "look", "lookup", "describe", "has", "is", "search", "query", "inspect", ""}  # fmt: skip
_QUERY = r"^(q|query|search|search (text|term|query|string)|term|text|keywords?|phrase|pattern)$"
_NAME = r"\b(name|title|subject|label)$"
_UNIT_WORDS = {
    "eur": "euros",
    "usd": "dollars",
    "gbp": "pounds",
    "pct": "percent",
    "celsius": "degrees Celsius",
}
_UNITS = r" (kg|km|cm|mm|g|eur|usd|gbp|minutes|hours|days|percent|pct|celsius|miles|ml|mb|gb)$"
_IRREGULAR = {
    "send": "sent", "write": "written", "buy": "bought", "make": "made", "set": "set", "put": "put", "pay": "paid", "lend": "lent",
    "build": "built", "withdraw": "withdrawn", "begin": "begun", "find": "found", "read": "read", "upload": "uploaded", "undo": "undone",
    "reset": "reset", "split": "split", "hide": "hidden", "leave": "left", "take": "taken", "give": "given", "run": "run", "cut": "cut",
    "submit": "submitted", "cancel": "cancelled", "drop": "dropped", "log": "logged", "tag": "tagged", "swap": "swapped", "ban": "banned",
    "done": "done", "unsubscribe": "unsubscribed", "patch": "patched", "refer": "referred", "transfer": "transferred",
}  # fmt: skip
_PLACES = r"^(city|town|country|place|location|region|state|address|station|room|venue|village|area)$"
_PEOPLE = r"\b(recipient|to|addressee|receiver)$"


_ONTO = {"add": "to", "append": "to", "post": "on", "write": "on", "attach": "to"}


class Argument(NamedTuple):
    """An argument as requests name it.

    Attributes:
        name: As in the schema.
        required: Whether a call needs it.
        of: What it refers to, as `book`, where it is an id or the name of a thing; else empty.
        schema: Its schema.
    """

    name: str
    required: bool
    of: str
    schema: Mapping[str, Any]


def participle(verb: str) -> str:
    """Return the past participle of a verb, as "borrowed" or "checked in"."""
    verb, blank, particle = verb.partition(" ")
    return f"{_participle(verb)}{blank}{particle}"


def _participle(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("e"):
        return f"{verb}d"
    return f"{verb[:-1]}ied" if verb.endswith("y") and verb[-2:-1] not in tuple("aeiou") else f"{verb}ed"


def label_of(name: str) -> str:
    """Return what a field is called in a sentence: `weight_kg` is a weight in kg."""
    words = words_of(name)
    words = words if re.search(rf" in{_UNITS}", words) else re.sub(_UNITS, r" in \1", words)
    return (
        {"left": "amount left", "remaining": "amount remaining"}.get(words)
        or re.sub(r"^(is|has) ", "", words)
        or "value"
    )


def unit_of(name: str) -> tuple[str, str]:
    """Return what a field is called and the unit behind its value, with a blank: `value_eur` is a value in euros."""
    words = words_of(name)
    found = re.search(_UNITS, words)
    if found is None or " in " in words:
        return label_of(name), ""
    return words[: found.start()], f" {_UNIT_WORDS.get(found[1], found[1])}"


def _a(noun: str) -> str:
    return f"an {noun}" if noun[:1] in tuple("aeio") else f"a {noun}"


def asks_of(deed: Deed, effect: str, arguments: Sequence[Argument], description: str) -> tuple[str, ...]:
    """Return imperative clauses with every required argument and the optional ones in brackets.

    Args:
        deed: What the tool's name says.
        effect: What it does.
        arguments: Those that a request may name.
        description: For what the name leaves open.
    """
    left = {one.name: one for one in arguments if one.required}
    heads = _heads(deed, effect, left, description)
    optional = [one for one in arguments if not one.required and is_nameable(one.name, required=False)]
    found = []
    for head in heads:
        rest = [one for name, one in left.items() if f"{{{name}" not in head]
        found.append(
            head
            + "".join(map(_placed, rest))
            + "".join(_perhaps(one) for one in optional if f"{{{one.name}" not in head)
        )
    return tuple(dict.fromkeys(found))


def _placed(one: Argument) -> str:
    words, name = words_of(one.name), one.name
    if one.of:
        return f" for {{{name}}}"
    if one.schema.get("x-surface") == "date":
        return f" due {{{name}}}" if "due" in words or "deadline" in words else f" for {{{name}}}" if words in {"day", "date", "on", "when"} else f"{FIELD}the {label_of(name)} {{{name}}}"  # fmt: skip
    if re.fullmatch(r"(days|nights|hours|minutes|weeks|months|years)", words):
        return f" for {{{name}|{words[:-1]}|{words}}}"
    if re.search(_PEOPLE, words):
        return f" to {{{name}}}"
    if re.fullmatch(_PLACES, words):
        return f" in {{{name}}}"
    if re.fullmatch(r"(sort|order|sorted|ordered)( by| key| field)?", words):
        return f" sorted by {{{name}}}"
    if words in {"percent", "percentage", "pct"}:
        return f" by {{{name}}} percent"
    if words in {"position", "index"}:
        return f" at {words} {{{name}}}"
    return f"{FIELD}{described(one)}"


def described(one: Argument) -> str:
    """Name an argument with its value, as "a weight of 7.5 kg", "the size large" or `the text "..."`."""
    words = words_of(one.name)
    if one.schema.get("type") in {"integer", "number"} and not is_id(one.name):
        unit = re.search(_UNITS, words)
        if unit is not None and " in " not in words:
            return f"{_a(words[: unit.start()])} of {{{one.name}}} {_UNIT_WORDS.get(unit[1], unit[1])}"
        if re.search(r"(number|year|no|code|minimum|maximum|min|max|limit|page)$", words):
            return f"the {label_of(one.name)} {{{one.name}}}"
        return f"{_a(label_of(one.name))} of {{{one.name}}}"
    if one.schema.get("type") == "array":
        return f"the {label_of(one.name)} {{{one.name}}}"
    if one.schema.get("type") in {"boolean", "object"}:
        return f"{label_of(one.name)} {{{one.name}}}"
    return f"the {label_of(one.name)} {_quoted(one)}"


def _perhaps(one: Argument) -> str:
    return f"[{_placed(one)}]"


def _quoted(one: Argument) -> str:
    """Quote what is text of the user's own."""
    own = re.search(
        r"\b(text|body|message|content|note|notes|description|title|subject|comment|summary|reason)$",
        words_of(one.name),
    )
    return f'"{{{one.name}}}"' if own and one.schema.get("type") == "string" else f"{{{one.name}}}"


def _heads(deed: Deed, effect: str, left: Mapping[str, Argument], description: str) -> tuple[str, ...]:
    pair = _pair(deed, left)
    if pair:
        return pair
    main = next((one for one in left.values() if one.of), None)
    if effect == "read":
        return _reading(deed, left, main, description)
    named = next((one for one in left.values() if re.search(_NAME, words_of(one.name)) and not one.of), None)
    verb, noun = deed.verb or "run", deed.noun
    what = next(
        (
            one
            for one in left.values()
            if noun
            and words_of(one.name) == noun
            and one.schema.get("type") in {"string", "integer", "number"}
        ),
        None,
    )
    where = next((one for one in left.values() if one is not what and one.of), None)
    if what is not None and where is not None:  # "add SONG to PLAYLIST"
        joined = {"add": "to", "insert": "into", "remove": "from", "delete": "from"}.get(verb, "for")
        if what.schema.get("type") != "string":
            return (f"{verb} {_a(noun)} of {{{what.name}}} for {{{where.name}}}",)
        return (f"{verb} {{{what.name}}} {joined} {{{where.name}}}",)
    own = next((one for one in left.values() if one.of and _is_same(one.of, noun)), None)
    if own is not None:
        return _acting(verb, noun, own, left, named)
    if effect == "create" or (main is None and deed.verb):
        if what is not None:
            return (
                f"{verb} {_a(noun)} of {{{what.name}}}"
                if what.schema.get("type") != "string"
                else f"{verb} {{{what.name}}}",
            )
        if not noun:
            return (f"{verb} {{{named.name}}}",) if named is not None else (_sentence(description, verb),)
        if named is not None:
            called = f"{FIELD}the subject" if "subject" in named.name else " called"
            return (
                f'{verb} {_a(noun)}{called} "{{{named.name}}}"',
                f'{verb} a new {noun}{called} "{{{named.name}}}"',
            )
        if any(one.schema.get("type") == "object" for one in left.values()):
            whole = next(one for one in left.values() if one.schema.get("type") == "object")
            return (f"{verb} {_a(noun)} {{{whole.name}}}",)
        onto = f" {_ONTO[verb]} {{{main.name}}}" if main is not None and verb in _ONTO else ""
        return (f"{verb} {_a(noun)}{onto}", f"{verb} a new {noun}{onto}") if verb in {"add", "create", "open", "start", "write"} else (f"{verb} {_a(noun)}{onto}",)  # fmt: skip
    if main is not None:
        return _acting(verb, noun, main, left, named)
    return (_sentence(description, f"{verb} {deed.what}".strip()),)


def _is_same(noun: str, of: str) -> bool:
    """Say whether a tool is about what its argument refers to: a free room is a room."""
    return not noun or noun.rsplit(" ", maxsplit=1)[-1] == of.rsplit(" ", maxsplit=1)[-1]


def label_of_change(noun: str, value: Argument) -> tuple[str, str]:
    """Return what is changed and to what: `celsius` of `set_temperature` is a temperature; no value where it is as it is said."""
    words = re.sub(r"^new ", "", words_of(value.name))
    if re.fullmatch(_UNITS.strip(), words) and noun:
        return noun, f"{{{value.name}}} {_UNIT_WORDS.get(words, words)}"
    return label_of(words), ""


def _acting(
    verb: str, noun: str, on: Argument, left: Mapping[str, Argument], named: Argument | None
) -> tuple[str, ...]:
    """Do something to a thing: "cancel ORDER", "set the price of PRODUCT to 12", "rename PLAYLIST to X"."""
    others = [one for one in left.values() if one is not on]
    at = f"{{{on.name}}}"
    if verb == "rename" and others:
        return (f'rename {at} to "{{{others[0].name}}}"',)
    if (
        verb in {"set", "change", "update", "edit", "modify", "adjust", "move"}
        and len(others) == 1
        and not others[0].of
    ):
        label, value = label_of_change(noun, others[0])
        if value:
            return (f"{'set' if verb == 'set' else 'change'} the {label} of {at} to {value}",)
        return (f"{'set' if verb == 'set' else 'change'} the {label} of {at} to {_quoted(others[0])}",)
    if verb in {"mark", "complete", "finish", "done", "check"} and noun in {
        "",
        on.of,
        "done",
        "complete",
        "completed",
    }:
        return (f"mark {at} as done",)
    if noun and on.of and not _is_same(noun, on.of):
        many = {"add": "to", "remove": "from", "delete": "from", "cancel": "of", "clear": "of"}.get(
            verb, "for" if creates(verb) or " " in verb else "of"
        )
        what = f'the {noun} "{{{named.name}}}"' if named else f"the {noun}" if verb in {"remove", "delete", "cancel", "clear"} or many == "of" else _a(noun)  # fmt: skip
        return (f"{verb} {what} {many} {at}",)
    return (f"{verb} {at}",)


def _reading(
    deed: Deed, left: Mapping[str, Argument], main: Argument | None, description: str
) -> tuple[str, ...]:
    verb, noun = deed.verb, deed.noun
    query = next((one for one in left.values() if re.search(_QUERY, words_of(one.name))), None)
    if query is None and verb in {"search", "find", "lookup"}:
        query = next((one for one in left.values() if re.search(_NAME, words_of(one.name))), None)
    if query is not None:
        many = plural(noun) if noun else "it"
        return (f'search the {many} for "{{{query.name}}}"', f'look for {many} matching "{{{query.name}}}"')
    what = deed.what or noun
    if main is not None:
        at = f"{{{main.name}}}"
        if verb not in _PLAIN_READS:
            return (f"{verb} {at}",) if _is_same(noun, main.of) else (f"{verb} the {what} of {at}",)
        if _is_same(noun, main.of):
            return (f"look up {at}", f"show me the details of {at}")
        return (
            (f"list the {what} of {at}",)
            if deed.many
            else (f"tell me the {what} of {at}", f"look up the {what} of {at}")
        )
    if not what:
        return (_sentence(description, verb or "run it"),)
    if verb == "count":
        return (f"count the {what}",)
    if verb not in _PLAIN_READS | {"check", "browse"}:
        return (_sentence(description, f"{verb} the {what}"),)
    if not deed.verb:
        return (f"work out the {what}",)
    single = [
        one for one in left.values() if one.schema.get("type") == "string" and not one.schema.get("format")
    ]
    if (
        len(single) == 1
        and not deed.many
        and not re.fullmatch(_PLACES, words_of(single[0].name))
        and words_of(single[0].name) != noun
    ):
        return (f"{'check' if verb == 'check' else 'look up'} the {what} of {{{single[0].name}}}",)
    if deed.many:
        return (f"list the {what}", f"show me the {what}")
    return (f"tell me the {what}", f"look up the {what}")


def _pair(deed: Deed, left: Mapping[str, Argument]) -> tuple[str, ...]:
    """Two arguments that belong together: from one to another, between two days, two numbers."""
    words = {words_of(name): name for name in left}
    verb, what = deed.verb, deed.what
    base = _article(f"{verb} {what}".strip() if what else verb, verb, what)
    for first, second, middle in (
        ("from", "to", "from {} to {}"),
        ("source", "target", "from {} to {}"),
        ("start", "end", "between {} and {}"),
    ):
        one = next((name for words_, name in words.items() if words_.split(" ")[0] == first), None)
        two = next((name for words_, name in words.items() if words_.split(" ")[0] == second), None)
        if one and two:
            amount = next(
                (name for word, name in words.items() if re.fullmatch(r"amount|value|sum|quantity", word)),
                None,
            )
            between = middle.format(f"{{{one}}}", f"{{{two}}}")
            if amount:
                return (f"{verb or 'convert'} {{{amount}}} {between}",)
            base = re.sub(r" (between|from)\b.*$", "", base)
            return (f"{base} {between}",)
    if len(left) == 2 and set(words) in ({"a", "b"}, {"x", "y"}):
        return (f"{verb or what} {{{next(iter(left))}}} and {{{list(left)[1]}}}",)
    if "to" in words and "value" in words and verb == "convert":
        return (f"convert a {what or 'value'} of {{{words['value']}}} to {{{words['to']}}}",)
    return ()


def _article(base: str, verb: str, what: str) -> str:
    if not verb:
        return f"work out the {what}"
    return f"{verb} the {what}" if what else base


def _sentence(description: str, otherwise: str) -> str:
    """Take the first sentence of the description as a request, where it is short and plain."""
    sentence = re.split(r"(?<=[a-z)])[.\n]", description.strip(), maxsplit=1)[0].strip().rstrip(".")
    if not 6 <= len(sentence) <= 80 or re.search(r"[{}\[\]_<>`():'\"]", sentence):
        return otherwise
    words = sentence.split(" ")
    first = words[0].lower()
    if not begins_with_verb(sentence, otherwise.split(" ", maxsplit=1)[0]):
        # "Body mass index" is what comes of it, and not what is to be done.
        return f"tell me the {re.sub(r'^(the|a|an) ', '', sentence[:1].lower() + sentence[1:], flags=re.I)}"
    # "Returns the price" is what the tool does; asked for it is "return the price".
    if first.endswith("s") and not first.endswith("ss") and len(first) > 3:
        first = first[:-1] if not first.endswith(("ches", "shes", "sses", "xes")) else first[:-2]
    return " ".join([first, *words[1:]])
