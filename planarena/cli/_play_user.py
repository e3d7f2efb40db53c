"""`planarena env play --user`: a user speaks, whoever types acts and answers, and in the end it shows whether it was right."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import typer

from planarena.cli import plain
from planarena.cli._play import Game
from planarena.environments.sources.source import Unit
from planarena.errors import UserError
from planarena.session import Session, SessionTask
from planarena.users import Users

__all__ = ["Conversation", "open_conversation"]

_TASKS = 40
_HELP = """\
  TOOL name=value ...   call a tool; values are JSON, or text without spaces (Tab completes tools, arguments and values)
  say TEXT              answer the user, or ask back
  tools                 list the tools                    try TOOL        propose arguments that make sense now
  show [TABLE [ID]]     look at the state                 undo            take the last call or answer back
  log                   what was done so far              save FILE       write it as a script
  run FILE              carry a script out                quit            leave (Ctrl-D does, too)"""


class Conversation(Game):
    """One conversation with a user.

    Args:
        unit: The environment.
        source: How it is called.
        task: What the user wants.
        users: Who plays the user.
    """

    help = _HELP

    def __init__(self, unit: Unit, source: str, task: SessionTask, users: Users) -> None:
        super().__init__(unit, source, "1")
        self.commands = ("say", *self.commands)
        self.session = Session(user=lambda one: users.play(one.known))
        self.session.reset(task)
        self.world = self.session.world
        self.task = task
        self.operations = {name: one for name, one in unit.operations.items() if name in task.offered}
        self.title, self.description = f"{source}: you are the assistant", "The user speaks first."

    def open(self) -> None:
        """Show the user's first message."""
        self._hear(self.task.turns[0])

    @property
    def over(self) -> bool:
        """Whether the user has nothing more to say."""
        return self.session.over

    def fail(self, name: str, arguments: dict[str, Any]) -> None:
        """Keep a call that failed: the user's case may be that it does."""
        self.done.append((name, arguments))

    def _hear(self, text: str) -> None:
        typer.echo(plain(f"\nuser: {text}"))

    def _say(self, rest: str) -> None:
        if not rest:
            typer.echo("write: say TEXT")
            return
        if rest.startswith('"'):
            with contextlib.suppress(ValueError):
                rest = str(json.loads(rest))
        self.done.append(("say", rest))
        message = self.session.answer(rest)
        if message is not None:
            self._hear(message)
            return
        reward = self.session.reward()
        if self.session.spoiled:
            typer.echo(plain(f"\nthe user spoiled the conversation: {self.session.spoiled}"))
        elif not self.session.answered:
            typer.echo("\nthe user gave up")
        goal = "reached" if reward.goal else "missed"
        typer.echo(
            f"\n{'success' if reward.value else 'no success'}: the goal is {goal}, {reward.calls} calls, {reward.failed} of "
            f"them failed; {self.task.actions} are enough"
        )


def open_conversation(
    unit: Unit, source: str, users: Users, seed: int, kind: str, trusted: bool, unsafe: bool
) -> Conversation:
    """Build a few conversations in an environment and return one of them.

    Args:
        unit: The environment.
        source: How builds call it.
        users: Who plays the user.
        seed: Which one.
        kind: Of conversation; empty for any.
        trusted: The environment runs without a sandbox.
        unsafe: Likewise, whoever wrote it.

    Raises:
        UserError: There is none of this kind.
    """
    import planarena
    from planarena.config import AllowedConfig, BuildConfig, ContrastConfig, ConversationConfig
    from planarena.config.conversations import CONVERSATION_KINDS, PLAIN
    from planarena.rows import RowOptions, load_episodes
    from planarena.users import Brief

    if kind and kind not in (PLAIN, *CONVERSATION_KINDS):
        raise UserError(
            f"there is no kind {kind!r}",
            where="--kind",
            fix=f"one of: {PLAIN}, {', '.join(CONVERSATION_KINDS)}",
        )
    wanted = (kind,) if kind in CONVERSATION_KINDS else () if kind else CONVERSATION_KINDS
    with tempfile.TemporaryDirectory() as folder:
        config = BuildConfig(
            sources=(source,),
            out=str(Path(folder) / "run"),
            trajectories=_TASKS,
            scenarios=_TASKS,
            seed=seed,
            conversations=ConversationConfig({name: 0.8 / len(wanted) for name in wanted}),
            contrast=ContrastConfig(candidates=0, trajectories=0, no_calls=0),
            allowed=AllowedConfig(unsafe_no_sandbox=unsafe, trusted=trusted),
        )
        run = planarena.build(config)
        rows = load_episodes(
            run.path, RowOptions(splits=("train", "validation", "test", "unseen_tools")), allow_empty=True
        )
        found = [
            SessionTask.of_row(row)
            for row in rows
            if row.environment is not None
            and (not kind or msgspec.json.decode(row.brief or "{}", type=Brief).kind == kind)
        ]
        if not found:
            raise UserError(
                f"gave no conversation{f' of the kind {kind}' if kind else ''} in which somebody can act",
                where=source,
                fix="try another --seed, or leave --kind out",
            )
        # The first tasks would all be of one scenario; the world is made while the run is there.
        return Conversation(unit, source, found[seed % len(found)], users)
