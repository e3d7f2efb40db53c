"""`export`: a run in a format that others read."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import msgspec

from planarena.errors import RunError, UserError
from planarena.export.folder import OutputFolder
from planarena.export.hugging_face import write_hugging_face
from planarena.export.nemo_gym import write_nemo_gym
from planarena.export.openai_chat import write_openai_chat
from planarena.export.openenv import write_openenv
from planarena.export.options import ExportOptions
from planarena.export.preference import write_preference
from planarena.export.sharegpt import write_sharegpt
from planarena.export.trajectories import find_rejected, join_trajectories
from planarena.export.trl import write_trl
from planarena.export.verifiers import write_verifiers
from planarena.export.verl import write_verl
from planarena.records import Run
from planarena.rows.difficulty import tasks_within

__all__ = ["FORMATS", "Exported", "export"]

# Name -> its writer; a writer streams trajectories into a folder and returns the rows by split.
FORMATS = {
    "hf": write_hugging_face,
    "openai": write_openai_chat,
    "sharegpt": write_sharegpt,
    "preference": write_preference,
    "verl": write_verl,
    "openenv": write_openenv,
    "verifiers": write_verifiers,
    "trl": write_trl,
    "nemo-gym": write_nemo_gym,
}


class Exported(NamedTuple):
    """What an export wrote: the folder, the format and the rows by split."""

    path: Path
    format: str
    rows: dict[str, int]


def export(
    run: Run,
    format: str,
    out: str | Path,
    options: ExportOptions | None = None,
    progress: Callable[[int], None] = lambda _: None,
    *,
    replace: bool = False,
) -> Exported:
    """Write a run's trajectories in another format, shard by shard.

    A gold trajectory that people judged to be wrong (`planarena audit pull`) is in none of them.

    Args:
        run: A finished build.
        format: `hf` (Parquet by split, for `datasets`), `openai` (chat messages as JSON lines), `sharegpt`
            (conversations as JSON lines), `preference` (pairs at the same state, for TRL's DPO), `verl` (Parquet
            for RL and for fine-tuning), `openenv`, `verifiers`, `trl` (projects that play the tasks) or `nemo-gym`
            (rows of decisions).
        out: A new or empty folder, or one with the same export, which is written again.
        options: Which trajectories, and how messages are written.
        progress: Called with the number of rows written so far.
        replace: Write over another export that `out` holds.

    Returns:
        What was written.

    Raises:
        UserError: An unknown format, or a folder with files that no export wrote or with another export.
        RunError: The run is damaged or has no trajectory of the wanted kinds.
        OSError: No space, no permission.
    """
    options = options or ExportOptions()
    if format not in FORMATS:
        near = get_close_matches(format, FORMATS, n=1, cutoff=0.5)
        fix = f"did you mean {near[0]}?" if near else f"one of: {', '.join(FORMATS)}"
        raise UserError(f"there is no format {format!r}", where="--format", fix=fix)
    identity = {
        "format": format,
        "options": msgspec.to_builtins(options),
        "run": {name: run.info.get(name) for name in ("config", "versions", "format_version")},
    }
    within = tasks_within(run, options.difficulty) if options.difficulty else None
    with OutputFolder(Path(out), identity, replace=replace) as folder:
        rejected = find_rejected(run)
        found = join_trajectories(
            run,
            keep=lambda row: (
                row.kind in options.kinds
                and row.trajectory_id not in rejected
                and (within is None or row.task_id in within)
            ),
        )
        rows = FORMATS[format](run, found, options, folder, progress)
        if not rows:
            what = f"{' or '.join(options.kinds)} trajectory"
            if format == "preference":
                what = "wrong choice beside a right one"
            what += f" of the difficulty {options.difficulty}" if within is not None else ""
            raise RunError(f"holds no {what}", where=str(run.path), fix="export another run, or another kind")
        folder.facts = {**identity, "rows": rows}
    return Exported(folder.path, format, rows)
