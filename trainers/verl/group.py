"""The worker group as our loop sees it: rows in, numbers out. Rows travel through verl's TransferQueue."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from planarena.trainers.verl.rows import INFO, Info, Row, deal, tensors

__all__ = ["RayWorkers", "Scores", "Workers", "jagged", "response_part", "restored"]

# (log-probabilities, entropies or an empty list) per row
Scores = list[tuple[list[float], list[float]]]
_PARTITION = "planarena"


class Workers(Protocol):
    """What computes: verl's workers behind Ray, or one of them in this very process."""

    def update(self, rows: Sequence[Row], info: Info, *, pairs: bool = False) -> dict[str, float]:
        """Make one optimiser step and return its metrics, `grad_norm` and `micro_batches` among them."""
        ...

    def score(self, rows: Sequence[Row], *, entropy: bool = False, reference: bool = False) -> Scores:
        """Return log-probabilities (and entropies) of the responses, without gradient."""
        ...

    def reverse_kl(self, rows: Sequence[Row], *, frozen: bool) -> list[list[float]]:
        """Return KL(policy || teacher) at each response token; the teacher reads `Row.teacher`."""
        ...


def response_part(values: Tensor, rows: Sequence[Row]) -> list[list[float]]:
    """Return what belongs to the responses of jagged values over whole sequences.

    The value of a token stands where it is predicted: one place before it.
    """
    return [
        found[row.length - len(row.response) - 1 : row.length - 1].float().tolist()
        for found, row in zip(values.unbind(), rows, strict=True)
    ]


class RayWorkers:
    """verl's worker group.

    Args:
        actor: The worker group of the policy.
        reference: That of the frozen start, or None.
        adapters: Adapters are trained, and the reference is the policy without them.
        budget: Padded tokens of a pass.
        dynamic: Leave the size of passes to verl (it counts tokens without padding).
    """

    def __init__(self, actor: Any, reference: Any, *, adapters: bool, budget: int, dynamic: bool) -> None:
        self.actor, self.reference, self.adapters = actor, reference, adapters
        self.budget, self.dynamic = budget, dynamic
        mapping = actor._query_dispatch_info("actor")
        self.ranks = max(mapping) + 1
        self._numbers = itertools.count()

    def update(self, rows: Sequence[Row], info: Info, *, pairs: bool = False) -> dict[str, float]:
        """Make one optimiser step."""
        dealt, size = deal(rows, self.ranks, budget=self.budget, pairs=pairs)
        extra = {
            INFO: info.encode(),
            "global_batch_size": len(dealt),
            "mini_batch_size": len(dealt),
            "epochs": 1,
            "seed": 0,
            "dataloader_kwargs": {"shuffle": False},
            "calculate_entropy": info.entropy or info.expert_entropy,
            "distillation_use_topk": info.distributions,
            **self._passes(size, fixed=pairs or info.distributions),
        }
        meta = self._put(dealt, extra)
        try:
            out = self.actor.update_actor(meta)
        finally:
            self._clear(meta)
        found = {name: _mean(value) for name, value in out["metrics"].items()}
        return found | {"micro_batches": float(len(dealt) // (size * self.ranks))}

    def score(self, rows: Sequence[Row], *, entropy: bool = False, reference: bool = False) -> Scores:
        """Score responses."""
        dealt, size = deal(rows, self.ranks, budget=self.budget)
        extra = {
            "calculate_entropy": entropy,
            "compute_loss": False,
            "distillation_use_topk": False,
            **self._passes(size),
        }
        if reference and self.adapters:
            extra["no_lora_adapter"] = True
        meta = self._put(dealt, extra)
        fields = ["log_probs", *(["entropy"] if entropy else [])]
        try:
            if reference and not self.adapters:
                self.reference.compute_ref_log_prob(meta)
            else:
                self.actor.compute_log_prob(meta)
            data = self._get(meta, fields)
        finally:
            self._clear(meta)
        logp = response_part(data["log_probs"], dealt)
        extra_values = response_part(data["entropy"], dealt) if entropy else [[] for _ in dealt]
        return restored(rows, dealt, list(zip(logp, extra_values, strict=True)))

    def reverse_kl(self, rows: Sequence[Row], *, frozen: bool) -> list[list[float]]:
        """Compare two whole distributions at every token."""
        # Two prompts a row: the longer one decides how many rows fit.
        widest = max(len(row.teacher or ()) + len(row.response) for row in rows)
        longest = max(row.length for row in rows)
        budget = max(self.budget * longest // max(widest, longest) // 2, 1)
        dealt, size = deal(rows, self.ranks, budget=budget)
        meta = self._put(dealt, {"frozen_teacher": frozen, **self._passes(size, fixed=True)})
        try:
            self.actor.compute_reverse_kl(meta)
            data = self._get(meta, ["reverse_kl"])
        finally:
            self._clear(meta)
        return restored(rows, dealt, [row.float().tolist() for row in data["reverse_kl"].unbind()])

    def _passes(self, size: int, *, fixed: bool = False) -> dict[str, Any]:
        dynamic = self.dynamic and not fixed
        return {
            "use_dynamic_bsz": dynamic,
            "micro_batch_size_per_gpu": size,
            "max_token_len_per_gpu": self.budget,
        }

    def _put(self, rows: Sequence[Row], extra: dict[str, Any]) -> Any:
        import transfer_queue

        number = next(self._numbers)
        keys = [f"{number}-{place}" for place in range(len(rows))]
        tags = [{"status": "success", "seq_len": row.length} for row in rows]
        listed = [tensors(row) for row in rows]
        transfer_queue.kv_batch_put(keys=keys, partition_id=_PARTITION, fields=jagged(listed), tags=tags)
        return transfer_queue.KVBatchMeta(
            keys=keys, tags=tags, partition_id=_PARTITION, fields=list(listed[0]), extra_info=extra
        )

    def _get(self, meta: Any, fields: list[str]) -> Any:
        import transfer_queue

        return transfer_queue.kv_batch_get(
            keys=meta.keys, partition_id=meta.partition_id, select_fields=fields
        )

    def _clear(self, meta: Any) -> None:
        import transfer_queue

        transfer_queue.kv_clear(keys=meta.keys, partition_id=meta.partition_id)


def jagged(listed: Sequence[dict[str, Tensor]]) -> Any:
    """Return rows as one TensorDict whose fields are jagged even where all lengths are equal."""
    found = list_of_dict_to_tensordict(list(listed))
    for name, value in listed[0].items():
        if value.dim() == 1:
            found[name] = torch.nested.as_nested_tensor([row[name] for row in listed], layout=torch.jagged)
    return found


def restored(rows: Sequence[Row], dealt: Sequence[Row], values: list[Any]) -> list[Any]:
    """Return values in the order of the rows that were dealt."""
    by_row = {id(row): value for row, value in zip(dealt, values, strict=True)}
    return [by_row[id(row)] for row in rows]


def _mean(value: Any) -> float:
    listed = value if isinstance(value, list) else [value]
    return float(sum(float(one) for one in listed) / max(len(listed), 1))
