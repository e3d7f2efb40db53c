"""Export for TRL: tasks that `planarena.integrations.trl` opens, and a script that trains on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planarena.export.folder import OutputFolder
from planarena.export.openenv import project_name
from planarena.export.options import ExportOptions
from planarena.export.projects import proven_tasks, render, rows_of, write_server_tasks
from planarena.export.trajectories import JoinedTrajectory
from planarena.records import Run

__all__ = ["write_trl"]


def write_trl(
    run: Run,
    _trajectories: Iterable[JoinedTrajectory],
    options: ExportOptions,
    folder: OutputFolder,
    progress: Callable[[int], None],
) -> dict[str, int]:
    """Write the folder; return the tasks by split."""
    tasks, _ = proven_tasks(run, progress, options.difficulty)
    write_server_tasks(folder, "tasks.jsonl", tasks)
    rows = rows_of(tasks)
    render(
        folder,
        "trl",
        {"train.py.txt": "train.py", "README.md.txt": "README.md"},
        name=project_name(folder),
        tasks=len(tasks),
        counts=", ".join(f"{split}: {number}" for split, number in rows.items()),
    )
    return rows
