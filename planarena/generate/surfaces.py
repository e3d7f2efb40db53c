"""How people write values: dates, money, times, lists of them, and small objects, in several manners."""

from __future__ import annotations

from datetime import date, datetime
from functools import lru_cache
from typing import Any

from planarena.environments.sources.generic_wording import words_of

__all__ = ["MANNERS", "surface"]

# A manner is one consistent way of writing; manner 0 is the plain one that plans and answers use.
MANNERS = 3

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


@lru_cache(maxsize=4096)
def _date(text: str, manner: int) -> str:
    day = date.fromisoformat(text)
    month = _MONTHS[day.month - 1]
    if manner == 0:
        return f"{day.day} {month} {day.year}"
    return f"{month} {day.day}, {day.year}" if manner == 1 else text


def _time(text: str, manner: int) -> str:
    if manner != 1:
        return text
    hour, minute = int(text[:2]), text[3:5]
    return f"{(hour - 1) % 12 + 1}:{minute} {'am' if hour < 12 else 'pm'}"


@lru_cache(maxsize=4096)
def _datetime(text: str, manner: int) -> str:
    moment = datetime.fromisoformat(text)
    return f"{_date(moment.date().isoformat(), manner)} at {_time(moment.strftime('%H:%M'), manner)}"


def _money(value: float, manner: int) -> str:
    amount = f"{value:.2f}" if value % 1 else f"{int(value)}"
    return (f"€{amount}", f"{amount} euros", f"{amount} EUR")[manner]


def _plain_number(value: float) -> str:
    return f"{int(value)}" if float(value).is_integer() else f"{value}"


def surface(value: Any, schema: dict[str, Any], manner: int = 0, words: dict[Any, str] | None = None) -> str:
    """Write a value as people would.

    Args:
        value: A JSON value.
        schema: The value's schema, with `x-surface`.
        manner: 0 to `MANNERS` - 1.
        words: The words of enumeration values and booleans.

    Returns:
        The text. Lists are joined with commas and "and"; an object stands in brackets, its values after their names.
    """
    if isinstance(value, dict):
        return f"({', '.join(_field(key, item, schema, manner) for key, item in value.items())})"
    if isinstance(value, list):
        inner = schema.get("items", {})
        parts = [surface(item, inner if isinstance(inner, dict) else {}, manner, words) for item in value]
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
        return str(value)
    try:
        if kind == "date":
            return _date(value, manner)
        if kind == "time":
            return _time(value, manner)
        if kind == "datetime":
            return _datetime(value, manner)
    except ValueError:
        return value  # written in another way: only in contrast
    return value.replace("_", " ") if kind == "word" else value


def _field(key: str, value: Any, schema: dict[str, Any], manner: int) -> str:
    """Write a value of an object after its name: a name of the schema's in words, one that the user chose as it is."""
    known = schema.get("properties", {})
    inner = known.get(key, {})
    chosen = key not in known and not any(word in schema for word in ("$ref", "allOf", "anyOf", "oneOf"))
    text = surface(value, inner if isinstance(inner, dict) else {}, manner)
    if isinstance(value, str) and ("," in text or " and " in text):
        text = f'"{text}"'
    return f"{key if chosen else words_of(key)} {text}"


def _number_surface(value: float, kind: str, manner: int) -> str:
    if kind == "money":
        return _money(value, manner)
    text = _plain_number(value)
    if kind == "percent":
        return f"{text} percent" if manner == 1 else f"{text}%"
    if kind == "temperature":
        return f"{text} degrees" if manner else f"{text} °C"
    if kind == "minutes":
        return f"{text} minute{'' if value == 1 else 's'}"
    return text
