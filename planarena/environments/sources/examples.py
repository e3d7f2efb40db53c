"""What a schema's own examples and bounds say of its values."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["fits", "wants_code", "within"]


def wants_code(schema: dict[str, Any], most: int) -> bool:
    """Say whether a place is written by its code, as "US": by its length, its examples or its description."""
    examples = [one for one in schema.get("examples", ()) if isinstance(one, str)]
    told = re.search(
        r"(?i)\biso\W?3166|\b(two|three|2|3)\W(letter|char)|abbreviat", str(schema.get("description", ""))
    )
    short = bool(examples) and all(re.fullmatch(r"[A-Z]{2,3}", one) for one in examples)
    return most <= 3 or short or told is not None or "pattern" in schema


def fits(value: Any, schema: dict[str, Any], kind: str) -> bool:
    """Say whether an example is of the schema; of texts only what is short enough to be one value."""
    if kind == "string":
        if not isinstance(value, str) or not 0 < len(value) <= min(200, int(schema.get("maxLength", 200))):
            return False
        pattern = schema.get("pattern")
        return len(value) >= int(schema.get("minLength", 0)) and pattern is None
    if kind == "boolean":
        return isinstance(value, bool)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (kind == "number" or isinstance(value, int)) and within(value, schema)


def within(value: float, schema: dict[str, Any]) -> bool:
    """Say whether a number lies within the bounds of a schema."""
    return (
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and ("exclusiveMinimum" not in schema or schema["exclusiveMinimum"] < value)
        and ("exclusiveMaximum" not in schema or value < schema["exclusiveMaximum"])
    )
