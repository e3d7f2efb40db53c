"""Asking a model BFCL's questions: one turn, or several with its calls executed in the sandbox between the steps.

The loop is bfcl-eval's own: a turn goes on until a reply holds no call that can be executed, or ends the item after
21 steps; tools that were withheld come with the turn that asks for them. What a reply calls is read by the same
code that scores it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from planarena.bench import Asked
from planarena.environments import ReplyError, WorkerDiedError, WorkerTimeoutError
from planarena.eval.bfcl.categories import FORMATS, MULTI_TURN, asked_categories
from planarena.eval.bfcl.memory import memory_items
from planarena.eval.bfcl.outputs import output_of, read_questions, to_structure
from planarena.eval.bfcl.workers import open_pool
from planarena.eval.config import EvalConfig
from planarena.eval.conversation import Conversation
from planarena.eval.models.dialogues import Exchange, Item
from planarena.eval.pool import Pool
from planarena.rows.signatures import render_tools

__all__ = ["ask"]


@contextmanager
def ask(suite: str, config: EvalConfig) -> Iterator[Callable[[str], list[Item]]]:
    """Open BFCL's questions: the categories of one and of several turns, all but the agentic ones.

    Args:
        suite: "bfcl-v3" or "bfcl-v4", whose questions of these categories are the same.
        config: The evaluation.

    Yields:
        A function from the format of a policy's replies to the items.

    Raises:
        EnvironmentUnavailableError: bfcl-eval cannot be installed, or there is no sandbox.
    """
    custom = read_questions(Path(config.data[suite])) if suite in config.data else None
    pool = open_pool(config)
    try:

        def listed(category: str) -> list[tuple[str, dict[str, Any] | None]]:
            if custom is not None:
                return [(key, given) for key, given in custom.get(category, [])[: config.limit]]
            keys: list[str] = pool.call("ids", category)
            return [(key, None) for key in keys[: config.limit]]

        def items(form: str) -> list[Item]:
            listed_items = [
                Item(key, partial(_talk, pool, config, form, category, key, given))
                for category in asked_categories(suite, form, config.generation.format_sensitivity)
                for key, given in listed(category)
            ]
            if suite == "bfcl-v4" and custom is None:
                listed_items += memory_items(pool, config, form)
            return listed_items

        yield items
    finally:
        pool.close()


def _talk(
    pool: Pool,
    config: EvalConfig,
    form: str,
    category: str,
    key: str,
    given: dict[str, Any] | None,
    sample: int,
) -> Exchange:
    """One item, from its question to its output."""
    place = {"category": category, "id": key, "given": given}
    shown = pool.call("prepare", {**place, "underscored": form == "native"})
    opening = shown["turns"][0]
    if category in FORMATS:
        reply = yield Asked(id=key, messages=tuple(opening), sample=sample)
        return reply.text
    known = [message["content"] for message in opening if message["role"] == "system"]
    conversation = Conversation(
        form, shown["tools"], config, {"instructions": "\n".join(known)} if known else {}
    )
    several = category in MULTI_TURN
    turns: list[list[Any]] = []
    executed: list[Any] = []
    number = 0
    for turn, messages in enumerate(shown["turns"]):
        _open_turn(conversation, messages, shown["added"].get(str(turn), []))
        steps: list[Any] = []
        turns.append(steps)
        while True:
            reply = yield Asked(
                id=key,
                messages=conversation.messages(),
                tools=tuple(conversation.tools) if conversation.native else (),
                sample=sample,
                turn=number,
            )
            number += 1
            output = output_of(form, reply.text)
            if not several:
                return output
            steps.append(output)
            conversation.said(reply.text)
            results = _execute(pool, place, [*executed, to_structure(output, category, "json")[0]], config)
            if results is None:
                break
            if results:
                executed.append(to_structure(output, category, "json")[0])
            conversation.returned(results or _no_result(form, reply.text, config))
            if len(steps) == shown["most_steps"]:
                return turns
    return turns


def _open_turn(
    conversation: Conversation, messages: list[dict[str, Any]], added: list[dict[str, Any]]
) -> None:
    """Add the messages of a turn; a text format reads the tools that come with it in the user's words."""
    words = ""
    if added:
        if conversation.native:
            conversation.tools += added
        else:
            words = render_tools(added) + "\n"
    for message in messages:
        if message["role"] == "user":
            conversation.user(words + message["content"])
        elif message["role"] == "assistant":
            conversation.said(message["content"])


def _execute(
    pool: Pool, place: dict[str, Any], steps: list[Any], config: EvalConfig
) -> list[tuple[str, str]] | None:
    """Return what the last step's calls returned; None where it holds none, nothing where they ended the worker."""
    try:
        found = pool.call("execute", {**place, "steps": steps}, seconds=config.seconds + 2)
    except (WorkerDiedError, WorkerTimeoutError, ReplyError):
        return []
    return None if found is None else [(name, result) for name, result in found]


def _no_result(form: str, text: str, config: EvalConfig) -> list[tuple[str, str]]:
    """Tell the model that its step took too long or too much; scoring will find the same."""
    words = f"Error during execution: stopped after {config.seconds:g} seconds, or for its use of memory"
    structure, _ = to_structure(output_of(form, text), MULTI_TURN[0], "json")
    calls = structure if isinstance(structure, list) else [structure]
    return [(name, words) for call in calls if isinstance(call, dict) for name in call]
