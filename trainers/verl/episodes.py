"""Whole episodes in verl's agent-loop workers: our environments, executors and goals, observations masked.

A worker opens its own environment from the row's reference, so that nothing but text and tokens travels. What an
episode does between two decisions, and how it is scored, is the local engine's (`local/episodes.py`).
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence
from typing import Any

import msgspec

from planarena.rows import EpisodeRow, open_environment
from planarena.trainers.config import RolloutConfig
from planarena.trainers.local.data import Prompt
from planarena.trainers.local.episodes import Acting, act_out, gold_sample, result, turn_seed
from planarena.trainers.local.rollout import Rollouts
from planarena.trainers.local.score import Scorer, open_judges
from planarena.trainers.types import Needs
from planarena.trainers.update import Sample
from planarena.trainers.verl.remote import RemotePolicy

__all__ = ["act", "act_in_environments", "episode_task"]

# What travels back beside tokens, masks and log-probabilities.
_FACTS = (
    "turn",
    "truncated",
    "text",
    "token_types",
    "reward",
    "token_rewards",
    "anchors",
    "returns",
    "parts",
    "success",
)


def episode_task(
    row: EpisodeRow, group: int, config: RolloutConfig, scorer: Scorer, context: int, gamma: float
) -> dict[str, Any]:
    """Return what a worker needs to act on one task, ready for JSON.

    Args:
        row: The task, with its environment.
        group: Number of the prompt in the batch.
        config: Lengths and weights.
        scorer: The format, the reward of single steps, the needs of the algorithm.
        context: Positions of the model.
        gamma: Discount of the returns from each step.
    """
    return {
        "row": msgspec.json.encode(row).decode(),
        "group": group,
        "rollout": msgspec.to_builtins(config),
        "reward": list(scorer.arguments),
        "needs": scorer.needs.names(),
        "context": context,
        "gamma": gamma,
    }


@functools.lru_cache(maxsize=8)
def _scorer(arguments: str, needs: str) -> Scorer:
    name, options, overlong, form = msgspec.json.decode(arguments)
    wanted = Needs(**{"rollouts": False, **dict.fromkeys(msgspec.json.decode(needs), True)})
    return Scorer(name, options, overlong, form, wanted, open_judges(""))


async def act(loop: Any, wanted: dict[str, Any], prompt: list[int]) -> Any:
    """Act in one environment to the end and return the episode as verl stores it.

    Args:
        loop: The agent loop, which samples.
        wanted: With `episode` as `episode_task` gives it.
        prompt: Ids of the first prompt.
    """
    import torch

    from planarena.trainers.verl.agent_loop import chat_of, output

    task = wanted["episode"]
    row = msgspec.json.decode(task["row"], type=EpisodeRow)
    config = msgspec.convert(task["rollout"], RolloutConfig)
    scorer = _scorer(
        msgspec.json.encode(task["reward"]).decode(), msgspec.json.encode(task["needs"]).decode()
    )
    policy: Any = RemotePolicy(
        chat=chat_of(loop.tokenizer),
        context=int(task["context"]),
        device=torch.device("cpu"),
        bfloat16=False,
    )
    assert row.environment is not None
    opened = await asyncio.to_thread(open_environment, row.environment)
    one = Acting(Prompt(row, prompt, []), row, opened, int(task["group"]))
    limit = int(config.max_response_length or 1)
    for number in range(config.max_turns):
        seed = turn_seed(int(wanted["seed"]), number)
        one.begin_turn()
        generated = await loop.sample([*prompt, *one.ids], limit=max(limit - len(one.ids), 1), seed=seed)
        # Tools may take their time; other episodes of this worker go on meanwhile.
        await asyncio.to_thread(act_out, policy, one, generated, config, scorer, number, limit)
        if one.finished:
            break
    sample = result(one, config, scorer, float(task["gamma"]), 0)
    facts = {name: getattr(sample, name) for name in _FACTS} | {"calls": one.calls}
    return output(prompt, sample.response_ids, sample.mask, sample.logp, facts, turns=2 * len(one.texts))


def act_in_environments(
    sampler: Any,
    prompts: Sequence[Prompt],
    config: RolloutConfig,
    scorer: Scorer,
    *,
    context: int,
    repeats: int,
    temperature: float,
    seed: int,
    demonstrations: bool,
    gamma: float,
) -> Rollouts:
    """Let verl's workers act K times on each task, and put the gold episode into each group where it is wanted.

    Args:
        sampler: Whose `roll` reaches the workers.
        prompts: Episodes whose environment is here.
        config: Lengths and weights.
        scorer: As in `episode_task`.
        context: Positions of the model.
        repeats: K; with a demonstration in the group, K - 1 act.
        temperature: 0 is greedy.
        seed: Of the draws.
        demonstrations: Put the gold episode into each group, where there is one.
        gamma: Discount of the returns from each step.
    """
    wanted = []
    for group, prompt in enumerate(prompts):
        assert isinstance(prompt.row, EpisodeRow)
        task = episode_task(prompt.row, group, config, scorer, context, gamma)
        limit = int(config.max_response_length or 1)
        wanted.append({"episode": task, "limit": limit, "temperature": temperature, "seed": seed})
    found = Rollouts(prompts=list(prompts))
    rolled = sampler.roll([prompt.ids for prompt in prompts], wanted, repeats)
    for group, (prompt, rows) in enumerate(zip(prompts, rolled, strict=True)):
        shown = prompt.demonstration if demonstrations and repeats > 1 else None
        kept = rows[:-1] if shown is not None else rows
        for one in kept:
            sample = Sample(
                prompt_ids=prompt.ids,
                response_ids=one.ids,
                mask=one.mask,
                logp=one.logp,
                group=group,
                key=prompt.row.row_id,
                entropy=[0.0] * len(one.ids) if scorer.needs.entropy else [],
                trajectory=len(found.samples),
                **{name: one.facts[name] for name in _FACTS},
            )
            sample.parsed = scorer.form.parse(sample.text)
            found.tool_calls += int(one.facts["calls"])
            found.observation_tokens += len(one.mask) - sum(one.mask)
            found.samples.append(sample)
        if shown is not None:
            found.samples.append(gold_sample(shown, prompt, group, config, scorer, len(found.samples)))
    return found
