"""The same description in other words: other verbs, another frame, clauses as sentences. Nothing that it states is lost."""

from __future__ import annotations

import re
from random import Random

from planarena.tools import Tool

__all__ = ["PHRASINGS", "other_descriptions", "other_words"]

PHRASINGS = 4

# First words of descriptions that are commands, with others that mean the same; an empty tuple has none.
_COMMANDS: dict[str, tuple[str, ...]] = {
    "Add": ("Append", "Attach"), "Apply": (), "Approve": (), "Arm": (), "Ask": (), "Assign": (), "Attach": ("Add",),
    "Block": (), "Book": ("Reserve",), "Bring": (), "Cancel": ("Call off",), "Change": ("Modify",), "Charge": (),
    "Close": (), "Copy": ("Duplicate",), "Create": ("Make",), "Decline": ("Turn down",), "Delete": ("Remove",),
    "Enter": ("Record",), "Escalate": (), "Find": ("Look for",), "Fetch": ("Retrieve",), "Follow": (), "Get": ("Return",), "Give": (),
    "Hand": (), "Invite": (), "Let": (), "List": ("Show a list of", "Enumerate"), "Lock": (), "Look": (), "Make": (),
    "Mark": (), "Move": (), "Object": (), "Open": (), "Order": (), "Pay": (), "Plan": (), "Play": (), "Prepare": (),
    "Publish": (), "Put": (), "Rank": (), "Read": (), "Refund": (), "Remove": ("Delete",), "Renew": (),
    "Reserve": ("Hold",), "Return": ("Give back",), "Say": (), "Search": (), "Send": (), "Set": (), "Show": ("Display",),
    "Start": (), "Store": ("Save",), "Take": (), "Tick": (), "Turn": (), "Update": ("Change",), "Write": (),
}  # fmt: skip
_FRAMES = ("", "Use this to ", "Call this to ", "This tool serves to ")
_NOUN_FRAMES = ("Set this to {0}", "Expects {0}", "This is {0}", "Takes {0}")
_CLAUSE_FRAMES = ("Says {0}", "Here goes {0}", "Tells {0}", "States {0}")
_NOUNS = re.compile(r"(The|A|An|Its|Full name|Name|Day|City|Title|Subject|Text|Kind|Label|Folder|Group)\b")
_CLAUSES = re.compile(r"(What|How|When|Where|Which|Why|Who)\b")


def other_words(text: str, phrasing: int, salt: str) -> str:
    """Return the description of a tool in other words, or as it is where none are known.

    Args:
        text: The description.
        phrasing: From 0 to `PHRASINGS`.
        salt: Of the draw among words that mean the same.
    """
    rng = Random(f"{salt}/{phrasing}")
    first, space, rest = text.partition(" ")
    if first not in _COMMANDS or not space:
        return text
    words = _COMMANDS[first]
    verb = rng.choice((first, *words)) if _FRAMES[phrasing % PHRASINGS] else rng.choice(words or (first,))
    frame = _FRAMES[phrasing % PHRASINGS]
    said = frame + (verb[0].lower() + verb[1:] if frame else verb) + " " + rest
    return _sentences(said) if phrasing % 2 else said


def _sentences(text: str) -> str:
    """Make a sentence of what stands after a semicolon."""
    return re.sub(r"; ([a-z])", lambda found: f". {found[1].upper()}", text)


def other_descriptions(tool: Tool, phrasing: int) -> dict[str, str]:
    """Return the arguments of a tool that are described in other words, by name."""
    found: dict[str, str] = {}
    for number, (name, schema) in enumerate(tool.parameters.items()):
        text = schema.get("description")
        if not isinstance(text, str) or not text:
            continue
        frames = _NOUN_FRAMES if _NOUNS.match(text) else _CLAUSE_FRAMES if _CLAUSES.match(text) else ()
        if not frames:
            continue
        lowered = text[0].lower() + text[1:]
        if re.match(r"(full name|name|day|city|title|subject|text|kind|label|folder|group)\b", lowered):
            lowered = f"the {lowered}"
        found[name] = frames[(phrasing + number) % len(frames)].format(lowered)
    return found
