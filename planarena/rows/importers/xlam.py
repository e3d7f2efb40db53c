"""xLAM (`xlam_function_calling_60k.json`): `{"id", "query", "tools", "answers"}`, the last two as JSON text.

An empty list of answers says that no tool fits (the irrelevance rows that Hammer adds).
"""

from __future__ import annotations

from typing import Any

from planarena.rows.dialogue import Decision, Turn
from planarena.rows.importers.assistant import as_text, calls_of, decode, read_tools
from planarena.rows.importers.trace import ImportOptions, Trace, TraceError

__all__ = ["LICENCE", "NO_TOOL_FITS", "read"]

LICENCE = "CC-BY-4.0"
NO_TOOL_FITS = "None of the available tools can do this."


def read(record: dict[str, Any], options: ImportOptions, number: int) -> Trace:
    """Read one record.

    Raises:
        TraceError: It cannot be used.
    """
    del options, number
    query = as_text(record.get("query"), "a query")
    if not query.strip():
        raise TraceError("no query")
    if "answers" not in record:
        raise TraceError("no gold action", "the record has no answers")
    answers = decode(record["answers"])
    if not isinstance(answers, list):
        raise TraceError("answers that are no list", str(answers)[:200])
    tools = read_tools(record.get("tools"))
    if answers:
        calls = calls_of(answers)
        turn = Turn(query, (Decision(calls=calls, observations=(None,) * len(calls)),))
        return Trace(tools=tools, turns=(turn,))
    return Trace(
        tools=tools,
        turns=(Turn(query, (Decision(text=NO_TOOL_FITS),)),),
        category="tool_missing",
        ours={"response": "the source says no call, not what to say"},
    )
