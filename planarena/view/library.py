"""What can be looked at: runs, trainings and evaluations under some folders, each with a key for addresses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from planarena.errors import UserError

__all__ = ["KINDS", "Folder", "Library"]

KINDS = ("run", "training", "evaluation")
_DEPTH = 4
_MOST_FOUND = 2_000
_MOST_LOOKED_AT = 50_000
_LARGEST_INFO = 32 << 20
# What is inside of a run, a training or an evaluation is no folder of its own.
_SKIPPED = frozenset({"tables", "work", "checkpoints", "start", "node_modules", "__pycache__"})


class Folder(NamedTuple):
    """A folder that can be shown.

    Attributes:
        key: Names it in addresses; the same for a path in every process.
        name: For people: its path below the folder that was given.
        kind: `run`, `training` or `evaluation`.
        path: Where it is.
        info: What its run.json holds; empty for a training without one.
    """

    key: str
    name: str
    kind: str
    path: Path
    info: dict[str, Any]

    @property
    def status(self) -> str:
        """What became of it, in a word or two."""
        return str(self.info.get("status") or self.info.get("stop_reason") or "")

    @property
    def model(self) -> str:
        """What was evaluated."""
        config = self.info.get("config")
        found = config.get("model") or config.get("responses") if isinstance(config, dict) else ""
        return str(found or self.info.get("model") or "")[:200]

    @property
    def suites(self) -> str:
        """On what."""
        found = self.info.get("suites")
        return ", ".join(map(str, found))[:200] if isinstance(found, list | dict) else ""


class Library:
    """Finds folders; every call looks again, so that what was written meanwhile is there.

    Args:
        roots: The folders to look in.

    Raises:
        UserError: One of them is no folder.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        for root in roots:
            if not root.is_dir():
                raise UserError(
                    "there is no such folder",
                    where=str(root),
                    fix="name a folder of runs, trainings or evaluations",
                )
        self.roots = tuple(root.resolve() for root in roots)
        self._known: dict[str, tuple[Path, Path]] = {}

    def folders(self) -> list[Folder]:
        """Return what is there, by name."""
        found: dict[str, Folder] = {}
        for root in self.roots:
            for path in _candidates(root):
                if len(found) >= _MOST_FOUND:
                    break
                one = _read(path, root)
                if one is not None:
                    found.setdefault(one.key, one)
                    self._known[one.key] = (path, root)
        return sorted(found.values(), key=lambda one: (KINDS.index(one.kind), one.name))

    def get(self, key: str, *kinds: str) -> Folder | None:
        """Return the folder of a key, where it is there and of one of the kinds."""
        if key not in self._known:
            self.folders()
        place = self._known.get(key)
        found = _read(*place) if place is not None else None
        return found if found is not None and (not kinds or found.kind in kinds) else None


def _candidates(root: Path) -> Iterator[Path]:
    """Yield folders breadth first, down to a few levels; links are not followed."""
    level, looked = [root], 0
    for _ in range(_DEPTH + 1):
        below: list[Path] = []
        for path in level:
            looked += 1
            if looked > _MOST_LOOKED_AT:
                return
            yield path
            try:
                below += sorted(
                    one
                    for one in path.iterdir()
                    if one.is_dir()
                    and not one.is_symlink()
                    and one.name not in _SKIPPED
                    and not one.name.startswith(".")
                )
            except OSError:
                continue
        level = below


def _read(path: Path, root: Path) -> Folder | None:
    info: dict[str, Any] = {}
    stored = path / "run.json"
    try:
        if stored.is_file() and stored.stat().st_size <= _LARGEST_INFO:
            info = msgspec.json.decode(stored.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, RecursionError):
        info = {}
    kind = _kind(path, info)
    if not kind:
        return None
    key = blake2b(str(path).encode("utf-8", "surrogateescape"), digest_size=5).hexdigest()
    name = str(path.relative_to(root)) if path != root else root.name
    return Folder(key, name.encode("utf-8", "replace").decode(), kind, path, info)


def _kind(path: Path, info: dict[str, Any]) -> str:
    kind = info.get("kind")
    if kind == "training" or (path / "metrics.jsonl").is_file():
        return "training"
    if kind == "evaluation" or (path / "items.jsonl").is_file():
        return "evaluation"
    if kind in (None, "build", "import") and (path / "tables" / "trajectories").is_dir() and info:
        return "run"
    return ""
