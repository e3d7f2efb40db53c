"""Who plays the users of conversations: the scripted one, or a model."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from planarena.errors import ConfigError
from planarena.users.brief import Brief
from planarena.users.scripted import ScriptedUser, User

if TYPE_CHECKING:
    from planarena.llm import Answer, Budget, ModelConfig, Request, SyncGateway

__all__ = ["SCRIPTED", "Users", "read_user"]

SCRIPTED = "scripted"
_PREFIX = "model:"


def read_user(text: str, where: str = "--user") -> ModelConfig | None:
    """Read who plays users: `scripted`, which is None, or `model:ID` with a name as `read_model` takes it.

    Args:
        text: As written.
        where: For the error.

    Raises:
        ConfigError: It is neither.
    """
    if text == SCRIPTED:
        return None
    if not text.startswith(_PREFIX):
        raise ConfigError(f"{text!r} plays no user", where=where, fix="write scripted, or model:ID")
    from planarena.llm import read_model

    return read_model(text.removeprefix(_PREFIX))


class Users:
    """Makes the users of conversations; close it, or use it in `with`.

    Args:
        who: As `read_user` reads it.
        budget: Most to spend on a model that plays.
        cache: The file of cached answers; None takes the user's own.
        temperature: Of a model's words; with 0 the same conversation hears the same user.
        where: What an error calls the place that names who plays.

    Raises:
        ConfigError: As `read_user`.
    """

    def __init__(
        self,
        who: str = SCRIPTED,
        *,
        budget: Budget | None = None,
        cache: Path | None = None,
        temperature: float | None = 0.0,
        where: str = "--user",
    ) -> None:
        self.who = who
        self._model = read_user(who, where)
        self._temperature = temperature
        self._gateway: SyncGateway | None = None
        self._budget, self._cache = budget, cache

    @property
    def scripted(self) -> bool:
        """Whether no model takes part."""
        return self._model is None

    def play(self, brief: Brief) -> User:
        """Return the user of a conversation; its first message is said already."""
        if self._model is None:
            return ScriptedUser(brief)
        from planarena.users.model import ModelUser

        return ModelUser(brief, self._ask, self._model.name, temperature=self._temperature)

    def _ask(self, request: Request) -> Answer:
        if self._gateway is None:
            from planarena.llm import SyncGateway

            assert self._model is not None
            self._gateway = SyncGateway([self._model], budget=self._budget, cache=self._cache)
        return self._gateway.complete(request)

    def close(self) -> None:
        """Close the connections; doing it twice does nothing."""
        if self._gateway is not None:
            self._gateway.close()
            self._gateway = None

    def __enter__(self) -> Users:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
