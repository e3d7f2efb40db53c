"""The loss that verl's workers call: any algorithm, on the same fields as in the local engine.

verl calls it for each micro-batch with the log-probabilities of whole sequences, adds up the gradients, and averages
them over data-parallel ranks. Our losses divide by global counts, so that the sum is meant: each is scaled by the
number of ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from verl.utils import tensordict_utils
from verl.utils.metric import AggregationType, Metric
from verl.workers.utils.padding import no_padding_2_padding

from planarena.trainers import algorithms
from planarena.trainers.types import Algorithm, AlgorithmConfig, LossInputs, LossOutputs
from planarena.trainers.verl.rows import INFO, NUMBERS, Info, Kind

__all__ = ["PolicyLoss"]

# (ids of prompt and response, lengths of the responses, temperatures) -> (B, T, V)
Teacher = Callable[[Sequence[Tensor], Sequence[int], Tensor], Tensor]


class PolicyLoss:
    """The loss of one algorithm; it is pickled to every worker.

    Args:
        config: Of the algorithm. Its state comes with each batch.

    Attributes:
        teacher: Gives the teacher's distributions; a worker sets it where the loss reads them.
    """

    def __init__(self, config: AlgorithmConfig) -> None:
        self.algorithm: Algorithm = algorithms.get(config)
        self.teacher: Teacher | None = None
        self._logits: Tensor | None = None

    def __reduce__(self) -> tuple[type[PolicyLoss], tuple[AlgorithmConfig]]:
        """Pickle the configuration alone."""
        return type(self), (self.algorithm.config,)

    @property
    def distributions(self) -> bool:
        """Whether it reads whole distributions."""
        return self.algorithm.needs.teacher_in_loss

    def __call__(
        self,
        model_output: dict[str, Tensor] | None = None,
        data: Any = None,
        dp_group: Any = None,  # noqa: ARG002  (part of verl's call)
        student_logits: Tensor | None = None,
    ) -> Any:
        """Return (loss, metrics) of a micro-batch.

        verl also calls a loss with the logits alone, before it forgets them; they are kept for the real call.

        Args:
            model_output: `log_probs` and, where asked for, `entropy`: jagged, over prompt and response.
            data: The micro-batch (`rows.tensors`).
            dp_group: Unused: all counts are global already.
            student_logits: (1, N, V) of all tokens, divided by the temperature.
        """
        if student_logits is not None:
            self._logits = student_logits[0]
            return {}
        assert model_output is not None
        info = Info.decode(tensordict_utils.get_non_tensor_data(data=data, key=INFO, default=None))
        ranks = int(tensordict_utils.get_non_tensor_data(data=data, key="dp_size", default=1))
        if info.state:
            self.algorithm.load_state_dict(info.state)
        batch = _Batch(model_output, data)
        metrics: dict[str, float] = {}
        total = torch.where(batch.logp_BT.isfinite(), batch.logp_BT, 0.0).sum() * 0.0
        for inputs in self._inputs(batch, info):
            out: LossOutputs = self.algorithm.loss(inputs, info.step)
            total = total + out.loss
            for name, value in out.metrics.items():
                metrics[name] = metrics.get(name, 0.0) + float(value)
        self._logits = None
        if not bool(torch.isfinite(total.detach())):
            # Whatever its gradient would be, the step must be skipped: verl looks at the norm.
            total = (batch.logp_BT * float("nan")).sum()
        return total * ranks, {
            name: Metric(value=value * ranks, aggregation=AggregationType.SUM)
            for name, value in metrics.items()
        }

    def _inputs(self, batch: _Batch, info: Info) -> list[LossInputs]:
        """Return what the loss is called with: rollouts, then experts, or both at once where they are hints."""
        rollouts, experts = batch.of(Kind.ROLLOUT), batch.of(Kind.EXPERT)
        expert = self._experts(batch, experts, info) if experts.numel() else {}
        if rollouts.numel() == 0 and not (info.together and expert):
            return [LossInputs(**expert, scalars=info.scalars)] if expert else []
        rollout = self._rollouts(batch, rollouts, info)
        if info.together or not expert:
            return [LossInputs(**rollout, **expert, scalars=info.scalars)]
        return [
            LossInputs(**rollout, scalars=info.scalars),
            LossInputs(**expert, scalars=info.scalars),
        ]

    def _rollouts(self, batch: _Batch, rows: Tensor, info: Info) -> dict[str, Tensor | None]:
        present = set(info.present)

        def tokens(name: str) -> Tensor | None:
            return batch.tokens(name).index_select(0, rows) if name in present else None

        def number(name: str) -> Tensor | None:
            return batch.number(name).index_select(0, rows) if name in present else None

        types, demos, signs = tokens("token_types"), number("is_demo"), number("preference")
        pair = number("pair")
        student, teacher = self._distributions(batch, rows) if info.distributions else (None, None)
        return {
            "logp_BT": batch.logp_BT.index_select(0, rows),
            "mask_BT": batch.mask_BT.index_select(0, rows),
            "old_logp_BT": None if info.on_policy else tokens("old_log_probs"),
            "advantages_BT": tokens("advantages"),
            "eps_low_B": number("eps_low"),
            "eps_high_B": number("eps_high"),
            "rewards_B": number("reward"),
            "token_type_BT": None if types is None else types.long(),
            "is_demo_B": None if demos is None else demos.bool(),
            "entropy_BT": batch.entropy(rows) if info.entropy else None,
            "ref_logp_BT": tokens("ref_log_prob"),
            "preference_B": None if signs is None else signs.long(),
            "pair_B": None if pair is None else pair.long(),
            "student_logprobs_BTV": student,
            "teacher_logprobs_BTV": teacher,
        }

    def _experts(self, batch: _Batch, rows: Tensor, info: Info) -> dict[str, Tensor | None]:
        return {
            "expert_logp_ET": batch.logp_BT.index_select(0, rows),
            "expert_mask_ET": batch.mask_BT.index_select(0, rows),
            "expert_keep_ET": batch.tokens("keep").index_select(0, rows).bool(),
            "expert_entropy_ET": batch.entropy(rows) if info.expert_entropy else None,
        }

    def _distributions(self, batch: _Batch, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return (B, T, V) log-distributions of policy and teacher at the response tokens."""
        assert self._logits is not None
        assert self.teacher is not None
        places = batch.places(rows)
        student = torch.log_softmax(self._logits[places.clamp(min=0)].float(), -1)
        ids = batch.data["teacher_ids"].unbind()
        chosen = rows.tolist()
        teacher = self.teacher(
            [ids[row] for row in chosen],
            [batch.lengths[row] for row in chosen],
            batch.data["temperature"].index_select(0, rows),
        )
        width = student.shape[1] - teacher.shape[1]
        return student, torch.nn.functional.pad(teacher, (0, 0, 0, width))


