"""The folder of a run: whether it fits, keeping other builds out, and what a fault of the disk means."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from planarena.config import BuildConfig
from planarena.errors import RunError, UserError
from planarena.pipeline.execute import irreversible
from planarena.records.shards import is_vacant

__all__ = ["LEDGER", "clear", "faults_explained", "locked", "open_folder", "storage_error", "storage_fault"]

LEDGER, LOCK = "ledger.sqlite", ".lock"


def storage_error(error: OSError, root: Path) -> UserError:
    """Say what an error of the disk means for a build."""
    return storage_fault(error.errno, str(error), root)


def storage_fault(number: int | None, text: str, root: Path) -> UserError:
    """Say what an error number of the disk means for a build.

    Args:
        number: As `errno` names them, or None.
        text: The error, for numbers that tell nothing.
        root: The run directory.
    """
    again = "then run the same command again: what is done is kept"
    if number in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return UserError("no space left", where=str(root), fix=f"free some space, {again}")
    if number in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return UserError(
            "cannot be written", where=str(root), fix=f"give a folder that you may write to, {again}"
        )
    return UserError(text, where=str(root), fix=f"fix it, {again}")


def open_folder(config: BuildConfig) -> Path:
    """Make the run directory, or check that it is one.

    Raises:
        UserError: No folder given, one that holds other files, or one that cannot be written.
    """
    if not config.out:
        raise UserError("no output folder", where="--out", fix="give one, as --out runs/first")
    root = Path(config.out)
    if root.exists() and not root.is_dir():
        raise RunError("is a file", where=str(root), fix="give a folder as --out")
    if (
        root.is_dir()
        and not is_vacant(root, besides=LOCK)
        and not (root / LEDGER).is_file()
        and not (config.execution.fresh and _was_a_build(root))
    ):
        raise RunError(
            "holds files, but no planarena run", where=str(root), fix="give an empty or new folder as --out"
        )
    try:
        root.mkdir(parents=True, exist_ok=True)
        probe = root / f".probe.{os.getpid()}"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise storage_error(error, root) from error
    return root


def _was_a_build(root: Path) -> bool:
    """Whether a folder without a ledger holds what a build wrote, so that it may be thrown away."""
    try:
        info = msgspec.json.decode((root / "run.json").read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return False
    return isinstance(info, dict) and info.get("kind") == "build" and (root / "tables").is_dir()


@contextmanager
def faults_explained(root: Path) -> Iterator[None]:
    """Turn faults of the disk and of the ledger into what they mean for a build.

    Raises:
        UserError: There was one.
    """
    try:
        yield
    except OSError as error:
        raise storage_error(error, root) from error
    except sqlite3.OperationalError as error:
        number = errno.ENOSPC if "full" in str(error) else errno.EROFS if "readonly" in str(error) else None
        raise storage_fault(number, f"the ledger: {error}", root) from error
    except sqlite3.DatabaseError as error:
        raise RunError(
            f"the ledger is damaged: {error}",
            where=str(root / LEDGER),
            fix="put a copy of it back, or give --fresh to build again",
        ) from error


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Keep other builds out of the folder; the lock goes with the process, however it ends."""
    with (root / LOCK).open("wb") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(
                "another process is building here", where=str(root), fix="wait for it, or give another --out"
            ) from None
        yield


def clear(root: Path) -> None:
    """Remove what an earlier build left."""
    for name in ("tables", "work", irreversible.FOLDER):
        shutil.rmtree(root / name, ignore_errors=True)
    for name in ("run.json", "README.md", "report.html", LEDGER, f"{LEDGER}-journal"):
        (root / name).unlink(missing_ok=True)
