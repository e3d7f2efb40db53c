"""How an output of ACEBench writes its calls: `[name(key='value'), ...]`, read as the benchmark reads it, or any form.

The benchmark's reading takes what Python's own does not call a literal: a bare word is a text, a call inside of a call
is an object. Nothing is evaluated; arithmetic is no value.
"""

from __future__ import annotations

import ast
from typing import Any

from planarena.eval.acting import read_replies

__all__ = ["Written", "read_calls"]

Written = list[tuple[str, dict[str, Any]]]
"""Calls as (name, arguments)."""

_MOST_CHARACTERS = 100_000


def read_calls(value: Any, form: str) -> tuple[Written | None, str]:
    """Read the calls of an output; None, and why, where it writes none."""
    if isinstance(value, str) and form in ("auto", "python"):
        found = _bracketed(value)
        if found is not None:
            return found, ""
    readings = read_replies(value, form)
    calls = [(call.name, call.arguments) for reading in readings for call in reading.calls]
    if calls:
        return calls, ""
    return None, next((reading.problem for reading in readings if reading.problem), "") or "no call"


def _bracketed(text: str) -> Written | None:
    text = text.strip()
    if not text.startswith("[") or not text.endswith("]") or len(text) > _MOST_CHARACTERS:
        return None
    try:
        body = ast.parse(text, mode="eval").body
        if not isinstance(body, ast.List) or not all(isinstance(one, ast.Call) for one in body.elts):
            return None
        return [_call(one) for one in body.elts if isinstance(one, ast.Call)]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


def _call(node: ast.Call) -> tuple[str, dict[str, Any]]:
    return ast.unparse(node.func), {str(key.arg): _value(key.value) for key in node.keywords}


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant():
            return "..." if node.value is Ellipsis else node.value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.List() | ast.Tuple():
            return [_value(one) for one in node.elts]
        case ast.Dict():
            return {
                _value(key): _value(value) for key, value in zip(node.keys, node.values, strict=True) if key
            }
        case ast.Name():
            return node.id
        case ast.Call():
            name, arguments = _call(node)
            return {name: arguments}
    raise ValueError(f"no value: {type(node).__name__}")
