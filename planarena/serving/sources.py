"""What can be served: a run, a folder of exported tasks, or an environment for which tasks are composed first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from planarena.errors import UserError
from planarena.session import SessionTask, TaskSet, read_tasks

__all__ = ["find_task", "open_run", "open_tasks"]


@contextmanager
def open_run(
    source: str,
    *,
    trajectories: int = 40,
    seed: int = 0,
    trusted: bool = False,
    unsafe: bool = False,
) -> Iterator[Path]:
    """Give the run behind a source; that of an environment is built for the time being.

    Args:
        source: A run, a folder of `planarena export`, `env:FOLDER` or `builtin:DOMAIN`.
        trajectories: Of an environment: how many to build.
        seed: Likewise.
        trusted: Run environment folders in process.
        unsafe: Run third-party code without a sandbox.

    Raises:
        UserError: There is no such source.
    """
    from planarena.environments.sources import SourceOptions, allow

    allow(SourceOptions(unsafe_no_sandbox=unsafe, trusted=trusted))
    if source.startswith(("env:", "builtin:")) or source == "builtin":
        with TemporaryDirectory(prefix="planarena-serve-") as folder:
            yield _build(source, f"{folder}/run", trajectories, seed, trusted, unsafe)
        return
    if not Path(source).exists():
        raise UserError(
            "there is no such run",
            where=source,
            fix="give a run of `planarena build`, env:FOLDER or builtin:DOMAIN",
        )
    yield Path(source)


@contextmanager
def open_tasks(source: str, *, splits: Sequence[str] = (), **options: Any) -> Iterator[TaskSet]:
    """Give the tasks of a source; see `open_run`.

    Raises:
        UserError: There is no such source, or it has no task.
    """
    with open_run(source, **options) as path:
        yield read_tasks(path, splits=splits)


def _build(source: str, out: str, trajectories: int, seed: int, trusted: bool, unsafe: bool) -> Path:
    import planarena
    from planarena.config import AllowedConfig, BuildConfig, ContrastConfig

    config = BuildConfig(
        sources=(source,),
        out=out,
        trajectories=trajectories,
        seed=seed,
        contrast=ContrastConfig(candidates=0, trajectories=0, no_calls=0),
        allowed=AllowedConfig(unsafe_no_sandbox=unsafe, trusted=trusted),
    )
    return Path(planarena.build(config).path)


def find_task(tasks: TaskSet, name: str) -> SessionTask:
    """Return the task that an id means: of a task, or of a scenario, whose first task it is; its beginning will do.

    Raises:
        UserError: There is none, or several tasks begin so.
    """
    if not name:
        return tasks[0]
    found = [task for task in tasks if task.id.startswith(name)]
    if len(found) > 1 and all(task.id != name for task in found):
        raise UserError(
            f"{len(found)} tasks begin with {name!r}", where="--scenario", fix="give more letters of the id"
        )
    if found:
        return found[0]
    return next((task for task in tasks if task.scenario.startswith(name)), None) or tasks.get(name)
