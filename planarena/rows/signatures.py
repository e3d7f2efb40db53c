"""Tools as text in a prompt: whole schemas, one line each, or bare names for small models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from planarena.formats import Call
from planarena.records import canonical_json

__all__ = ["Signatures", "render_call", "render_tools", "signature"]

Signatures = Literal["json", "compact", "names"]

_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "num",
    "boolean": "bool",
    "object": "obj",
    "null": "null",
}
# A list of values longer than this says less than its type, and costs more.
_MOST_VALUES = 12


def render_tools(tools: Iterable[Mapping[str, Any]], signatures: Signatures = "json") -> str:
    """Write tools as text, one a line.

    Args:
        tools: In the OpenAI shape.
        signatures: `json`: the function object with its whole schema; `compact`: name, arguments with types,
            closed lists of values and the description's first sentence; `names`: name and argument names alone.
    """
    if signatures == "json":
        return "\n".join(canonical_json(tool["function"]) for tool in tools)
    return "\n".join(signature(tool, described=signatures == "compact") for tool in tools)


def signature(tool: Mapping[str, Any], *, described: bool = True) -> str:
    """Write one tool on one line; optional arguments end in a question mark.

    Args:
        tool: In the OpenAI shape.
        described: With types and the first sentence of the description.
    """
    function = tool["function"]
    schema = function.get("parameters") or {}
    required = schema.get("required") or ()
    parts = []
    for name, argument in (schema.get("properties") or {}).items():
        part = name if name in required else f"{name}?"
        parts.append(f"{part}: {_type_of(argument)}" if described else part)
    line = f"{function['name']}({', '.join(parts)})"
    text = " ".join(str(function.get("description") or "").split())
    if described and text:
        line += f" - {_first_sentence(text)}"
    return line


def render_call(call: Call, arguments_key: str) -> str:
    """Write a call on one line, as a packed history shows it."""
    return canonical_json({"name": call.name, arguments_key: call.arguments})


def _first_sentence(text: str) -> str:
    head, stop, _ = text.partition(". ")
    return head + "." if stop else text


def _type_of(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    values = schema.get("enum")
    if isinstance(values, list) and 0 < len(values) <= _MOST_VALUES:
        return "|".join(value if isinstance(value, str) else canonical_json(value) for value in values)
    kind = schema.get("type")
    if isinstance(kind, list):
        return "|".join(_TYPES.get(str(one), str(one)) for one in kind)
    if kind == "array":
        return f"[{_type_of(schema.get('items'))}]"
    return _TYPES.get(str(kind), "any")
