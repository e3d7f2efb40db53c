"""Two JSON Schemas that must both hold, as one; the type that a schema asks for."""

from __future__ import annotations

from typing import Any

__all__ = ["fold", "kind_of"]


def kind_of(schema: dict[str, Any]) -> str:
    """Return the JSON type that a schema asks for, or ""."""
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if kind is None:
        if "properties" in schema or "required" in schema or "additionalProperties" in schema:
            return "object"
        if "items" in schema or "prefixItems" in schema:
            return "array"
        if any(key in schema for key in ("minimum", "maximum", "multipleOf")):
            return "number"
        return ""
    return str(kind)


def fold(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """Join two schemas that must both hold; where they conflict the caller's validation decides."""
    joined = dict(left)
    for key, value in right.items():
        if key not in joined or joined[key] == value:
            joined[key] = value
        elif key == "properties":
            both = {n: {"allOf": [joined[key][n], s]} if n in joined[key] else s for n, s in value.items()}
            joined[key] = {**joined[key], **both}
        elif key in {"items", "additionalProperties"} and isinstance(value, dict):
            # An envelope says `items: {}`, and who fills it says of what.
            joined[key] = {"allOf": [joined[key], value]} if isinstance(joined[key], dict) else value
        elif key == "required":
            joined[key] = [*joined[key], *(name for name in value if name not in joined[key])]
        elif key in {"minimum", "minLength", "minItems", "minProperties", "exclusiveMinimum"}:
            joined[key] = max(joined[key], value)
        elif key in {"maximum", "maxLength", "maxItems", "maxProperties", "exclusiveMaximum"}:
            joined[key] = min(joined[key], value)
        elif key == "enum":
            joined[key] = [one for one in joined[key] if one in value] or joined[key]
        elif key in {"oneOf", "anyOf"}:
            joined["allOf"] = [*joined.get("allOf", []), {key: value}]
        elif key == "type":
            joined[key] = _common(joined[key], value)
        elif key in {"description", "title", "default", "examples"}:
            joined[key] = value
    return joined


def _common(left: Any, right: Any) -> Any:
    lefts, rights = [x if isinstance(x, list) else [x] for x in (left, right)]
    both = [kind for kind in lefts if kind in rights]
    if not both:
        both = ["integer"] if {"integer", "number"} <= {*lefts, *rights} else lefts
    return both[0] if len(both) == 1 else both
