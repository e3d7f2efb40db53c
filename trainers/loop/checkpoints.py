"""Checkpoints: safetensors that transformers loads, written whole or not at all, the best one kept."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import file_digest
from pathlib import Path
from typing import Any

import msgspec

from planarena.errors import PlanArenaError, RunError
from planarena.records.shards import write_durably

__all__ = [
    "CheckpointState",
    "Checkpoints",
    "check_files",
    "damage_named",
    "digests",
    "no_room",
    "reason",
    "sync_folder",
    "write_json",
]

# What says that a folder is whole, and what the bytes of its files are: of a checkpoint, and of a start.
_NOTES = ("state.json", "start.json")


class CheckpointState(msgspec.Struct, kw_only=True):
    """What continues a run besides weights and moments.

    Attributes:
        step: Optimiser steps done.
        orders: Indices taken of each order of rows.
        batches: Rollout batches drawn; with the seed it fixes every draw.
        algorithm: `Algorithm.state_dict()`.
        optimiser: Counts of skipped steps.
        flat: Batches in a row whose rewards were all equal.
        since_sync: Updates since the rollout policy took the weights.
        best: Step and value of the best validation, or None.
        counters: Totals for run.json.
        files: Digests of the checkpoint's other files; empty in those of earlier releases.
    """

    step: int
    orders: dict[str, int]
    batches: int = 0
    algorithm: dict[str, Any] = {}
    optimiser: dict[str, int] = {}
    flat: int = 0
    since_sync: int = 0
    best: tuple[int, float, float] | None = None
    counters: dict[str, float] = {}
    files: dict[str, str] = {}


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file whole or not at all."""
    write_durably(path, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def digests(folder: Path) -> dict[str, str]:
    """Return a digest of each file of a folder by its name, for the note that says that the folder is whole."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in _NOTES:
            with path.open("rb") as handle:
                found[name] = file_digest(handle, "sha256").hexdigest()
    return found


def check_files(folder: Path) -> None:
    """Compare the files of a checkpoint, or of a start, with their digests; a folder of others has none.

    Raises:
        OSError: A file is missing.
        ValueError: A file has other bytes than were written.
    """
    for name in _NOTES:
        if not (folder / name).is_file():
            continue
        files = msgspec.json.decode((folder / name).read_bytes(), type=_Note).files
        for file, digest in files.items():
            with (folder / file).open("rb") as handle:
                if file_digest(handle, "sha256").hexdigest() != digest:
                    raise ValueError(f"{file} is damaged: its bytes are not those that were written")


class _Note(msgspec.Struct):
    files: dict[str, str] = {}


class Checkpoints:
    """The folder `checkpoints` of a run.

    Args:
        root: Of the run.
        keep: Newest checkpoints kept besides the best.
    """

    def __init__(self, root: Path, keep: int) -> None:
        self.folder = root / "checkpoints"
        self.keep = keep
        # What a message names when there may be no memory left to look for it.
        self._newest = ""

    def steps(self) -> list[int]:
        """Return the steps of whole checkpoints, oldest first."""
        found = []
        for path in self.folder.glob("step_*"):
            number = path.name.removeprefix("step_")
            if number.isdigit() and (path / "state.json").is_file():
                found.append(int(number))
        return sorted(found)

    def path(self, step: int) -> Path:
        """Return the folder of a checkpoint."""
        return self.folder / f"step_{step}"

    def last_good(self) -> str:
        """Name the newest checkpoint, for messages."""
        if self._newest:
            return self._newest
        steps = self.steps()
        return str(self.path(steps[-1])) if steps else "none yet"

    def save(self, state: CheckpointState, write: Callable[[Path], None]) -> Path:
        """Write a checkpoint and remove old ones.

        Args:
            state: Everything small.
            write: Writes all else into an empty folder.

        Raises:
            PlanArenaError: The disk is full or refuses; earlier checkpoints are as they were.
        """
        target = self.path(state.step)
        temporary = self.folder / f".step_{state.step}.tmp"
        try:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
            write(temporary)
            sync_folder(temporary)
            # Last, so that its presence means that all is there.
            write_json(temporary / "state.json", msgspec.structs.replace(state, files=digests(temporary)))
            shutil.rmtree(target, ignore_errors=True)
            temporary.replace(target)
            sync_folder(self.folder)
            self._newest = str(target)
        except Exception as error:
            shutil.rmtree(temporary, ignore_errors=True)
            if not (isinstance(error, OSError) or no_room(error)):
                raise
            raise PlanArenaError(
                f"{target}: the checkpoint cannot be written: {reason(error)}\n"
                f"  fix: free some space and run the same command again; the last good checkpoint is {self.last_good()}"
            ) from error
        self._prune(state)
        return target

    def load(self, step: int) -> CheckpointState:
        """Return the state of a checkpoint.

        Raises:
            RunError: The checkpoint is damaged.
        """
        folder = self.path(step)
        with damage_named(folder):
            check_files(folder)
            return msgspec.json.decode((folder / "state.json").read_bytes(), type=CheckpointState)

    def mark_best(self, step: int) -> None:
        """Point `best` to a checkpoint."""
        link = self.folder / "best"
        temporary = self.folder / ".best.tmp"
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(f"step_{step}")
        temporary.replace(link)

    def _prune(self, state: CheckpointState) -> None:
        best = None if state.best is None else state.best[0]
        kept = self.steps()[-self.keep :]
        for step in self.steps():
            if step not in kept and step != best:
                shutil.rmtree(self.path(step), ignore_errors=True)


@contextmanager
def damage_named(folder: Path, hint: str = "") -> Iterator[None]:
    """Turn whatever reading a checkpoint raises into one message.

    Args:
        folder: The checkpoint.
        hint: What else may help, with a comma after it.
    """
    try:
        yield
    except Exception as error:
        raise RunError(
            f"the checkpoint cannot be loaded: {reason(error)}",
            where=str(folder),
            fix=f"{hint}remove this checkpoint to go on from the one before it, or start with --fresh",
        ) from error


def sync_folder(folder: Path) -> None:
    """Have a folder, with its own files, on the disk."""
    for path in (*folder.iterdir(), folder):
        if path.is_symlink() or not (path.is_file() or path == folder):
            continue
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# No space, a file that may not grow, a quota, a device that fails, a file system that may only be read.
_NO_ROOM = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EROFS})


def no_room(error: BaseException) -> bool:
    """Say whether an error means that nothing can be written."""
    if isinstance(error, OSError):
        return error.errno in _NO_ROOM
    # safetensors wraps the operating system's error in its own.
    text = str(error).lower()
    return type(error).__name__ == "SafetensorError" and ("os error" in text or "i/o error" in text)


def reason(error: BaseException) -> str:
    """Return an error's first line, for messages."""
    if getattr(error, "errno", 0) == errno.ENOSPC or "no space left" in str(error).lower():
        return "no space is left on the device"
    return (str(error).strip() or type(error).__name__).splitlines()[0]
