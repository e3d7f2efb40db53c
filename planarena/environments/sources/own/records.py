"""What the results of own tools hold: records and how they are spoken of, and what an answer tells of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from planarena.environments.sources.generic_wording import is_sayable, reportable, words_of
from planarena.environments.sources.own.asking import participle, unit_of
from planarena.environments.sources.own.naming import Deed, is_id, singular
from planarena.environments.wording import Record, parse_pointer
from planarena.tools.tool import Tool

__all__ = ["ENVELOPES", "MAKERS", "NAMES", "outputs_of", "plain_list", "quote_of", "records_in"]

NAMES = ("name", "title", "subject", "label", "full name", "display name", "summary", "headline")
_TELLING = ("status", "state", "price", "total", "amount", "balance", "date", "due", "when", "author", "owner", "city", "stock", "quantity", "rating", "priority", "email", "phone", "category", "type", "score", "text")  # fmt: skip
_MOST_FACTS = 2
_MOST_HELD = 4
_CODES = r"\b((tracking|confirmation|booking|order|invoice|ticket|receipt|reservation|case|claim) (number|code|no|reference)|confirmation|reference|receipt)$"
_LONGEST_CODE = 20
_OTHER_NAMES = ("owner", "recipient", "customer", "guest", "company", "product", "item", "email", "city")
_PROSE = r"\b(text|body|message|content|description|note|notes|comment|summary)$"
MAKERS = {"author", "artist", "writer", "composer", "director"}
ENVELOPES = {
    "result",
    "results",
    "items",
    "data",
    "rows",
    "records",
    "entries",
    "response",
    "item",
    "record",
    "value",
}


def records_in(sample: Any, deed: Deed, given: Collection[str] = ()) -> list[tuple[str, Record, bool]]:
    """Return (pointer, how its records are spoken of, whether it is a list) of the lists and the object in a result.

    Args:
        sample: The result.
        deed: What the tool does.
        given: Names of arguments, in words: what the user said is not told back of each record.
    """
    found: list[tuple[str, Record, bool]] = []

    def look(value: Any, pointer: str, noun: str, depth: int) -> None:
        if isinstance(value, list) and value and isinstance(value[0], dict):
            if record := _record(value[0], noun, given) or _nameless(value[0], noun):
                found.append((pointer, record, True))
        elif isinstance(value, dict) and depth < 3:
            if (record := _record(value, noun, given)) and not found:
                found.append((pointer, record, False))
            for key, inner in value.items():
                if isinstance(inner, dict | list) and re.search(r"[{}\[\]/~|*]", key) is None:
                    below = noun if words_of(key) in ENVELOPES else singular(words_of(key))
                    look(inner, f"{pointer}/{key}", below, depth + 1)

    look(sample, "", deed.noun or "one", 0)
    return found


def _record(value: Mapping[str, Any], noun: str, given: Collection[str]) -> Record | None:
    name = _name_field(value)
    if name is None:
        return _numbered(value)
    own = [key for key in value if is_id(key) and words_of(key).endswith(" id")]
    noun = words_of(own[0]).removesuffix(" id") if own and list(value).index(own[0]) == 0 else noun
    facts = [
        key
        for key in _facts(value)
        if key != name and words_of(key) not in given and re.search(_PROSE, words_of(key)) is None
    ][:1]
    quote = quote_of(name)
    line = f"{quote}{{{name}}}{quote}" + "".join(
        f"[ by {{{key}}}]" if words_of(key) in MAKERS else f"[ ({_with_unit(key)})]" for key in facts
    )
    return Record(noun, f"{quote}{{{name}}}{quote}", line)


def _numbered(value: Mapping[str, Any]) -> Record | None:
    """Speak of records by the number that people go by, as "room 101"; None where there is none."""
    for key, one in value.items():
        found = re.fullmatch(r"(\w+) (?:number|no)", words_of(key))
        if (
            found
            and isinstance(one, int | str)
            and not isinstance(one, bool)
            and len(str(one)) <= _LONGEST_CODE
            and _plain(key)
        ):
            facts = [
                other
                for other in _facts(value)
                if other != key and re.search(_PROSE, words_of(other)) is None
            ][:1]
            line = "".join(f"[ ({_with_unit(other)})]" for other in facts)
            return Record(found[1], f"{found[1]} {{{key}}}", f"{found[1]} {{{key}}}{line}")
    return None


def _with_unit(key: str) -> str:
    """Name a field with its value and its unit, as "value 12 euros"."""
    label, unit = unit_of(key)
    return f"{label} {{{key}}}{unit}"


def _nameless(value: Mapping[str, Any], noun: str) -> Record | None:
    """Speak of records that have neither a name nor an id by what they hold, as "day 1 (high 15, low 8)"."""
    keys = [key for key in value if _is_plain_value(value[key]) and _plain(key)]
    if not 2 <= len(keys) <= _MOST_HELD or len(keys) < len(value) or any(map(is_id, value)):
        return None
    first, *rest = (_with_unit(key) for key in keys)
    return Record(noun, f"{{{keys[0]}}}", f"{first} ({', '.join(rest)})")


def _is_code(words: str, value: Any) -> bool:
    """Say whether a field is what people note down when something is made, however it is spelt: a tracking number."""
    return (
        isinstance(value, str | int)
        and len(str(value)) <= _LONGEST_CODE
        and re.search(_CODES, words) is not None
    )


def _is_plain_value(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and is_sayable(value)


def quote_of(name: str) -> str:
    """Return the quotation mark of what something is called: titles have one, names of people and things have none."""
    return '"' if re.search(r"(title|subject|headline|summary|label)$", words_of(name)) else ""


def _name_field(value: Mapping[str, Any]) -> str | None:
    keys = {
        words_of(key): key
        for key, one in value.items()
        if isinstance(one, str) and is_sayable(one) and _plain(key)
    }
    for word in NAMES:
        for words, key in keys.items():
            if words == word or (words.endswith(f" {word}") and word in {"name", "title"}):
                return key
    return next((keys[word] for word in _OTHER_NAMES if word in keys), None)


def _plain(key: str) -> bool:
    return re.fullmatch(r"[A-Za-z][\w -]{0,39}", key) is not None


def _facts(value: Mapping[str, Any]) -> list[str]:
    """Return the fields that people want to know, the more telling first."""
    ranked = []
    for place, (key, one) in enumerate(value.items()):
        words = words_of(key)
        if (
            isinstance(one, bool)
            or not isinstance(one, str | int | float)
            or not (is_sayable(one) or _is_code(words, one))
            or not _plain(key)
        ):
            continue
        if (
            is_id(key)
            or re.search(r"\b(url|uri|hash|etag|stamp|timestamp|created|updated|at)\b", words)
            or (isinstance(one, str) and len(one) > 60)
        ):
            continue
        rank = next((n for n, word in enumerate(_TELLING) if word in words.split()), len(_TELLING))
        ranked.append((rank, place, key))
    return [key for _, _, key in sorted(ranked)]


def outputs_of(tool: Tool, deed: Deed, sample: Any, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Choose what an answer tells of a result, as JSON pointers."""
    for pointer, record, is_list in records_in(sample, deed):
        if is_list:
            keys: list[str] = re.findall(r"\{(\w[^{}]*)\}", record.name)
            return tuple(f"{pointer}/0/{key}" for key in keys)
        if not isinstance(value := _at(sample, pointer), dict):
            continue
        facts = [key for key in _facts(value) if value[key] not in given.values()]
        name = _name_field(value)
        if tool.effects != "read":
            facts = _news_of([key for key in facts if key != name], value, tool, deed)
            return tuple(f"{pointer}/{key}" for key in facts)
        chosen = ([name] if name and value[name] not in given.values() else []) + [
            key for key in facts if key != name
        ]
        if chosen:
            return tuple(f"{pointer}/{key}" for key in chosen[: _MOST_FACTS + 1])
    if tool.effects != "read" and not isinstance(sample, dict):
        return ()
    strings = plain_list(sample)
    if strings is not None:
        return (f"{strings}/0",)
    if isinstance(sample, dict):
        facts = [key for key in _facts(sample) if sample[key] not in given.values()]
        if tool.effects != "read":
            facts = _news_of(facts, sample, tool, deed)
        if facts:
            return tuple(f"/{key}" for key in facts[:_MOST_FACTS])
        if tool.effects != "read":
            return ()
    return reportable(sample)


