"""The embedded engine: rollout, score, update and save in one process on one device."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from planarena.trainers.algorithms.gear import reverse_kl as compare
from planarena.trainers.config import RolloutConfig, TrainConfig
from planarena.trainers.local.forward import Scored, plan_micro_batches, score_responses
from planarena.trainers.local.generate import generate
from planarena.trainers.local.model import (
    Policy,
    choose_device,
    choose_threads,
    holds_adapters,
    load_policy,
    load_teacher,
    restore_weights,
    save_model,
    start_path,
)
from planarena.trainers.local.optimiser import Optimiser
from planarena.trainers.local.update import accumulate
from planarena.trainers.loop.backend import (
    Generated,
    Job,
    Made,
    Rollouts,
    Sampling,
    Scores,
    frozen_teacher,
    outside_teacher,
    teacher_name,
)
from planarena.trainers.loop.batches import Sample
from planarena.trainers.loop.checkpoints import damage_named
from planarena.trainers.loop.encoding import Prompt
from planarena.trainers.loop.episodes import sample_episodes
from planarena.trainers.loop.rollout import sample_steps
from planarena.trainers.loop.score import Scorer
from planarena.trainers.loop.tokenizer import ChatTokenizer
from planarena.trainers.types import Algorithm

__all__ = ["LocalBackend", "sample_policy"]

_MOMENTS, _ROLLOUT = "optimiser.safetensors", "rollout.safetensors"


class LocalBackend:
    """One policy, trained and sampled here; see `planarena.trainers.loop.backend.Backend`.

    Args:
        config: Complete.
        algorithm: Its loss, and what it needs.
        start: Loads the policy at the start of the run; told the device. Not called where `hold` is.

    Attributes:
        policy: The trained policy.
        sampled: What rollouts are drawn from: the trained policy itself unless it is synchronised at intervals.
        optimiser: Of the trained policy.
    """

    rescores: Literal["never", "fresh", "always"]
    gives_entropy = True
    policy: Policy
    sampled: Policy
    optimiser: Optimiser

    def __init__(
        self,
        config: TrainConfig,
        algorithm: Algorithm,
        start: Callable[[torch.device], Policy] | None = None,
    ) -> None:
        self.config, self.algorithm, self._load_start = config, algorithm, start
        # Decoding in bfloat16 rounds otherwise than the update does, and the ratio would see it.
        self.rescores = "always" if config.model.dtype == "bfloat16" else "never"
        self.start: Policy | None = None
        self.teacher: Policy | None = None

    @property
    def chat(self) -> ChatTokenizer:
        """The tokenizer."""
        return self.policy.chat

    @property
    def context(self) -> int:
        """Most positions of the model."""
        return self.policy.context

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        found: torch.device = self.policy.device
        return found

    def open(self, checkpoint: Path | None, known: Mapping[str, Any]) -> dict[str, Any]:
        """Load the policy and what goes on from a checkpoint."""
        config = self.config
        device = choose_device(config.model.device)
        threads = choose_threads(config.threads or int(known.get("threads") or 0))
        if device.type == "cuda":
            # cuBLAS repeats itself only with workspaces of a fixed size, read when it is first used.
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True, warn_only=True)
        assert self._load_start is not None
        policy = self._load_start(device)
        if checkpoint is not None:
            policy = load_policy(checkpoint, config.model, device)
        self.hold(policy, resumed=checkpoint is not None)
        if checkpoint is not None:
            self._restore(checkpoint)
        return {
            "device": str(device),
            "threads": threads,
            "parameters": sum(value.numel() for value in policy.model.parameters()),
            "trained_parameters": sum(value.numel() for _, value in policy.trainable()),
        }

    def hold(self, policy: Policy, *, resumed: bool = False) -> LocalBackend:
        """Take a policy to train, with a fresh optimiser.

        Args:
            policy: At the start of the run unless `resumed`.
            resumed: It has been trained already, so the start is loaded again where it is needed.
        """
        config, needs = self.config, self.algorithm.needs
        self.policy = self.sampled = policy
        self.optimiser = Optimiser(policy, config.update)
        if (config.update.sync_interval or 1) > 1:
            self.sampled = _copied(policy)
        teacher = needs.teacher_logp or needs.teacher_distribution
        if needs.reference_policy or (teacher and frozen_teacher(config, needs)):
            self.start = self._frozen_start(resumed=resumed)
        folder = outside_teacher(config, needs)
        if folder:
            self.teacher = load_teacher(folder, policy, config.model)
        return self

    def _frozen_start(self, *, resumed: bool) -> Policy:
        """Return the policy as it was at the start; where the run added adapters, the policy itself, without them."""
        path = start_path(self.config)
        if self.policy.lora and not holds_adapters(path):
            return self.policy
        if not resumed:
            other = _copied(self.policy)
        else:
            other = load_policy(path, self.config.model, self.policy.device, train=False)
        other.model.requires_grad_(False)
        return other

    def _restore(self, checkpoint: Path) -> None:
        from safetensors.torch import load_file

        with damage_named(checkpoint):
            self.optimiser.restore(load_file(checkpoint / _MOMENTS))
            if (checkpoint / _ROLLOUT).is_file() and self.sampled is not self.policy:
                restore_weights(self.sampled, load_file(checkpoint / _ROLLOUT))

    # -- rollout -------------------------------------------------------------------------------------

    @contextmanager
    def sampling(self, done: int, *, renew: bool = False, validation: bool = False) -> Iterator[bool]:  # noqa: ARG002
        """Choose what samples: in validation the trained policy."""
        if validation:
            held, self.sampled = self.sampled, self.policy
            try:
                yield True
            finally:
                self.sampled = held
            return
        if renew and self.sampled is not self.policy:
            restore_weights(self.sampled, dict(self.policy.model.named_parameters()))
        yield renew or self.sampled is self.policy

    def rollout(
        self, prompts: Sequence[Prompt], config: RolloutConfig, scorer: Scorer, how: Sampling
    ) -> Rollouts:
        """Sample and score."""
        return sample_policy(self.sampled, prompts, config, scorer, how)

    def generate(self, prompts: Sequence[Sequence[int]], **wanted: Any) -> list[list[Generated]]:
        """Continue lists of ids."""
        return generate(self.sampled, prompts, **wanted)

    # -- score ---------------------------------------------------------------------------------------

    def score(
        self,
        samples: Sequence[Sample],
        *,
        by: Literal["sampled", "policy", "start", "teacher"],
        prompts: Sequence[Sequence[int]] | None = None,
        temperature: float = 1.0,
        entropy: bool = False,
        reverse_kl: bool = False,
        together: bool = False,
    ) -> Scores:
        """Score responses pass by pass."""
        own = [sample.prompt_ids for sample in samples]
        asked = own if prompts is None else prompts
        responses = [sample.response_ids for sample in samples]
        groups = [sample.group for sample in samples]
        plans = plan_micro_batches(
            [len(prompt) for prompt in asked],
            [len(response) for response in responses],
            groups,
            budget=int(self.config.update.micro_batch_tokens or 16384),
            together=together,
        )
        shape = len(samples), max([1, *map(len, responses)])
        found = {
            name: torch.full(shape, float("nan"), device=self.device)
            for name, wanted in (("logp", True), ("entropy", entropy), ("kl", reverse_kl))
            if wanted
        }
        wanted = {"temperature": temperature, "entropy": entropy, "distribution": reverse_kl}

        def fill(name: str, rows: list[int], values: Tensor | None, mask: Tensor) -> None:
            assert values is not None
            found[name][rows, : values.shape[1]] = torch.where(mask, values.float(), float("nan"))

        with torch.no_grad():
            for rows in plans:
                part = [responses[row] for row in rows], [groups[row] for row in rows]
                scored = self._scored_by(by, [asked[row] for row in rows], *part, **wanted)
                fill("logp", rows, scored.logp_BT, scored.mask_BT)
                if entropy:
                    fill("entropy", rows, scored.entropy_BT, scored.mask_BT)
                if reverse_kl:
                    student = self._scored_by("sampled", [own[row] for row in rows], *part, **wanted)
                    assert student.logprobs_BTV is not None
                    assert scored.logprobs_BTV is not None
                    values = compare(student.logprobs_BTV, scored.logprobs_BTV)
                    fill("kl", rows, values, scored.mask_BT)
        return Scores(found["logp"], found.get("entropy"), found.get("kl"))

    def _scored_by(self, by: str, *rows: Any, **wanted: Any) -> Scored:
        """Score one pass in evaluation mode."""
        if by != "start":
            chosen = self.sampled if by == "sampled" else self.policy
            if by == "teacher":
                assert self.teacher is not None
                chosen = self.teacher
            chosen.model.eval()
            return score_responses(chosen, *rows, **wanted)
        assert self.start is not None
        self.start.model.eval()
        if self.start is not self.policy:
            return score_responses(self.start, *rows, **wanted)
        with self.start.without_adapter():
            return score_responses(self.start, *rows, **wanted)

    # -- update, save --------------------------------------------------------------------------------

    def update(self, job: Job) -> Made:
        """Add up the gradients of all micro-batches and step."""
        self.optimiser.zero()
        # Dropout alone draws from the global generator; a resumed run draws the same.
        torch.manual_seed(self.config.seed * 1_000_003 + job.step.step)
        teacher = teacher_name(self.config, self.algorithm.needs)
        tally = accumulate(
            job,
            self.policy,
            self.algorithm,
            self.config,
            lambda *rows, **how: self._scored_by(teacher, *rows, **how),
        )
        norm, made = self.optimiser.apply(job.rate, finite=tally.finite)
        return Made(tally.metrics, norm, made, float(tally.calls))

    def save(self, folder: Path, done: int) -> None:  # noqa: ARG002
        """Write weights, moments and, where it differs, the sampled policy."""
        save_model(self.policy, folder)
        _save_tensors(self.optimiser.tensors(), folder / _MOMENTS)
        if self.sampled is not self.policy:
            moving = {
                name: value
                for name, value in self.sampled.model.named_parameters()
                if not self.policy.lora or "lora_" in name
            }
            _save_tensors(moving, folder / _ROLLOUT)

    def note(self, line: Mapping[str, Any], done: int) -> None:
        """Do nothing: metrics.jsonl holds it."""


def sample_policy(
    policy: Policy, prompts: Sequence[Prompt], config: RolloutConfig, scorer: Scorer, how: Sampling
) -> Rollouts:
    """Sample single decisions or episodes, as the prompts are, from a policy, and score them.

    Args:
        policy: The policy.
        prompts: Of one kind.
        config: Lengths, weights.
        scorer: The reward.
        how: Draws, group size.
    """

    def continued(ids: Sequence[Sequence[int]], **wanted: Any) -> list[list[Generated]]:
        return generate(policy, ids, **wanted)

    sample = sample_episodes if prompts and prompts[0].is_episode else sample_steps
    return sample(policy, prompts, config, scorer, how, continued)


def _copied(policy: Policy) -> Policy:
    return Policy(copy.deepcopy(policy.model), policy.chat, bfloat16=policy.bfloat16)


def _save_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    from safetensors.torch import save_file

    save_file({name: value.detach().cpu().contiguous() for name, value in tensors.items()}, path)
