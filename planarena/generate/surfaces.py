"""How people write values: dates, money, times, lists of them, and small objects, in several manners.

Every function takes any JSON value, whether it fits the schema or not: what a source calls a date and is none is
written as it stands.
"""

from __future__ import annotations

import math
from datetime import date, datetime
from functools import lru_cache
from typing import Any

from planarena.environments.sources.generic_wording import words_of

__all__ = ["MANNERS", "surface"]

# A manner is one consistent way of writing: 0 day before month ("7 May 2026", 16:30), 1 month before day ("May 7, 2026",
# 4:30 pm), 2 as data (2026-05-07), 3 and 4 as 0 and 1, but without the present year.
MANNERS = 5
_SHORT_FROM = 3

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


@lru_cache(maxsize=8192)
def _date(text: str, manner: int, year: str) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text
    month = _MONTHS[day.month - 1]
    if manner == 2:
        return text
    short = manner >= _SHORT_FROM and text[:4] == year
    if manner % _SHORT_FROM == 0:
        return f"{day.day} {month}" if short else f"{day.day} {month} {day.year}"
    return f"{month} {day.day}" if short else f"{month} {day.day}, {day.year}"


def _time(text: str, manner: int) -> str:
    if manner % _SHORT_FROM != 1 or not (text[:2].isdigit() and text[2:3] == ":"):
        return text
    hour, minute = int(text[:2]), text[3:5]
    if hour > 23 or len(text) > 5:
        return text
    return f"{(hour - 1) % 12 + 1}:{minute} {'am' if hour < 12 else 'pm'}"


@lru_cache(maxsize=8192)
def _datetime(text: str, manner: int, year: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{_date(moment.date().isoformat(), manner, year)} at {_time(moment.strftime('%H:%M'), manner)}"


def _money(value: Any, manner: int) -> str:
    amount = f"{int(value)}" if isinstance(value, int) or not value % 1 else f"{value:.2f}"
    return (f"€{amount}", f"{amount} euros", f"{amount} EUR", f"€{amount}", f"€{amount}")[manner]


def _plain_number(value: Any) -> str:
    return f"{int(value)}" if isinstance(value, int) or value.is_integer() else f"{value}"


def surface(
    value: Any,
    schema: dict[str, Any],
    manner: int = 0,
    words: dict[Any, str] | None = None,
    year: str = "",
) -> str:
    """Write a value as people would.

    Args:
        value: A JSON value.
        schema: The value's schema, with `x-surface`.
        manner: 0 to `MANNERS` - 1.
        words: The words of enumeration values and booleans.
        year: The present year, which the short manners leave out.

    Returns:
        The text. Lists are joined with commas and "and"; an object stands in brackets, its values after their names.
    """
    if isinstance(value, dict):
        return f"({', '.join(_field(key, item, schema, manner, year) for key, item in value.items())})"
    if isinstance(value, list):
        inner = schema.get("items", {})
        inner = inner if isinstance(inner, dict) else {}
        parts = [surface(item, inner, manner, words, year) for item in value]
        return (
            parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else "none"
        )
    if words is not None and value in words:
        return words[value]
    kind = schema.get("x-surface", "plain")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number_surface(value, kind, manner)
    if not isinstance(value, str):
        return "nothing" if value is None else str(value)
    if kind == "date":
        return _date(value, manner, year)
    if kind == "time":
        return _time(value, manner)
    if kind == "datetime":
        return _datetime(value, manner, year)
    if kind == "word":
        return value.replace("_", " ")
    if kind == "choice":
        return words_of(value)
    return value


def _field(key: str, value: Any, schema: dict[str, Any], manner: int, year: str) -> str:
    """Write a value of an object after its name: a name of the schema's in words, one that the user chose as it is."""
    known = schema.get("properties", {})
    known = known if isinstance(known, dict) else {}
    inner = known.get(key, {})
    chosen = key not in known and not any(word in schema for word in ("$ref", "allOf", "anyOf", "oneOf"))
    text = surface(value, inner if isinstance(inner, dict) else {}, manner, None, year)
    if isinstance(value, str) and ("," in text or " and " in text):
        text = f'"{text}"'
    return f"{key if chosen else words_of(key)} {text}"


def _number_surface(value: Any, kind: Any, manner: int) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if kind == "money":
        return _money(value, manner)
    text = _plain_number(value)
    if kind == "percent":
        return f"{text} percent" if manner == 1 else f"{text}%"
    if kind == "temperature":
        return f"{text} °C" if manner in (0, 3) else f"{text} degrees"
    if kind == "minutes":
        return f"{text} minute{'' if value == 1 else 's'}"
    return text
