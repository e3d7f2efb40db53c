"""Whole episodes in verl's agent-loop workers: our environments, executors and goals, observations masked.

A worker opens its own environment from the row's reference, so that nothing but text and tokens travels. What an
episode does between two decisions, and how it is scored, is every engine's (`loop/episodes.py`).
"""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections.abc import Sequence
from typing import Any

import msgspec

from planarena.rows import EpisodeRow
from planarena.trainers.config import RolloutConfig
from planarena.trainers.loop.backend import Rollouts, Sampling
from planarena.trainers.loop.batches import Sample
from planarena.trainers.loop.encoding import Prompt
from planarena.trainers.loop.episodes import Acting, act_out, gathered, members, result, turn_seed
from planarena.trainers.loop.score import Scorer, open_judges
from planarena.trainers.types import Needs
from planarena.trainers.verl.remote import RemotePolicy
from planarena.users import Users

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
    name, options, overlong, form, who = msgspec.json.decode(arguments)
    wanted = Needs(**{"rollouts": False, **dict.fromkeys(msgspec.json.decode(needs), True)})
    return Scorer(name, options, overlong, form, wanted, open_judges(""), Users(who))


async def act(loop: Any, wanted: dict[str, Any], prompt: list[int]) -> Any:
    """Act in one environment to the end and return the episode as verl stores it.

    Args:
        loop: The agent loop, which samples.
        wanted: With `episode` as `episode_task` gives it.
        prompt: Ids of the first prompt.
    """
    from planarena.trainers.verl.agent_output import chat_of, output

    task = wanted["episode"]
    row = msgspec.json.decode(task["row"], type=EpisodeRow)
    config = msgspec.convert(task["rollout"], RolloutConfig)
    scorer = _scorer(
        msgspec.json.encode(task["reward"]).decode(), msgspec.json.encode(task["needs"]).decode()
    )
    policy = RemotePolicy(chat_of(loop.tokenizer), int(task["context"]))
    begun = Prompt(row, prompt, []), row, int(task["group"])
    one = await asyncio.to_thread(Acting.begin, *begun, 0, scorer.users)
    limit = int(config.max_response_length or 1)
    for number in itertools.count():
        seed = turn_seed(int(wanted["seed"]), number)
        one.begin_turn()
        generated = await loop.sample([*prompt, *one.ids], limit=max(limit - len(one.ids), 1), seed=seed)
        # Tools may take their time; other episodes of this worker go on meanwhile.
        await asyncio.to_thread(act_out, policy, one, generated, config, scorer, number, limit)
        if one.finished:
            break
    sample = result(one, config, scorer, float(task["gamma"]))
    facts = {name: getattr(sample, name) for name in _FACTS} | {"calls": one.calls}
    return output(prompt, sample.response_ids, sample.mask, sample.logp, facts, turns=2 * len(one.texts))


def act_in_environments(
    sampler: Any,
    prompts: Sequence[Prompt],
    config: RolloutConfig,
    scorer: Scorer,
    how: Sampling,
    *,
    context: int,
) -> Rollouts:
    """Let verl's workers act K times on each task, and put the gold episode into each group where it is wanted.

    Args:
        sampler: Whose `roll` reaches the workers.
        prompts: Episodes whose environment is here.
        config: Lengths and weights.
        scorer: As in `episode_task`.
        how: Draws, group size, discount.
        context: Positions of the model.
    """
    wanted = []
    for group, prompt in enumerate(prompts):
        assert isinstance(prompt.row, EpisodeRow)
        task = episode_task(prompt.row, group, config, scorer, context, how.discount)
        limit = int(config.max_response_length or 1)
        wanted.append({"episode": task, "limit": limit, "temperature": how.temperature, "seed": how.seed})
    rolled = sampler.roll([prompt.ids for prompt in prompts], wanted, how.repeats)
    kept = [rows[: members(prompt, how)] for prompt, rows in zip(prompts, rolled, strict=True)]
    groups = [
        [_sample(one, prompt, group, scorer) for one in rows]
        for group, (prompt, rows) in enumerate(zip(prompts, kept, strict=True))
    ]
    calls = [int(one.facts["calls"]) for rows in kept for one in rows]
    return gathered(prompts, groups, calls, config, scorer, how)


def _sample(one: Any, prompt: Prompt, group: int, scorer: Scorer) -> Sample:
    sample = Sample(
        prompt_ids=prompt.ids,
        response_ids=one.ids,
        mask=one.mask,
        logp=one.logp,
        group=group,
        key=prompt.row.row_id,
        **{name: one.facts[name] for name in _FACTS},
    )
    sample.parsed = scorer.form.parse(sample.text)
    return sample
