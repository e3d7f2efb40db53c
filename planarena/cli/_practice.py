"""`planarena build errands`: tasks that a model of a million parameters learns in minutes."""

from __future__ import annotations

import shlex
import shutil
import time
from pathlib import Path

import typer

__all__ = ["build_practice"]


def build_practice(
    out: str, tasks: int | None, seed: int | None, *, fresh: bool, quiet: bool, as_json: bool
) -> None:
    """Write the tasks and say how they are trained on.

    Args:
        out: The run directory.
        tasks: Of the training split; None for the usual number.
        seed: Of everything random.
        fresh: Throw an earlier set in the folder away.
        quiet: Print the result alone.
        as_json: Print it as JSON.

    Raises:
        UserError: No folder, or one that holds something else.
    """
    from planarena.errors import UserError
    from planarena.eval.algorithms.practice import PRACTICE_TASKS, write_practice

    if not out:
        raise UserError("no run directory is given", where="--out", fix="write --out RUN")
    wanted = PRACTICE_TASKS if tasks is None else tasks
    if wanted < 1:
        raise UserError(f"{wanted} is out of range", where="--trajectories", fix="give 1 or more")
    path, started = Path(out), time.perf_counter()
    if fresh and _is_practice(path):
        shutil.rmtree(path)
    if not quiet and not as_json:
        typer.echo(f"drawing {wanted} tasks in small houses, and held-out ones", err=True)
    counts = write_practice(path, tasks=wanted, seed=seed or 0)
    if as_json:
        import json

        typer.echo(json.dumps({"out": out, "splits": counts}))
        return
    told = ", ".join(f"{number} {split}" for split, number in counts.items())
    typer.echo(f"{told} tasks of one or two errands in {time.perf_counter() - started:.1f} s")
    typer.echo(f"  tables        {out}/tables/")
    after = shlex.quote(str(path.parent / "trained"))
    typer.echo("next:")
    typer.echo(f"  planarena train --algorithm sft --data {shlex.quote(out)} --model tiny --out {after}")


def _is_practice(path: Path) -> bool:
    import json

    try:
        info = json.loads((path / "run.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(info, dict) and info.get("config", {}).get("sources") == ["errands"]