def _news_of(facts: Sequence[str], value: Mapping[str, Any], tool: Tool, deed: Deed) -> list[str]:
    """Return what is told of something made or changed: the code to note down, or else the first thing that is new."""
    news = [key for key in facts if _is_news(key, tool.effects, deed, value[key])]
    codes = [key for key in news if re.search(_CODES, words_of(key))] if tool.effects == "create" else []
    return [*codes[:1], *(key for key in news if key not in codes)][: 2 if codes else 1]


def _is_news(key: str, effect: str, deed: Deed, value: Any) -> bool:
    """Say whether people want to hear a field of what they just made or changed: not what they said, nor what was so before."""
    words = words_of(key)
    # A room that is booked is no news, nor that what was closed is closed.
    told = {deed.noun, deed.what, *deed.what.split()}
    if effect == "update" and words == deed.noun and isinstance(value, int | float):
        return True  # what it is now
    if (
        effect == "delete"
        or words in told
        or str(value).lower() in {participle(deed.verb or "do"), deed.verb}
    ):
        return False
    news = r"\b(balance|left|remaining|due in days|stock|status|state)\b" if effect == "update" else r"\b(total|fee|cost|room|seat|locker|confirmation|reference|due in days)\b|" + _CODES  # fmt: skip
    return re.search(news, words) is not None


def plain_list(sample: Any) -> str | None:
    """Return where a result holds a list of plain values, None where it does not."""
    places: list[tuple[str, Any]] = [("", sample)]
    if isinstance(sample, dict):
        places += [(f"/{key}", one) for key, one in sample.items() if _plain(key)]
    for pointer, value in places:
        if (
            isinstance(value, list)
            and value
            and all(isinstance(one, str | int | float) and is_sayable(one) for one in value[:8])
        ):
            return pointer
    return None


def _at(value: Any, pointer: str) -> Any:
    for word in parse_pointer(pointer):
        try:
            value = value[word]
        except (KeyError, IndexError, TypeError):
            return None
    return value
