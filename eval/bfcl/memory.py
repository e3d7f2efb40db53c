"""BFCL's questions to a memory: dialogues fill it, each beginning with what the last one left, then each question is put.

The dialogues of a scenario are a chain and all of its questions hang on its end, so a scenario is one item to a model:
`memory_kv:customer` is answered with the outputs of all its questions. `spread` gives each question its own.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

from planarena.bench import Asked, Reply
from planarena.environments import ReplyError, WorkerDiedError, WorkerTimeoutError
from planarena.eval.bfcl.categories import MEMORY, MULTI_TURN
from planarena.eval.bfcl.outputs import output_of, to_structure
from planarena.eval.config import EvalConfig
from planarena.eval.conversation import Conversation
from planarena.eval.models.dialogues import Exchange, Item
from planarena.eval.pool import Pool
from planarena.eval.responses import Response, count_tokens

__all__ = ["memory_items", "spread"]


def spread(outputs: dict[str, list[Response]]) -> dict[str, list[Response]]:
    """Give each question the output that its scenario's holds for it; other outputs stay as they are."""
    found = {}
    for key, listed in outputs.items():
        if not (key.startswith("memory") and ":" in key):
            found[key] = listed
            continue
        for sample, response in enumerate(listed):
            answers = response.value if isinstance(response.value, dict) else {}
            for question, value in answers.items():
                slots = found.setdefault(str(question), [])
                if len(slots) == sample:
                    slots.append(Response(value, count_tokens(value)))
    return found


def memory_items(pool: Pool, config: EvalConfig, form: str) -> list[Item]:
    """Return one item for each scenario of the memories that need no model of their own."""
    items = []
    for category in MEMORY:
        opened = pool.call("open_chain", {"category": category, "underscored": form == "native"})
        left = config.limit
        for scenario, place in opened["scenarios"].items():
            questions = place["questions"] if left is None else place["questions"][:left]
            left = None if left is None else left - len(questions)
            if questions:
                talk = _Chain(pool, config, form, category, scenario, opened)
                items.append(Item(f"{category}:{scenario}", partial(talk.begin, place["chain"], questions)))
    return items


class _Chain:
    """The dialogues of one scenario with one kind of memory."""

    def __init__(
        self, pool: Pool, config: EvalConfig, form: str, category: str, scenario: str, opened: dict[str, Any]
    ) -> None:
        self._pool, self._config, self._form = pool, config, form
        self._category, self._scenario, self._opened = category, scenario, opened

    def begin(self, chain: list[Any], questions: list[Any], sample: int) -> Exchange:
        """Fill the memory, then put every question to it as the chain left it."""
        memory: dict[str, Any] = {}
        number = 0
        for turns in chain:
            memory, number, _ = yield from self._talk(turns, memory, number, sample)
        answers: dict[str, Any] = {}
        for key, turns in questions:
            _, number, answers[key] = yield from self._talk(turns, memory, number, sample)
        return answers

    def _talk(
        self, turns: list[Any], memory: dict[str, Any], number: int, sample: int
    ) -> Generator[Asked, Reply, tuple[dict[str, Any], int, list[list[Any]]]]:
        """One dialogue: what it leaves of the memory, how many replies there were, and its output."""
        place = {"category": self._category, "memory": memory}
        told = [self._pool.call("instruct", {**place, "scenario": self._scenario})]
        told += [message["content"] for message in turns[0] if message["role"] == "system"]
        conversation = Conversation(
            self._form, self._opened["tools"], self._config, {"instructions": "\n\n".join(told)}
        )
        output: list[list[Any]] = []
        for messages in turns:
            for message in messages:
                if message["role"] == "user":
                    conversation.user(message["content"])
            steps: list[Any] = []
            output.append(steps)
            while len(steps) < self._opened["most_steps"]:
                reply = yield Asked(
                    id=f"{self._category}:{self._scenario}",
                    messages=conversation.messages(),
                    tools=tuple(conversation.tools) if conversation.native else (),
                    sample=sample,
                    turn=number,
                )
                number += 1
                steps.append(output_of(self._form, reply.text))
                conversation.said(reply.text)
                used = self._use(memory, steps[-1])
                if used is None:
                    break
                memory = used["memory"]
                conversation.returned([(name, text) for name, text in used["results"]])
        return memory, number, output

    def _use(self, memory: dict[str, Any], output: Any) -> dict[str, Any] | None:
        step = to_structure(output, MULTI_TURN[0], "json")[0]
        request = {"category": self._category, "memory": memory, "step": step}
        try:
            used: dict[str, Any] | None = self._pool.call("use", request, seconds=self._config.seconds + 2)
        except (WorkerDiedError, WorkerTimeoutError, ReplyError):
            return None
        return used
