"""Rollouts of single decisions: samples of the policy, demonstrations in the group, hints in the prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from planarena.formats import Format
from planarena.records import content_id
from planarena.rows import TrainingRow
from planarena.trainers.config import RolloutConfig
from planarena.trainers.local.data import Prompt
from planarena.trainers.local.generate import Generated, generate
from planarena.trainers.local.model import Policy
from planarena.trainers.local.score import Scorer
from planarena.trainers.types import Needs, Step
from planarena.trainers.update import Expert, Sample, hint_length, token_type_codes

__all__ = ["Rollouts", "anchor_number", "read_sample", "sample_steps"]

DrawHints = Callable[[Step, int, int], int]
Generate = Callable[..., list[list[Generated]]]


@dataclass(slots=True)
class Rollouts:
    """A rollout batch before it becomes tensors.

    Attributes:
        samples: All rows, groups one after the other.
        prompts: The prompt of each group.
        hints: Hint tokens of each prompt as demonstrations (UFT).
        observation_tokens: Tokens that the environment wrote.
        tool_calls: Calls made in environments.
    """

    samples: list[Sample] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)
    hints: list[Expert] = field(default_factory=list)
    observation_tokens: int = 0
    tool_calls: int = 0


def anchor_number(*parts: Any) -> int:
    """Return a stable 62-bit id of an observation, for tensors."""
    return int(content_id("anchor", *parts).rpartition("_")[2][:15], 16)


def read_sample(
    policy: Policy, form: Format, needs: Needs, sample: Sample, prefix: Sequence[int] = ()
) -> None:
    """Fill in what a response says: text, parsed action, token types.

    Args:
        policy: For its tokenizer.
        form: The format.
        needs: Of the algorithm.
        sample: Changed in place.
        prefix: Response tokens that stand in the prompt already (a hint).
    """
    ids = [*prefix, *sample.response_ids]
    if not needs.token_types:
        sample.text = policy.chat.plain(ids)
        sample.parsed = form.parse(sample.text)
        return
    sample.text, offsets = policy.chat.text(ids)
    sample.parsed = form.parse(sample.text)
    sample.token_types = token_type_codes(sample.parsed, offsets)[len(prefix) :]


def sample_steps(
    policy: Policy,
    prompts: Sequence[Prompt],
    config: RolloutConfig,
    scorer: Scorer,
    *,
    step: Step,
    seed: int,
    temperature: float,
    repeats: int,
    demonstrations: bool = False,
    draw_hints: DrawHints | None = None,
    judge: bool = True,
    sample: Generate | None = None,
) -> Rollouts:
    """Sample a group for each prompt and score it.

    Args:
        policy: The rollout policy.
        prompts: Step-wise rows.
        config: Lengths.
        scorer: The reward.
        step: Where training stands.
        seed: Of the draws.
        temperature: 0 is greedy.
        repeats: K; with a demonstration in the group, K - 1 are sampled.
        demonstrations: Put each prompt's demonstration into its group, where there is one.
        draw_hints: Says how many segments of a demonstration a prompt shows (UFT).
        judge: Ask judges.
        sample: What `generate` is, where the policy is elsewhere.
    """
    found = Rollouts(prompts=list(prompts))
    limit = int(config.max_response_length or 1)
    shown = [_hint(prompt, row, step, draw_hints) for row, prompt in enumerate(prompts)]
    generated = (sample or generate)(
        policy,
        [[*prompt.ids, *hint] for prompt, hint in zip(prompts, shown, strict=True)],
        repeats=repeats,
        limits=[max(limit - len(hint), 1) for hint in shown],
        temperature=temperature,
        seed=seed,
        entropy=scorer.needs.entropy,
    )
    groups: list[tuple[TrainingRow, list[Sample]]] = []
    for group, (prompt, hint, rolled) in enumerate(zip(prompts, shown, generated, strict=True)):
        assert isinstance(prompt.row, TrainingRow)
        demonstration = prompt.demonstration if demonstrations else None
        kept = rolled[:-1] if demonstration is not None and repeats > 1 else rolled
        members = [_sample(one, prompt, group, hint) for one in kept]
        for member in members:
            read_sample(policy, scorer.form, scorer.needs, member, hint)
        if demonstration is not None:
            shown_row = _demonstration(demonstration, prompt, group, scorer.needs)
            read_sample(policy, scorer.form, scorer.needs, shown_row)
            members.append(shown_row)
        if hint:
            found.hints.append(Expert(prompt.ids, hint, [1] * len(hint), [1] * len(hint), prompt.row.row_id))
        groups.append((prompt.row, members))
    scorer.score(
        groups,
        training_step=step.step,
        gold_tokens=[prompt.target[len(hint) :] for prompt, hint in zip(prompts, shown, strict=True)],
        judge=judge,
    )
    for row, members in groups:
        anchor = anchor_number(row.prompt_id, row.anchor)
        for member in members:
            member.trajectory = len(found.samples)
            member.anchors, member.returns = [anchor], [member.reward]
            found.samples.append(member)
    return found


def _hint(prompt: Prompt, row: int, step: Step, draw_hints: DrawHints | None) -> list[int]:
    """Return the tokens of the demonstration that the prompt shows; never its end."""
    if draw_hints is None or prompt.demonstration is None:
        return []
    content = prompt.demonstration.target_ids[:-1]
    kept = draw_hints(step, row, len(content))
    segments = getattr(getattr(draw_hints, "__self__", None), "config", None)
    return content[: hint_length(len(content), int(getattr(segments, "hint_segments", 5)), kept)]


def _sample(one: Generated, prompt: Prompt, group: int, hint: list[int]) -> Sample:
    return Sample(
        prompt_ids=[*prompt.ids, *hint] if hint else prompt.ids,
        response_ids=one.ids,
        mask=[1] * len(one.ids),
        logp=one.logp,
        group=group,
        key=prompt.row.row_id,
        entropy=one.entropy,
        truncated=not one.ended,
    )


def _demonstration(expert: Expert, prompt: Prompt, group: int, needs: Needs) -> Sample:
    """Return a demonstration as a row of the group; its behaviour policy is taken to be 1 (LUFFY)."""
    length = len(expert.target_ids)
    return Sample(
        prompt_ids=prompt.ids,
        response_ids=list(expert.target_ids),
        mask=list(expert.mask),
        logp=[0.0] * length,
        group=group,
        key=prompt.row.row_id,
        entropy=[0.0] * length if needs.entropy else [],
        is_demo=True,
    )
