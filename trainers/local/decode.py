"""A trained policy for evaluation: batched greedy or sampled decoding, single decisions or whole episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from planarena import formats
from planarena.errors import UserError
from planarena.formats import Parsed
from planarena.rows import EpisodeRow, TrainingRow
from planarena.trainers.config import ModelConfig, RolloutConfig
from planarena.trainers.local.backend import sample_policy
from planarena.trainers.local.generate import generate
from planarena.trainers.local.model import Policy, choose_device, choose_threads, load_policy
from planarena.trainers.loop.backend import Sampling
from planarena.trainers.loop.batches import Sample
from planarena.trainers.loop.encoding import Prompt
from planarena.trainers.loop.score import Scorer, open_judges
from planarena.trainers.types import Needs

__all__ = ["DecodingConfig", "LoadedPolicy", "Response", "open_policy"]

# Environments that are open at once; more would only take memory.
_AT_ONCE = 256


class DecodingConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a policy is decoded.

    Attributes:
        samples: Responses per prompt.
        temperature: 0 takes the most probable token.
        seed: Of the draws.
        max_prompt_length: Tokens; a longer prompt gets no response and counts as a failure. 0 leaves what the
            model's context has room for.
        max_response_length: Tokens of one response (of one episode, observations included, in `act`).
        max_turns: Most decisions until the user has an answer; they count anew with each of the user's messages.
        reward: The reward that `decide` reports; judges are not asked.
        reward_options: Options of that reward.
        device: `auto`, `cpu`, `cuda` or `cuda:N`.
        dtype: `float32`, or `bfloat16` arithmetic.
        threads: CPU threads; 0 leaves what the process has.
    """

    samples: int = 1
    temperature: float = 0.0
    seed: int = 0
    max_prompt_length: int = 0
    max_response_length: int = 256
    max_turns: int = 12
    reward: str = "binary"
    reward_options: dict[str, Any] = {}
    device: str = "auto"
    dtype: Literal["float32", "bfloat16"] = "float32"
    threads: int = 0


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """One response of a policy.

    Attributes:
        key: `row_id` of its row; empty for plain prompts.
        text: What the policy wrote; in an episode all its turns, a line break between.
        tokens: Tokens that it wrote.
        success: Of a decision: its action equals the gold action. Of an episode: its goal is reached, and the
            policy said so. NaN for plain prompts.
        reward: Of a decision: the chosen reward. Of an episode: the same as `success`. NaN for plain prompts.
        parts: Terms of the reward; of an episode `goal`, `answered`, `step_reward` and `turns`.
        truncated: Cut at a limit.
        fits: The prompt was within its limit; otherwise nothing was asked.
    """

    key: str
    text: str
    tokens: int
    success: float = float("nan")
    reward: float = float("nan")
    parts: dict[str, float] = {}
    truncated: bool = False
    fits: bool = True


def open_policy(path: str | Path, config: DecodingConfig | None = None) -> LoadedPolicy:
    """Load a checkpoint (of a training run, or any causal model with its tokenizer) for decoding.

    Example:
        policy = open_policy("RUN/checkpoints/best", DecodingConfig(max_response_length=128))
        found = policy.decide(load_rows(run, RowOptions(splits=("test",), template="short", plan="none")))
        share = sum(group[0].success for group in found) / len(found)

    Raises:
        UserError: No such folder, no model, or no tokenizer in it.
        ConfigError: There is no such device here.
    """
    config = config or DecodingConfig()
    device = choose_device(config.device)
    if config.threads:
        choose_threads(config.threads)
    loaded = load_policy(path, ModelConfig(path=str(path), dtype=config.dtype), device, train=False)
    return LoadedPolicy(loaded, config)


