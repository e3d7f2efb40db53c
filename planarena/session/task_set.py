"""The tasks that a session chooses from: those of a run, or of a file that `write_tasks` wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import overload

import msgspec

from planarena.errors import RunError, UserError
from planarena.records import Run, read_rows
from planarena.records.foreign import ForeignError, Marks
from planarena.rows import EnvironmentReference, EpisodeRow, RowOptions, load_episodes
from planarena.session.task import SessionTask, StoredWorld

__all__ = ["TASKS", "TaskSet", "read_tasks", "write_tasks"]

TASKS = "tasks.jsonl"


class TaskSet(Sequence[SessionTask]):
    """Tasks in a fixed order, with distinct ids.

    Args:
        tasks: The tasks.
        source: Where they come from, for messages.

    Raises:
        UserError: There is none.
    """

    def __init__(self, tasks: Iterable[SessionTask], source: str) -> None:
        self._tasks = tuple(tasks)
        self._by_id = {task.id: task for task in self._tasks}
        self.source = source
        if not self._tasks:
            raise UserError(
                "has no task in which a policy can act", where=source, fix="give another run, or other splits"
            )

    @overload
    def __getitem__(self, place: int) -> SessionTask: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[SessionTask]: ...
    def __getitem__(self, place: int | slice) -> SessionTask | Sequence[SessionTask]:
        return self._tasks[place]

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[SessionTask]:
        return iter(self._tasks)

    def get(self, name: str) -> SessionTask:
        """Return the task of an id.

        Raises:
            UserError: There is none.
        """
        found = self._by_id.get(name)
        if found is None:
            near = get_close_matches(name, self._by_id, n=1)
            fix = f"did you mean {near[0]}?" if near else f"one of {len(self._tasks)}, as {self._tasks[0].id}"
            raise UserError(f"there is no task {name[:80]!r}", where=self.source, fix=fix)
        return found

    def draw(self, seed: int) -> SessionTask:
        """Return the task that a seed draws."""
        return self._tasks[Random(f"session/{seed}").randrange(len(self._tasks))]

    def splits(self) -> dict[str, list[SessionTask]]:
        """Return the tasks by split."""
        found: dict[str, list[SessionTask]] = {}
        for task in self._tasks:
            found.setdefault(task.split, []).append(task)
        return found


def read_tasks(
    path: str | Path,
    *,
    splits: Sequence[str] = (),
    limit: int | None = None,
    options: RowOptions | None = None,
) -> TaskSet:
    """Read the tasks of a run, or of a file that `write_tasks` wrote.

    Trajectories of several generators may share a task; the first stands for it. Tasks without an environment that
    can go back are left out.

    Args:
        path: A run directory, a file of tasks, or a folder that holds one as `tasks.jsonl`.
        splits: Only these; empty for all.
        limit: Most tasks.
        options: How prompts are written; by default chat messages, with the tools beside them.

    Raises:
        UserError: There is no such task.
        RunError: It is no run.
    """
    root = Path(path)
    if (root / TASKS).is_file():
        root = root / TASKS
    stream = _stored(root, splits) if root.is_file() else _of_run(root, tuple(splits), options)
    found: dict[str, SessionTask] = {}
    for task in stream:
        if limit is not None and len(found) >= limit:
            break
        found.setdefault(task.id, task)
    return TaskSet(found.values(), str(path))


def _of_run(root: Path, splits: tuple[str, ...], options: RowOptions | None) -> Iterator[SessionTask]:
    wanted = msgspec.structs.replace(options or RowOptions(format="native"), splits=splits)
    Run.open(root)
    rows: Iterable[EpisodeRow] = load_episodes(root, wanted, allow_empty=True)
    for row in rows:
        if row.environment is not None:
            yield SessionTask.of_row(row)


class _Stored(SessionTask, frozen=True, kw_only=True):
    """A task as a file holds it: always with its world beside it."""

    world: StoredWorld


def _stored(path: Path, splits: Sequence[str]) -> Iterator[SessionTask]:
    decoder = msgspec.json.Decoder(_Stored)
    budget = Marks(path.stat().st_size)
    with path.open("rb") as handle:
        for number, line in enumerate(handle, 1):
            budget.line(str(path))
            try:
                if not budget.take(line):
                    raise ForeignError("more values than a file of its size may hold")
                task = decoder.decode(line)
            except (msgspec.MsgspecError, ForeignError, UnicodeDecodeError, RecursionError) as error:
                raise UserError(
                    f"line {number} is no task: {error}", where=str(path), fix="write the export again"
                ) from error
            if not splits or task.split in splits:
                yield task


def write_tasks(path: str | Path, tasks: Iterable[SessionTask], *, solutions: bool = True) -> int:
    """Write tasks as JSON lines that need no run; return their number.

    Args:
        path: A file.
        tasks: The tasks.
        solutions: Write the gold, too; a server needs the goal alone.

    Raises:
        RunError: The run of a task is gone or another one.
        OSError: No space, no permission.
    """
    encoder = msgspec.json.Encoder(order="deterministic")
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    number = 0
    with target.open("wb") as handle:
        for task in tasks:
            alone = _standing_alone(task)
            handle.write(encoder.encode(alone if solutions else alone.without_solution()) + b"\n")
            number += 1
    return number


def _standing_alone(task: SessionTask) -> SessionTask:
    """Return a task with its world beside it."""
    place = task.world
    if isinstance(place, StoredWorld):
        return task
    assert isinstance(place, EnvironmentReference)
    root = Run.open(place.run).path / "tables"
    scenarios, goals = _tables(str(root), place.shard)
    try:
        environment, state, context = scenarios[place.scenario_id]
        world = StoredWorld(environment, state, context, goals[place.task_id])
    except KeyError as error:
        raise RunError(
            f"holds no {error}", where=place.run, fix="give the run that the tasks were read from"
        ) from error
    return msgspec.structs.replace(task, world=world)


@lru_cache(maxsize=4)
def _tables(root: str, shard: str) -> tuple[dict[str, tuple[str, str, str]], dict[str, str]]:
    """Return environment, state and context by scenario, and the goal by task, of one shard."""
    scenarios = read_rows(Path(root) / "scenarios" / f"{shard}.parquet", "scenarios")
    tasks = read_rows(Path(root) / "tasks" / f"{shard}.parquet", "tasks")
    return (
        {row.scenario_id: (row.environment, row.seed_state, row.context) for row in scenarios},
        {row.task_id: row.goal for row in tasks},
    )
