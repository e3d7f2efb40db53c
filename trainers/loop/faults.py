"""How a training run ends that cannot go on: what went wrong, what to change, and where the last good checkpoint is."""

from __future__ import annotations

import errno
from pathlib import Path

from planarena.errors import PlanArenaError
from planarena.trainers.config import TrainConfig
from planarena.trainers.loop.checkpoints import reason

__all__ = ["memory_ran_out", "no_room_left", "not_finite", "out_of_memory"]


def not_finite(times: int, step: int, metrics: Path, last_good: str) -> PlanArenaError:
    """Return the end after several updates in a row whose loss or gradient was not finite.

    Args:
        times: How many.
        step: Of the last.
        metrics: The run's metrics.jsonl.
        last_good: The newest checkpoint, in words.
    """
    return PlanArenaError(
        f"{times} updates in a row had a loss or gradient that is not finite (NaN or infinite), "
        f"the last at step {step}\n  fix: lower update.learning_rate or look at the rewards in "
        f"{metrics}; the last good checkpoint is {last_good}"
    )


def memory_ran_out(error: Exception) -> bool:
    """Say whether an error of the allocator, the operating system or a device means that memory ran out."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    text = str(error).lower()
    return isinstance(error, RuntimeError) and ("can't allocate memory" in text or "out of memory" in text)


def out_of_memory(config: TrainConfig, step: int, last_good: str) -> PlanArenaError:
    """Return the end for want of memory, with what to lower and its present value.

    Args:
        config: Complete.
        step: The one that failed.
        last_good: The newest checkpoint, in words.
    """
    update, rollout = config.update, config.rollout
    return PlanArenaError(
        f"out of memory at step {step}\n  fix: lower update.micro_batch_tokens "
        f"({update.micro_batch_tokens}), rollout.batch_size ({rollout.batch_size}), rollout.group_size "
        f"({rollout.group_size}) or rollout.max_response_length ({rollout.max_response_length}), or train "
        f"adapters (model.lora.rank=16); the last good checkpoint is {last_good}"
    )


def no_room_left(error: Exception, folder: Path, last_good: str) -> PlanArenaError:
    """Return the end for want of space, or of a disk that takes what is written.

    Args:
        error: What writing raised.
        folder: The run, where the error names no file.
        last_good: The newest checkpoint, in words.
    """
    name = error.filename if isinstance(error, OSError) and error.filename else folder
    return PlanArenaError(
        f"{name}: cannot be written: {reason(error)}\n  fix: free some space and run the same command again; "
        f"the last good checkpoint is {last_good}"
    )