class LoadedPolicy:
    """A policy that decodes.

    Args:
        policy: The model with its tokenizer.
        config: How.

    Attributes:
        policy: The same.
        config: The same.
    """

    def __init__(self, policy: Policy, config: DecodingConfig) -> None:
        self.policy, self.config = policy, config
        room = max(policy.context - config.max_response_length, 0)
        self.longest_prompt = min(config.max_prompt_length, room) if config.max_prompt_length else room

    def respond(
        self,
        prompts: Sequence[Sequence[Mapping[str, Any]]],
        tools: Sequence[Sequence[Mapping[str, Any]] | None] | None = None,
    ) -> list[list[Response]]:
        """Answer chat messages; P lists of `samples` responses.

        Args:
            prompts: P conversations up to the assistant's next message.
            tools: Per prompt the tools that the chat template states, in the OpenAI shape; None for none.
        """
        stated = tools or [None] * len(prompts)
        ids = [self.policy.chat.prompt(one, state) for one, state in zip(prompts, stated, strict=True)]
        places = [place for place, one in enumerate(ids) if len(one) <= self.longest_prompt]
        rolled = generate(
            self.policy,
            [ids[place] for place in places],
            repeats=self.config.samples,
            limits=[self.config.max_response_length] * len(places),
            temperature=self.config.temperature,
            seed=self.config.seed,
        )
        found = [self._unfit("", float("nan")) for _ in prompts]
        for place, group in zip(places, rolled, strict=True):
            found[place] = [
                Response(
                    key="",
                    text=self.policy.chat.plain(one.ids),
                    tokens=len(one.ids),
                    truncated=not one.ended,
                )
                for one in group
            ]
        return found

    def decide(self, rows: Sequence[TrainingRow]) -> list[list[Response]]:
        """Decide on single rows and compare with their gold actions; a list of `samples` responses per row.

        Args:
            rows: Of one format.
        """
        return self._all(rows)

    def act(self, rows: Sequence[EpisodeRow]) -> list[list[Response]]:
        """Act in the environments of whole tasks; a list of `samples` responses per row.

        Args:
            rows: Of one format, each with an environment.

        Raises:
            UserError: A row names no environment.
        """
        for row in rows:
            if row.environment is None:
                raise UserError(
                    f"the task {row.task_id or row.row_id} names no environment to act in",
                    where="episodes",
                    fix="give episodes of a run of `planarena build builtin`",
                )
        return self._all(rows)

    def parse(self, response: Response, form: str) -> Parsed:
        """Return what a single decision says in a format."""
        return formats.get(form).parse(response.text)

    # -- parts ---------------------------------------------------------------------------------------

    def _all(self, rows: Sequence[TrainingRow | EpisodeRow]) -> list[list[Response]]:
        found = [self._unfit(row.row_id, 0.0) for row in rows]
        fitting: list[tuple[int, Prompt]] = []
        for place, row in enumerate(rows):
            ids = self.policy.chat.prompt(row.prompt, row.tools if row.format == "native" else None)
            if len(ids) <= self.longest_prompt:
                fitting.append((place, Prompt(row, ids, [])))
        for start in range(0, len(fitting), _AT_ONCE):
            chunk = fitting[start : start + _AT_ONCE]
            rolled = sample_policy(
                self.policy,
                [prompt for _, prompt in chunk],
                self._rollout(),
                self._scorer(rows[0].format),
                Sampling(
                    seed=self.config.seed * 1_000_003 + start,
                    temperature=self.config.temperature,
                    repeats=self.config.samples,
                ),
            )
            for sample in rolled.samples:
                place = chunk[sample.group][0]
                if not found[place][0].fits:
                    found[place] = []
                found[place].append(_response(sample))
        return found

    def _unfit(self, key: str, score: float) -> list[Response]:
        missing = Response(key=key, text="", tokens=0, success=score, reward=score, fits=False)
        return [missing] * self.config.samples

    def _rollout(self) -> RolloutConfig:
        return RolloutConfig(
            max_response_length=self.config.max_response_length, max_turns=self.config.max_turns
        )

    def _scorer(self, form: str) -> Scorer:
        needs = Needs()
        return Scorer(self.config.reward, self.config.reward_options, None, form, needs, open_judges(""))


def _response(sample: Sample) -> Response:
    return Response(
        key=sample.key,
        text=sample.text,
        tokens=sum(sample.mask),
        success=sample.success,
        reward=sample.reward,
        parts=sample.parts,
        truncated=sample.truncated,
    )
