"""ToolACE (`data.json`): tools as a JSON list inside of the system text, calls like Python, results in a list.

`{"system": "... [{"name", "description", "parameters"}, ...]", "conversations": [{"from": "user" | "assistant" |
"tool", "value"}]}`. A tool message holds `[{"name", "results"}]`, one entry for each call.
"""

from __future__ import annotations

import re
from json import JSONDecodeError, JSONDecoder
from typing import Any

from planarena.rows.importers.assistant import as_text, observation, read_tools
from planarena.rows.importers.sharegpt import conversation
from planarena.rows.importers.trace import ImportOptions, SourceTool, Trace, TraceError

__all__ = ["LICENCE", "read"]

LICENCE = "Apache-2.0"

_LIST = re.compile(r"\[\s*\{")


def read(record: dict[str, Any], options: ImportOptions, number: int) -> Trace:
    """Read one record.

    Raises:
        TraceError: It cannot be used.
    """
    del options, number
    system = as_text(record.get("system"), "a system text")
    tools = _tools(system)
    messages = record.get("conversations")
    if not isinstance(messages, list):
        raise TraceError("no list of messages")
    prepared = [
        {**message, "value": _results(message.get("value"))} if message.get("from") == "tool" else message
        for message in messages
        if isinstance(message, dict)
    ]
    # The system text only says how to write Python-like calls and lists the tools: nothing of it is kept.
    _, turns = conversation({"conversations": prepared})
    return Trace(tools=tools, turns=turns)


def _tools(system: str) -> tuple[SourceTool, ...]:
    """Return the first JSON list of objects with names in the system text; there may be none."""
    decoder = JSONDecoder()
    for match in _LIST.finditer(system):
        try:
            value, _ = decoder.raw_decode(system, match.start())
        except (JSONDecodeError, RecursionError):
            continue
        if all(isinstance(entry, dict) and "name" in entry for entry in value):
            return read_tools(value)
    return ()


def _results(value: Any) -> Any:
    """Drop the wrapping `{"name", "results"}` of each result; the calls before it have the names."""
    result = observation(value)
    if not isinstance(result, list):
        return result
    bare = [entry["results"] if isinstance(entry, dict) and "results" in entry else entry for entry in result]
    return bare[0] if len(bare) == 1 else bare
