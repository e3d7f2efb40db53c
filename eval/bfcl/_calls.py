"""Reading a model's calls without executing anything: Python call syntax and JSON arguments.

Runs inside the sandbox, on the standard library alone. It gives what bfcl-eval's `ast_parse` and
`decode_execute` give, with two deviations: (1) arithmetic between literals is computed here, within
bounds, where bfcl-eval calls `eval`, so an expression with a name or a call in it is not a call at all;
(2) calls to execute stay data (name and arguments) instead of becoming source text.
"""

from __future__ import annotations

import ast
import json
import keyword
import math
import operator
from dataclasses import dataclass
from typing import Any

MAX_CHARACTERS = 1_000_000
_MAX_BITS = 20_000
_MAX_LENGTH = 100_000


class NotACall(Exception):  # noqa: N818  an outcome, not a fault
    """The text does not decode into calls."""


@dataclass(frozen=True)
class Call:
    """One call to execute; an argument may be a call again."""

    name: str
    arguments: dict[Any, Any]


# --- Python call syntax -> [{name: arguments}] -------------------------------------------------------


def parse_calls(text: str) -> list[dict[str, dict[Any, Any]]]:
    """Decode `[f(x=1), g(y="a")]` or a single call; positional arguments are dropped, as bfcl-eval does."""
    if len(text) > MAX_CHARACTERS:
        raise NotACall(f"longer than {MAX_CHARACTERS} characters")
    try:
        tree = ast.parse(text.strip().strip("'"), mode="eval").body
        nodes = [tree] if isinstance(tree, ast.Call) else getattr(tree, "elts", None)
        if nodes is None or not all(isinstance(node, ast.Call) for node in nodes):
            raise NotACall("not a call or a list of calls")
        return [_call(node) for node in nodes]
    except NotACall:
        raise
    except (
        SyntaxError,
        ValueError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        MemoryError,
    ) as error:
        raise NotACall(f"{type(error).__name__}: {error}") from error


def decode_text(text: str) -> list[dict[str, dict[Any, Any]]]:
    """Decode a prompted model's answer: a list of calls, its brackets optional."""
    return parse_calls(bracketed(text))


def bracketed(text: str) -> str:
    """Put the brackets of a list around an answer that lacks them."""
    text = text.strip("`\n ")
    if not text.startswith("["):
        text = "[" + text
    return text if text.endswith("]") else text + "]"


def _call(node: ast.Call) -> dict[str, dict[Any, Any]]:
    parts, function = [], node.func
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    if isinstance(function, ast.Name):
        parts.append(function.id)
    return {".".join(reversed(parts)): {item.arg: _value(item.value) for item in node.keywords}}


def _value(node: ast.expr | None) -> Any:
    if isinstance(node, ast.Constant):
        return "..." if node.value is Ellipsis else node.value
    if isinstance(node, ast.UnaryOp):
        operand: Any = node.operand
        return -operand.value  # what is no literal has no value, and is caught above
    if isinstance(node, ast.List):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_value(item) for item in node.elts)
    if isinstance(node, ast.Dict):
        return {_value(key): _value(item) for key, item in zip(node.keys, node.values, strict=True)}
    if isinstance(node, ast.BinOp):
        return _compute(node)
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call):
        return _call(node) if node.keywords else ast.unparse(node)
    if isinstance(node, ast.Subscript):
        return f"{ast.unparse(node.value)}[{ast.unparse(node.slice)}]"
    raise NotACall(f"an argument is {type(node).__name__}")


