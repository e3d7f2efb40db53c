"""Asking a model the tasks of tau2-bench and tau-bench: it acts for a user whom another model plays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from planarena.environments import ReplyError, WorkerDiedError, WorkerTimeoutError
from planarena.errors import UserError
from planarena.eval.acting import act
from planarena.eval.config import EvalConfig
from planarena.eval.models.dialogues import Exchange, Item
from planarena.eval.pool import Pool
from planarena.eval.tau2.data import TauTask
from planarena.eval.tau2.domains import open_pool, place_of, read_tasks, user_words
from planarena.eval.users import STOPS, SimulatedUser, open_user
from planarena.formats import Call

__all__ = ["ask"]

_NOT_ASKED = ("banking_knowledge",)  # its agent searches documents, which needs an index
_TRANSFER = "transfer_to_human_agents"
_MOST_REPLIES = 60


@contextmanager
def ask(suite: str, config: EvalConfig) -> Iterator[Callable[[str], list[Item]]]:
    """Open the tasks for a model.

    Raises:
        UserError: Nobody plays the user, or there are no tasks.
        EnvironmentUnavailableError: There is no sandbox.
    """
    path, first = place_of(suite, config)
    with open_user(config) as user:
        if user is None:
            raise UserError(
                "its agents talk with a user, and no model is named that plays one",
                where=suite,
                fix="--set generation.user_model=ID_OR_MODEL@URL",
            )
        pool = open_pool(config, path, first)
        try:
            tasks = [
                one
                for name, listed in read_tasks(pool, path, first).items()
                for one in listed[: config.limit]
                if name not in _NOT_ASKED
            ]
            about = {
                domain: pool.call("about", _place(path, first, domain), seconds=60.0)
                for domain in dict.fromkeys(one.domain for one in tasks)
            }

            def items(form: str) -> list[Item]:
                talk = partial(_talk, config, form, pool, path, first, user, about)
                return [Item(one.id, partial(talk, one)) for one in tasks]

            yield items
        finally:
            pool.close()


def _place(path: Path, first: bool, domain: str) -> dict[str, Any]:
    return {"folder": str(path.absolute()), "first": first, "domain": domain}


class _Steps:
    """What was called so far, by whom, and what the last calls returned."""

    def __init__(self, config: EvalConfig, pool: Pool, place: dict[str, Any], task: dict[str, Any]) -> None:
        self._config, self._pool = config, pool
        self._request = {**place, "task": task, "seconds": config.seconds}
        self._steps: list[list[list[Any]]] = []

    def call(self, who: str, calls: list[Call]) -> list[str]:
        """Carry calls out after all that were made before."""
        self._steps.append([[who, call.name, call.arguments] for call in calls])
        try:
            found = self._pool.call(
                "run", {**self._request, "steps": self._steps}, seconds=self._config.seconds + 30
            )
        except (WorkerDiedError, WorkerTimeoutError, ReplyError):
            found = []
        return list(found) if len(found) == len(calls) else ["Error: no result"] * len(calls)


def _talk(
    config: EvalConfig,
    form: str,
    pool: Pool,
    path: Path,
    first: bool,
    user: SimulatedUser,
    about: dict[str, dict[str, Any]],
    one: TauTask,
    sample: int,
) -> Exchange:
    shown = about[one.domain]
    steps = _Steps(config, pool, _place(path, first, one.domain), one.task)
    talk = user.begin(
        f"{one.id}/{sample}", user_words(one.task), shown["user_tools"], partial(steps.call, "user")
    )  # fmt: skip
    transferred = False

    def execute(calls: list[Call]) -> list[str]:
        nonlocal transferred
        transferred = transferred or any(call.name == _TRANSFER for call in calls)
        return steps.call("assistant", calls)

    def answer(said: str) -> str | None:
        if transferred:
            talk.heard.append({"role": "user", "content": STOPS[0]})
            return None
        return talk.reply(said)

    opening = talk.opening()
    return (
        yield from act(
            key=one.id,
            sample=sample,
            form=form,
            tools=shown["tools"],
            config=config,
            known={"policy": shown["policy"]},
            opening=opening,
            execute=execute,
            answer=answer,
            heard=talk.heard,
            most_replies=_MOST_REPLIES,
        )
    )
