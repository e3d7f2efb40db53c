"""Rollouts of single decisions: samples of the policy, demonstrations in the group, hints in the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planarena.formats import Format
from planarena.records import content_id
from planarena.rows import TrainingRow
from planarena.trainers.config import RolloutConfig
from planarena.trainers.loop.backend import Generate, Generated, Rollouts, Sampling, Speaker
from planarena.trainers.loop.batches import Expert, Sample, demonstration_sample, token_type_codes
from planarena.trainers.loop.encoding import Prompt
from planarena.trainers.loop.score import Scorer
from planarena.trainers.types import Needs

__all__ = ["anchor_number", "read_sample", "sample_steps"]


def anchor_number(*parts: Any) -> int:
    """Return a stable 62-bit id of an observation, for tensors."""
    return int(content_id("anchor", *parts).rpartition("_")[2][:15], 16)


def read_sample(
    policy: Speaker, form: Format, needs: Needs, sample: Sample, prefix: Sequence[int] = ()
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
    policy: Speaker,
    prompts: Sequence[Prompt],
    config: RolloutConfig,
    scorer: Scorer,
    how: Sampling,
    generate: Generate,
) -> Rollouts:
    """Sample a group for each prompt and score it.

    Args:
        policy: For its tokenizer.
        prompts: Step-wise rows.
        config: Lengths.
        scorer: The reward.
        how: Draws, group size, what stands in group and prompt.
        generate: Continues lists of ids.
    """
    found = Rollouts(prompts=list(prompts))
    limit = int(config.max_response_length or 1)
    shown = [_hint(prompt, row, how) for row, prompt in enumerate(prompts)]
    generated = generate(
        [[*prompt.ids, *hint] for prompt, hint in zip(prompts, shown, strict=True)],
        repeats=how.repeats,
        limits=[max(limit - len(hint), 1) for hint in shown],
        temperature=how.temperature,
        seed=how.seed,
        entropy=scorer.needs.entropy,
    )
    groups: list[tuple[TrainingRow, list[Sample]]] = []
    for group, (prompt, hint, rolled) in enumerate(zip(prompts, shown, generated, strict=True)):
        assert isinstance(prompt.row, TrainingRow)
        demonstration = prompt.demonstration if how.demonstrations else None
        kept = rolled[:-1] if demonstration is not None and how.repeats > 1 else rolled
        members = [_sample(one, prompt, group, hint) for one in kept]
        for member in members:
            read_sample(policy, scorer.form, scorer.needs, member, hint)
        if demonstration is not None:
            shown_row = demonstration_sample(
                demonstration, prompt.ids, group, prompt.row.row_id, scorer.needs
            )
            read_sample(policy, scorer.form, scorer.needs, shown_row)
            members.append(shown_row)
        if hint:
            found.hints.append(Expert(prompt.ids, hint, [1] * len(hint), [1] * len(hint), prompt.row.row_id))
        groups.append((prompt.row, members))
    scorer.score(
        groups,
        training_step=how.step.step,
        gold_tokens=[prompt.target[len(hint) :] for prompt, hint in zip(prompts, shown, strict=True)],
        judge=how.judge,
    )
    for row, members in groups:
        anchor = anchor_number(row.prompt_id, row.anchor)
        for member in members:
            member.trajectory = len(found.samples)
            member.anchors, member.returns = [anchor], [member.reward]
            found.samples.append(member)
    return found


def _hint(prompt: Prompt, row: int, how: Sampling) -> list[int]:
    """Return the tokens of the demonstration that the prompt shows; never its end."""
    if how.hint_tokens is None or prompt.demonstration is None:
        return []
    content = prompt.demonstration.target_ids[:-1]
    return content[: how.hint_tokens(how.step, row, len(content))]


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
