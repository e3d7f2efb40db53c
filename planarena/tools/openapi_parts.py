"""Parts of OpenAPI operations: arguments and their places, media types, successes and their examples, descriptions."""

from __future__ import annotations

import json
from typing import Any

from planarena.tools.repair import clean_value

__all__ = ["Arguments", "describe_operation", "media_of", "schema_of_example", "success_of"]


class Arguments:
    """The arguments of one operation; two of one name are told apart by their place."""

    def __init__(self) -> None:
        self.properties: dict[str, Any] = {}
        self.required: list[str] = []
        self.placement: dict[str, tuple[str, str]] = {}
        self.has_body = False

    def add(self, name: str, location: str, schema: Any, required: bool) -> None:
        """Add one."""
        key, number = name, 2
        while key in self.properties:
            key = f"{location}_{name}" if f"{location}_{name}" not in self.properties else f"{name}_{number}"
            number += 1
        self.properties[key] = schema
        self.placement[key] = (location, name)
        if required:
            self.required.append(key)


def media_of(content: Any) -> tuple[str, dict[str, Any] | None]:
    """Choose JSON where there is JSON, else the first form or other type."""
    if not isinstance(content, dict):
        return "", None
    options = [(str(name), value) for name, value in content.items() if isinstance(value, dict)]
    for wanted in ("json", "x-www-form-urlencoded", "multipart", ""):
        for name, value in options:
            if wanted in name.lower():
                return name, value
    return "", None


def success_of(response: dict[str, Any]) -> tuple[Any, Any]:
    """Return the schema and an example of a response, each None where there is none."""
    raw, example = response.get("schema"), None
    examples = response.get("examples")
    if isinstance(examples, dict) and examples:  # OpenAPI 2: by media type
        example = next((value for name, value in examples.items() if "json" in str(name)), None)
    _, content = media_of(response.get("content"))
    if content is not None:
        raw = content.get("schema") if raw is None else raw
        example = content.get("example")
        named = content.get("examples")
        if example is None and isinstance(named, dict) and named:
            first = next(iter(named.values()))
            example = first.get("value") if isinstance(first, dict) else None
    if isinstance(example, str) and example.lstrip()[:1] in {"{", "["}:
        try:
            example = json.loads(example)
        except (ValueError, RecursionError):
            example = None
    return raw, example


def schema_of_example(value: Any, depth: int = 0) -> dict[str, Any]:
    """Return the schema that an example suggests: types, properties, the first item of each list."""
    if isinstance(value, dict) and depth < 20:
        return {
            "type": "object",
            "properties": {name: schema_of_example(inner, depth + 1) for name, inner in value.items()},
        }
    if isinstance(value, list) and depth < 20:
        return {"type": "array", **({"items": schema_of_example(value[0], depth + 1)} if value else {})}
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": kinds[type(value)], "examples": [value]} if type(value) in kinds else {}


def describe_operation(operation: dict[str, Any], item: dict[str, Any], method: str, path: str) -> str:
    """Return the summary and description of an operation, else of its path, else the method and path."""
    parts: list[str] = []
    for holder in (operation, item):
        for key in ("summary", "description"):
            text = holder.get(key)
            if isinstance(text, str) and text.strip() and clean_value(text) and text.strip() not in parts:
                parts.append(text.strip())
        if parts:
            break
    if not parts:
        return f"{method.upper()} {path}"
    if len(parts) == 2 and parts[1].startswith(parts[0].rstrip(".")):
        parts = parts[1:]
    return ". ".join(
        part.rstrip(".") if number < len(parts) - 1 else part for number, part in enumerate(parts)
    )
