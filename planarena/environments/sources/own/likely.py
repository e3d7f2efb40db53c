"""Values that people would say, where a name tells what it is about and the schema does not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random
from typing import Any

from planarena.environments.sources.field_kinds import kind_of_number, kind_of_text, moment_of
from planarena.environments.sources.openapi.identifiers import singular, words_of
from planarena.environments.sources.things import has_people, has_titles
from planarena.environments.sources.vocabulary import Vocabulary

__all__ = ["likely_value"]

_NUMBERS: tuple[tuple[str, tuple[float, ...]], ...] = (
    (r"\b(salary|income|wage)\b", (28000, 36000, 52000, 64000)),
    (r"\b(principal|loan|mortgage|budget|deposit amount|capital)\b", (12000, 25000, 180000, 240000)),
    (r"\b(interest|rate|apr|vat|tip|tax percent)\b", (2.5, 3.5, 4.2, 5)),
    (r"\b(weight|weight kg|kg|kilograms)\b", (1.2, 2.5, 4, 7.5)),
    (r"\b(grams|weight g)\b", (150, 250, 500, 800)),
    (r"\b(distance|km|kilometres|kilometers|miles)\b", (3, 8, 12.5, 42)),
    (r"\b(temperature|celsius|fahrenheit|degrees)\b", (12, 18, 21, 30)),
    (r"\b(height|width|length|depth|cm)\b", (40, 75, 120, 180)),
    (r"\b(years|term)\b", (5, 10, 20, 30)),
    (r"\b(value|amount|price|cost|total|fee|payment|balance) (eur|usd|gbp|euros|dollars)$", (45, 120, 380, 950)),
    (r"\b(minutes|duration)\b", (15, 30, 45, 60)),
    (r"\b(days|nights)\b", (2, 3, 5, 7)),
    (r"\b(hours)\b", (2, 4, 6, 8)),
    (r"\b(quantity|count|amount of|copies|servings|people|guests|persons|seats|limit|top|max results|n)\b", (2, 3, 4, 6)),
    (r"^(a|b|x|y|value|number|first|second|left|right)$", (4, 7, 12, 25, 31, 48)),
)  # fmt: skip
_PEOPLE = r"\b(full name|first name|last name|surname|passenger|traveller|employee|recipient|customer|sender|contact|guest|member|employee|patient|student|user|person|who|owner|assignee|author|attendee|player|colleague|friend|client|passenger|borrower|tenant|driver|manager|teacher|host)$"


def likely_value(
    name: str, noun: str, schema: Mapping[str, Any], number: int, *, writes: bool = False
) -> Any:
    """Return a value for an argument, or None where its name says nothing.

    Args:
        name: The argument's.
        noun: What its tool is about.
        schema: Its schema.
        number: Different numbers give different values.
        writes: It is written down: a day that no word says to be past lies ahead.
    """
    words, kind = words_of(name), schema.get("type", "string")
    rng = Random(f"{name} {noun} {number}")
    if any(key in schema for key in ("pattern", "enum", "const", "minLength")):
        return None
    if kind in {"integer", "number"}:
        if any(key in schema for key in ("minimum", "maximum", "multipleOf", "exclusiveMinimum")):
            return None
        for pattern, values in _NUMBERS:
            if re.search(pattern, words):
                value = values[(number + len(name) + len(noun)) % len(values)]
                return int(value) if kind == "integer" or value == int(value) else value
        return None if kind_of_number(name) else (3, 8, 14, 20)[(number + len(name)) % 4]
    if kind == "string" and (
        schema.get("format") == "date" or (not schema.get("format") and kind_of_text("", name) == "date")
    ):
        return (
            f"2026-03-{3 + (11 * number + len(name)) % 27:02d}"
            if writes and moment_of(name) in {"past", "start", "end"}
            else None
        )
    if kind == "array" and (schema.get("items") or {}).get("type") == "string":
        one = likely_value(singular(words), noun, schema["items"], number, writes=writes)
        return None if one is None else [one]
    if kind != "string" or schema.get("format"):
        return None
    if re.search(_PEOPLE, words) or (not kind_of_text("", name) and has_people(words)):
        return Vocabulary.person(rng)
    if not kind_of_text("", name) and has_titles(words):
        return Vocabulary().title(words, rng, number)
    return None
