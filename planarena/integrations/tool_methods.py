"""Tools as typed methods: what trainers read from signatures, type hints and Google docstrings.

No source text is generated. A method takes whatever a model writes; its `__signature__`, hints and docstring say what
the tool's schema says, so a name or a description of a tool is data wherever it comes from.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import reduce
from keyword import iskeyword
from operator import or_
from typing import Any, Literal

__all__ = ["hint_of", "tool_method"]

_BASIC: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": type(None),
    "object": dict,
}


def hint_of(schema: Any) -> Any:
    """Return the type hint that says most of a JSON Schema: lists, choices, unions; `Any` where nothing fits."""
    if not isinstance(schema, Mapping):
        return Any
    choices = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(choices, list) and choices and all(type(one) in (str, int, bool) for one in choices):
        return Literal[tuple(choices)]
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list) and schema[word]:
            return _union([hint_of(one) for one in schema[word]])
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return _union([hint_of({**schema, "type": one}) for one in kinds])
    if kinds == "array":
        items = hint_of(schema.get("items"))
        return list if items is Any else list.__class_getitem__(items)
    return _BASIC.get(str(kinds), Any)


def _union(hints: list[Any]) -> Any:
    if not hints or Any in hints:
        return Any
    if type(None) in hints:
        rest = [one for one in hints if one is not type(None)]
        return reduce(or_, [_union(rest), type(None)]) if rest else type(None)
    return reduce(or_, hints)


def tool_method(tool: Mapping[str, Any], act: Callable[[Any, str, dict[str, Any]], str], name: str) -> Any:
    """Return a method that calls a tool.

    Args:
        tool: In the OpenAI shape.
        act: Given the instance, the tool's wire name and the arguments; returns what the model is shown.
        name: Of the method.
    """
    function = tool["function"]
    wire_name = str(function["name"])
    schema = function.get("parameters") or {}
    properties: Mapping[str, Any] = schema.get("properties") or {}
    required = set(schema.get("required") or ())
    names = {_identifier(key): key for key in properties}

    def method(self: Any, /, **arguments: Any) -> str:
        return act(self, wire_name, {names.get(key, key): value for key, value in arguments.items()})

    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
    lines, hints = [], {}
    for written, key in names.items():
        hint = hints[written] = hint_of(properties[key])
        default = inspect.Parameter.empty if key in required else _default(properties[key])
        parameters.append(
            inspect.Parameter(written, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        )
        meaning = _line(properties[key].get("description") if isinstance(properties[key], Mapping) else "")
        lines.append(f"    {written}: {meaning or key.replace('_', ' ').capitalize() + '.'}")
    method.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    method.__annotations__ = {**hints, "return": str}
    method.__name__ = method.__qualname__ = name
    text = _line(function.get("description")) or f"Call {wire_name}."
    method.__doc__ = "\n".join([text, *(["", "Args:", *lines] if lines else [])])
    return method


def _identifier(key: str) -> str:
    """Return a parameter's name as Python takes it."""
    text = "".join(one if one.isalnum() or one == "_" else "_" for one in key) or "_"
    text = f"_{text}" if text[0].isdigit() else text
    return f"{text}_" if iskeyword(text) else text


def _default(schema: Any) -> Any:
    return schema.get("default") if isinstance(schema, Mapping) else None


def _line(text: Any) -> str:
    """Return a description on one line: a docstring's sections and arguments begin at line breaks."""
    return " ".join(str(text or "").split())
