"""A model of this process as a policy of the bench and the suites."""

from __future__ import annotations

from functools import partial
from typing import Any

from planarena.trainers.local.generate import generate
from planarena.trainers.local.model import Policy
from planarena.trainers.loop.chat_policy import DialoguePolicy

__all__ = ["ChatPolicy"]


class ChatPolicy(DialoguePolicy):
    """Decodes all dialogues that it is asked; arguments as of `DialoguePolicy`.

    Args:
        policy: The model with its tokenizer.
        form: The format it speaks.
        **options: Limit, temperature, seed, room, name.
    """

    def __init__(self, policy: Policy, form: str, **options: Any) -> None:
        super().__init__(policy, partial(generate, policy), form, **options)
