"""A user played by a model: it goes by a brief as the scripted one does, in words of its own, every message checked.

Where the model says something false, gives away what it holds back, speaks for the assistant, ends early or never ends,
the conversation is spoiled: `ModelUser.spoiled` names the class, and whoever plays discards it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planarena.llm import Answer, LLMError, Request, load_prompt, quote_data
from planarena.users.brief import Brief
from planarena.users.part import MOVES, Part

__all__ = ["ModelUser", "user_request"]

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"move": {"enum": list(MOVES)}, "message": {"type": "string", "maxLength": 20000}},
    "required": ["move", "message"],
    "additionalProperties": False,
}


def user_request(model: str, material: dict[str, Any], temperature: float | None, sample: int = 0) -> Request:
    """Return the request for a user's next message.

    Args:
        model: Whom.
        material: As `Part.hear` returns it; it goes in quoted.
        temperature: None leaves it to the model.
        sample: Another one asks anew.
    """
    prompt = load_prompt("user")
    return Request(
        model=model,
        messages=prompt.messages(data=quote_data(material)),
        schema=_SCHEMA,
        temperature=temperature,
        max_tokens=1024,
        sample=sample,
        prompt=prompt.label,
        purpose="user",
        fallback=False,
    )


class ModelUser:
    """A user whose messages a model words; see the module.

    Args:
        brief: What it knows and says when.
        ask: Answers a request, as `planarena.llm.SyncGateway.complete` does.
        model: Which model.
        temperature: Of its words; with 0 the same conversation hears the same user.
        begun: Its first message is said already, as the brief has it.
    """

    def __init__(
        self,
        brief: Brief,
        ask: Callable[[Request], Answer],
        model: str,
        *,
        temperature: float | None = 0.0,
        begun: bool = True,
    ) -> None:
        self.part = Part(brief, begun=begun)
        self._ask, self._model, self._temperature = ask, model, temperature

    @property
    def answered(self) -> bool:
        """Whether the policy has answered all that the user had to say."""
        return self.part.answered

    @property
    def spoiled(self) -> str:
        """What the user did wrong; see `FAULTS`."""
        return self.part.spoiled

    def begin(self) -> str | None:
        """Say the first message, where it was not said yet."""
        return self.reply("", 0)

    def reply(self, said: str, calls: int) -> str | None:
        """Ask the model for the next message and check it.

        Raises:
            LLMError: One that stops everything (budget, key, server).
        """
        material = self.part.hear(said, calls)
        if material is None:
            return None
        try:
            answer = self._ask(user_request(self._model, material, self._temperature))
        except LLMError as error:
            if error.stops:
                raise
            self.part.fail("no_answer", f"{error.kind}: {error.what}")
            return None
        return self.part.say(answer.value["move"], answer.value["message"])
