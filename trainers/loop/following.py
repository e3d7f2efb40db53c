"""What may be done after a training: the commands, for its page and for the terminal."""

from __future__ import annotations

import shlex
from pathlib import Path

from planarena.trainers.config import TrainConfig

__all__ = ["next_commands"]


def next_commands(config: TrainConfig, out: Path, steps: int) -> list[str]:
    """Return commands that evaluate a trained policy and that go on with its training.

    Args:
        config: Of the run, as the caller gave it or complete.
        out: The run's folder.
        steps: Done.
    """
    data = Path(config.data.path)
    is_run = any((data / name).is_file() for name in ("run.json", "ledger.sqlite"))
    tasks = f" --data {shlex.quote(f'planarena={data}')}" if is_run else ""
    scores = shlex.quote(str(out.parent / f"{out.name}-scores"))
    folder = shlex.quote(str(out))
    return [
        f"planarena eval planarena{tasks} --model {folder} --out {scores}",
        f"planarena train --config {shlex.quote(str(out / 'config.yaml'))} --steps {2 * steps}",
    ]
