"""A scripted model that drafts environments: the template under another name, with the faults that a test asks for."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import yaml

from planarena.drafting.parts import tools_in

_EFFECTS = {"list_items": "read", "look_up_item": "read", "find_orders": "read", "place_order": "create"}
# Of a part: what its last message holds.
_MARKS = {
    "repair": "was held against the contract",
    "design": "Design the environment",
    "tools": "Write `environment.py` for the design",
    "world": "Write both for the environment",
    "words": "Write the words of the tools",
}


def template(file: str, name: str) -> str:
    """Return a file of the template under a name."""
    text = files("planarena.environments").joinpath("template", file).read_text()
    words = {
        "NAME": name,
        "CLASS": "".join(word.capitalize() for word in name.split("_")),
        "TITLE": "A counter",
    }
    for key, value in words.items():
        text = text.replace(f"@{key}@", value)
    return text


def part_of(body: dict[str, Any]) -> str:
    """Return which part a request asks for."""
    last = body["messages"][-1]["content"]
    return next(part for part, mark in _MARKS.items() if mark in last)


class DraftModel:
    """Answers each part with the template's.

    Args:
        spoil: Given (part, file, text, how often this part was asked for this name), returns the text to answer.

    Attributes:
        asked: (name, part) -> how often.
    """

    def __init__(self, spoil: Callable[[str, str, str, int], str] = lambda _p, _f, text, _n: text) -> None:
        self.spoil = spoil
        self.asked: Counter[tuple[str, str]] = Counter()

    def __call__(self, body: dict[str, Any]) -> str:
        messages = body["messages"]
        part = part_of(body)
        repairing = part == "repair"
        if repairing:
            part = next((one for one, mark in _MARKS.items() if mark in messages[1]["content"]), "whole")
        said = "\n".join(str(message["content"]) for message in messages)
        name = self._name(said, part)
        number = self.asked[name, part]
        self.asked[name, part] += 1
        return json.dumps(self._answer(part, name, number, messages, repairing))

    def _name(self, said: str, part: str) -> str:
        if part == "design":
            return re.findall(r'"topic":"([^"]+)"', said)[-1]
        names = re.findall(r'domain = \\*"([a-z0-9_]+)', said)
        return next((one for one in names if one != "shop"), "shop")

    def _answer(
        self, part: str, name: str, number: int, messages: list[dict[str, Any]], repairing: bool
    ) -> Any:
        if part == "design":
            return self._design()
        if part == "words":
            wanted = json.loads(re.search(r'"tools":(\[[^\]]*\])', messages[1]["content"])[1])
            words = yaml.safe_load(template("words.yaml", name))["tools"]
            text = yaml.safe_dump({tool: words[tool] for tool in wanted}, sort_keys=False, width=1000)
            return {"files": {"words.yaml": self.spoil(part, "words.yaml", text, number)}}
        names = {"world": ("world.py", "seeds.yaml")}.get(part, ("environment.py",))
        if repairing and part == "world":
            names = ("environment.py", *names)
        texts = {}
        for file in names:
            source = file if file.endswith("yaml") else f"{file}.txt"
            texts[file] = self.spoil(part, file, template(source, name), number)
        return {"files": texts}

    def _design(self) -> dict[str, Any]:
        code = template("environment.py.txt", "shop")
        tools = [
            {
                "name": tool,
                "effect": _EFFECTS.get(tool, "update"),
                "does": f"Does what {tool.replace('_', ' ')} says.",
            }
            for tool in tools_in(code)
        ]
        fields = [
            {"name": "item_id", "meaning": "item_id", "hidden": True},
            {"name": "name", "meaning": "item_name", "hidden": False},
        ]
        return {
            "title": "A counter",
            "summary": "A shelf of items and the orders for them.",
            "tables": [{"name": name, "holds": "Things.", "fields": fields} for name in ("items", "orders")],
            "invariants": ["Stock is never negative."],
            "tools": tools,
        }
