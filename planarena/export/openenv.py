"""Export for OpenEnv: a project of its own with its manifest, tasks, server, Dockerfile and evidence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import msgspec

from planarena.export.folder import OutputFolder
from planarena.export.options import ExportOptions
from planarena.export.projects import proven_tasks, render, rows_of, write_server_tasks, write_solutions
from planarena.export.trajectories import JoinedTrajectory
from planarena.records import Run, content_id

__all__ = ["project_name", "write_openenv"]

_FILES = {
    "openenv.yaml.txt": "openenv.yaml",
    "pyproject.toml.txt": "pyproject.toml",
    "app.py.txt": "server/app.py",
    "client.py.txt": "client.py",
    "oracle.py.txt": "validation/oracle.py",
    "Dockerfile.txt": "Dockerfile",
    "README.md.txt": "README.md",
}


def write_openenv(
    run: Run,
    _trajectories: Iterable[JoinedTrajectory],
    options: ExportOptions,
    folder: OutputFolder,
    progress: Callable[[int], None],
) -> dict[str, int]:
    """Write the project; return the tasks by split."""
    tasks, evidence = proven_tasks(run, progress, options.difficulty)
    write_server_tasks(folder, "tasks.jsonl", tasks)
    write_solutions(folder, "validation/oracle.jsonl", tasks)
    rows = rows_of(tasks)
    render(
        folder,
        "openenv",
        _FILES,
        name=project_name(folder),
        seed=int(run.info.get("seed") or 0),
        dataset=content_id("tasks", [task.id for task in tasks]),
        counts=", ".join(f"{split}: {number}" for split, number in rows.items()),
        tasks=len(tasks),
        oracle=f"{evidence['oracle_max']:g}",
        floor=f"{evidence['floor']:g}",
    )
    folder.new_file("server/__init__.py").write_text('"""The server."""\n', encoding="utf-8")
    folder.new_file("wheels/README.md").write_text("Wheels that are not on an index.\n", encoding="utf-8")
    folder.new_file(".dockerignore").write_text("validation/oracle.*\nclient.py\n", encoding="utf-8")
    first = tasks[0]
    plan = {
        "plan_schema_version": "1",
        "reset": {"episode_id": "validation", "seed": 0, "options": {"task_id": first.id}},
        "actions": [
            {"type": "list_tools"},
            *(
                {
                    "type": "call_tool",
                    "tool_name": "send_message",
                    "arguments": {"message": "There is nothing to do."},
                }
                for _ in first.turns
            ),
        ],
    }
    for name, value in (("runtime", plan), ("evidence", evidence)):
        text = msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2)
        folder.new_file(f"validation/{name}.json").write_bytes(text + b"\n")
    return rows


def project_name(folder: OutputFolder) -> str:
    """Return a name for a project that a folder's name suggests."""
    bare = re.sub(r"[^a-z0-9]+", "_", folder.path.absolute().name.lower()).strip("_")
    return bare if re.fullmatch(r"[a-z][a-z0-9_]{1,40}", bare) else "planarena_tasks"
