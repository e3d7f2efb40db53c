"""Rows of a training run: prompts, experts, pairs and episodes, encoded once, in an order that a seed fixes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from planarena import formats
from planarena.errors import UserError
from planarena.formats import selective_keep
from planarena.rows import (
    Coverage,
    EpisodeRow,
    ExpertOptions,
    PreferencePair,
    RowOptions,
    TrainingRow,
    align,
    divide,
    is_expert_task,
    load_episodes,
    load_pairs,
    load_rows,
)
from planarena.trainers.config import TrainConfig
from planarena.trainers.local.tokenizer import ChatTokenizer
from planarena.trainers.types import Needs
from planarena.trainers.update import Expert

__all__ = ["Encoder", "Order", "PairTokens", "Prompt", "TrainingData", "load_data"]

T = TypeVar("T")


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


@dataclass(slots=True)
class PairTokens:
    """A preference pair as tokens."""

    prompt_ids: list[int]
    chosen: list[int]
    rejected: list[int]


@dataclass(slots=True)
class TrainingData:
    """All rows of a run.

    Attributes:
        prompts: For rollouts.
        experts: Demonstrations.
        pairs: Preference pairs.
        validation: For greedy validation.
        counts: What was read and what was left out, by reason.
        coverage: Which prompts have an expert.
    """

    prompts: list[Prompt] = field(default_factory=list)
    experts: list[Expert] = field(default_factory=list)
    pairs: list[PairTokens] = field(default_factory=list)
    validation: list[Prompt] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    coverage: Coverage = field(default_factory=Coverage)


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
        selective: Find the tokens of the selective loss (002 Eq. 19).

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


def row_options(config: TrainConfig, split: str) -> RowOptions:
    """Return what `planarena.rows` is asked for."""
    data = config.data
    return RowOptions(
        format=data.format,
        template=data.template,
        plan=data.plan or "none",
        signatures=data.signatures,
        answers=data.answers,
        domains=data.domains,
        splits=(split,),
    )


def _limited(rows: Iterable[T], limit: int) -> Iterator[T]:
    return islice(rows, limit) if limit else iter(rows)


def holds_pairs_alone(config: TrainConfig, needs: Needs) -> bool:
    """Say whether the data are files of preference pairs; runs give single decisions besides."""
    root = Path(config.data.path)
    return needs.preferences and not any((root / name).is_file() for name in ("run.json", "ledger.sqlite"))


def load_texts(config: TrainConfig, needs: Needs) -> list[str]:
    """Return the texts that the tiny tokenizer is trained on: prompts and targets of the training split."""
    texts: list[str] = []
    path, wanted, limit = config.data.path, row_options(config, "train"), config.data.limit
    if needs.preferences:
        for pair in _limited(load_pairs(path, wanted), limit):
            texts += [str(message.get("content") or "") for message in pair.prompt]
            texts += [pair.chosen, pair.rejected]
        if holds_pairs_alone(config, needs):
            return texts
    for row in _limited(load_rows(path, wanted, allow_empty=needs.preferences), limit):
        texts += [str(message.get("content") or "") for message in row.prompt]
        texts.append(row.target)
    return texts


def load_data(config: TrainConfig, needs: Needs, encoder: Encoder) -> TrainingData:
    """Read and encode everything that an algorithm needs.

    Raises:
        UserError: No usable row, rows that all are too long, episodes without an environment.
    """
    data = TrainingData()
    wanted, limit = row_options(config, "train"), config.data.limit
    path = config.data.path
    if needs.preferences:
        data.pairs = _kept(encoder.pair(row) for row in _limited(load_pairs(path, wanted), limit))
        _refuse_empty(data.pairs, encoder, "preference pair", path)
    supervised = needs.experts or needs.demonstrations
    if config.data.mode == "episodes" and not needs.preferences:
        _load_episodes(config, needs, encoder, data)
    elif needs.rollouts or supervised:
        _load_steps(config, needs, encoder, data)
    if needs.rollouts or supervised or needs.preferences:
        data.validation = _load_validation(config, needs, encoder)
    data.counts = encoder.counts
    data.counts["prompts"], data.counts["experts"] = len(data.prompts), len(data.experts)
    data.counts["pairs"], data.counts["validation"] = len(data.pairs), len(data.validation)
    return data


def _load_steps(config: TrainConfig, needs: Needs, encoder: Encoder, data: TrainingData) -> None:
    path, wanted, chosen = config.data.path, row_options(config, "train"), config.data.experts
    rows = list(_limited(load_rows(path, wanted), config.data.limit))
    data.counts["rows"] = len(rows)
    options = ExpertOptions(
        mode="disjoint" if chosen.mode == "disjoint" else "aligned",
        ratio=chosen.ratio,
        generators=chosen.generators,
        seed=config.seed,
    )
    source = list(_limited(load_rows(chosen.data, wanted), config.data.limit)) if chosen.data else rows
    experts = source
    if chosen.mode == "disjoint" and not chosen.data and needs.rollouts:
        divided = divide(rows, options)
        rows, experts, data.coverage = divided.prompts, divided.experts, divided.coverage
    elif chosen.generators:
        experts = [row for row in source if row.generator in chosen.generators]
    if needs.rollouts:
        if needs.demonstrations or needs.prompt_hints or needs.own_phases or chosen.mode == "aligned":
            aligned = msgspec.structs.replace(
                options, ratio=chosen.ratio if chosen.mode == "aligned" else 1.0
            )
            pairs = [(one.row, one.expert) for one in align(rows, experts, aligned, data.coverage)]
        else:
            pairs = [(row, None) for row in rows]
        for row, demonstration in pairs:
            prompt = encoder.prompt(row)
            if prompt is not None:
                if demonstration is not None:
                    prompt.demonstration = encoder.expert(demonstration, prompt.ids)
                data.prompts.append(prompt)
        _refuse_empty(data.prompts, encoder, "row", path)
    if needs.experts or needs.demonstrations:
        if chosen.mode == "aligned" and needs.rollouts:
            data.experts = _kept(prompt.demonstration for prompt in data.prompts)
        else:
            data.experts = _kept(encoder.expert(row) for row in experts)
        _refuse_empty(data.experts, encoder, "demonstration", chosen.data or path)


def _load_episodes(config: TrainConfig, needs: Needs, encoder: Encoder, data: TrainingData) -> None:
    path, wanted, chosen = config.data.path, row_options(config, "train"), config.data.experts
    episodes = list(_limited(load_episodes(path, wanted), config.data.limit))
    data.counts["rows"] = len(episodes)
    if any(row.messages[: len(row.prompt)] != row.prompt for row in episodes[:1]):
        raise UserError(
            f"the template of the format {config.data.format} packs the history into one message",
            where="data.mode=episodes",
            fix="choose a `data.template` that keeps a chat (planarena, short), or `data.mode: steps`",
        )
    acting_on, shown = _episode_experts(episodes, config, needs)
    if needs.rollouts:
        acting = [row for row in acting_on if row.environment is not None]
        if not acting:
            raise UserError(
                "has no scenario whose environment is here, so a policy cannot act in it",
                where=path,
                fix="use `data.mode: steps`, or a run of `planarena build builtin`",
            )
        data.prompts = _kept(encoder.prompt(row) for row in acting)
        _refuse_empty(data.prompts, encoder, "episode", path)
    if needs.experts or needs.demonstrations or needs.prompt_hints:
        data.experts = _kept(encoder.imitation(row) for row in shown)
        _refuse_empty(data.experts, encoder, "episode", chosen.data or path)
        known = {expert.key: expert for expert in data.experts}
        for prompt in data.prompts:
            prompt.demonstration = known.get(prompt.row.row_id)


def _episode_experts(
    episodes: list[EpisodeRow], config: TrainConfig, needs: Needs
) -> tuple[list[EpisodeRow], list[EpisodeRow]]:
    """Return the episodes that are acted on, and those that are shown as demonstrations."""
    chosen = config.data.experts
    options = ExpertOptions(ratio=chosen.ratio, seed=config.seed)
    shown = episodes
    if chosen.data:
        shown = list(_limited(load_episodes(chosen.data, row_options(config, "train")), config.data.limit))
    elif chosen.mode != "shared" and needs.rollouts:
        shown = [row for row in episodes if is_expert_task(row, options)]
        if chosen.mode == "disjoint":
            episodes = [row for row in episodes if not is_expert_task(row, options)]
    if chosen.generators:
        shown = [row for row in shown if row.generator in chosen.generators]
    return episodes, shown


def _load_validation(config: TrainConfig, needs: Needs, encoder: Encoder) -> list[Prompt]:
    if not config.validation.every or config.validation.rows < 1 or holds_pairs_alone(config, needs):
        return []
    wanted = row_options(config, "validation")
    rows: Iterable[TrainingRow | EpisodeRow]
    if config.data.mode == "episodes":
        episodes = load_episodes(config.data.path, wanted, allow_empty=True)
        rows = (row for row in episodes if row.environment is not None)
    else:
        rows = load_rows(config.data.path, wanted, allow_empty=True)
    # The first rows would all be of a few scenarios.
    listed = list(rows)
    random.Random(f"validation/{config.seed}").shuffle(listed)
    found = (encoder.prompt(row) for row in listed)
    return list(islice((prompt for prompt in found if prompt is not None), config.validation.rows))


def _kept(rows: Iterable[T | None]) -> list[T]:
    return [row for row in rows if row is not None]


def _refuse_empty(rows: Sequence[Any], encoder: Encoder, what: str, path: str) -> None:
    if rows:
        return
    left_out = ", ".join(f"{number} {reason}" for reason, number in encoder.counts.items() if number)
    raise UserError(
        f"no {what} fits ({left_out or 'nothing was read'}): the longest prompt has {encoder.longest} tokens and "
        f"the longest target {encoder.longest_target}; prompts may have {encoder.max_prompt} and targets "
        f"{encoder.max_response} of a context of {encoder.context}",
        where=path,
        fix="raise rollout.max_prompt_length or rollout.max_response_length, write shorter prompts "
        "(data.template=short, data.signatures=names), or take a model with a longer context",
    )
