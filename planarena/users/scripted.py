"""A user who goes by a brief: deterministic, never says what it does not hold, gives what it holds back only when asked."""

from __future__ import annotations

from typing import Protocol

from planarena.users.brief import Brief
from planarena.users.checks import asks_back

__all__ = ["PATIENCE", "ScriptedUser", "User"]

# How often one is told again what one was told before the user gives up.
PATIENCE = 2
_AGAIN = ("As I said: {0}", "I have told you all there is to it: {0}")


class User(Protocol):
    """Whoever a policy talks to."""

    @property
    def answered(self) -> bool:
        """Whether the policy has answered all that the user had to say."""

    @property
    def spoiled(self) -> str:
        """What the user did wrong, so that the conversation is to be discarded; empty where nothing."""

    def reply(self, said: str, calls: int) -> str | None:
        """Say something to what the policy said; None where the user has nothing more to say.

        Args:
            said: Its answer or its question.
            calls: The calls that it made since the user's last message.
        """


class ScriptedUser:
    """A user who goes by a brief; its first message is said already.

    Args:
        brief: What it knows and says when. In runs of before nothing is held back and no message is known to need calls:
            then every answer is followed by the next message.
    """

    spoiled = ""

    def __init__(self, brief: Brief) -> None:
        self.brief = brief
        self._at = 0
        self._patience = PATIENCE
        self._gone = False

    @property
    def answered(self) -> bool:
        """Whether the policy has answered the last message."""
        return not self._gone and self._at >= len(self.brief.messages)

    def reply(self, said: str, calls: int) -> str | None:
        """Say the next message if the policy did what it waits for."""
        messages = self.brief.messages
        if self._gone or self._at >= len(messages):
            return None
        now = messages[self._at]
        asks = not calls and asks_back(said)
        following = messages[self._at + 1] if self._at + 1 < len(messages) else None
        if following is not None and following.when == "asked":
            if asks:
                return self._say(self._at + 1)
            # Nobody asked: what was held back stays so, and the user goes on with what else there is.
            return self._say(self._at + 2)
        if asks and now.calls:
            if not self._patience:
                self._gone = True
                return None
            self._patience -= 1
            return _AGAIN[self._patience % len(_AGAIN)].format(now.text)
        return self._say(self._at + 1)

    def _say(self, place: int) -> str | None:
        self._at = place
        self._patience = PATIENCE
        return self.brief.messages[place].text if place < len(self.brief.messages) else None
