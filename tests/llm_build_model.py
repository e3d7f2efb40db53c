"""A scripted model that serves the prompts of a build well: it reads the quoted task and answers by its rules.

`GoodModel()` is a reply for `llm_server.Script`. What it writes is plain, but states every value and keeps every
rule, so that the checks of the build pass it; what it proposes is sometimes right and sometimes wrong.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from hashlib import blake2b
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent))
from llm_server import ObedientModel

TITLES = {
    "You write what a user says": "query",
    "You decide whether a task": "plausible",
    "You read what a user says": "actions",
    "You serve a user": "round_trip",
    "You write the global plan": "plan",
    "You write the answers": "response",
    "You write reference rationales": "rationale",
    "You are an assistant that serves a request": "trajectory",
    "You propose what an assistant might call": "candidate",
    "You compare one action": "judge",
}


def part_of(body: dict[str, Any]) -> str:
    """Which part of a build a request is for."""
    system = body["messages"][0]["content"]
    return next(part for title, part in TITLES.items() if system.startswith(title))


def material_of(body: dict[str, Any]) -> dict[str, Any]:
    """The JSON value that the request quotes."""
    lines = body["messages"][1]["content"].split("\n")
    return json.loads(next(line for line in lines if line.startswith("{")))


def is_repair(body: dict[str, Any]) -> bool:
    """Whether the request shows a faulty answer and asks again."""
    return len(body["messages"]) > 2


def errand(description: str) -> str:
    """The words by which a scripted query asks for what a tool of this description does; its reader knows them."""
    letters = "".join(chr(97 + byte % 26) for byte in blake2b(description.encode(), digest_size=8).digest())
    return f"errand {letters}"


class GoodModel:
    """Answers every part by its rules; `asked` counts them."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, body: dict[str, Any]) -> str:
        part = part_of(body)
        self.asked[part] += 1
        if part == "round_trip":
            return "I have no idea how to do that."
        return json.dumps(getattr(self, part)(material_of(body)))

    def plausible(self, task: dict[str, Any]) -> dict[str, Any]:
        """Find everything plausible."""
        return {"plausible": bool(task["steps"]), "kind": "", "reason": "People do ask for that."}

    def actions(self, task: dict[str, Any]) -> dict[str, Any]:
        """List the errands that the messages speak of."""
        tools = {errand(tool["description"]): tool["name"] for tool in task["tools"]}
        return {
            "actions": [
                {
                    "message": number,
                    "tool": tools.get(found[2], ""),
                    "wanted": "forbidden" if found[1] else "requested",
                    "quote": found[0],
                }
                for number, text in enumerate(task["messages"], 1)
                for found in re.finditer(r"(never )?(errand [a-z]{8})", text)
            ]
        }

    def query(self, task: dict[str, Any]) -> dict[str, Any]:
        """State every value and every reference, message by message."""
        messages = []
        for number in range(1, task["messages"] + 1):
            parts = []
            for step in task["steps"]:
                if step["message"] != number:
                    continue
                values = [way for value in step["values"] for way in value["say"]]
                refers = [way for value in step["from_earlier_steps"] for way in value["say"]]
                asks = f"; {errand(step['tool_description'])}" if step["asked_for"] else ""
                parts.append(f"{step['does']}; that is {', '.join([*values, *refers[:5]]) or 'all'}{asks}")
            messages.append("I want this: " + ". Then ".join(parts).replace("{", "(").replace("}", ")") + ".")
        # Two tasks of a scenario may begin with the same message; their speakers differ.
        messages[0] = f"I am {task['persona']}, {task['motive']}. {messages[0]}"
        return {
            "versions": [
                ["Hello. " * place + messages[0], *messages[1:]] for place in range(task["versions"])
            ]
        }

    def plan(self, task: dict[str, Any]) -> dict[str, Any]:
        """List the steps in order."""
        lines = []
        for step in task["steps"]:
            needs = {one["step"] for one in step["from_earlier_steps"]} | set(step["after"])
            outline = re.sub(r"\s+", " ", step["does"])[:280]
            lines.append(
                {
                    "step": step["step"],
                    "outline": outline,
                    "needs": sorted(needs),
                    "now": f"I go on with step {step['step']}.",
                }
            )
        return {"steps": lines}

    def response(self, task: dict[str, Any]) -> dict[str, Any]:
        """Tell everything that is listed."""
        return {
            "answers": [
                "Done. " + " ".join(f"I have {one['say'][0]}." for one in listed)
                for listed in task["answers"]
            ]
        }

    def rationale(self, task: dict[str, Any]) -> dict[str, Any]:
        """Name the tool and its values."""
        return {
            "rationales": [
                {
                    "step": one["step"],
                    "text": f"The request needs {one['tool']} now, with {', '.join(map(str, one['arguments'].values()))}."[
                        :1400
                    ],
                }
                for one in task["steps"]
            ]
        }

    def trajectory(self, task: dict[str, Any]) -> dict[str, Any]:
        """Call the first tool without arguments, then one that takes a value from it."""
        name = task["tools"][0]["name"]
        return {
            "calls": [
                {"plan": "I look first.", "tool": name, "arguments": {}},
                {
                    "plan": "I go on with what I saw.",
                    "tool": name,
                    "arguments": {"value": {"$from": 1, "pointer": "/none"}},
                },
            ]
        }

    def candidate(self, task: dict[str, Any]) -> dict[str, Any]:
        """Propose a later step and a tool that does not exist."""
        found = []
        for place, step in enumerate(task["steps"]):
            later = task["steps"][place + 1 :][:1]
            for one in later:
                found.append(
                    {"step": step["step"], "tool": one["tool"], "arguments": one["arguments"], "right": True}
                )
            found.append({"step": step["step"], "tool": "do_everything", "arguments": {}, "right": False})
        return {"candidates": found}

    def judge(self, task: dict[str, Any]) -> dict[str, Any]:
        """Score by whether the same tool is called."""
        calls, truth = task["candidate"]["calls"], task["truth"]["calls"]
        same = bool(calls) and bool(truth) and calls[0]["name"] == truth[0]["name"]
        return {"score": 0.7 if same else 0.3}


class Steered:
    """Obeys any order in what it reads; without one it serves well."""

    def __init__(self) -> None:
        self.obedient, self.good = ObedientModel(""), GoodModel()
        self.parts: list[str] = []

    def __call__(self, body: dict[str, Any]) -> Any:
        order = self.obedient(body)
        if order:
            self.parts.append(part_of(body))
            return order
        return self.good(body)
