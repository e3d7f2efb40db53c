"""A model of the engine as a policy of the bench and the suites: dialogues in, replies out, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from planarena.bench import Asked, Reply
from planarena.trainers.loop.backend import Generate, Speaker

__all__ = ["DialoguePolicy"]


class DialoguePolicy:
    """Decodes all dialogues that it is asked; see `planarena.bench.Policy`.

    Args:
        policy: Tokenizer and size of the context.
        generate: Continues lists of ids.
        form: The format it speaks. With `native` the chat template states the tools.
        limit: Most tokens of a reply that names no limit of its own.
        temperature: 0 takes the most probable token.
        seed: Of the draws.
        room: Most tokens of a batch, prompts and replies, padding included; 0 leaves that to the number of rows.
        name: For reports.
    """

    def __init__(
        self,
        policy: Speaker,
        generate: Generate,
        form: str,
        *,
        limit: int,
        temperature: float = 0.0,
        seed: int = 0,
        room: int = 0,
        name: str = "",
    ) -> None:
        self.name, self.format = name, form
        self.limit, self.temperature, self.seed, self.room = limit, temperature, seed, room
        self._policy, self._generate = policy, generate

    def reply(self, asked: Sequence[Asked]) -> list[Reply]:
        """Answer dialogues; one that the context has no room for gets an empty, truncated reply."""
        policy = self._policy
        prompts = [self.encode(one) for one in asked]
        limits = [
            min(one.max_tokens or self.limit, policy.context - len(ids))
            for one, ids in zip(asked, prompts, strict=True)
        ]
        found = [self.silence(len(ids)) for ids in prompts]
        fitting = [place for place, limit in enumerate(limits) if limit > 0]
        drawn = dict(zip(fitting, self.seeds([asked[place] for place in fitting]), strict=True))
        for batch in self._batches(fitting, [len(ids) + limits[place] for place, ids in enumerate(prompts)]):
            wanted: dict[str, Any] = {"rows": len(batch)} if self.room else {}
            if self.temperature:
                wanted["seeds"] = [drawn[place] for place in batch]
            rolled = self._generate(
                [prompts[place] for place in batch],
                repeats=1,
                limits=[limits[place] for place in batch],
                temperature=self.temperature,
                seed=0,
                **wanted,
            )
            for place, (one,) in zip(batch, rolled, strict=True):
                found[place] = self.read(one.ids, not one.ended, len(prompts[place]))
        return found

    def encode(self, asked: Asked) -> list[int]:
        """Return the ids of a dialogue up to the reply."""
        tools = asked.tools if self.format == "native" else ()
        return self._policy.chat.prompt(asked.messages, tools or None)

    def read(self, ids: Sequence[int], cut: bool, prompt_tokens: int) -> Reply:
        """Return sampled ids as a reply."""
        text = self._policy.chat.plain(ids)
        return Reply(text=text, tokens=len(ids), truncated=cut, prompt_tokens=prompt_tokens)

    def silence(self, prompt_tokens: int) -> Reply:
        """Return the reply to a dialogue that the context has no room for."""
        return Reply(tokens=0, truncated=True, prompt_tokens=prompt_tokens)

    def seeds(self, asked: Sequence[Asked]) -> list[int]:
        """Return the seed of each reply's draws: by turn and sample, and by its place among the dialogues."""
        turns = asked[0].turn * 101 + asked[0].sample if asked else 0
        return [(self.seed * 1_009 + turns) * 1_000_003 + place for place in range(len(asked))]

    def _batches(self, places: Sequence[int], sizes: Sequence[int]) -> Iterator[list[int]]:
        """Split places into batches, the longest first, whose padded size stays within the room."""
        if not self.room:
            if places:
                yield list(places)
            return
        batch: list[int] = []
        longest = 0
        for place in sorted(places, key=lambda one: (-sizes[one], one)):
            longest = longest or sizes[place]
            if batch and longest * (len(batch) + 1) > self.room:
                yield batch
                batch, longest = [], sizes[place]
            batch.append(place)
        if batch:
            yield batch
