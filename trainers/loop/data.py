"""Rows of a training run: prompts, experts, pairs and episodes, read and encoded once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from planarena.errors import UserError
from planarena.rows import (
    Coverage,
    EpisodeRow,
    ExpertOptions,
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
from planarena.trainers.loop.batches import Expert
from planarena.trainers.loop.encoding import Encoder, Order, PairTokens, Prompt
from planarena.trainers.types import Needs

__all__ = ["Encoder", "Order", "PairTokens", "Prompt", "TrainingData", "coverage", "load_data"]

T = TypeVar("T")


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


def coverage(data: TrainingData) -> dict[str, Any]:
    """Return which prompts have an expert, for run.json."""
    found = data.coverage
    return {
        "prompts": found.prompts or len(data.prompts),
        "with_expert": found.covered or sum(1 for prompt in data.prompts if prompt.demonstration is not None),
        "experts": len(data.experts),
        "generators": dict(found.generators),
        "overlap": found.overlap,
    }


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
        difficulty=data.difficulty if split == "train" else "",
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
