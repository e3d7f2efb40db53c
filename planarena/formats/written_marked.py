"""Readers of calls between special tokens; see `planarena.formats.vendors`."""

from __future__ import annotations

import json
import re
from typing import Any

from planarena.formats.blocks import BlockError, read_json
from planarena.formats.parsed import Call
from planarena.formats.written import ReadCalls, as_calls, ended, json_values, marked, named_calls
from planarena.formats.written_plainly import python_calls

__all__ = [
    "gemma_text",
    "read_deepseek",
    "read_functionary",
    "read_gemma",
    "read_granite",
    "read_harmony",
    "read_mistral",
]

_MISTRAL = "[TOOL_CALLS]"
_MISTRAL_NAME = re.compile(r"\s*([^\s\[\]{}]{1,200}?)\s*(?:\[CALL_ID\][^\[{]{0,80})?(?:\[ARGS\])?\s*(?=\{)")


def read_mistral(text: str) -> ReadCalls | None:
    """Read `[TOOL_CALLS]`: a JSON list, or a name and its arguments each time."""
    head, mark, tail = text.partition(_MISTRAL)
    if not mark:
        return None
    tail = ended(tail)
    if tail.lstrip().startswith(("[", "{")):
        try:
            values, _ = json_values(tail)
            return ReadCalls(tuple(call for value in values for call in as_calls(value)), head.strip())
        except BlockError as error:
            return ReadCalls((), head.strip(), str(error))
    calls = []
    for part in tail.split(_MISTRAL):
        name = _MISTRAL_NAME.match(part)
        if name is None:
            return ReadCalls((), head.strip(), "no name and arguments after [TOOL_CALLS]")
        try:
            values, _ = json_values(part, name.end())
        except BlockError as error:
            return ReadCalls((), head.strip(), str(error))
        if not values or not isinstance(values[0], dict):
            return ReadCalls((), head.strip(), "no object of arguments")
        calls.append(Call(name[1], values[0]))
    return ReadCalls(tuple(calls), head.strip())


_DEEPSEEK, _SEPARATOR = "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>"


def read_deepseek(text: str) -> ReadCalls | None:
    """Read DeepSeek's calls, of V3 and R1 (kind, name, fence) and of V3.1 (name)."""
    starts = [at for at in (text.find("<｜tool▁calls▁begin｜>"), text.find(_DEEPSEEK)) if at >= 0]
    if not starts:
        return None
    begin, found = min(starts), []
    for part in text[begin:].split(_DEEPSEEK)[1:]:
        name, mark, body = part.partition("<｜tool▁call▁end｜>")[0].partition(_SEPARATOR)
        if not mark:
            return ReadCalls((), text[:begin].strip(), "a call without its arguments")
        name, body = name.strip(), body.strip()
        if name == "function":  # V3 and R1 write the kind first, then the name and a fenced block
            name, _, body = body.partition("\n")
        found.append((name, body))
    said = named_calls(found, text[:begin].strip())
    return said if found else said._replace(problem="no call between the marks")


_RECIPIENT = re.compile(r"<\|recipient\|>\s*(\S{1,200}?)\s*(?:\n|\s)?<\|content\|>")
_ANGLES = re.compile(r"(?:^|(?<=\n)|(?<=[>}\]]))>>>\s*([^\s{>]{1,200})\s*\n")


def read_functionary(text: str) -> ReadCalls | None:
    """Read recipients: of version 2 in special tokens, of 3.2 after `>>>`."""
    mark = _RECIPIENT if "<|recipient|>" in text else _ANGLES if ">>>" in text else None
    found = list(mark.finditer(text)) if mark is not None else []
    if not found:
        return None
    bounds = [*(one.start() for one in found[1:]), len(text)]
    pairs, content = [], text[: found[0].start()].replace("<|from|>assistant", "").strip()
    for one, end in zip(found, bounds, strict=True):
        body = text[one.end() : end].partition("<|from|>")[0].partition("<|stop|>")[0]
        if one[1] == "all":
            content = f"{content}\n{ended(body).strip()}".strip()
        else:
            pairs.append((one[1], body))
    return named_calls(pairs, content)


