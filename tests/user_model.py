"""Scripted models that play users: a good one, and ones that lie, leak, speak for the assistant, stop or never end."""

from __future__ import annotations

import json
from typing import Any


def material_of(body: dict[str, Any]) -> dict[str, Any]:
    """The JSON value that the request quotes."""
    lines = body["messages"][1]["content"].split("\n")
    found: dict[str, Any] = json.loads(next(line for line in lines if line.startswith("{")))
    return found


class GoodUser:
    """Says what is due with a word before it; `asked` counts."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, body: dict[str, Any]) -> dict[str, str]:
        self.asked += 1
        known = material_of(body)
        last = known["conversation"][-1]["text"] if known["conversation"] else ""
        asks = "?" in last or any(
            one in last.lower() for one in ("please confirm", "i need one more thing from you")
        )
        held, due = known["hold_back"], known["say_next"]
        if held and asks:
            return {"move": "give", "message": f"Well, that would be: {held['answer']}"}
        if due:
            return {"move": "next", "message": f"Well, then: {due}"}
        return {"move": "end", "message": "Thanks."}


class BadUser(GoodUser):
    """Does one thing wrong wherever it can.

    Args:
        fault: `lied`, `leaked`, `other_role`, `never_ends` or `ended_early`.
    """

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.kind = fault

    def __call__(self, body: dict[str, Any]) -> dict[str, str]:
        good = super().__call__(body)
        known = material_of(body)
        if self.kind == "lied":
            return {**good, "message": f"{good['message']} My number is 987654."}
        if self.kind == "leaked" and known["hold_back"]:
            return {"move": "give", "message": known["hold_back"]["answer"]}
        if self.kind == "other_role":
            return {**good, "move": "again", "message": "Certainly! How can I help you?"}
        if self.kind == "never_ends":
            return {"move": "again", "message": "Hm, tell me more."}
        if self.kind == "ended_early":
            return {"move": "end", "message": "Bye."}
        return good
