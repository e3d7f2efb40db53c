"""Values that descriptions and error messages name, and whether they fit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from planarena.environments.sources.own.naming import Scalar
from planarena.tools.tool import Tool

__all__ = ["CODE", "fits", "is_attribute", "listed_in", "named_in", "properties_of", "search_words"]

# What people go by and no id: a code, a number.
CODE = re.compile(r"\b(code|number|no|ref|reference|key|serial)$")


def fits(value: Any, kind: Any) -> bool:
    """Say whether a value is of a schema's type."""
    kinds = kind if isinstance(kind, list) else [kind]
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, str):
        return "string" in kinds or kinds == [None]
    return "number" in kinds or kinds == [None] or ("integer" in kinds and isinstance(value, int))


def listed_in(message: str) -> list[str]:
    """Return the values that an error message lists as those that are allowed."""
    found = re.search(
        r"(?i)(?:one of|must be|valid|available|allowed|known|choose|expected|supported|options?|are)\b[^:'\"\[(]{0,40}[:'\"\[(]\s*(.{2,160})",
        message,
    ) or re.search(r"(?i)\b(?:one of|must be|either)\s+(.{2,160})", message)
    if found is None:
        return []
    start = found.start(1) - 1
    text = message[start:] if message[start] in "'\"" else found.group(1)
    quoted = re.findall(r"['\"]([^'\"]{1,40})['\"]", text)
    words = quoted or [word.strip(" .[](){}'\"") for word in re.split(r",|\bor\b|\band\b|;", text)]
    return [word for word in words if 0 < len(word) <= 40 and len(word.split()) <= 3][:8]


def named_in(description: str) -> list[str]:
    """Return the values that a description gives as examples or choices."""
    found = re.findall(
        r"(?i)(?:e\.g\.|for example|for instance|such as)[,:]?\s*[`'\"]?([^`'\".,;)\n]{1,40})", description
    )
    found += re.findall(r"['\"`]([^'\"`\s]{1,30})['\"`]", description)
    found += [
        word.strip()
        for part in re.findall(
            r"(?i)(?:one of|either)[: ]+([\w ,-]{3,80})|^\s*([\w-]+(?:, [\w-]+)+ or [\w-]+)\s*\.?\s*$",
            description.strip(),
        )
        for word in re.split(r",|\bor\b", "".join(part))
    ]
    found += re.findall(r"^\s*([\w-]+(?:, [\w-]+)* or [\w-]+)", description) and [
        word.strip()
        for word in re.split(r",|\bor\b", re.findall(r"^\s*([\w-]+(?:, [\w-]+)* or [\w-]+)", description)[0])
    ]
    return list(dict.fromkeys(one.strip() for one in found if one.strip()))[:8]


def search_words(names: list[Any]) -> list[str]:
    """Return what people would search for of the names that they know."""
    found = []
    for name in names:
        if isinstance(name, str):
            words = name.split()
            found.append(name if len(words) <= 2 else max(words, key=len))
    return list(dict.fromkeys(found))[:4]


def properties_of(tool: Tool) -> dict[str, dict[str, Any]]:
    """Return the schemas of the arguments; `true` allows anything, as `{}` does."""
    found: dict[str, Any] = tool.input_schema.get("properties", {})
    return {name: schema if isinstance(schema, dict) else {} for name, schema in found.items()}


def is_attribute(key: str, wanted: str, pool: Sequence[Scalar]) -> bool:
    """Say whether a value is one of a record's own, as its city is, and not what a record is called.

    Args:
        key: What the value is.
        wanted: What is looked for.
        pool: All values that were met.
    """
    if key != wanted or wanted.endswith(" id") or CODE.search(wanted) or wanted in {"sku", "iban", "isbn"}:
        return False
    return any(
        one.key == wanted and not one.pointer.rsplit("/", maxsplit=1)[-1].isdigit() and one.noun != wanted
        for one in pool
    )
