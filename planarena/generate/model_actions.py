"""Which actions a query asks for, as a judge reads it, held against the steps that the task asks for.

A judge reads the messages and the tools, never the solution; what its list means for the query is decided here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from planarena.generate.model_brief import TaskBrief
from planarena.generate.model_texts import TextFaultError

__all__ = ["FORBIDDEN", "IMPLIED", "REQUESTED", "check_actions", "read_actions"]

# What a judge may say of an action.
REQUESTED, FORBIDDEN, IMPLIED = "requested", "forbidden", "implied"


def read_actions(turns: Sequence[str], listed: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a judge's list, each entry of which must quote the message that it is about.

    Raises:
        TextFaultError: `bad_quote`: an entry whose evidence stands nowhere; `wrong_messages`.
    """
    found = []
    for number, entry in enumerate(listed, 1):
        message, quote = entry["message"], _plain(entry["quote"])
        if not 1 <= message <= len(turns):
            raise TextFaultError("wrong_messages", f"entry {number}: there is no message {message}")
        if not quote or quote not in _plain(turns[message - 1]):
            raise TextFaultError("bad_quote", f"entry {number}: message {message} has no {entry['quote']!r}")
        found.append({**entry, "tool": entry["tool"].strip()[:128]})
    return found


def check_actions(brief: TaskBrief, listed: Sequence[Mapping[str, Any]]) -> None:
    """Check that each message asks for the steps that the task asks for in it, and for nothing else.

    A look-up that only serves may be asked for or left unsaid. An entry `implied` counts for nothing: an action that
    the task asks for and the query only implies is missing.

    Args:
        brief: The task.
        listed: As `read_actions` gives it.

    Raises:
        TextFaultError: `action_forbidden`, `action_missing` or `action_added`.
    """
    for entry in listed:
        if entry["wanted"] == FORBIDDEN:
            raise TextFaultError(
                "action_forbidden", f"message {entry['message']} forbids {entry['tool']}: {entry['quote']!r}"
            )
    added: list[str] = []
    for message in range(len(brief.turns)):
        asked = Counter(_tool(brief, step) for step in brief.reported[message])
        serving = Counter(
            _tool(brief, step)
            for step, turn in enumerate(brief.turn_of)
            if turn == message and step not in brief.reported[message]
        )
        requested = Counter(
            entry["tool"]
            for entry in listed
            if entry["message"] == message + 1 and entry["wanted"] == REQUESTED
        )
        missing = asked - requested
        if missing:
            raise TextFaultError(
                "action_missing", f"message {message + 1} does not ask for {', '.join(sorted(missing))}"
            )
        added += [f"message {message + 1} asks for {tool}" for tool in sorted(requested - asked - serving)]
    if added:
        raise TextFaultError("action_added", f"{added[0]}, which the task has not")


def _tool(brief: TaskBrief, step: int) -> str:
    return brief.steps[step].operation.tool.wire_name


def _plain(text: str) -> str:
    """Return a text as quotes of it are compared: white space, capitals and curly quotes do not count."""
    return " ".join(text.replace("’", "'").replace("“", '"').replace("”", '"').casefold().split())
