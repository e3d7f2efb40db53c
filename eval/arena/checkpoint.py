"""A checkpoint of the local engine as a policy: all dialogues of a turn are one batch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from planarena.eval.policy import Asked, Reply
from planarena.trainers.config import ModelConfig
from planarena.trainers.local.generate import generate
from planarena.trainers.local.model import choose_device, load_policy

__all__ = ["CheckpointPolicy"]


class CheckpointPolicy:
    """A model with its tokenizer, decoded by the local engine.

    Args:
        path: A checkpoint, or any folder that transformers loads.
        form: The format it speaks.
        temperature: 0 takes the most probable token.
        seed: Of the draws.
        max_tokens: Most tokens of a reply.
        device: `auto`, `cpu`, `cuda` or `cuda:N`.
        name: For reports; the folder's name by default.
    """

    def __init__(
        self,
        path: str | Path,
        form: str = "planarena",
        *,
        temperature: float = 0.0,
        seed: int = 0,
        max_tokens: int = 512,
        device: str = "auto",
        name: str = "",
    ) -> None:
        self.name, self.format = name or Path(path).name, form
        self.temperature, self.seed, self.max_tokens = temperature, seed, max_tokens
        self._policy = load_policy(path, ModelConfig(path=str(path)), choose_device(device), train=False)

    def reply(self, asked: Sequence[Asked]) -> list[Reply]:
        """Decode all dialogues; one that the context has no room for gets an empty, truncated reply."""
        chat = self._policy.chat
        native = self.format == "native"
        prompts = [chat.prompt(one.messages, one.tools if native else None) for one in asked]
        limits = [one.max_tokens or self.max_tokens for one in asked]
        rooms = [self._policy.context - len(prompt) for prompt in prompts]
        fitting = [place for place, room in enumerate(rooms) if room > 0]
        # Each turn and sample has draws of its own; within them a dialogue's place fixes them.
        turns = asked[0].turn * 101 + asked[0].sample if asked else 0
        rolled = generate(
            self._policy,
            [prompts[place] for place in fitting],
            limits=[min(limits[place], rooms[place]) for place in fitting],
            temperature=self.temperature,
            seed=self.seed * 1_009 + turns,
        )
        replies = [Reply(truncated=True, tokens=0) for _ in asked]
        for place, group in zip(fitting, rolled, strict=True):
            found = group[0]
            replies[place] = Reply(
                text=chat.plain(found.ids), tokens=len(found.ids), truncated=not found.ended
            )
        return replies
