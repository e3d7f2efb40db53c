"""Readers of calls in tags, in bare JSON and in Python's syntax; see `planarena.formats.vendors`."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from typing import Any

from planarena.formats.blocks import BlockError, read_json
from planarena.formats.parsed import Call
from planarena.formats.written import (
    ReadCalls,
    as_calls,
    calls_of_text,
    ended,
    json_values,
    marked,
    named_calls,
)

__all__ = [
    "python_calls",
    "read_function_tag",
    "read_hermes",
    "read_llama",
    "read_python",
    "read_qwen_agent",
    "read_qwen_xml",
    "read_xlam",
    "write_python",
    "write_qwen_xml",
]

_MAX_PYTHON = 100_000
# Without tags, only what states its arguments is a call: an object with a name alone is data.
_ARGUMENTS = re.compile(r'"(?:arguments|parameters|params|args|input|tool_calls)"\s*:')
_BLOCK = "<tool_call>"
_BETWEEN = re.compile(r"[\s,;]*(?=[{\[])")
_DECODER = json.JSONDecoder()
# --- one reader each -----------------------------------------------------------------------------------

_TAG = "<|python_tag|>"


def read_llama(text: str) -> ReadCalls | None:
    """Read what follows `<|python_tag|>`, or JSON objects alone."""
    head, mark, tail = text.partition(_TAG)
    if mark:
        body = ended(tail).strip()
        if body.startswith(("{", "[{")):
            return marked(body.replace(_TAG, ";"), head)
        found = read_python(body)
        return found if found is not None else ReadCalls((), head.strip(), "no JSON after <|python_tag|>")
    body = ended(text).strip()
    if not body.startswith("{") or '"name"' not in body[:2000] or not _ARGUMENTS.search(body):
        return None
    try:
        return ReadCalls(calls_of_text(body))
    except BlockError as error:
        begun = re.match(r'\{\s*"(?:type"\s*:\s*"function"\s*,\s*")?name"\s*:', body)
        return (
            ReadCalls((), "", str(error))
            if begun and re.search(r'"(?:parameters|arguments)"', body)
            else None
        )


_FUNCTION = re.compile(r"<function=([^>{}\n]{1,200})>")


def read_function_tag(text: str) -> ReadCalls | None:
    """Read `<function=NAME>` with JSON inside."""
    marks = list(_FUNCTION.finditer(text))
    if not marks or "<parameter=" in text:
        return None
    content = text[: marks[0].start()].replace(_TAG, "").strip()
    bounds = [*(mark.start() for mark in marks[1:]), len(text)]
    return named_calls(
        (
            (mark[1], text[mark.end() : end].partition("</function>")[0])
            for mark, end in zip(marks, bounds, strict=True)
        ),
        content,
    )


_MOST_BROKEN = 200


def read_hermes(text: str) -> ReadCalls | None:
    """Read every `<tool_call>` block: JSON values one after the other; a tag inside a JSON string is part of it.

    What is no call is passed over and named as the problem; it does not void the calls beside it.
    """
    position = text.find(_BLOCK)
    if position == -1:
        return None
    content, problem = text[:position].strip(), ""
    calls: list[Call] = []
    broken = 0
    # A decoder's error counts the lines before it: so many blocks without a call take no more than a moment.
    while position != -1 and broken < _MOST_BROKEN:
        position += len(_BLOCK)
        begun = len(calls)
        while (gap := _BETWEEN.match(text, position)) is not None:
            try:
                _, end = _DECODER.raw_decode(text, gap.end())
            except (ValueError, RecursionError) as error:
                problem = "nests too deep" if isinstance(error, RecursionError) else str(error)
                break
            try:
                calls += as_calls(read_json(text[gap.end() : end]))
            except BlockError as error:
                problem = str(error)
            position = end
        if len(calls) == begun:
            broken += 1
            problem = problem or "no call in the block"
        position = text.find(_BLOCK, position)
    return ReadCalls(tuple(calls), content, problem)


_PARAMETER = re.compile(r"<parameter=([^>\n]{1,200})>")


def read_qwen_xml(text: str) -> ReadCalls | None:
    """Read `<function=NAME>` with a tag for each parameter."""
    marks = list(_FUNCTION.finditer(text))
    if not marks or ("<parameter=" not in text and "<tool_call>" not in text):
        return None
    content = text[: marks[0].start()].replace("<tool_call>", "").strip()
    calls = []
    bounds = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, bounds, strict=True):
        body, closed, _ = text[mark.end() : end].partition("</function>")
        if not closed:
            return ReadCalls((), content, f"the call of {mark[1][:80]} is not closed")
        arguments: dict[str, Any] = {}
        names = list(_PARAMETER.finditer(body))
        for name, stop in zip(names, [*(one.start() for one in names[1:]), len(body)], strict=False):
            value = body[name.end() : stop].rpartition("</parameter>")[0] or body[name.end() : stop]
            arguments[name[1]] = plain_value(value.removeprefix("\n").removesuffix("\n"))
        calls.append(Call(mark[1].strip(), arguments))
    return ReadCalls(tuple(calls), content)


def plain_value(text: str) -> Any:
    """A value without quotes: JSON where it is JSON, else the text."""
    try:
        return read_json(text)
    except BlockError:
        return {"True": True, "False": False, "None": None}.get(text.strip(), text)


def write_qwen_xml(calls: Sequence[Call], content: str) -> str:
    """Write calls with a tag for each parameter."""
    blocks = []
    for call in calls:
        inner = "".join(
            f"<parameter={key}>\n{_unquoted(value)}\n</parameter>\n" for key, value in call.arguments.items()
        )
        blocks.append(f"<tool_call>\n<function={call.name}>\n{inner}</function>\n</tool_call>")
    return "\n".join([content, *blocks] if content else blocks)


def _unquoted(value: Any) -> str:
    if isinstance(value, str) and plain_value(value) == value and isinstance(plain_value(value), str):
        return value
    return json.dumps(value, ensure_ascii=False)


_AGENT = re.compile(r"✿FUNCTION✿:\s*(\S{1,200})\s*✿ARGS✿:")


def read_qwen_agent(text: str) -> ReadCalls | None:
    """Read Qwen-Agent's marks."""
    marks = list(_AGENT.finditer(text))
    if not marks:
        return ReadCalls((), text.partition("✿")[0].strip(), "no arguments") if "✿FUNCTION✿" in text else None
    bounds = [*(mark.start() for mark in marks[1:]), len(text)]
    found = (
        (mark[1], re.split("✿(?:RESULT|RETURN)✿", text[mark.end() : end])[0])
        for mark, end in zip(marks, bounds, strict=True)
    )
    return named_calls(found, text[: marks[0].start()].strip())


