"""Storage that all workers of a build share, through fsspec: for clusters whose nodes see no common folder.

A worker works in a folder of its own. What it makes (products and shards) it puts to the storage, under the path that
it has in a run directory; what another made it fetches from there. The parent fetches the shards into the run directory
and puts what stands beside them, so that the storage holds the whole run in the end. Nothing is trusted to be there:
a product that is missing is made again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from planarena.config import BuildConfig
from planarena.errors import UserError

__all__ = ["SharedStorage", "storage_of", "without_storage"]


class SharedStorage:
    """A folder behind a URL.

    Args:
        url: As fsspec reads it: `s3://bucket/run`, `gs://...`, `file:///mnt/run`.

    Raises:
        UserError: The URL is of no kind that is installed.
    """

    def __init__(self, url: str) -> None:
        import fsspec.core

        try:
            self._system, self._place = fsspec.core.url_to_fs(url)
        except ImportError as error:
            raise UserError(
                f"needs a package that is not installed: {error}",
                where=f"execution.storage={url}",
                fix="install it on every node, as pip install s3fs",
            ) from error
        except ValueError as error:
            raise UserError(
                str(error), where=f"execution.storage={url}", fix="write a URL, as s3://bucket/folder"
            ) from error
        self._is_local = "file" in _kinds(self._system)

    def put(self, root: Path, names: Iterable[str]) -> None:
        """Put files; each is whole at its place, or not there.

        Args:
            root: Where they stand.
            names: Their paths below it.

        Raises:
            OSError: The storage does not take them.
        """
        for name in names:
            place = f"{self._place}/{name}"
            self._system.makedirs(place.rpartition("/")[0], exist_ok=True)
            if self._is_local:
                # A copy can be cut short; object stores show a file only when it is whole.
                temporary = f"{place}.{os.getpid()}.tmp"
                self._system.put_file(str(root / name), temporary)
                Path(temporary).replace(place)
            else:
                self._system.put_file(str(root / name), place)

    def fetch(self, root: Path, names: Iterable[str]) -> bool:
        """Fetch those files that are not there yet; say whether all of them are there now.

        Raises:
            OSError: The storage cannot be read, or the folder not be written.
        """
        found = True
        for name in names:
            target = root / name
            if target.is_file():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
            try:
                self._system.get_file(f"{self._place}/{name}", str(temporary))
                temporary.replace(target)
            except FileNotFoundError:
                found = False
            finally:
                temporary.unlink(missing_ok=True)
        return found

    def drop(self, names: Iterable[str]) -> None:
        """Remove files that may be there."""
        for name in names:
            place = f"{self._place}/{name}"
            if self._system.exists(place):
                self._system.rm_file(place)


def _kinds(system: Any) -> tuple[str, ...]:
    return (system.protocol,) if isinstance(system.protocol, str) else tuple(system.protocol)


@cache
def _open(url: str) -> SharedStorage:
    return SharedStorage(url)


def storage_of(config: BuildConfig) -> SharedStorage | None:
    """Return a build's shared storage, or None where all see the run directory."""
    return _open(config.execution.storage) if config.execution.storage else None


def without_storage(config: BuildConfig) -> BuildConfig:
    """Return the same build, for workers that see the run directory."""
    execution = msgspec.structs.replace(config.execution, storage="")
    return msgspec.structs.replace(config, execution=execution)