class _Batch:
    """A micro-batch, its jagged fields padded at the right to the longest response.

    Args:
        model_output: As in `PolicyLoss`.
        data: Likewise.
    """

    def __init__(self, model_output: dict[str, Tensor], data: Any) -> None:
        self.output, self.data = model_output, data
        self.lengths: list[int] = data["responses"].offsets().diff().tolist()
        self.logp_BT: Tensor = no_padding_2_padding(model_output["log_probs"], data)
        self.mask_BT = self.tokens("response_mask").bool()
        numbers = data["numbers"]
        # verl's queue gives every one-dimensional field back as jagged, also where all rows are equally long.
        self.numbers_BN = numbers.values().view(len(self.lengths), -1) if numbers.is_nested else numbers
        self.kind_B = self.numbers_BN[:, 0].long()

    def of(self, kind: Kind) -> Tensor:
        """Return the rows of a kind."""
        return torch.nonzero(self.kind_B == int(kind))[:, 0]

    def tokens(self, name: str) -> Tensor:
        """Return a field per response token, (B, T)."""
        values = self.data[name]
        padded: Tensor = values.to_padded_tensor(0) if values.is_nested else values
        return torch.nn.functional.pad(padded, (0, self.logp_BT.shape[1] - padded.shape[1]))

    def number(self, name: str) -> Tensor:
        """Return a field per row, (B,)."""
        values: Tensor = self.numbers_BN[:, NUMBERS.index(name)]
        return values

    def entropy(self, rows: Tensor) -> Tensor:
        """Return (rows, T) entropies."""
        padded: Tensor = no_padding_2_padding(self.output["entropy"], self.data)
        return padded.index_select(0, rows)

    def places(self, rows: Tensor) -> Tensor:
        """Return (rows, T) where in the joined sequences each response token is predicted; -1 on padding."""
        ends = self.data["input_ids"].offsets()[1:].tolist()
        width = self.logp_BT.shape[1]
        found = torch.full((rows.numel(), width), -1, dtype=torch.long, device=self.logp_BT.device)
        for place, row in enumerate(rows.tolist()):
            length = self.lengths[row]
            found[place, :length] = torch.arange(ends[row] - length - 1, ends[row] - 1, device=found.device)
        return found
