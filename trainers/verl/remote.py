"""The policy as the driver knows it: its tokenizer and the size of its context; the weights are elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from planarena.trainers.loop.tokenizer import ChatTokenizer

__all__ = ["RemotePolicy"]


@dataclass(frozen=True, slots=True)
class RemotePolicy:
    """What the shared code asks of a policy whose weights are elsewhere.

    Attributes:
        chat: The tokenizer.
        context: Positions of the model.
        rounds: The workers compute in bfloat16, or the rollout is another program: either way what it says of
            its samples is not what the update will find.
    """

    chat: ChatTokenizer
    context: int
    rounds: bool = False
