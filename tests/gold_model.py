"""A scripted model that knows BFCL's ground truth: what it reads is what the loop showed it, no ids."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from planarena.eval.bfcl.categories import asked_categories
from planarena.eval.bfcl.workers import open_pool
from planarena.eval.config import EvalConfig

Key = tuple[tuple[str, ...], frozenset[str]]


class GoldModel:
    """Answers requests of the first items of every category with the calls of the ground truth.

    A request is known by what the users of its dialogue said and by the tools on offer. After the results of its
    calls, and where the ground truth calls nothing, the model says that it is done.

    Attributes:
        results: The texts of tool results that it was shown.
    """

    def __init__(self, limit: int) -> None:
        self.results: list[str] = []
        self._gold: dict[Key, list[dict[str, Any]]] = {}
        pool = open_pool(EvalConfig(suites=("bfcl-v3",), out="unused", responses="gold"))
        try:
            for category in asked_categories("bfcl-v3", "native", False):
                for key, output in pool.call("gold", category)[:limit]:
                    place = {"category": category, "id": key, "given": None, "underscored": True}
                    self._learn(pool.call("prepare", place), output, category)
        finally:
            pool.close()

    def _learn(self, shown: Mapping[str, Any], output: list[Any], category: str) -> None:
        several = category.startswith("multi_turn")
        said: list[str] = []
        tools = {tool["function"]["name"] for tool in shown["tools"]}
        for turn, messages in enumerate(shown["turns"]):
            said += [message["content"] for message in messages if message["role"] == "user"]
            tools |= {tool["function"]["name"] for tool in shown["added"].get(str(turn), [])}
            steps = output[turn] if several else [output]
            calls = steps[0] if steps else []
            self._gold[tuple(said), frozenset(tools)] = [
                {"name": re.sub(r"\.", "_", name), "arguments": json.loads(text)}
                for call in calls
                for name, text in call.items()
            ]

    def __call__(self, body: dict[str, Any]) -> str | dict[str, Any]:
        messages = body["messages"]
        if messages[-1]["role"] == "tool":
            self.results += [message["content"] for message in messages if message["role"] == "tool"]
            return "That is done."
        said = tuple(message["content"] for message in messages if message["role"] == "user")
        tools = frozenset(tool["function"]["name"] for tool in body.get("tools", ()))
        calls = self._gold[said, tools]
        return {"calls": calls} if calls else "Nothing fits."
