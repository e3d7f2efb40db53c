"""`planarena chat`: a policy in the terminal, at work on a task step by step, or in conversation."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planarena.cli import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planarena.bench import Played, Task
    from planarena.session import Snapshot

__all__ = ["chat"]

_HELP = """\
  Enter      the next step               all        go on to the end
  undo       take the last step back     next       another task
  again      the same task again         quit       leave (Ctrl-D does, too)"""


def chat(
    checkpoint: Annotated[
        str, typer.Argument(metavar="CHECKPOINT", help="A folder with a model, or a training run.")
    ],
    run: Annotated[
        str,
        typer.Option("--run", metavar="RUN", help="Watch it on the tasks of a run, env: or builtin: source."),
    ] = "",
    task: Annotated[str, typer.Option("--task", metavar="ID", help="A task's or scenario's id.")] = "",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Which task, where none is named.")] = 0,
    form: Annotated[str, typer.Option("--format", help="What it speaks; by default as it was trained.")] = "",
    max_tokens: Annotated[int, typer.Option("--max-tokens", metavar="N", help="Of a reply.")] = 512,
    temperature: Annotated[float, typer.Option("--temperature", help="0 is greedy.")] = 0.0,
    trusted: Annotated[bool, typer.Option("--trusted", help="Run your own folder in process.")] = False,
    unsafe: Annotated[
        bool, typer.Option("--unsafe-no-sandbox", help="Run it outside of the sandbox.")
    ] = False,
) -> None:
    """Watch a checkpoint work on tasks, one step at a time; without --run talk to it."""
    from planarena.bench import load_tasks
    from planarena.errors import UserError
    from planarena.serving.checkpoint import open_checkpoint, prompts_of
    from planarena.serving.sources import open_run

    policy, config = open_checkpoint(
        checkpoint, form=form, max_tokens=max_tokens, temperature=temperature, seed=seed
    )
    with policy:
        if not run:
            _Talk(policy).run()
            return
        with open_run(run, trusted=trusted, unsafe=unsafe) as path:
            tasks = load_tasks(path, prompts_of(config, policy.format), splits=())
            found = [n for n, one in enumerate(tasks) if task in (one.id[: len(task)], one.row.scenario_id)]
            if not found:
                raise UserError(
                    f"there is no task {task!r}", where="--task", fix="`planarena inspect RUN` lists them"
                )
            _Work(policy, tasks, found[0] if task else seed % len(tasks)).run()


def _ask(prompt: str) -> str | None:
    """Read a line; None at the end."""
    try:
        return input(prompt).strip()
    except (EOFError, KeyboardInterrupt):
        typer.echo("")
        return None


class _Talk:
    """A conversation without tools."""

    def __init__(self, policy: Any) -> None:
        self._policy = policy

    def run(self) -> None:
        from planarena.bench import Asked

        messages: list[dict[str, Any]] = []
        while (line := _ask("you> ")) is not None and line not in ("quit", "exit"):
            if not line:
                continue
            messages.append({"role": "user", "content": line})
            turn = len(messages) // 2
            reply = self._policy.reply([Asked(id="chat", messages=tuple(messages), turn=turn)])[0]
            text = reply.text
            if self._policy.format == "native":
                text = str(json.loads(text).get("content") or "")
            typer.echo(plain(text))
            messages.append({"role": "assistant", "content": text})


class _Work:
    """A policy on tasks; every step is one reply and what came of it."""

    def __init__(self, policy: Any, tasks: Sequence[Task], place: int) -> None:
        self._policy, self._tasks, self._place = policy, tasks, place
        self._begin()

    def run(self) -> None:
        """Read and carry out lines until the end."""
        typer.echo(_HELP)
        self._show_task()
        while (line := _ask("> ")) is not None and line not in ("quit", "exit"):
            if line in ("", "step"):
                self._step()
            elif line == "all":
                while self._dialogue.open:
                    self._step()
            elif line == "undo":
                self._undo()
            elif line in ("next", "again"):
                self._place = (self._place + (line == "next")) % len(self._tasks)
                self._begin()
                self._show_task()
            else:
                typer.echo(_HELP)

    def _begin(self) -> None:
        from planarena.bench.playing import begin

        self._dialogue = begin(self._tasks[self._place])
        self._before: list[tuple[list[dict[str, Any]], Snapshot, Played]] = []

    def _show_task(self) -> None:
        task = self._tasks[self._place]
        typer.echo(plain(f"task {task.id} ({task.row.domain}, {len(task.row.tools)} tools)"))
        typer.echo(plain(f"user: {task.row.turns[0]}"))

    def _step(self) -> None:
        from planarena import formats
        from planarena.bench.playing import MOST_TURNS, parse_reply
        from planarena.session import observation_text

        dialogue = self._dialogue
        played, messages = dialogue.played, dialogue.messages
        if not dialogue.open:
            typer.echo("the episode is over: next, again, undo or quit")
            return
        kept = replace(played, texts=list(played.texts), calls=list(played.calls))
        self._before.append((list(messages), dialogue.session.snapshot(), kept))
        calls, said = len(played.calls), len(messages)
        reply = self._policy.reply([dialogue.asked])[0]
        parsed = parse_reply(formats.get(self._policy.format), reply.text)
        dialogue.take(reply.text, parsed, len(self._before) >= MOST_TURNS)
        if parsed.plan:
            typer.echo(plain(f"  plan: {parsed.plan}"))
        for made in played.calls[calls:]:
            typer.echo(plain(f"  call: {made.tool} {json.dumps(made.arguments, ensure_ascii=False)}"))
            typer.echo(plain(f"    -> {observation_text(made.outcome)}"))
        if parsed.broken or not (parsed.calls or parsed.response):
            typer.echo(plain(f"  cannot be read: {reply.text[:400]!r}"))
        elif parsed.response:
            typer.echo(plain(f"assistant: {parsed.response}"))
        if not parsed.calls and len(messages) > said and messages[-1]["role"] == "user":
            typer.echo(plain(f"user: {messages[-1]['content']}"))
        self._show_end()

    def _show_end(self) -> None:
        played = self._dialogue.played
        if not self._dialogue.open:
            goal = "reached" if played.goal else "not reached"
            ending = "success" if played.success else "no success"
            typer.echo(f"the end: {ending}, goal {goal}, {len(played.calls)} calls")

    def _undo(self) -> None:
        if not self._before:
            typer.echo("nothing was done yet")
            return
        messages, point, played = self._before.pop()
        self._dialogue.session.restore(point)
        self._dialogue.messages, self._dialogue.played, self._dialogue.open = messages, played, True
        typer.echo("  took back the last step")