_FENCE = re.compile(r"```(?:json|tool_call|tool_calls|xml)?\s*\n(.*?)(?:```|$)", re.DOTALL)


def read_xlam(text: str) -> ReadCalls | None:
    """Read a JSON list of calls or an object that holds one, in a fence or alone."""
    body = ended(text).strip()
    content = ""
    fence = _FENCE.search(body) if "```" in body else None
    if fence is not None:
        content, body = body[: fence.start()].strip(), fence[1].strip()
    if body == "[]":
        return ReadCalls(())
    if not body.startswith(("[", "{")) or not _ARGUMENTS.search(body):
        return None
    try:
        values, end = json_values(body)
    except BlockError as error:
        begun = re.match(r'\[\s*\{\s*"name"\s*:|\{\s*"(?:thought|tool_calls)"\s*:', body)
        return ReadCalls((), content, str(error)) if begun else None
    if body[end:].strip():
        return None
    if len(values) == 1 and isinstance(values[0], dict) and isinstance(values[0].get("tool_calls"), list):
        try:
            calls = tuple(as_calls(values[0]["tool_calls"]))
        except BlockError as error:
            return ReadCalls((), content, str(error))
        said = values[0].get("content") or values[0].get("thought") or content
        return ReadCalls(calls, said if isinstance(said, str) else "")
    try:
        return ReadCalls(tuple(call for value in values for call in as_calls(value)), content)
    except BlockError:
        return None


# --- Python's way of writing calls ---------------------------------------------------------------------


def read_python(text: str) -> ReadCalls | None:
    """Read a list of Python calls with literals as keyword arguments."""
    body = (
        ended(text).replace("<|python_start|>", "").replace("<|python_end|>", "").strip().strip("`").strip()
    )
    body = body.removeprefix("python\n").strip()
    if not body.startswith("[") or not body.endswith("]") or "(" not in body:
        return None
    return python_calls(body, "")


def python_calls(body: str, content: str) -> ReadCalls | None:
    """Read the source of a list of calls; None where it is anything else."""
    if len(body) > _MAX_PYTHON:
        return None
    try:
        tree = ast.parse(body, mode="eval").body
        nodes = tree.elts if isinstance(tree, ast.List) else []
        if not nodes or not all(isinstance(node, ast.Call) for node in nodes):
            return None
        return ReadCalls(tuple(_python_call(node) for node in nodes if isinstance(node, ast.Call)), content)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


def _python_call(node: ast.Call) -> Call:
    name = ast.unparse(node.func)
    if node.args or re.fullmatch(r"[\w.]+", name) is None:
        raise ValueError("positional arguments, or no plain name")
    arguments = {}
    for keyword in node.keywords:
        value = ast.literal_eval(keyword.value)
        arguments[str(keyword.arg)] = json.loads(json.dumps(value))
    return Call(name, arguments)


def write_python(calls: Sequence[Call], content: str) -> str:
    """Write calls as a Python list."""
    del content
    written = (
        f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})"
        for call in calls
    )
    return "[" + ", ".join(written) + "]"
