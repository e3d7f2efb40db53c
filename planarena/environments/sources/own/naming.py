"""What a tool does and to what, read from its name and its description."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from planarena.environments.sources.openapi.identifiers import normal, words_of
from planarena.tools.tool import Effect, Tool

__all__ = [
    "Deed",
    "Scalar",
    "begins_with_verb",
    "creates",
    "deed_of",
    "field_key",
    "guess_effect",
    "is_id",
    "plural",
    "scalars",
    "singular",
]

_VERBS: dict[Effect, str] = {
    "read": "get list search find show read fetch lookup look query count check view describe browse track compute calculate "
    "convert compare estimate is has see display retrieve load select filter report summarise summarize locate recommend "
    "suggest translate total preview status history days current all who what which when where how monitor inspect download",
    "create": "add create new make insert register open book place send write post schedule submit upload save store start "
    "order reserve record log invite issue enter build generate draft publish buy append push import reply message email",
    "update": "update edit change set rename move mark complete finish close assign borrow return transfer pay check-in lend "
    "approve reject enable disable toggle reopen resolve extend renew restock increase decrease adjust modify replace lock "
    "unlock pause resume turn put patch merge withdraw deposit refund archive restore tag rate vote like follow share use done",
    "delete": "delete remove cancel drop clear purge unregister unfollow unsubscribe revoke dismiss discard empty erase destroy",
}  # fmt: skip
_EFFECT_OF: dict[str, Effect] = {word: effect for effect, words in _VERBS.items() for word in words.split()}
# Envelopes: what lies in them is called what the tool is about.
_ENVELOPES = frozenset(
    "result results item items data rows row records record entries entry list response value values output content text page".split()
)
_NO_VERBS = frozenset(
    ["days", "history", "current", "status", "all", "who", "what", "which", "when", "where", "how"]
)
_ANYBODY = (
    "somebody",
    "someone",
    "something",
    "anybody",
    "everybody",
    "everything",
    "it",
    "them",
    "him",
    "her",
)
_ARTICLES = frozenset(
    ["the", "a", "an", "all", "every", "each", "some", "one", "this", "your", "my", *_ANYBODY]
)
_PARTICLES = frozenset(
    ["out", "up", "down", "in", "off", "back", "to", "for", "whether", "if", "how", "what"]
)
_WITH_VERBS = frozenset(["in", "out", "up", "down", "on", "off"])
_ID = r"(?:id|uuid|guid|identifier)"
_CODES = r"(?:code|number|no|ref|reference|slug|sku|key|handle|token|iban|isbn|serial)"
_SIDES = r"^(?:from|to|source|target|old|new|parent|first|second|src|dst|dest|destination|my|other|the) "


class Deed(NamedTuple):
    """What a tool does: `verb` and what it does it to, as `search`, `books`, `book`; each may be empty.

    Attributes:
        verb: In the imperative, with its particle.
        what: The rest of the name, as words.
        noun: One of what it is about.
        many: Whether the name speaks of several.
    """

    verb: str
    what: str
    noun: str
    many: bool


class Scalar(NamedTuple):
    """A single value in a result: where it stands, what it is, and what the record is called that it stands in."""

    pointer: str
    key: str
    noun: str
    value: Any


def singular(word: str) -> str:
    """Return one of a plural; only the last word is changed."""
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is", "news")) else word


def plural(word: str) -> str:
    """Return several of a noun."""
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


def guess_effect(tool: Tool) -> Effect:
    """Return what a tool's name says that it does; `unknown` where it says nothing."""
    words = words_of(tool.name).split(" ")
    if len(words) > 1 and words[1] in _WITH_VERBS and words[0] in {"check", "log", "sign", "clock"}:
        return "update"  # who is checked in is somewhere else then
    return _EFFECT_OF.get(words[0], "unknown")


def creates(verb: str) -> bool:
    """Say whether what a verb is done to comes into being by it."""
    return _EFFECT_OF.get(verb, "create" if not verb else "unknown") == "create"


def begins_with_verb(sentence: str, tool: str = "") -> bool:
    """Say whether a sentence says what is done, as "Returns the rate", and not what comes of it, as "Body mass index".

    Args:
        sentence: The first of a description.
        tool: The first word of the tool's name: a description that begins with it says what is done.
    """
    first, *rest = sentence.lower().split()
    if first in _ARTICLES:
        return False
    if tool and first.rstrip("s") == tool.rstrip("s"):
        return True
    bare = {first, first.removesuffix("s"), first.removesuffix("es"), re.sub("ies$", "y", first)}
    return bool(bare & (_EFFECT_OF.keys() - _NO_VERBS)) or not rest or rest[0] in _ARTICLES | _PARTICLES


