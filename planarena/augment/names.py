"""Other names for tools and arguments: a few manners of naming, each the same for a tool wherever it occurs."""

from __future__ import annotations

import re
from collections.abc import Collection
from random import Random

from planarena.tools import Tool

__all__ = ["MANNERS", "other_name", "other_names"]

# Manners that a variant draws from; the synonyms are drawn once per tool and manner.
MANNERS = 6
_LONGEST = 64

_VERBS = {
    "get": ("fetch", "read", "retrieve"),
    "view": ("display", "read"),
    "find": ("look_up", "locate"),
    "search": ("query", "look_for"),
    "list": ("browse", "enumerate"),
    "check": ("inspect", "examine"),
    "create": ("make", "new"),
    "add": ("append", "insert"),
    "set": ("configure",),
    "book": ("reserve",),
    "reserve": ("set_aside",),
    "cancel": ("call_off", "revoke"),
    "delete": ("remove", "erase"),
    "remove": ("delete", "drop"),
    "update": ("change", "edit"),
    "change": ("modify", "edit"),
    "send": ("dispatch", "deliver"),
    "schedule": ("plan", "arrange"),
    "assign": ("allocate",),
    "pay": ("settle",),
    "save": ("store", "keep"),
    "draft": ("prepare",),
    "write": ("compose",),
    "request": ("ask_for",),
    "approve": ("confirm", "accept"),
    "close": ("finish",),
    "submit": ("hand_in",),
    "track": ("trace",),
    "log": ("record",),
}
_NOUNS = {
    "date": ("day", "on_day"),
    "text": ("content", "wording"),
    "kind": ("type", "sort"),
    "reason": ("explanation", "grounds"),
    "quantity": ("count", "how_many"),
    "amount": ("sum", "value"),
    "title": ("heading", "caption"),
    "duration": ("length",),
    "destination": ("to_place",),
    "origin": ("from_place",),
    "due": ("deadline",),
    "keyword": ("search_term", "term"),
    "category": ("group",),
    "priority": ("urgency",),
    "note": ("remark",),
    "max_price": ("price_limit", "highest_price"),
    "from_date": ("first_day",),
}
_IDS = ("ref", "key", "identifier")


def other_name(tool: Tool, manner: int, taken: Collection[str]) -> str:
    """Return another name of a tool in a manner, or an empty text where there is none that is free.

    Args:
        tool: The tool.
        manner: From 0 to `MANNERS`.
        taken: Names that nothing else may have.
    """
    rng = Random(f"{tool.tool_id}/{manner}")
    words = [word for word in re.split(r"[_\-\s.]+|(?<=[a-z0-9])(?=[A-Z])", tool.wire_name) if word]
    words = [word.lower() for word in words] or [tool.wire_name]
    space = re.sub(r"[^a-z0-9]+", "_", tool.namespace.partition(":")[0].lower()).strip("_")
    verb = rng.choice(_VERBS.get(words[0], (words[0],)))
    candidates = {
        0: "_".join([verb, *words[1:]]),
        1: _camel([verb, *words[1:]]),
        2: _camel(words),
        3: "_".join([*words[1:], words[0]]) if len(words) in (2, 3) and words[0] in _VERBS else "",
        4: "_".join([space, *words]),
        5: f"{space}-{'_'.join([verb, *words[1:]])}",
    }
    for name in (candidates[manner % MANNERS], candidates[2], candidates[4]):
        if name and name not in taken and re.fullmatch(r"[A-Za-z0-9_-]+", name) and len(name) <= _LONGEST:
            return name
    return ""


def other_names(tool: Tool, manner: int) -> dict[str, str]:
    """Return other names of a tool's arguments in a manner; those that keep theirs are left out."""
    rng = Random(f"{tool.tool_id}/{manner}/arguments")
    found: dict[str, str] = {}
    for name in tool.parameters:
        words = name.split("_")
        if words[-1] == "id" and len(words) > 1:
            new = "_".join([*words[:-1], rng.choice(_IDS)])
        else:
            new = rng.choice(_NOUNS.get(name, (name,)))
        if manner % MANNERS in (1, 2):
            new = _camel(new.split("_"))
        if new != name and new not in tool.parameters and new not in found.values() and new.isidentifier():
            found[name] = new
    return found


def _camel(words: list[str]) -> str:
    flat = [word for part in words for word in part.split("_") if word]
    return flat[0] + "".join(word.capitalize() for word in flat[1:])
