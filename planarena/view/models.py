"""Models that act on pages: checkpoints of trainings, and served models named at the start."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from planarena.records.canonical import content_id
from planarena.view.library import Folder, Library

__all__ = ["Actor", "Lent", "Models"]

# Seconds for an answer, and times it is asked for: somebody looks at the page and waits.
_PATIENCE = 60.0
_ATTEMPTS = 2


class Actor(NamedTuple):
    """A model that may act.

    Attributes:
        key: Names it in addresses.
        name: For people.
        form: The format of its replies.
        folder: Of the training; None for a served model.
        model: How the served model was named, empty for a checkpoint; it may name the variable of a key.
    """

    key: str
    name: str
    form: str
    folder: Path | None = None
    model: str = ""


class Models:
    """The models that may act; the one that acted last stays open, and one request at a time uses it.

    Args:
        library: Trainings.
        served: Models behind servers, as LiteLLM ids or MODEL@URL. A page cannot name others.

    Raises:
        ConfigError: One is neither.
    """

    def __init__(self, library: Library, served: Sequence[str] = ()) -> None:
        from planarena.llm import read_model

        self._library = library
        self._served = [
            Actor(
                content_id("served", name)[:12],
                read_model(name).name.partition("@http")[0],
                "native",
                None,
                name,
            )
            for name in served
        ]
        self._lock = Lock()
        self._stack = ExitStack()
        self._key: tuple[str, int] | None = None
        self._policy: Any = None

    def listed(self) -> list[Actor]:
        """Return who may act: trainings that have a checkpoint, then served models."""
        trained = [
            _trained(one)
            for one in self._library.folders()
            if one.kind == "training" and any((one.path / "checkpoints").glob("*/config.json"))
        ]
        return [*trained, *self._served]

    def find(self, key: str) -> Actor | None:
        """Return who has a key."""
        served = next((one for one in self._served if one.key == key), None)
        if served is not None:
            return served
        folder = self._library.get(key, "training")
        return None if folder is None else _trained(folder)

    def open(self, actor: Actor) -> Lent:
        """Lend a policy for a while."""
        return Lent(self, actor)

    def take(self, actor: Actor) -> Any:
        """Return the policy, opened where it is not the one that is."""
        self._lock.acquire()
        try:
            newest = _newest(actor.folder)
            if self._key != (actor.key, newest):
                self._stack.close()
                self._key = None
                self._policy = self._stack.enter_context(_opened(actor))
                self._key = (actor.key, newest)
            return self._policy
        except BaseException:
            self._lock.release()
            raise

    def give_back(self) -> None:
        """Let the next request have it."""
        self._lock.release()


class Lent:
    """A policy for the time of a `with`."""

    def __init__(self, models: Models, actor: Actor) -> None:
        self._models, self._actor = models, actor

    def __enter__(self) -> Any:
        return self._models.take(self._actor)

    def __exit__(self, *_: object) -> None:
        self._models.give_back()


def _trained(folder: Folder) -> Actor:
    config = folder.info.get("config")
    data = config.get("data") if isinstance(config, dict) else None
    form = data.get("format") if isinstance(data, dict) else None
    return Actor(
        folder.key, folder.name, form if isinstance(form, str) and form else "planarena", folder.path
    )


def _newest(folder: Path | None) -> int:
    if folder is None:
        return 0
    return max((one.stat().st_mtime_ns for one in (folder / "checkpoints").glob("*")), default=0)


def _opened(actor: Actor) -> Any:
    if actor.folder is not None:
        from planarena.serving.checkpoint import open_checkpoint

        return open_checkpoint(str(actor.folder), form=actor.form, max_tokens=512, rows=1)[0]
    from planarena.eval import EvalConfig
    from planarena.eval.models.choosing import open_policy
    from planarena.eval.settings import GenerationConfig

    made = GenerationConfig(max_tokens=2048, temperature=0.0, timeout=_PATIENCE, attempts=_ATTEMPTS)
    return open_policy(
        EvalConfig(suites=("planarena",), out="", model=actor.model, format=actor.form, generation=made)
    )
