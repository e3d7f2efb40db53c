"""Export for verifiers v1: an installable taskset with tools, reward, metrics and a validation that replays the gold."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from planarena.export.folder import OutputFolder
from planarena.export.openenv import project_name
from planarena.export.options import ExportOptions
from planarena.export.projects import proven_tasks, render, rows_of, write_server_tasks, write_solutions
from planarena.export.trajectories import JoinedTrajectory
from planarena.records import Run

__all__ = ["write_verifiers"]


def write_verifiers(
    run: Run,
    _trajectories: Iterable[JoinedTrajectory],
    options: ExportOptions,
    folder: OutputFolder,
    progress: Callable[[int], None],
) -> dict[str, int]:
    """Write the package; return the tasks by split."""
    tasks, evidence = proven_tasks(run, progress, options.difficulty)
    name = project_name(folder)
    prefix = "".join(part.capitalize() for part in name.split("_"))
    write_server_tasks(folder, f"{name}/tasks.jsonl", tasks)
    write_solutions(folder, f"{name}/solutions.jsonl", tasks)
    rows = rows_of(tasks)
    render(
        folder,
        "verifiers",
        {
            "taskset.py.txt": f"{name}/taskset.py",
            "pyproject.toml.txt": "pyproject.toml",
            "README.md.txt": "README.md",
        },
        name=name,
        dashed=name.replace("_", "-"),
        prefix=prefix,
        tasks=len(tasks),
        counts=", ".join(f"{split}: {number}" for split, number in rows.items()),
    )
    exported = f'"""Tool-use tasks with proven goals."""\n\nfrom {name}.taskset import {prefix}Taskset\n\n'
    folder.new_file(f"{name}/__init__.py").write_text(
        f'{exported}__all__ = ["{prefix}Taskset"]\n', encoding="utf-8"
    )
    text = msgspec.json.format(msgspec.json.encode(evidence, order="deterministic"), indent=2)
    folder.new_file(f"{name}/evidence.json").write_bytes(text + b"\n")
    return rows
