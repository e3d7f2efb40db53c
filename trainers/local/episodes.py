"""Rollouts of whole episodes: the policy's calls run in the scenario's environment, observations are masked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from planarena.environments import Outcome
from planarena.episodes import reached, succeeded
from planarena.formats import Parsed
from planarena.records import canonical_json
from planarena.rows import EpisodeRow, Opened, open_environment
from planarena.trainers.algorithms.gigpo import step_returns
from planarena.trainers.config import RolloutConfig
from planarena.trainers.local.data import Prompt
from planarena.trainers.local.generate import Generated, generate
from planarena.trainers.local.model import Policy
from planarena.trainers.local.rollout import Rollouts, anchor_number
from planarena.trainers.local.score import Scorer
from planarena.trainers.update import Expert, Sample, token_type_codes

__all__ = ["Acting", "act_out", "gold_sample", "result", "sample_episodes", "turn_seed"]

# A model that calls a hundred tools in one turn is not to fill the context with their results.
_MOST_CALLS = 16


@dataclass(slots=True)
class Acting:
    """One episode under way."""

    prompt: Prompt
    row: EpisodeRow
    opened: Opened
    group: int
    member: int = 0
    ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logp: list[float] = field(default_factory=list)
    entropy: list[float] = field(default_factory=list)
    turn: list[int] = field(default_factory=list)
    types: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    anchors: list[int] = field(default_factory=list)
    step_rewards: list[float] = field(default_factory=list)
    calls: int = 0
    users: int = 1
    parsed: Parsed | None = None
    truncated: bool = False
    finished: bool = False
    seen: str = ""

    def begin_turn(self) -> None:
        """Note what the next decision is made in."""
        self.anchors.append(anchor_number(self.group, self.opened.world.digest(), self.seen))

    @property
    def offered(self) -> frozenset[str]:
        """The names of the tools on offer: a task withholds others that its world has."""
        return frozenset(tool["function"]["name"] for tool in self.row.tools)


def sample_episodes(
    policy: Policy,
    prompts: Sequence[Prompt],
    config: RolloutConfig,
    scorer: Scorer,
    *,
    seed: int,
    temperature: float,
    repeats: int,
    demonstrations: bool = False,
    gamma: float = 1.0,
) -> Rollouts:
    """Let the policy act K times on each task and score the trajectories.

    The reward of a trajectory is goal_weight times its goal predicate plus step_weight times the mean reward of its
    steps; a step's own reward is added to its tokens where rewards per token are asked for.

    Args:
        policy: The rollout policy.
        prompts: Episodes whose environment is here.
        config: Lengths and weights.
        scorer: The format, and the reward of single steps where `step_reward` is `gold`.
        seed: Of the draws.
        temperature: 0 is greedy.
        repeats: K; with a demonstration in the group, K - 1 act.
        demonstrations: Put the gold episode into each group, where there is one.
        gamma: Discount of the returns from each step (GiGPO).
    """
    found = Rollouts(prompts=list(prompts))
    acting: list[Acting] = []
    for group, prompt in enumerate(prompts):
        assert isinstance(prompt.row, EpisodeRow)
        assert prompt.row.environment is not None
        shown = demonstrations and prompt.demonstration is not None and repeats > 1
        for member in range(repeats - 1 if shown else repeats):
            opened = open_environment(prompt.row.environment)
            acting.append(Acting(prompt, prompt.row, opened, group, member))
    for number in range(config.max_turns):
        open_rows = [one for one in acting if not one.finished]
        if not open_rows:
            break
        _take_turn(policy, open_rows, config, scorer, number, seed, temperature)
    for one in acting:
        sample = result(one, config, scorer, gamma, len(found.samples))
        found.tool_calls += one.calls
        found.observation_tokens += len(one.mask) - sum(one.mask)
        found.samples.append(sample)
    if demonstrations:
        for group, prompt in enumerate(prompts):
            if prompt.demonstration is not None and repeats > 1:
                found.samples.append(
                    gold_sample(prompt.demonstration, prompt, group, config, scorer, len(found.samples))
                )
    found.samples.sort(key=lambda sample: sample.group)
    return found


def turn_seed(seed: int, number: int) -> int:
    """Return the seed of a batch's decisions of one turn, from 0; a group's own is 1,000,003 times that plus its number."""
    return seed * 1_009 + number if number else seed


def _take_turn(
    policy: Policy,
    rows: list[Acting],
    config: RolloutConfig,
    scorer: Scorer,
    number: int,
    seed: int,
    temperature: float,
) -> None:
    """Sample one decision for every open episode and carry it out."""
    limit = int(config.max_response_length or 1)
    for one in rows:
        one.begin_turn()
    sizes = set(Counter(one.group for one in rows).values())
    if number == 0 and len(sizes) == 1:
        # All members of a group start from one prompt, which is prefilled once.
        repeats = sizes.pop()
        firsts = rows[::repeats]
        grouped = generate(
            policy,
            [one.prompt.ids for one in firsts],
            repeats=repeats,
            limits=[limit] * len(firsts),
            temperature=temperature,
            seed=seed,
            entropy=scorer.needs.entropy,
        )
        rolled = [one for group in grouped for one in group]
    else:
        # By group and place in it: what an episode draws does not depend on which others are still open.
        own = turn_seed(seed, number) * 1_000_003
        single = generate(
            policy,
            [[*one.prompt.ids, *one.ids] for one in rows],
            limits=[max(limit - len(one.ids), 1) for one in rows],
            temperature=temperature,
            seed=seed,
            seeds=[own + one.group for one in rows],
            members=[one.member for one in rows],
            entropy=scorer.needs.entropy,
        )
        rolled = [group[0] for group in single]
    for one, generated in zip(rows, rolled, strict=True):
        act_out(policy, one, generated, config, scorer, number, limit)


def act_out(
    policy: Policy,
    one: Acting,
    generated: Generated,
    config: RolloutConfig,
    scorer: Scorer,
    number: int,
    limit: int,
) -> None:
    """Append a sampled decision, make its calls, append what came back.

    Args:
        policy: Its tokenizer and the size of its context; no weights.
        one: Changed in place.
        generated: The decision.
        config: Turns and weights.
        scorer: The format, and the reward of single steps.
        number: Of the decision, from 0.
        limit: Most tokens of the episode.
    """
    text, offsets = policy.chat.text(generated.ids)
    parsed = scorer.form.parse(text)
    one.parsed = parsed
    one.texts.append(text)
    one.ids += generated.ids
    one.mask += [1] * len(generated.ids)
    one.logp += generated.logp
    one.entropy += generated.entropy
    one.turn += [number] * len(generated.ids)
    if scorer.needs.token_types:
        one.types += token_type_codes(parsed, offsets)
    said: list[dict[str, Any]] = []
    outcomes: list[Outcome] = []
    if parsed.calls and not parsed.broken:
        for call in parsed.calls[:_MOST_CALLS]:
            outcome = one.opened.episode.attempt(call.name, call.arguments, one.offered)
            one.opened.observed.append((call.name, outcome))
            outcomes.append(outcome)
            shown = outcome.result if outcome.status == "ok" else outcome.error
            said.append(
                {"role": "tool", "content": shown if isinstance(shown, str) else canonical_json(shown)}
            )
        one.calls += len(outcomes)
    elif parsed.response is not None and not parsed.broken and one.users < len(one.row.turns):
        said.append({"role": "user", "content": one.row.turns[one.users]})
        one.users += 1
    one.step_rewards.append(_step_reward(one, config, scorer, text, parsed, outcomes, number))
    one.truncated = not generated.ended
    if not said or one.truncated or number + 1 >= config.max_turns:
        one.finished = True
        one.truncated = one.truncated or bool(said)
        return
    one.seen = canonical_json([message["content"] for message in said])
    between = policy.chat.between(said)
    room = policy.context - len(one.prompt.ids)
    if len(one.ids) + len(between) + 1 >= min(limit, room):
        one.finished, one.truncated = True, True
        return
    one.ids += between
    one.mask += [0] * len(between)
    one.logp += [0.0] * len(between)
    one.turn += [number] * len(between)
    one.entropy += [0.0] * (len(between) if one.entropy else 0)
    one.types += [6] * (len(between) if one.types else 0)


def _step_reward(
    one: Acting,
    config: RolloutConfig,
    scorer: Scorer,
    text: str,
    parsed: Parsed,
    outcomes: Sequence[Outcome],
    number: int,
) -> float:
    if config.step_reward == "none":
        return 0.0
    if config.step_reward == "gold":
        if number >= len(one.row.gold):
            return 0.0
        return scorer.score_turn(text, one.row.gold[number], number + 1, len(one.row.gold))
    if parsed.calls:
        return 1.0 if outcomes and all(outcome.status == "ok" for outcome in outcomes) else 0.0
    return 1.0 if parsed.valid and parsed.response is not None else 0.0


def result(one: Acting, config: RolloutConfig, scorer: Scorer, gamma: float, index: int) -> Sample:
    """Return a finished episode as a row, scored.

    Args:
        one: The episode.
        config: Weights of the reward.
        scorer: The needs of the algorithm.
        gamma: Discount of the returns from each step.
        index: Number of the row.
    """
    goal = 1.0 if reached(one.opened.goal, one.opened.world.digest(), one.opened.observed) else 0.0
    # A trajectory that never says it is done has not answered the user.
    answered = one.parsed is not None and one.parsed.response is not None and not one.truncated
    gold_calls = sum(len(gold.calls) for gold in one.row.gold)
    success = float(succeeded(goal > 0, answered, calls=one.calls, gold_calls=gold_calls))
    steps = one.step_rewards
    mean_step = sum(steps) / len(steps) if steps else 0.0
    reward = config.goal_weight * success + config.step_weight * mean_step
    per_step = [config.step_weight * value for value in steps]
    credited = [*per_step[:-1], per_step[-1] + config.goal_weight * success] if per_step else []
    sample = Sample(
        prompt_ids=one.prompt.ids,
        response_ids=one.ids,
        mask=one.mask,
        logp=one.logp,
        group=one.group,
        key=one.row.row_id,
        entropy=one.entropy,
        turn=one.turn,
        truncated=one.truncated,
        text="\n".join(one.texts),
        parsed=one.parsed,
        token_types=one.types,
        reward=reward,
        anchors=one.anchors,
        returns=step_returns(credited, gamma),
        trajectory=index,
        parts={
            "goal": goal,
            "answered": float(answered),
            "step_reward": mean_step,
            "turns": float(len(steps)),
        },
        success=success,
    )
    if scorer.needs.token_rewards:
        shares = [config.goal_weight * success + value for value in per_step]
        sample.token_rewards = [
            shares[turn] if flag else 0.0 for turn, flag in zip(one.turn, one.mask, strict=True)
        ]
    return sample


def gold_sample(
    expert: Expert, prompt: Prompt, group: int, config: RolloutConfig, scorer: Scorer, index: int
) -> Sample:
    """Return the gold episode as a row of the group; it reaches its goal by construction."""
    length = len(expert.target_ids)
    reward = config.goal_weight + config.step_weight
    return Sample(
        prompt_ids=prompt.ids,
        response_ids=list(expert.target_ids),
        mask=list(expert.mask),
        logp=[0.0] * length,
        group=group,
        key=prompt.row.row_id,
        entropy=[0.0] * length if scorer.needs.entropy else [],
        is_demo=True,
        parsed=scorer.form.parse(""),
        token_types=[6] * length if scorer.needs.token_types else [],
        token_rewards=[reward] * length if scorer.needs.token_rewards else [],
        reward=reward,
        anchors=[-1],
        returns=[reward],
        trajectory=index,
        success=1.0,
    )
