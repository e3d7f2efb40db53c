"""The tasks of the bench: those that ship with planarena, or the held-out scenarios of any run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from planarena import formats
from planarena.bench.shipped import HELD_OUT
from planarena.environments import operations
from planarena.environments.domains import DOMAINS, STUDY, load_domain
from planarena.errors import RunError, UserError
from planarena.formats import Call
from planarena.records import Run, read_rows
from planarena.rows import EpisodeRow, RowOptions, load_episodes
from planarena.users import Brief

__all__ = ["Task", "bench_options", "load_tasks"]


class Task(msgspec.Struct, frozen=True):
    """One task of the bench.

    Attributes:
        id: Its task's id.
        row: What the policy sees, where it acts, and the gold.
        actions: Actions of the gold, which is minimal; 0 where no call is right.
        shape: `single`, `serial`, `parallel`, `mixed`, or `none` where no call is right.
        category: `call`, or why no call is right.
        offered: Wire names of the tools on offer.
        talk: The kind of conversation, `plain` for most.
    """

    id: str
    row: EpisodeRow
    actions: int
    shape: str
    category: str
    offered: frozenset[str]
    talk: str = "plain"

    @property
    def calls(self) -> tuple[Call, ...]:
        """The gold calls in order."""
        return tuple(call for gold in self.row.gold for call in gold.calls)

    @property
    def kind(self) -> str:
        """What tables call it: its kind of conversation, its number of actions, or why no call is right."""
        if self.talk != "plain":
            return self.talk.replace("_", " ")
        if not self.actions:
            return f"no call: {self.category.replace('_', ' ')}"
        return f"{self.actions} action{'s' if self.actions > 1 else ''}"


def bench_options(form: str = "planarena", **options: Any) -> RowOptions:
    """Return how prompts are written for a format.

    Raises:
        UserError: There is no such format, or none of its prompts is a chat that can be continued.
    """
    formats.get(form)
    if form in ("toolrl", "chord", "math"):
        raise UserError(
            f"prompts of the format {form} pack the history into one message, so no dialogue can be continued",
            where="format",
            fix="choose planarena, think, parameters, params, answer, toolupt, hermes or native",
        )
    if form == "toolupt":
        options.setdefault("template", "short")
    return RowOptions(format=form, **options)


def load_tasks(
    path: str | Path,
    options: RowOptions | None = None,
    *,
    splits: tuple[str, ...] = HELD_OUT,
    limit: int | None = None,
    allow_empty: bool = False,
) -> list[Task]:
    """Read the tasks of a run's held-out scenarios, in the run's order.

    Args:
        path: A run; that of `bench_path` for the bench itself.
        options: The format that the policy speaks and how prompts are written; the splits in it are not read.
        splits: Whose tasks.
        limit: Most tasks of each category and number of actions, and of each other kind of conversation.
        allow_empty: Do not refuse a run without such a task.

    Raises:
        UserError: The run has no held-out task that a policy can act on.
        RunError: It is no run, or one whose environments are not those of this planarena.
    """
    run = Run.open(path)
    check_environments(run)
    wanted = msgspec.structs.replace(options or RowOptions(), splits=splits)
    rows = load_episodes(path, wanted, allow_empty=True)
    stored = {row.task_id: row for shard in run.shards("tasks") for row in read_rows(shard, "tasks")}
    tasks: list[Task] = []
    taken: dict[tuple[str, int], int] = {}
    for row in rows:
        if row.environment is None:
            continue
        task = stored[row.task_id]
        talk = msgspec.json.decode(row.brief or "{}", type=Brief).kind
        key = (task.category if talk == "plain" else talk, task.n_actions if talk == "plain" else 0)
        taken[key] = taken.get(key, 0) + 1
        if limit is not None and taken[key] > limit:
            continue
        offered = frozenset(str(tool["function"]["name"]) for tool in row.tools)
        shape = _shape(task.expression, task.n_actions)
        tasks.append(Task(task.task_id, row, task.n_actions, shape, task.category, offered, talk))
    if not tasks and not allow_empty:
        raise UserError(
            f"has no task of the splits {', '.join(splits)} in which a policy can act",
            where=str(path),
            fix="build it with --set split.test=0.1, or leave --data out for the bench that ships with planarena",
        )
    if len({task.id for task in tasks}) < len(tasks):
        # Trajectories of several generators may share a task; the first stands for it.
        tasks = list({task.id: task for task in reversed(tasks)}.values())[::-1]
    return tasks


def check_environments(run: Run) -> None:
    """Hold the tools that a run was made with against those of this planarena's own environments.

    Raises:
        RunError: A tool is gone or has changed, so that what the run recorded would not happen again.
    """
    changed = []
    for shard in run.shards("tools"):
        for row in read_rows(shard, "tools"):
            if row.source_kind != "builtin":
                continue
            here = row.namespace in DOMAINS or row.namespace == STUDY
            known = operations(load_domain(row.namespace)) if here else {}
            if row.wire_name not in known or known[row.wire_name].tool.tool_id != row.tool_id:
                changed.append(row.wire_name)
    if changed:
        raise RunError(
            f"was made with other versions of {len(changed)} tools ({', '.join(sorted(changed)[:4])})",
            where=str(run.path),
            fix="evaluate with the planarena that made it, or build it again",
        )


def _shape(expression: str, actions: int) -> str:
    if actions == 0:
        return "none"
    if actions == 1:
        return "single"
    serial, parallel = "," in expression, "||" in expression
    return "mixed" if serial and parallel else "parallel" if parallel else "serial"
