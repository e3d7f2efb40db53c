"""Rollouts of whole episodes: the policy's calls run in the scenario's environment, observations are masked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from planarena.environments import Outcome
from planarena.episodes import succeeded
from planarena.formats import Parsed
from planarena.records import canonical_json
from planarena.rows import EpisodeRow
from planarena.session import Session, SessionTask, observation_text
from planarena.trainers.algorithms.gigpo import step_returns
from planarena.trainers.config import RolloutConfig
from planarena.trainers.loop.backend import Generate, Generated, Rollouts, Sampling, Speaker
from planarena.trainers.loop.batches import Expert, Sample, demonstration_sample, token_type_codes
from planarena.trainers.loop.encoding import Prompt
from planarena.trainers.loop.rollout import anchor_number
from planarena.trainers.loop.score import Scorer
from planarena.users import Users

__all__ = [
    "Acting",
    "act_out",
    "gathered",
    "gold_sample",
    "members",
    "result",
    "sample_episodes",
    "turn_seed",
]

# A model that calls a hundred tools in one turn is not to fill the context with their results.
_MOST_CALLS = 16
# Of the parts of an episode's reward: its user spoiled it.
_SPOILED = "discarded"


@dataclass(slots=True)
class Acting:
    """One episode under way; `decisions` are those since the user last spoke."""

    prompt: Prompt
    row: EpisodeRow
    session: Session
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
    decisions: int = 0
    parsed: Parsed | None = None
    truncated: bool = False
    finished: bool = False
    seen: str = ""

    def begin_turn(self) -> None:
        """Note what the next decision is made in."""
        self.anchors.append(anchor_number(self.group, self.session.world.digest(), self.seen))

    @classmethod
    def begin(cls, prompt: Prompt, row: EpisodeRow, group: int, member: int, users: Users) -> Acting:
        """Return an episode at its beginning, in a session of its own."""
        session = Session(user=lambda task: users.play(task.known))
        session.reset(SessionTask.of_row(row))
        return cls(prompt, row, session, group, member)


def sample_episodes(
    policy: Speaker,
    prompts: Sequence[Prompt],
    config: RolloutConfig,
    scorer: Scorer,
    how: Sampling,
    generate: Generate,
) -> Rollouts:
    """Let the policy act K times on each task and score the trajectories.

    The reward of a trajectory is goal_weight times its goal predicate plus step_weight times the mean reward of its
    steps; a step's own reward is added to its tokens where rewards per token are asked for.

    Args:
        policy: For its tokenizer and the size of its context.
        prompts: Episodes whose environment is here.
        config: Lengths and weights.
        scorer: The format, and the reward of single steps where `step_reward` is `gold`.
        how: Draws, group size, discount.
        generate: Continues lists of ids.
    """
    acting: list[list[Acting]] = []
    for group, prompt in enumerate(prompts):
        assert isinstance(prompt.row, EpisodeRow)
        row = prompt.row
        acting.append(
            [Acting.begin(prompt, row, group, member, scorer.users) for member in range(members(prompt, how))]
        )
    everyone = [one for group in acting for one in group]
    # It ends: every decision adds to the length, which is limited.
    for number in count():
        open_rows = [one for one in everyone if not one.finished]
        if not open_rows:
            break
        _take_turn(policy, open_rows, config, scorer, number, how, generate)
    return gathered(
        prompts,
        [[result(one, config, scorer, how.discount) for one in group] for group in acting],
        [one.calls for one in everyone],
        config,
        scorer,
        how,
    )


def members(prompt: Prompt, how: Sampling) -> int:
    """Return how many of a group act: K, or K - 1 beside a demonstration."""
    return how.repeats - (how.demonstrations and prompt.demonstration is not None and how.repeats > 1)


def gathered(
    prompts: Sequence[Prompt],
    groups: Sequence[list[Sample]],
    calls: Sequence[int],
    config: RolloutConfig,
    scorer: Scorer,
    how: Sampling,
) -> Rollouts:
    """Return finished episodes as one batch, the gold episode in each group where it is wanted.

    Args:
        prompts: Of the groups.
        groups: Episodes of each.
        calls: Made in each episode.
        config: Weights of the reward.
        scorer: The needs of the algorithm.
        how: Group size.
    """
    found = Rollouts(prompts=list(prompts), tool_calls=sum(calls))
    for group, (prompt, episodes) in enumerate(zip(prompts, groups, strict=True)):
        _discard(episodes)
        found.observation_tokens += sum(len(one.mask) - sum(one.mask) for one in episodes)
        found.samples += episodes
        if len(episodes) < how.repeats:
            assert prompt.demonstration is not None
            found.samples.append(gold_sample(prompt.demonstration, prompt, group, config, scorer))
    for number, sample in enumerate(found.samples):
        sample.trajectory = number
    return found


def _discard(episodes: Sequence[Sample]) -> None:
    """Take the episodes that their user spoiled out of a group: nothing of them trains, and they move no mean."""
    kept = [one.reward for one in episodes if not one.parts.get(_SPOILED)]
    mean = sum(kept) / len(kept) if kept else 0.0
    for one in episodes:
        if one.parts.get(_SPOILED):
            one.mask = [0] * len(one.mask)
            one.reward, one.success = mean, 0.0
            one.token_rewards = [0.0] * len(one.token_rewards)
            one.anchors, one.returns = [-1] * len(one.anchors), [mean] * len(one.returns)


def turn_seed(seed: int, number: int) -> int:
    """Return the seed of a batch's decisions of one turn, from 0; a group's own is 1,000,003 times that plus its number."""
    return seed * 1_009 + number if number else seed


def _take_turn(
    policy: Speaker,
    rows: list[Acting],
    config: RolloutConfig,
    scorer: Scorer,
    number: int,
    how: Sampling,
    generate: Generate,
) -> None:
    """Sample one decision for every open episode and carry it out."""
    limit = int(config.max_response_length or 1)
    for one in rows:
        one.begin_turn()
    wanted: dict[str, Any] = {
        "temperature": how.temperature,
        "seed": how.seed,
        "entropy": scorer.needs.entropy,
    }
    sizes = set(Counter(one.group for one in rows).values())
    if number == 0 and len(sizes) == 1:
        # All members of a group start from one prompt, which is prefilled once.
        repeats = sizes.pop()
        firsts = [one.prompt.ids for one in rows[::repeats]]
        rolled = generate(firsts, repeats=repeats, limits=[limit] * len(firsts), **wanted)
    else:
        # By group and place in it: what an episode draws does not depend on which others are still open.
        own = turn_seed(how.seed, number) * 1_000_003
        rolled = generate(
            [[*one.prompt.ids, *one.ids] for one in rows],
            limits=[max(limit - len(one.ids), 1) for one in rows],
            seeds=[own + one.group for one in rows],
            members=[one.member for one in rows],
            **wanted,
        )
    for one, generated in zip(rows, (one for group in rolled for one in group), strict=True):
        act_out(policy, one, generated, config, scorer, number, limit)


def act_out(
    policy: Speaker,
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
    one.decisions += 1
    said: list[dict[str, Any]] = []
    outcomes: list[Outcome] = []
    if parsed.calls and not parsed.broken:
        for call in parsed.calls[:_MOST_CALLS]:
            outcome = one.session.call(call.name, call.arguments)
            outcomes.append(outcome)
            said.append({"role": "tool", "content": observation_text(outcome)})
        one.calls += len(outcomes)
    elif parsed.response is not None and not parsed.broken:
        message = one.session.answer(parsed.response)
        if message is not None:
            said.append({"role": "user", "content": message})
            one.decisions = 0
    one.step_rewards.append(_step_reward(one, config, scorer, text, parsed, outcomes, number))
    one.truncated = not generated.ended
    if not said or one.truncated or one.decisions >= config.max_turns:
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
        # A call that the gold makes too is right, though it fails: what it shows is what comes next.
        gold = [call for action in one.row.gold for call in action.calls]
        done = zip(parsed.calls, outcomes, strict=False)
        return float(bool(outcomes) and all(made.status == "ok" or call in gold for call, made in done))
    return 1.0 if parsed.valid and parsed.response is not None else 0.0


def result(one: Acting, config: RolloutConfig, scorer: Scorer, discount: float) -> Sample:
    """Return a finished episode as a row, scored.

    Args:
        one: The episode.
        config: Weights of the reward.
        scorer: The needs of the algorithm.
        discount: Of the returns from each step.
    """
    goal = 1.0 if one.session.goal_reached() else 0.0
    # A trajectory that never says it is done has not answered the user.
    answered = one.parsed is not None and one.parsed.response is not None and not one.truncated
    answered = answered and one.session.answered
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
        returns=step_returns(credited, discount),
        parts={
            "goal": goal,
            "answered": float(answered),
            "step_reward": mean_step,
            "turns": float(len(steps)),
        },
        success=success,
    )
    if one.session.spoiled:
        sample.parts |= {_SPOILED: 1.0, f"user_{one.session.spoiled}": 1.0}
    if scorer.needs.token_rewards:
        shares = [config.goal_weight * success + value for value in per_step]
        sample.token_rewards = [
            shares[turn] if flag else 0.0 for turn, flag in zip(one.turn, one.mask, strict=True)
        ]
    return sample


def gold_sample(expert: Expert, prompt: Prompt, group: int, config: RolloutConfig, scorer: Scorer) -> Sample:
    """Return the gold episode as a row of the group; it reaches its goal by construction."""
    length = len(expert.target_ids)
    reward = config.goal_weight + config.step_weight
    sample = demonstration_sample(expert, prompt.ids, group, prompt.row.row_id, scorer.needs)
    sample.parsed = scorer.form.parse("")
    sample.token_types = [6] * length if scorer.needs.token_types else []
    sample.token_rewards = [reward] * length if scorer.needs.token_rewards else []
    sample.reward, sample.success = reward, 1.0
    sample.anchors, sample.returns = [-1], [reward]
    return sample
