"""Answers by JSON Schema: reading them strictly, and asking once for a repair."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import orjson

from planarena.llm.errors import Kind
from planarena.llm.prompts import load_prompt
from planarena.llm.request import Request, Stored, has_call_in_text
from planarena.records.canonical import canonical_bytes, canonical_json
from planarena.tools.validation import SchemaValidator

__all__ = ["Reading", "read_value", "repair_request", "with_schema_in_prompt"]

_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.S)
_FENCED = re.compile(r"\A```(?:json)?[ \t]*\n(.*?)\n?```\Z", re.S)


class Reading(NamedTuple):
    """What an answer holds: its value, or its fault in a class and in words."""

    value: Any = None
    kind: Kind | None = None
    fault: str = ""


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> SchemaValidator:
    return SchemaValidator(orjson.loads(schema), "answer schema")


def read_value(answer: Stored, schema: dict[str, Any]) -> Reading:
    """Read an answer that must be one JSON value of a schema, and nothing else.

    A leading `<think>` block and one code fence around the whole are taken off; prose around it is not
    searched for JSON, since that is where a quoted text would smuggle its own answer in.
    """
    text = _THOUGHT.sub("", answer.text, count=1).strip()
    if fenced := _FENCED.match(text):
        text = fenced[1]
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if answer.finish == "length":
            return Reading(None, "truncated", "it was cut off at the token limit")
        if has_call_in_text(text) or (answer.tool_calls and not text):
            return Reading(None, "tool_call_in_text", "it calls a tool instead of answering")
        return Reading(None, "wrong_json", f"it is not one JSON value: {error}")
    validator = _validator(canonical_bytes(schema))
    if validator.is_valid(value):
        return Reading(value)
    return Reading(None, "wrong_json", f"it does not meet the schema: {validator.first_error(value)}")


def with_schema_in_prompt(request: Request) -> Request:
    """Put the schema into the first system message, for a server that takes no `response_format`."""
    rule = load_prompt("answer_by_schema").system(schema=canonical_json(request.schema))
    messages: list[Mapping[str, Any]] = list(request.messages)
    if messages and messages[0].get("role") == "system":
        messages[0] = {**messages[0], "content": f"{messages[0]['content']}\n\n{rule}"}
    else:
        messages.insert(0, {"role": "system", "content": rule})
    return msgspec.structs.replace(request, messages=messages)


def repair_request(request: Request, answer: Stored, fault: str) -> Request:
    """Return the request that shows the faulty answer and asks again; a cut answer gets twice the tokens."""
    prompt = load_prompt("repair")
    complaint = prompt.user(fault=fault, schema=canonical_json(request.schema))
    more = request.max_tokens
    if more is not None and answer.finish == "length":
        more *= 2
    messages = [
        *request.messages,
        {"role": "assistant", "content": answer.text or "(nothing)"},
        {"role": "user", "content": complaint},
    ]
    return msgspec.structs.replace(request, messages=messages, max_tokens=more)
