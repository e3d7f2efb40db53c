"""The folder an export goes to: complete or untouched, and never somebody else's."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from planarena.errors import UserError

__all__ = ["MARKER", "OutputFolder"]

MARKER = "export.json"
_VERSION = 1


class OutputFolder:
    """Files are written beside the folder and moved in when all are there; an error leaves nothing behind.

    Args:
        path: The folder; it may be absent, empty, or hold the same export, whose files are written again.
        identity: What makes an export the same: format, options, run.
        replace: Take the place of another export too.

    Raises:
        UserError: It is a file, it holds files that no export wrote, or another export.
    """

    def __init__(self, path: Path, identity: dict[str, Any] | None = None, *, replace: bool = False) -> None:
        self.path = path
        self.facts: dict[str, Any] = dict(identity or {})
        self._identity, self._replace = identity or {}, replace
        self._earlier = self._check()
        self._working = path.absolute().with_name(f".{path.absolute().name}.{os.getpid()}.tmp")

    def _check(self) -> list[str]:
        if not self.path.exists():
            return []
        if not self.path.is_dir():
            raise UserError("is a file", where=str(self.path), fix="give a new folder as --out")
        marker = self.path / MARKER
        if not marker.is_file():
            if any(self.path.iterdir()):
                raise UserError(
                    "holds files that no export wrote",
                    where=str(self.path),
                    fix="give a new or empty folder as --out",
                )
            return []
        try:
            facts = msgspec.json.decode(marker.read_bytes(), type=dict[str, Any])
            files = msgspec.convert(facts["files"], list[str])
            known = facts["planarena_export"] == _VERSION
        except (msgspec.MsgspecError, UnicodeDecodeError, KeyError):
            known, files, facts = False, [], {}
        if not known:
            raise UserError(
                f"{MARKER} is not one of this planarena",
                where=str(self.path),
                fix="give a new or empty folder as --out",
            )
        changed = [name for name, value in self._identity.items() if not _same(value, facts.get(name))]
        if changed and not self._replace:
            was = f"in the format {facts.get('format')}" if "format" in changed else ""
            raise UserError(
                f"holds another export {was}".rstrip() + f" (other {', '.join(changed)})",
                where=str(self.path),
                fix="give a new folder as --out, or --replace to write over it",
            )
        return files

    def new_file(self, name: str) -> Path:
        """Return the path to write a file at; folders on the way are made."""
        path = self._working / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def __enter__(self) -> Self:
        self._working.mkdir(parents=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._commit()
        finally:
            shutil.rmtree(self._working, ignore_errors=True)

    def _commit(self) -> None:
        files = sorted(path.relative_to(self._working) for path in self._working.rglob("*") if path.is_file())
        facts = {"planarena_export": _VERSION, **self.facts, "files": [path.as_posix() for path in files]}
        text = msgspec.json.format(msgspec.json.encode(facts, order="deterministic"), indent=2) + b"\n"
        self.path.mkdir(parents=True, exist_ok=True)
        # While files are moved the folder stays known as an export's, so that a crash can be repeated.
        marker = self._working / MARKER
        marker.write_bytes(text)
        marker.replace(self.path / MARKER)
        for name in set(self._earlier) - {path.as_posix() for path in files}:
            # The list is read from a file that anybody can write: nothing outside the folder is touched.
            old = self.path / name
            if old.is_file() and old.resolve().is_relative_to(self.path.resolve()):
                old.unlink()
        for path in files:
            target = self.path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            (self._working / path).replace(target)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON."""
    return msgspec.json.encode(one, order="deterministic") == msgspec.json.encode(
        other, order="deterministic"
    )
