"""Rewards of rollouts: judges asked group by group, one scorer a group, every failure counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from planarena import formats
from planarena.formats import Gold
from planarena.judges import GroupScores, JudgedAction, RubricJudge, SimilarityJudge
from planarena.rows import EpisodeRow, TrainingRow
from planarena.trainers import rewards
from planarena.trainers.config import JudgeConfig
from planarena.trainers.loop.batches import Sample
from planarena.trainers.rewards import Context, sequential_decay
from planarena.trainers.types import Needs
from planarena.users import Users

__all__ = ["OFFLINE_GROUPS", "Scorer", "open_judges"]

# Counted: groups that a judge was to score, and could not.
OFFLINE_GROUPS = "groups rescored offline"


class Judges(msgspec.Struct):
    """The two judges of a run, and the gateway to close at its end (None offline)."""

    similarity: SimilarityJudge
    rubric: RubricJudge
    gateway: Any = None


def open_judges(model: str, how: JudgeConfig | None = None) -> Judges:
    """Return the judges: a model of the gateway, or the offline scorers behind the same call.

    Args:
        model: As `--judge-model` takes it; empty for offline.
        how: How long it is waited for, and what it may cost.
    """
    if not model:
        return Judges(SimilarityJudge(), RubricJudge())
    from planarena.llm import Budget, SyncGateway, read_model

    how = how or JudgeConfig()
    asked = msgspec.structs.replace(
        read_model(model), timeout=how.timeout, attempts=how.attempts, concurrency=how.concurrency
    )
    budget = Budget(usd=how.budget_usd, tokens=how.budget_tokens, calls=how.budget_calls)
    gateway = SyncGateway([asked], budget=budget)
    return Judges(SimilarityJudge(gateway, asked.name), RubricJudge(gateway, asked.name), gateway)


class Scorer:
    """Scores samples against the gold of their rows.

    Args:
        name: A reward.
        options: Its options.
        overlong: Options of DAPO's penalty, or None.
        form: The format that the policy speaks.
        needs: Of the algorithm.
        judges: The judges.
        users: Who plays the users of episodes; by default they are scripted.

    Attributes:
        groups: How many groups a judge that is a model was given so far.
        fallback: Why the latest group was scored offline that was not the judge's; empty as long as none was.
        arguments: What another process makes the same scorer from: name, options, overlong, form, who plays users.
        counts: Judged groups that fell back to the offline scorer, and context that was missing, by name.
    """

    def __init__(
        self,
        name: str,
        options: dict[str, Any],
        overlong: dict[str, Any] | None,
        form: str,
        needs: Needs,
        judges: Judges,
        users: Users | None = None,
    ) -> None:
        self.reward = rewards.get(name, {"format": form, **options}, overlong)
        self.exact = rewards.get("binary", {"format": form})
        self.form = formats.get(form)
        self.users = users or Users()
        self.arguments = (name, dict(options), overlong, form, self.users.who)
        self.needs = needs
        self.judges = judges
        self.counts: Counter[str] = Counter()
        self.groups, self.fallback = 0, ""
        needed = set(self.reward.needed)
        self.wants_similarity = "similarity" in needed
        self.wants_rubric = bool(needed & {"reasoning", "rubric"}) or needs.reasoning_reward

    def score(
        self,
        groups: Sequence[tuple[TrainingRow, Sequence[Sample]]],
        *,
        training_step: int = 0,
        gold_tokens: Sequence[Sequence[int]] | None = None,
        judge: bool = True,
    ) -> None:
        """Fill in reward, parts, token rewards, reasoning reward, decay and success of every sample.

        Args:
            groups: Rows with their samples.
            training_step: Optimiser steps done, for scheduled rewards.
            gold_tokens: Ids of each row's target, for rewards per token.
            judge: Ask the judges where the reward needs them; validation may leave them out.
        """
        similarity = self._judged("similarity", groups) if judge and self.wants_similarity else None
        rubric = self._judged("rubric", groups) if judge and self.wants_rubric else None
        for place, (row, samples) in enumerate(groups):
            for index, sample in enumerate(samples):
                reason = None if rubric is None else rubric[place].scores[index]
                context = Context(
                    similarity=None if similarity is None else similarity[place].scores[index],
                    reasoning=reason,
                    rubric=reason,
                    step=row.step,
                    steps=row.steps,
                    training_step=training_step,
                    length=len(sample.response_ids),
                    truncated=sample.truncated,
                    tokens=sample.response_ids,
                    gold_tokens=None if gold_tokens is None else gold_tokens[place],
                )
                self._fill(sample, row.gold, context)
                sample.reason = float("nan") if reason is None else reason
                if "decay" not in sample.parts:
                    sample.decay = sequential_decay(row.step, row.steps)

    def score_turn(self, text: str, gold: Gold, step: int, steps: int) -> float:
        """Return the reward of one turn of an episode against the gold action of the same number, without judges."""
        context = Context(step=step, steps=steps, length=None)
        return float(self.reward.score(self.form.parse(text), gold, context).total)

    def served(self) -> dict[str, dict[str, int]]:
        """Return by model what its server called itself, and in how many answers."""
        found: dict[str, Counter[str]] = {}
        for judge in (self.judges.similarity, self.judges.rubric):
            for model, names in judge.served.items():
                found[model] = found.get(model, Counter()) + names
        return {model: dict(names) for model, names in found.items()}

    def _fill(self, sample: Sample, gold: Gold, context: Context) -> None:
        assert sample.parsed is not None
        score = self.reward.score(sample.parsed, gold, context)
        sample.reward = float(score.total)
        sample.parts = {name: float(value) for name, value in score.parts.items()}
        sample.decay = sample.parts.get("decay", 1.0)
        if score.token_rewards is not None:
            sample.token_rewards = score.token_rewards.tolist()
        elif self.needs.token_rewards:
            # A reward without a process part is the same at every token (ToolUPT Eq. 14 with no correct token).
            sample.token_rewards = [sample.reward] * len(sample.response_ids)
        sample.success = float(self.exact.score(sample.parsed, gold, context).total)
        for name in score.missing:
            self.counts[f"missing {name}"] += 1
        if not math.isfinite(sample.reward):
            self.counts["rewards that are not finite"] += 1

    def _judged(
        self, which: str, groups: Sequence[tuple[TrainingRow, Sequence[Sample]]]
    ) -> list[GroupScores]:
        asked = [[judged(row, sample) for sample in samples] for row, samples in groups]
        judge = self.judges.similarity if which == "similarity" else self.judges.rubric
        scores = judge.score(asked)
        self.groups += len(asked) if self.judges.gateway is not None else 0
        self.counts += Counter(OFFLINE_GROUPS for score in scores if score.fallback)
        self.fallback = next((score.fallback for score in reversed(scores) if score.fallback), self.fallback)
        return scores


def judged(row: TrainingRow | EpisodeRow, sample: Sample) -> JudgedAction:
    """Return a sample as a judge reads it."""
    assert sample.parsed is not None
    gold = row.gold if isinstance(row, TrainingRow) else row.gold[-1]
    lines = [
        f"{message['role']}: {message.get('content') or ''}"
        for message in row.prompt
        if message["role"] != "system"
    ]
    return JudgedAction(
        candidate=sample.parsed,
        gold=gold,
        task="\n".join(lines),
        tools=tuple(str(tool["function"]["name"]) for tool in row.tools),
        reference=row.rationale if isinstance(row, TrainingRow) else "",
    )
