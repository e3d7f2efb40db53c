"""What the words of a request ask for: all the records of a list or one of them, a single field, and in which tone."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

from planarena.environments.wording import ToolWording, names_in, parse_pointer

__all__ = [
    "asks_for_field",
    "fits_register",
    "is_curt",
    "lists_told",
    "main_list",
    "plural",
    "takes_description",
    "wanted_lists",
]

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_QUOTED = re.compile(r'"[^"]*"')
_PARTS = re.compile(r"[.;:?!,]+(?:\s|$)|\s(?:and|but|or)\s")
# "How many", "the cheapest": what asks for a number or for one record.
_ONE = re.compile(
    r"\b(first|last|latest|newest|oldest|next(?! free)|(?<!at )most|(?<!at )least|fewest|highest|lowest|best|worst|cheapest|cheap|cheaply|dearest"
    r"|earliest|soonest|quickest|fastest|nearest|longest|shortest|biggest|largest|smallest|likeliest|greenest|favourite"
    r"|top|tops|which one|how (many|much|long|big|full|packed|crowded|soon|often|thin|busy)|count|counting|counts|number of|add up|adds? up|total|sum"
    r"|in all|biggest|whopper|opener|running time|a good|a lot|least money|for the least|economical|sensible price|for a song|an? (pharmacy|card|slot"
    r"|gap|window|hotel|flight|room|workshop|doctor|station|way|bed|roof|better|available))\b",
    re.I,
)
_ALL = re.compile(
    r"\b(list|enumerate|all|every|everything|each|everyone|order of|in order|rank(ed)?|which order|one by one)\b",
    re.I,
)
_RANKED = re.compile(r"^(list|enumerate|rank|sort)\b|\bone by one\b", re.I)
_OPEN = re.compile(r"\b(what|which)(?! \w+ is it)\b", re.I)
_LISTED = re.compile(
    r"\b(list|enumerate|ranked|order of|in order|which order|(worst|newest( \w+)?|latest|oldest|nearest deadline|most played) first)\b",
    re.I,
)
_SEVERAL = re.compile(r"\b(which|what|show|see) (\w+ ){0,2}(%s)\b", re.I)
_COUNTED = re.compile(r"\b(how many|how much|count|counting|number of|size of|total)\b", re.I)
_CONTENTS = re.compile(
    r"\b(contents?|contains?|holds|what('s| is| was| else is)? (left )?(in|on)|track list)\b", re.I
)


def main_list(words: ToolWording) -> str:
    """Return the pointer of the list that a look-up is made for, or an empty text: its answer is mostly about that."""
    for pointer, record in words.records.items():
        if not pointer or not record.noun:
            continue
        inside = [one for one in words.outputs if re.match(re.escape(pointer) + r"/\d", one)]
        counts = [one for one in words.outputs if re.search(r"count|total|_mb$|busy|quantity", one)]
        if inside and 2 * len({*inside, *counts}) >= len(words.outputs):
            return pointer
    return ""


def wanted_lists(
    template: str, words: ToolWording, shown: Mapping[str, str], given: Collection[str]
) -> tuple[str, ...]:
    """Return the pointers of the lists whose records a request asks for.

    Args:
        template: What is asked.
        words: Of the tool.
        shown: By argument, its words where it is one of a few: "the {extreme} rating" asks for one record.
        given: The arguments that there are: what is optional in the template needs them.
    """
    key = id(words), template, frozenset(given), tuple(shown.items())
    known = _WANTED.get(key)
    if known is None:
        if len(_WANTED) > _MOST_KNOWN:
            _WANTED.clear()
        known = _WANTED[key] = words, _wanted(template, words, shown, frozenset(given))
    return known[1]


# The words are kept with what was found, so that no others ever get their place in memory.
_Key = tuple[int, str, frozenset[str], tuple[tuple[str, str], ...]]
_WANTED: dict[_Key, tuple[ToolWording, tuple[str, ...]]] = {}
_MOST_KNOWN = 50_000


def _wanted(
    template: str, words: ToolWording, shown: Mapping[str, str], given: frozenset[str]
) -> tuple[str, ...]:
    template = _OPTIONAL.sub(lambda part: part.group(1) if names_in(part.group(1)) <= given else "", template)
    bare = _PLACEHOLDER.sub(lambda match: shown.get(match.group(1), "X"), template)
    text = _QUOTED.sub("X", bare)
    main = main_list(words)
    found = []
    for pointer, record in words.records.items():
        if not pointer or not record.noun:
            continue
        names = {pointer.rsplit("/", 1)[-1].replace("_", " "), plural(record.noun)}
        if _is_wanted(
            text, names, main=pointer == main, told=any(one.startswith(pointer) for one in words.outputs)
        ):
            found.append(pointer)
    return tuple(found)


def _is_wanted(text: str, names: set[str], *, main: bool, told: bool) -> bool:
    alone = re.compile(r"\b(" + "|".join(map(re.escape, sorted(names))) + r")\b", re.I)
    parts = list(_parts(text))
    if not main:
        named = any(
            alone.search(part) and not _COUNTED.search(part) and not _ONE.search(part) for part in parts
        )
        return named or (told and any(_CONTENTS.search(part) and not _ONE.search(part) for part in parts))
    if _ALL.search(text) and (not _ONE.search(text) or _LISTED.search(text)):
        return True
    if any(alone.search(part) and not _ONE.search(part) and not _COUNTED.search(part) for part in parts):
        return True
    several = re.compile(_SEVERAL.pattern % "|".join(map(re.escape, sorted(names))), re.I)
    if any(_OPEN.search(part) and not _ONE.search(part) and not _COUNTED.search(part) for part in parts):
        return True
    if any(several.search(part) and not _COUNTED.search(part) for part in parts):
        return True
    return not _ONE.search(text)


def lists_told(wanted: tuple[str, ...], template: str, words: ToolWording) -> tuple[str, ...]:
    """Return the lists that an answer tells: where no report tells the main one, only a request for all of it."""
    main = main_list(words)
    if not main or main not in wanted or any(f"{{{main}*}}" in one for one in words.report):
        return wanted
    return wanted if _RANKED.search(template) else tuple(one for one in wanted if one != main)


def _parts(text: str) -> Iterator[str]:
    yield from (part for part in _PARTS.split(text) if part and part.strip())


def plural(noun: str) -> str:
    """Return the plural of a noun."""
    if noun.endswith("person"):
        return noun[:-6] + "people"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


_WHO = re.compile(r"\b(who|whose|whom|whoever)\b|\bowns\b|\bbelongs\b", re.I)
_WHERE = re.compile(r"\bwhere\b", re.I)
_PLACES = frozenset(
    "folder team board notebook warehouse city site district room queue column area address place".split()
)


@lru_cache(maxsize=8192)
def asks_for_field(template: str, pointer: str, semantic: str) -> bool:
    """Say whether a request asks for one field of the answer, as "whose is it" asks for an owner.

    Args:
        template: What is asked.
        pointer: Of the field.
        semantic: Its semantic type.
    """
    word = next((str(one) for one in reversed(parse_pointer(pointer)) if isinstance(one, str)), "")
    text = _PLACEHOLDER.sub("", template)
    if word and re.search(rf"\b{re.escape(word.replace('_', ' '))}\b", text, re.I):
        return True
    if semantic == "person" and _WHO.search(text):
        return True
    return (word in _PLACES or semantic in _PLACES) and bool(_WHERE.search(text))


# -- tone -------------------------------------------------------------------------------------

_VERB = re.compile(
    r"\b(is|are|was|were|be|am|do|does|did|has|have|had|can|can't|could|couldn't|will|won't|would|wouldn't|should|shouldn't"
    r"|shall|may|might|must|mustn't|ought|let|let's|isn't|aren't|don't|doesn't|didn't|hasn't|haven't|need|needs|want|wants"
    r"|goes|go|got|gets|get|make|makes|please|kindly|come|comes|belongs|deserves|looks|takes|costs|says|wonder|think|hope"
    r"|know|like|love|feel|seems|keeps|says|told)\b|\w'(s|re|ve|d|ll|m)\b",
    re.I,
)
_SENTENCE = re.compile(r"[^.?!;:]+[.?!;:]*")
_POLITE = re.compile(
    r"^(kindly|please|may i|might i|would you be so|i would|it would be appreciated|for the (record|books))\b",
    re.I,
)
_STIFF = re.compile(
    r"\b(is|are|be) (required|requested|to be (lodged|registered|effected))\b|\bwith effect from\b", re.I
)
_SLANG = re.compile(
    r"\b(skint|kitty|bung|chuck|chancer|whopper|cough up|knock up|crash|crashing|come on then|long story short|got any|trolley"
    r"|bloke|dude|jetting|lowdown|slap|shove|whack|oi|cheers|twiddling|ta|bin|binned|nosh|quid|faff|sorted|swamped|snowed under"
    r"|squeeze|pipe[ds]?|raid|piggy|pop it|kick[s]? in|bugging|shift|tat|ace|reckon|fancy|gone mad|pills|for a song|know a good|got a decent)\b",
    re.I,
)
_QUICK = frozenset({"terse", "hurried", "casual"})


@lru_cache(maxsize=8192)
def is_curt(template: str) -> bool:
    """Say whether a whole sentence does without a verb, as "{card}: owner, author?" does."""
    text = _QUOTED.sub("X", _PLACEHOLDER.sub("X", _OPTIONAL.sub("", template)))
    text = re.sub(r",? please(?=[.!?]|$)", "", text)
    sentences = [one for one in _SENTENCE.findall(text) if one.strip(" .?!;:")]
    verbless = [one for one in sentences if not _VERB.search(one)]
    return len(verbless) == len(sentences) or (
        bool(verbless) and sentences[0] in verbless and len(verbless[0].split()) < 9
    )


@lru_cache(maxsize=8192)
def fits_register(template: str, register: str) -> bool:
    """Say whether a whole sentence fits a manner of speaking: clipped words the quick ones, "Kindly" the others."""
    if is_curt(template):
        return register in _QUICK
    if _POLITE.match(template) or _STIFF.search(template):
        return register not in _QUICK
    return register != "formal" or not _SLANG.search(template)


_BEFORE = {
    "day": "on|by|for|until|till|from|to|before|after|of|at|with|than|in|over|within",
    "address": "to|for|from|with|at|behind|of|under",
    "time": "from|at|by|before|after|until|till|to",
}


@lru_cache(maxsize=8192)
def takes_description(template: str, argument: str, kind: str) -> bool:
    """Say whether a day, an hour or a sum that is described fits a template.

    "On the day it is due" is said, and not "what the day it is due holds" nor "3 seats, the start of the event".
    """
    before = _BEFORE.get(kind, _BEFORE["day"])
    placed = rf"\b({before})\s*\[?\{{{re.escape(argument)}\}}"
    return "{" + argument + "}" not in template or bool(re.search(placed, template))
