"""verl's workers with what our algorithms need besides: the learning rate of a step, and whole distributions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor
from verl.single_controller.base.decorator import Dispatch, make_nd_compute_dataproto_dispatch_fn, register
from verl.utils import tensordict_utils
from verl.utils.device import get_device_id, get_device_name
from verl.workers.engine_workers import ActorRolloutRefWorker, TrainingWorker

from planarena.trainers.algorithms.gear import reverse_kl
from planarena.trainers.verl.cpu import start_gloo
from planarena.trainers.verl.loss import PolicyLoss
from planarena.trainers.verl.plugin import autocast_dtype, without_trl
from planarena.trainers.verl.rows import INFO, Info

__all__ = ["Distributions", "PolicyTrainingWorker", "PolicyWorker", "reverse_kl_rows"]


class PolicyTrainingWorker(TrainingWorker):  # type: ignore[misc]  # verl is untyped
    """One rank of the trained policy, or of the reference."""

    def __init__(self, config: Any) -> None:
        start_gloo()
        super().__init__(config)

    def reset(self) -> None:
        """Build the model and the optimiser."""
        with without_trl():
            self.engine.initialize()

    def train_batch(self, data: Any) -> Any:
        """Make one optimiser step at the learning rate that came with the batch.

        verl's schedules warm up from 0 and know nothing of steps without rollouts; ours is that of the local engine.
        """
        text = tensordict_utils.get_non_tensor_data(data=data, key=INFO, default=None)
        if text is not None:
            for group in self.engine.optimizer.param_groups:
                group["lr"] = Info.decode(text).rate
        return super().train_batch(data)


class PolicyWorker(ActorRolloutRefWorker):  # type: ignore[misc]  # verl is untyped
    """One rank: policy, rollout and, where an algorithm needs it, the policy as it was at the start."""

    actor_worker_cls = PolicyTrainingWorker
    ref_worker_cls = PolicyTrainingWorker

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def set_loss_fn(self, loss_fn: Any, frozen_teacher: bool = False) -> None:
        """Take the loss of an algorithm, and give it its teacher.

        Args:
            loss_fn: Pickled from the driver.
            frozen_teacher: The teacher is the reference, not the policy itself.
        """
        if isinstance(loss_fn, PolicyLoss):
            loss_fn.teacher = self._teacher(frozen=frozen_teacher)
        self.actor.set_loss_fn(loss_fn=loss_fn)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def start_over(self) -> None:
        """Forget what was learned: the policy and its optimiser become what they were at the start."""
        self.actor.reset()

    @register(dispatch_mode=make_nd_compute_dataproto_dispatch_fn(mesh_name="actor"))  # type: ignore[untyped-decorator]
    def compute_reverse_kl(self, data: Any) -> Any:
        """Return KL(policy || teacher) at each response token; the teacher reads `teacher_ids`."""
        frozen = bool(tensordict_utils.get_non_tensor_data(data=data, key="frozen_teacher", default=False))
        size = int(tensordict_utils.get_non_tensor_data(data=data, key="micro_batch_size_per_gpu", default=1))
        values = reverse_kl_rows(Distributions(self.actor.engine), self._teacher(frozen=frozen), data, size)
        return TensorDict({"reverse_kl": values}, batch_size=len(data)).cpu()

    def _teacher(self, *, frozen: bool) -> Distributions:
        """Return what the policy is compared with."""
        # Where adapters train, the policy as it was at the start is the model without them.
        if frozen and self.ref is not None:
            return Distributions(self.ref.engine)
        return Distributions(self.actor.engine, without_adapters=frozen)


class Distributions:
    """Log-distributions over the vocabulary at response tokens, without gradient.

    Args:
        engine: An FSDP engine of verl; every rank has to ask it equally often.
        without_adapters: Ask the model that its adapters were added to.
    """

    def __init__(self, engine: Any, *, without_adapters: bool = False) -> None:
        self.engine, self.without_adapters = engine, without_adapters

    def __call__(self, ids: Sequence[Tensor], lengths: Sequence[int], temperature_B: Tensor) -> Tensor:
        """Return (B, T, V).

        Args:
            ids: B prompts, each with its response.
            lengths: B response lengths.
            temperature_B: (B,) divides the logits.
        """
        module = self.engine.module
        device = get_device_id()
        longest, width = max(len(row) for row in ids), max(lengths)
        ids_BL = torch.zeros((len(ids), longest), dtype=torch.long, device=device)
        valid_BL = torch.zeros_like(ids_BL)
        place_BT = torch.zeros((len(ids), width), dtype=torch.long, device=device)
        for row, (tokens, length) in enumerate(zip(ids, lengths, strict=True)):
            ids_BL[row, : len(tokens)] = tokens.to(device)
            valid_BL[row, : len(tokens)] = 1
            place_BT[row, :length] = torch.arange(len(tokens) - length - 1, len(tokens) - 1, device=device)
        dtype = autocast_dtype(self.engine)
        cast = nullcontext() if dtype == torch.float32 else torch.autocast(get_device_name(), dtype=dtype)
        bare = self.engine.disable_adapter() if self.without_adapters else nullcontext()
        training = module.training
        module.eval()
        with torch.no_grad(), cast, bare:
            logits_BLV = module(
                input_ids=ids_BL,
                attention_mask=valid_BL,
                position_ids=torch.arange(longest, device=device).expand_as(ids_BL),
                use_cache=False,
            ).logits
            rows_B1 = torch.arange(len(ids), device=device)[:, None]
            chosen_BTV = logits_BLV[rows_B1, place_BT].float()
            found: Tensor = torch.log_softmax(chosen_BTV / temperature_B.to(device)[:, None, None], -1)
        module.train(training)
        return found


def reverse_kl_rows(student: Distributions, teacher: Distributions, data: Any, size: int) -> Tensor:
    """Return jagged KL(student || teacher) at the response tokens (GEAR; `reverse_kl` of the algorithm).

    Args:
        student: The policy.
        teacher: What reads the prompts with the ground truth.
        data: `input_ids`, `teacher_ids`, `responses`, `temperature`.
        size: Rows of one pass.
    """
    lengths = data["responses"].offsets().diff().tolist()
    own, theirs = list(data["input_ids"].unbind()), list(data["teacher_ids"].unbind())
    found: list[Tensor] = []
    with student.engine.eval_mode():
        for start in range(0, len(own), size):
            part = slice(start, start + size)
            temperature_B = data["temperature"][part]
            value_BT = reverse_kl(
                student(own[part], lengths[part], temperature_B),
                teacher(theirs[part], lengths[part], temperature_B),
            )
            found += [row[:length].float().cpu() for row, length in zip(value_BT, lengths[part], strict=True)]
    return torch.nested.as_nested_tensor(found, layout=torch.jagged)
