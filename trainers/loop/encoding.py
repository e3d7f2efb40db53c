"""Rows as tokens: prompts, demonstrations and pairs, those that do not fit counted; and the order they are taken in."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planarena import formats
from planarena.formats import selective_keep
from planarena.rows import EpisodeRow, PreferencePair, TrainingRow
from planarena.trainers.config import TrainConfig
from planarena.trainers.loop.batches import Expert
from planarena.trainers.loop.tokenizer import ChatTokenizer
from planarena.trainers.types import Needs

__all__ = ["Encoder", "Order", "PairTokens", "Prompt", "make_encoder"]


@dataclass(slots=True)
class Prompt:
    """A row ready to be sampled.

    Attributes:
        row: The row.
        ids: Tokens of its prompt.
        target: Tokens of its gold action, the end included (of an episode: of the first).
        demonstration: The expert for the same prompt, where there is one.
    """

    row: TrainingRow | EpisodeRow
    ids: list[int]
    target: list[int]
    demonstration: Expert | None = None

    @property
    def is_episode(self) -> bool:
        """Whether the policy acts in an environment."""
        return isinstance(self.row, EpisodeRow)


@dataclass(slots=True)
class PairTokens:
    """A preference pair as tokens."""

    prompt_ids: list[int]
    chosen: list[int]
    rejected: list[int]


class Order:
    """An endless order of indices: a permutation per pass, each drawn from the seed and the number of the pass.

    Args:
        size: Number of rows.
        seed: Of the permutations.
        name: So that two orders of one run differ.

    Attributes:
        taken: Indices given so far; the whole state.
    """

    def __init__(self, size: int, seed: int, name: str) -> None:
        self.size, self.seed, self.name, self.taken = size, seed, name, 0
        self._pass, self._order = -1, list(range(size))

    def take(self, number: int) -> list[int]:
        """Return the next indices; a batch larger than the data repeats rows."""
        found = []
        for position in range(self.taken, self.taken + number):
            turn, place = divmod(position, self.size)
            if turn != self._pass:
                self._order = list(range(self.size))
                random.Random(f"{self.name}/{self.seed}/{turn}").shuffle(self._order)
                self._pass = turn
            found.append(self._order[place])
        self.taken += number
        return found


class Encoder:
    """Turns rows into tokens, and counts those that do not fit.

    Args:
        chat: The tokenizer.
        form: The format.
        max_prompt: Most tokens of a prompt.
        context: Positions of the model.
        max_response: Most tokens of a response.
        selective: Find the tokens of the selective loss (ToolUPT Eq. 19).

    Attributes:
        counts: Rows left out by reason.
        longest: The longest prompt seen, tokens.
        longest_target: The longest target seen, tokens.
    """

    def __init__(
        self,
        chat: ChatTokenizer,
        form: str,
        *,
        max_prompt: int,
        context: int,
        max_response: int,
        selective: bool = False,
    ) -> None:
        self.chat, self.form, self.selective = chat, formats.get(form), selective
        self.max_prompt = max(min(max_prompt, context - max_response), 0)
        self.context, self.max_response = context, max_response
        self.counts: Counter[str] = Counter()
        self.longest = self.longest_target = 0
        self._native = form == "native"

    def prompt_ids(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]
    ) -> list[int] | None:
        """Return the tokens of a prompt, None where it is too long."""
        ids = self.chat.prompt(messages, tools if self._native else None)
        self.longest = max(self.longest, len(ids))
        if len(ids) > self.max_prompt:
            self.counts["prompts longer than the limit"] += 1
            return None
        return ids

    def prompt(self, row: TrainingRow | EpisodeRow) -> Prompt | None:
        """Return a row as a prompt, None where it is too long."""
        ids = self.prompt_ids(row.prompt, row.tools)
        if ids is None:
            return None
        target = row.target if isinstance(row, TrainingRow) else row.targets[0]
        return Prompt(row, ids, self.chat.target(target))

    def _target(self, text: str) -> list[int]:
        ids = self.chat.target(text)
        self.longest_target = max(self.longest_target, len(ids))
        return ids

    def expert(self, row: TrainingRow, prompt_ids: list[int] | None = None) -> Expert | None:
        """Return a row as a demonstration, None where it is too long."""
        ids = self.prompt_ids(row.prompt, row.tools) if prompt_ids is None else prompt_ids
        if ids is None:
            return None
        target = self._target(row.target)
        if len(target) > self.max_response:
            self.counts["targets longer than the limit"] += 1
            return None
        keep = [1] * len(target)
        if self.selective:
            _, offsets = self.chat.text(target)
            keep = [int(flag) for flag in selective_keep(self.form.parse(row.target), offsets)]
        return Expert(ids, target, [1] * len(target), keep, row.row_id)

    def imitation(self, row: EpisodeRow) -> Expert | None:
        """Return a whole episode as one demonstration whose observations are masked."""
        ids = self.prompt_ids(row.prompt, row.tools)
        if ids is None:
            return None
        tokens: list[int] = []
        mask: list[int] = []
        between: list[dict[str, Any]] = []
        targets = iter(row.targets)
        for message in row.messages[len(row.prompt) :]:
            if message["role"] != "assistant":
                between.append(message)
                continue
            if between:
                seen = self.chat.between(between)
                tokens += seen
                mask += [0] * len(seen)
                between = []
            said = self.chat.target(next(targets))
            tokens += said
            mask += [1] * len(said)
        self.longest_target = max(self.longest_target, len(tokens))
        if len(tokens) > self.max_response:
            self.counts["episodes longer than the limit"] += 1
            return None
        return Expert(ids, tokens, mask, list(mask), row.row_id)

    def pair(self, row: PreferencePair) -> PairTokens | None:
        """Return a preference pair, None where it is too long."""
        ids = self.prompt_ids(row.prompt, row.tools)
        if ids is None:
            return None
        chosen, rejected = self._target(row.chosen), self._target(row.rejected)
        if max(len(chosen), len(rejected)) > self.max_response:
            self.counts["targets longer than the limit"] += 1
            return None
        return PairTokens(ids, chosen, rejected)


def make_encoder(config: TrainConfig, chat: ChatTokenizer, context: int, needs: Needs) -> Encoder:
    """Return the encoder of a run's rows.

    Args:
        config: Complete.
        chat: The tokenizer.
        context: Positions of the model.
        needs: Of the algorithm.
    """
    return Encoder(
        chat,
        config.data.format,
        max_prompt=int(config.rollout.max_prompt_length or 1),
        context=context,
        max_response=int(config.rollout.max_response_length or 1),
        selective=needs.expert_keep,
    )
