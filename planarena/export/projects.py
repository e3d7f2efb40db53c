"""What exports of tasks share: tasks that pass the proofs, written with and without their solutions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from string import Template
from typing import Any

import msgspec

from planarena.data import read_bytes
from planarena.errors import RunError
from planarena.export.folder import OutputFolder
from planarena.export.proofs_of_tasks import TaskProof, prove_task, summarise_proofs
from planarena.records import Run
from planarena.rows import RowOptions
from planarena.session import SessionTask, TaskSet, read_tasks, write_tasks
from planarena.version import __version__

__all__ = ["proven_tasks", "render", "rows_of", "write_solutions"]


def proven_tasks(
    run: Run, progress: Callable[[int], None], difficulty: str = ""
) -> tuple[TaskSet, dict[str, Any]]:
    """Return the tasks of a run that may be given away, and what was measured of them.

    A task whose gold does not earn everything, or of which less earns something, is left out and counted.

    Args:
        run: The run.
        progress: Told how many tasks were measured.
        difficulty: Only tasks whose pass rate lies in this range.

    Raises:
        RunError: None is left.
    """
    tasks, proofs, left_out = [], [], []
    wanted = RowOptions(format="native", difficulty=difficulty)
    for number, task in enumerate(read_tasks(run.path, options=wanted), 1):
        proof: TaskProof = prove_task(task)
        if proof.holds:
            tasks.append(task)
            proofs.append(proof)
        else:
            left_out.append(msgspec.to_builtins(proof))
        progress(number)
    if not tasks:
        raise RunError(
            "holds no task whose gold can be replayed", where=str(run.path), fix="export another run"
        )
    evidence = summarise_proofs(proofs) | {
        "left_out": left_out,
        "observations": {one.task_id: one.observations for one in proofs},
    }
    return TaskSet(tasks, str(run.path)), evidence


def write_solutions(folder: OutputFolder, name: str, tasks: Iterable[SessionTask]) -> None:
    """Write the gold of tasks, for whoever checks them; servers do not read it."""
    encoder = msgspec.json.Encoder(order="deterministic")
    with folder.new_file(name).open("wb") as handle:
        for task in tasks:
            row = {"task_id": task.id, "gold": task.gold, "answers": task.answers}
            handle.write(encoder.encode(row) + b"\n")


def rows_of(tasks: TaskSet) -> dict[str, int]:
    """Return the number of tasks by split."""
    return {split: len(found) for split, found in tasks.splits().items()}


def render(folder: OutputFolder, template: str, names: dict[str, str], **slots: Any) -> None:
    """Write files of a project from templates in `data/projects`.

    Args:
        folder: Where to.
        template: The folder of the templates.
        names: File of the project by template.
        **slots: What `$name` stands for; `$version` is planarena's.
    """
    for source, target in names.items():
        text = read_bytes(f"projects/{template}/{source}").decode()
        written = Template(text).safe_substitute({"version": __version__, **slots})
        folder.new_file(target).write_text(written, encoding="utf-8")


def write_server_tasks(folder: OutputFolder, name: str, tasks: TaskSet) -> None:
    """Write the file that sessions are opened from."""
    write_tasks(folder.new_file(name), tasks, solutions=False)
