"""Checkpoints of trainings that act: the one that acted last stays loaded."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Lock
from typing import Any

from planarena.view.library import Folder, Library

__all__ = ["Lent", "Models"]


class Models:
    """Checkpoints of trainings; the one that acted last stays loaded, and one request at a time uses it."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._lock = Lock()
        self._stack = ExitStack()
        self._key: tuple[str, int] | None = None
        self._policy: Any = None

    def listed(self) -> list[Folder]:
        """Return the trainings that have a checkpoint."""
        return [
            one
            for one in self._library.folders()
            if one.kind == "training" and any((one.path / "checkpoints").glob("*/config.json"))
        ]

    def format_of(self, model: Folder) -> str:
        """Return the format that it was trained in."""
        config = model.info.get("config")
        data = config.get("data") if isinstance(config, dict) else None
        form = data.get("format") if isinstance(data, dict) else None
        return form if isinstance(form, str) and form else "planarena"

    def open(self, model: Folder) -> Lent:
        """Lend the policy of a training's checkpoint for a while."""
        return Lent(self, model)

    def take(self, model: Folder) -> Any:
        """Return the policy, loaded where it is not the one that is."""
        from planarena.serving.checkpoint import open_checkpoint

        self._lock.acquire()
        try:
            newest = max(
                (one.stat().st_mtime_ns for one in (model.path / "checkpoints").glob("*")), default=0
            )
            if self._key != (model.key, newest):
                self._stack.close()
                self._key = None
                form = self.format_of(model)
                policy, _ = open_checkpoint(str(model.path), form=form, max_tokens=512, rows=1)
                self._policy, self._key = self._stack.enter_context(policy), (model.key, newest)
            return self._policy
        except BaseException:
            self._lock.release()
            raise

    def give_back(self) -> None:
        """Let the next request have it."""
        self._lock.release()


class Lent:
    """A policy for the time of a `with`."""

    def __init__(self, models: Models, model: Folder) -> None:
        self._models, self._model = models, model

    def __enter__(self) -> Any:
        return self._models.take(self._model)

    def __exit__(self, *_: object) -> None:
        self._models.give_back()
