"""Asking a model ACEBench's items: one reply, or an agent that acts until it says that it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from planarena.bench import Asked
from planarena.eval.acebench.agent import carry_out, open_pool
from planarena.eval.acebench.data import AGENT, SPECIAL, AceItem, read_items
from planarena.eval.acebench.reading import Written
from planarena.eval.acting import act, plain_names, server_tools
from planarena.eval.config import EvalConfig
from planarena.eval.conversation import Conversation
from planarena.eval.models.dialogues import Exchange, Item
from planarena.eval.pool import Pool
from planarena.eval.users import SimulatedUser, open_user
from planarena.formats import Call
from planarena.llm import load_prompt

__all__ = ["ask"]

_DONE = "finish conversation"
_MOST_REPLIES = 40


@contextmanager
def ask(suite: str, config: EvalConfig) -> Iterator[Callable[[str], list[Item]]]:
    """Open the items for a model.

    The agents of `agent_multi_turn` talk with a user, whom another model plays: they are left out where
    `generation.user_model` names none.

    Raises:
        UserError: No such files.
        EnvironmentUnavailableError: There is no sandbox for the agents' scenarios.
    """
    path = config.data_path(
        suite, "ACEBench is not shipped with planarena", "fetch it: --fetch, or --data acebench=FOLDER"
    )
    items = {name: rows[: config.limit] for name, rows in read_items(path, config.language).items()}
    with open_user(config) as user:
        pool = open_pool(config, path) if any(name in items for name in AGENT) else None
        try:

            def opened(form: str) -> list[Item]:
                found = []
                for name, listed in items.items():
                    if name not in AGENT:
                        found += [Item(item.id, partial(_answer, config, form, item)) for item in listed]
                    elif pool is not None and (name == "agent_multi_step" or user is not None):
                        talk = partial(_act, config, form, pool, path, user)
                        found += [Item(item.id, partial(talk, item)) for item in listed]
                return found

            yield opened
        finally:
            if pool is not None:
                pool.close()


def _tools(item: AceItem, form: str) -> list[dict[str, Any]]:
    functions = [
        {
            "name": one["name"],
            "description": one.get("description", ""),
            "parameters": _schema(one.get("parameters", one.get("arguments")) or {"type": "object"}),
        }
        for one in item.row["function"]
    ]
    return server_tools([{"type": "function", "function": one} for one in functions], form)


def _schema(value: Any) -> Any:
    """JSON Schema's own names of types."""
    names = {"dict": "object", "float": "number", "int": "integer", "list": "array", "tuple": "array", "objectArray": "array",
             "list(string)": "array", "list(enum)": "array", "enum": "string", "any": "string"}  # fmt: skip
    if isinstance(value, dict):
        return {
            key: names.get(inner, inner) if key == "type" and isinstance(inner, str) else _schema(inner)
            for key, inner in value.items()
        }
    return [_schema(one) for one in value] if isinstance(value, list) else value


def _answer(config: EvalConfig, form: str, item: AceItem, sample: int) -> Exchange:
    prompt = load_prompt("eval_acebench_special" if item.category in SPECIAL else "eval_acebench")
    known: dict[str, Any] = {"instructions": prompt.system()}
    for name in ("time", "profile"):
        if item.row.get(name):
            known[name] = str(item.row[name])
    conversation = Conversation(form, _tools(item, form), config, known)
    conversation.user(str(item.row["question"]))
    offered = tuple(conversation.tools) if conversation.native else ()
    reply = yield Asked(id=item.id, messages=conversation.messages(), tools=offered, sample=sample)
    return reply.text


def _act(
    config: EvalConfig,
    form: str,
    pool: Pool,
    path: Path,
    user: SimulatedUser | None,
    item: AceItem,
    sample: int,
) -> Exchange:
    names = plain_names([str(one["name"]) for one in item.row["function"]])
    steps: list[Written] = []
    question = str(item.row["question"])
    talk = None
    if item.category == "agent_multi_turn" and user is not None:
        talk = user.begin(f"{item.id}/{sample}", question)

    def execute(calls: list[Call]) -> list[str]:
        steps.append([(names.get(call.name, call.name), call.arguments) for call in calls])
        results, _, problem = carry_out(pool, path, item, steps, config)
        return results if len(results) == len(calls) else [problem or "no result"] * len(calls)

    def answer(said: str) -> str | None:
        if _DONE in said:
            return None
        return talk.reply(said) if talk is not None else load_prompt("eval_acebench_agent").user()

    return (
        yield from act(
            key=item.id,
            sample=sample,
            form=form,
            tools=_tools(item, form),
            config=config,
            known={"instructions": load_prompt("eval_acebench_agent").system()},
            opening=talk.opening() if talk is not None else question,
            execute=execute,
            answer=answer,
            most_replies=_MOST_REPLIES,
        )
    )