def read_granite(text: str) -> ReadCalls | None:
    """Read what stands after `<|tool_call|>` or `<function_call>`."""
    for mark in ("<|tool_call|>", "<function_call>"):
        head, found, tail = text.partition(mark)
        if found:
            return marked(tail.replace(mark, ";").replace("</function_call>", ""), head)
    return None


_GEMMA_CALL = re.compile(r"\s*call:([^\s{]{1,200})\s*(?=\{)")
_GEMMA_TOKEN = re.compile(r"<escape>(.*?)<escape>|([{}\[\],:])|([^{}\[\],:<]+|<)", re.DOTALL)


def read_gemma(text: str) -> ReadCalls | None:
    """Read FunctionGemma's calls, or Gemma 3's `tool_code` block."""
    if "<start_function_call>" in text:
        first, *parts = text.split("<start_function_call>")
        head, calls = first.strip(), []
        for part in parts:
            one = _GEMMA_CALL.match(part)
            if one is None:
                return ReadCalls((), head, "no call after its mark")
            try:
                body = part[one.end() :].partition("<end_function_call>")[0]
                calls.append(Call(one[1], read_json(_gemma_json(ended(body)))))
            except BlockError as error:
                return ReadCalls((), head, str(error))
        return ReadCalls(tuple(calls), head)
    head, mark, tail = text.partition("```tool_code")
    if not mark:
        return None
    body = tail.partition("```")[0].strip()
    body = re.sub(r"^print\((.*)\)$", r"\1", body, flags=re.DOTALL)
    lines = (
        body
        if body.startswith("[")
        else "[" + ", ".join(line for line in body.split("\n") if line.strip()) + "]"
    )
    return python_calls(lines, head.strip()) or ReadCalls((), head.strip(), "the tool_code block is no call")


def _gemma_json(text: str) -> str:
    """FunctionGemma's objects, whose keys and words have no quotes, as JSON."""
    parts = []
    for token in _GEMMA_TOKEN.finditer(text):
        if token[1] is not None:
            parts.append(json.dumps(token[1]))
        elif token[2]:
            parts.append(token[2])
        else:
            word = token[3].strip()
            bare = re.fullmatch(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null", word)
            parts.append(word if bare else json.dumps(word) if word else "")
    return "".join(parts)


def gemma_text(value: Any) -> str:
    """Write a value as FunctionGemma does, with words between `<escape>`."""
    if isinstance(value, str):
        return f"<escape>{value}<escape>"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{gemma_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(gemma_text, value)) + "]"
    return json.dumps(value)


_CHANNEL = re.compile(
    r"(?:<\|start\|>(?:assistant)?(?:\s+to=(?P<early>[^\s<]+))?\s*)?<\|channel\|>\s*(?P<channel>\w+)"
    r"(?P<rest>[^<]*(?:<\|constrain\|>[^<]*)?)<\|message\|>"
)
_TO = re.compile(r"to=([^\s<]+)")
_HARMONY_END = re.compile(r"<\|(?:end|call|return|start)\|>")


def read_harmony(text: str) -> ReadCalls | None:
    """Read channels: a recipient makes a call, analysis is a thought, the rest is said."""
    marks = list(_CHANNEL.finditer(text))
    if not marks:
        return None
    bounds = [*(mark.start() for mark in marks[1:]), len(text)]
    pairs, said, thought = [], [], []
    for mark, end in zip(marks, bounds, strict=True):
        body = _HARMONY_END.split(text[mark.end() : end])[0].strip()
        to = _TO.search(mark["rest"])
        name = to[1] if to else mark["early"]
        if name:
            pairs.append((name.removeprefix("functions."), body))
        elif mark["channel"] == "analysis":
            thought.append(body)
        else:
            said.append(body)
    return named_calls(pairs, "\n".join(said))._replace(thought="\n".join(thought))
