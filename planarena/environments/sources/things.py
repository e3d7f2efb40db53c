"""What things are called, by their noun and by what else an API speaks of: names of tasks, people or companies."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path

from planarena.data import load_yaml

__all__ = [
    "descriptions_of",
    "generic_names",
    "has_people",
    "has_titles",
    "is_known_word",
    "known_words",
    "topic_of",
]

_THINGS = Path(__file__).with_name("things.yaml")
_WORDS = Path(__file__).with_name("everyday.yaml")
# What stands before a noun without making another thing of it, beside the nouns themselves.
_BEFORE = frozenset(
    "active annual archived available big billing black blue brown business child commercial community company corporate current "
    "custom customer daily default digital direct domestic draft email emergency event external favorite favourite "
    "featured food free general global green guest home hotel house individual internal international junior key legal "
    "local main marketing medical mobile monthly music national new office official online open orange order parent partner "
    "payment personal purple red white yellow popular premium primary private product professional project public purchase rental research "
    "retail sales saved school senior service shared shipping shopping social special sport staff standard store "
    "street student sub support tax team top travel upcoming user vacation video voice weekly work".split()
)


@cache
def _things() -> tuple[tuple[re.Pattern[str], re.Pattern[str] | None, tuple[str, ...]], ...]:
    return tuple(
        (
            re.compile(one["is"]),
            re.compile(rf"\b(?:{one['in']})(?:s|es)?\b") if "in" in one else None,
            tuple(one["names"]),
        )
        for one in load_yaml(_THINGS)["things"]
    )


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = load_yaml(_WORDS)
    return re.compile(words["people"]), re.compile(words["companies"])


@cache
def known_words() -> frozenset[str]:
    """Return the words that nouns of everyday things are made of."""
    words = load_yaml(_WORDS)
    texts = [words["people"], words["companies"], *(one["is"] for one in load_yaml(_THINGS)["things"])]
    return frozenset(word for text in texts for word in re.findall(r"[a-z]{3,}", text))


@cache
def _before() -> frozenset[str]:
    words = load_yaml(_WORDS)
    whose = re.findall(r"[a-z]{3,}", f"{words['people']} {words['companies']}")
    return _BEFORE | frozenset(whose) - {"person", "profile", "account"}


@cache
def generic_names() -> frozenset[str]:
    """Return the names of things of which nobody knows what they are called."""
    return frozenset(load_yaml(_WORDS)["generic"])


def is_known_word(word: str) -> bool:
    """Say whether a word stands before a noun without making another thing of it."""
    return word in _before()


# Where machines are managed, or who may log in, everyday nouns mean something else.
_MACHINES = re.compile(
    r"\b(kubernetes|containers?|vlans?|subnets?|firewalls?|hypervisors?|clusters?|droplets?|virtual machines?)\b"
)
_NO_MACHINES = frozenset(("group", "image", "rule", "role", "policy", "package", "template", "application", "app", "service", "site", "project", "task", "job", "report", "route", "zone", "agent", "client", "station", "location"))  # fmt: skip
_LOGINS = re.compile(r"\b(oauth\w*|authorize|openid|jwks|introspect|tokens?|sso|saml)\b")
_NO_LOGINS = frozenset(("client", "application", "app", "role", "permission"))


@lru_cache(maxsize=8192)
def topic_of(noun: str, setting: str = "") -> tuple[str, ...] | str:
    """Return the names that things of a noun have: `person`, `company`, or the names; empty where none are known.

    Args:
        noun: As `menu item`: one that is known, or known words that end in one.
        setting: What else the API speaks of: a station is another thing where trains leave than where music plays.
    """
    people, companies = _patterns()
    words = noun.split(" ")
    foreign = (_NO_MACHINES if _MACHINES.search(setting) else frozenset()) | (
        _NO_LOGINS if _LOGINS.search(setting) else frozenset()
    )
    if words[-1] in foreign:
        return ()
    for start in range(len(words)):
        if not all(map(is_known_word, words[:start])):
            return ()
        text = " ".join(words[start:])
        if people.fullmatch(text):
            return "person"
        if companies.fullmatch(text):
            return "company"
        for pattern, within, names in _things():
            if pattern.fullmatch(text) and (within is None or within.search(setting)):
                return "company" if names == ("@company",) else names
    return ()


def has_titles(noun: str, setting: str = "") -> bool:
    """Say whether it is known what things of a noun are called."""
    return bool(topic_of(noun, setting))


def has_people(noun: str) -> bool:
    """Say whether things of a noun are people."""
    return noun.endswith(" by") or topic_of(noun) == "person"


@lru_cache(maxsize=4096)
def descriptions_of(noun: str) -> tuple[str, ...]:
    """Return what descriptions of things of a noun say; the last word counts before the others."""
    words = load_yaml(_WORDS)
    for text in (noun.rsplit(" ", maxsplit=1)[-1], noun):
        for pattern, found in words["told"]:
            if re.search(rf"\b({pattern})", text):
                return tuple(found)
    return tuple(words["descriptions"])