_OPERATORS: dict[type[ast.operator], Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip


def _compute(node: ast.expr) -> Any:
    """Evaluate arithmetic between literals; the operands are bounded before the operator is applied."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        items = [_compute(item) for item in node.elts]
        return items if isinstance(node, ast.List) else tuple(items)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return -_compute(node.operand) if isinstance(node.op, ast.USub) else +_compute(node.operand)
    if isinstance(node, ast.BinOp):
        left, right = _compute(node.left), _compute(node.right)
        _bound(node.op, left, right)
        return _OPERATORS[type(node.op)](left, right)
    raise NotACall(f"an argument computes with {type(node).__name__}")


def _bound(sign: ast.operator, left: Any, right: Any) -> None:
    if type(sign) not in _OPERATORS:
        raise NotACall("an operator that is not arithmetic")
    if isinstance(left, (str, bytes)) and isinstance(sign, ast.Mod):
        raise NotACall("string formatting in an argument")
    if isinstance(sign, (ast.Pow, ast.LShift)):
        bits = left.bit_length() if isinstance(left, int) else 64
        if abs(right) * max(1, bits) > _MAX_BITS:
            raise NotACall("a number too large")
    if isinstance(sign, ast.Mult):
        for some, times in ((left, right), (right, left)):
            if isinstance(some, (str, bytes, list, tuple)) and len(some) * times > _MAX_LENGTH:
                raise NotACall("a repetition too long")
            if isinstance(some, int) and some.bit_length() > _MAX_BITS:
                raise NotACall("a number too large")


# --- function calls as JSON: [{name: "{json}"}] ------------------------------------------------------


def decode_json_calls(result: Any) -> list[dict[str, Any]]:
    """Decode a function-calling model's answer for comparison: the first name of each item, its arguments."""
    try:
        decoded = []
        for item in result:
            name = next(iter(item.keys()))
            value = item[name]
            decoded.append({name: value if isinstance(value, dict) else load_json(value)})
        return decoded
    except (AttributeError, TypeError, KeyError, StopIteration) as error:
        raise NotACall(f"{type(error).__name__}: {error}") from error


def load_json(text: Any) -> Any:
    """Parse JSON of bounded size."""
    if isinstance(text, (str, bytes)) and len(text) > MAX_CHARACTERS:
        raise NotACall(f"longer than {MAX_CHARACTERS} characters")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotACall(f"{type(error).__name__}: {error}") from error


# --- decoded calls -> calls to execute ---------------------------------------------------------------


def executable_json_calls(result: Any) -> list[Call]:
    """What a function-calling model's step executes; every name of an item counts here."""
    items = [result] if isinstance(result, dict) else result
    calls = []
    try:
        for item in items:
            for name, value in item.items():
                arguments = load_json(value) if isinstance(value, str) else value
                calls.append(Call(str(name), dict(arguments.items())))
    except (AttributeError, TypeError) as error:
        raise NotACall(f"{type(error).__name__}: {error}") from error
    return calls


def executable_text_calls(text: Any) -> list[Call]:
    """What a prompted model's step executes."""
    if not isinstance(text, str):
        raise NotACall(f"a step is {type(text).__name__}, not text")
    return [
        Call(name, {key: _nested(value) for key, value in arguments.items()})
        for item in decode_text(text)
        for name, arguments in item.items()
    ]


def _nested(value: Any) -> Any:
    """A dictionary of dictionaries is read as a call, as bfcl-eval's `parse_nested_value` does."""
    if not isinstance(value, dict):
        return value
    if all(isinstance(item, dict) for item in value.values()):
        if not value:
            raise NotACall("an empty dictionary as an argument")
        name = next(iter(value))
        return Call(str(name), {key: _nested(item) for key, item in value[name].items()})
    return {str(key): _nested(item) for key, item in value.items()}


def why_not_executable(call: Call) -> str | None:
    """Say why a call could not be written as Python source, which is how bfcl-eval executes one."""
    for key, value in call.arguments.items():
        if not isinstance(key, str) or not key.isidentifier() or keyword.iskeyword(key):
            return "invalid syntax"
        if isinstance(value, Call):
            if (reason := why_not_executable(value)) is not None:
                return reason
        elif (name := _non_finite(value)) is not None:
            return f"name '{name}' is not defined"
    return None


def _non_finite(value: Any) -> str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf"
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return next((name for name in map(_non_finite, items) if name), None)


def parse_trusted_calls(lines: list[str]) -> list[tuple[str, list[Any], dict[str, Any]]]:
    """Read a ground truth: calls of a plain name with literals, positional or by keyword."""
    calls = []
    for line in lines:
        node = ast.parse(line, mode="eval").body
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise NotACall(f"a ground truth that is no plain call: {line!r}")
        positional = [ast.literal_eval(item) for item in node.args]
        named = {str(item.arg): ast.literal_eval(item.value) for item in node.keywords}
        calls.append((node.func.id, positional, named))
    return calls