@lru_cache(maxsize=4096)
def deed_of(tool_name: str, description: str) -> Deed:
    """Read a tool's name; what it leaves open is taken from the first words of the description."""
    words = words_of(tool_name).split()
    if words and words[0] in _EFFECT_OF and words[0] not in _NO_VERBS:
        verb, rest = words[0], words[1:]
    elif len(words) > 1 and description.lower().split(" ")[0].rstrip("s") == words[0].rstrip("s"):
        verb, rest = words[0], words[1:]  # `raise_salary`, which "raises somebody's salary"
    elif len(words) > 1 and words[-1] in {"list", "search", "lookup"}:
        verb, rest = {"lookup": "look up"}.get(words[-1], words[-1]), words[:-1]
    elif (
        len(words) == 1
        and words[0] not in _EFFECT_OF
        and not begins_with_verb(description.strip() or words[0], words[0])
    ):
        verb, rest = "", words  # `average`: what comes of it
    else:
        verb, rest = (words[0], words[1:]) if len(words) == 1 else ("", words)
    if verb and rest and rest[0] in _WITH_VERBS and words[0] in _EFFECT_OF:
        verb, rest = f"{verb} {rest[0]}", rest[1:]
    rest = [word for word in rest if word not in {"all", "the", "a", "an", "new", "my"}]
    cut = next((n for n, word in enumerate(rest) if n and word in {"by", "for", "of", "from", "with", "in", "to", "between", "on", "at"}), len(rest))  # fmt: skip
    head = rest[:cut]
    if not head and verb:
        found = re.match(r"^\w+\s+(?:(?:a|an|the|all|one|some|every|your|this)\s+)?(?:new\s+)?([a-z][a-z-]+)", description.strip(), re.I)  # fmt: skip
        head = (
            [found.group(1).lower()]
            if found and found.group(1).lower() not in {"to", "of", "for", "in", *_ANYBODY}
            else []
        )
    last = head[-1] if head else ""
    noun = " ".join([*head[:-1], singular(last)]) if last else ""
    return Deed(verb, " ".join(rest) or " ".join(head), noun, bool(last) and singular(last) != last)


def is_id(argument: str) -> bool:
    """Say whether a name is that of an id, which nobody says aloud."""
    return re.search(rf"(?:^| )(?:{_ID}|token|handle)$", words_of(argument)) is not None or re.search(r"(?<=[a-z])I[dD]$", argument) is not None  # fmt: skip


def field_key(name: str, noun: str) -> str:
    """Return what a field or an argument holds: `id` of a book and `book_id` are both `book id`."""
    words = re.sub(_SIDES, "", words_of(name))
    if re.fullmatch(_ID, words):
        return f"{noun} id" if noun else "id"
    found = re.fullmatch(rf"(.+?) ?{_ID}", words)
    if found and (words.endswith((" id", " uuid")) or name.endswith(("Id", "ID"))):
        return f"{found.group(1).strip()} id"
    if re.fullmatch(r"name|title|label|subject", words) and noun:
        return f"{noun} {words}"
    last = words.rsplit(" ", maxsplit=1)[-1]
    return last if re.fullmatch(_CODES, last) and re.search(_SIDES, words_of(name)) else words


def scalars(result: Any, deed: Deed) -> Iterator[Scalar]:
    """Yield the single values of a result, nearest first: of lists those of the first five items."""
    queue: list[tuple[str, str, str, Any, int]] = [("", "", deed.noun, result, 0)]
    given = 0
    while queue and given < 150:
        pointer, key, noun, value, depth = queue.pop(0)
        if isinstance(value, dict):
            for name, inner in value.items():
                if not isinstance(name, str) or name.isdigit() or depth > 4:
                    continue
                place = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
                words = words_of(name)
                below = noun
                if isinstance(inner, dict | list) and words not in _ENVELOPES:
                    below = singular(words)
                queue.append((place, name, below, inner, depth + 1))
        elif isinstance(value, list):
            for number, inner in enumerate(value[:5]):
                name = key if normal(key) and words_of(key) not in _ENVELOPES else ""
                queue.append((f"{pointer}/{number}", singular(name), noun, inner, depth + 1))
        elif isinstance(value, str | int | float) and not isinstance(value, bool) and value != "":
            given += 1
            yield Scalar(pointer, field_key(key, noun) if key and words_of(key) not in _ENVELOPES else noun, noun, value)  # fmt: skip
