"""Pronouns and light phrases: what is called "it", whom "them", and which description fits where it stands."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from planarena.generate.templates import parse_template

__all__ = [
    "PEOPLE",
    "Around",
    "closes",
    "first_name",
    "is_heavy",
    "is_plain",
    "light",
    "pronoun",
    "takes_reference",
]

# Nouns of records that are people.
PEOPLE = frozenset(
    "agent client colleague contact customer doctor driver employee friend guest manager member passenger patient person"
    " sender supervisor".split()
)
# What may follow "it" as the object of a request: nothing, a stop, or a word that goes on about it.
_AFTER_OBJECT = re.compile(
    r"\s*($|[.,;?!)]|(and|as|at|away|back|because|before|by|down|for|from|if|in|instead|into|now|off|on|onto|out|over"
    r"|right|since|so|then|to|too|under|until|up|while|with|within|without)\b)"
)
_STARTS = re.compile(
    r"(^|[.!?:;]\s+|\b(off|up|out|down|back|away|over|of|is|are|was|that|so|because|where|how|if|does|did|has|and|,)\s*)$"
)
# A clause within a phrase, with a relative pronoun or without: "the address it came from", "the item {customer} ordered".
_CLAUSE = re.compile(
    r"\b(who|whom|whose|whoever|whatever|whichever|wherever|which|what|where)\b|(?!^)\bthat\b"
    r"|(\b(it|they|we|you|I)|\}) ([a-z]+ed|came|comes|has|have|is|lands|leads|leaves|needs|reports|sees|sent|stands|takes"
    r"|uses|wants|wrote)\b"
)
_TAIL = re.compile(r"\b(there|here|it|them|these|those)$")
_CLOSES = re.compile(r"\s*($|[.,;:?!)]|(and|then)\b)")
_COUNTED = r"\b(many|any|some|our|my|your|more|few|enough|no|these|those|all|every|each)\s*\{%s\}"
_PERSON = re.compile(r"[^\W\d_][^\W\d_]+ [^\W\d_][^\W\d_'-]+")


_IT = re.compile(r"\b(it|them|its|their)\b", re.I)


class Around(NamedTuple):
    """What stands beside a reference: the text before it in its clause, and the template's words after it."""

    before: str = ""
    after: str = ""


@lru_cache(maxsize=4096)
def is_plain(phrases: tuple[str, ...]) -> bool:
    """Say whether phrases are nothing but an argument ("{name}"): such a one says whatever that says."""
    return not any(part.kind == "text" for phrase in phrases for part in parse_template(phrase))


def light(phrases: tuple[str, ...], around: Around) -> tuple[str, ...]:
    """Return the phrases that fit where they stand: in the middle of a clause none with a clause of its own."""
    if _CLOSES.match(around.after):
        return phrases
    if around.after[:1] in {"'", "’"}:
        # "The boss named there's team" has its 's at the wrong word.
        return tuple(one for one in phrases if not _CLAUSE.search(one) and not _TAIL.search(one)) or phrases
    return tuple(one for one in phrases if not _CLAUSE.search(one)) or phrases


@lru_cache(maxsize=4096)
def is_heavy(phrases: tuple[str, ...]) -> bool:
    """Say whether all phrases hold a clause, as "what came with the delivery" does."""
    return all(_CLAUSE.search(one) for one in phrases)


@lru_cache(maxsize=8192)
def closes(template: str, argument: str) -> bool:
    """Say whether an argument stands at the end of a clause wherever a template names it."""
    return all(_CLOSES.match(after) for after in template.split("{" + argument + "}")[1:])


@lru_cache(maxsize=8192)
def takes_reference(template: str, argument: str) -> bool:
    """Say whether "the item that Ada ordered" fits a template, which "too many {item}" is none for."""
    return not re.search(_COUNTED % re.escape(argument), template)


def pronoun(kind: str, times: int, around: Around, *, alone: bool, pick: int) -> str:
    """Return what a thing or a person is called that was just spoken of.

    Args:
        kind: Its noun.
        times: How often it was mentioned before in this message.
        around: What stands beside it.
        alone: Whether nothing else was spoken of since.
        pick: Chooses where two ways are right.
    """
    object_of = bool(_AFTER_OBJECT.match(around.after)) and not _STARTS.search(around.before)
    if kind in {"day", "amount", "address"}:
        return f"that {kind}"
    taken = _IT.search(around.before) or _IT.search(around.after)
    if alone and object_of and not taken and (times or pick % 2):
        return "them" if kind in PEOPLE else "it"
    return f"the {kind}" if times > 1 and around.before.strip() else f"that {kind}"


def first_name(text: str) -> str:
    """Return the first of a person's two names, or nothing where a text is no such name."""
    return text.split(" ", 1)[0] if _PERSON.fullmatch(text) else ""
