"""Metrics: one JSON line a step, and TensorBoard or Weights & Biases where asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from planarena.records.shards import write_durably
from planarena.records.step_lines import read_steps
from planarena.trainers.config import LogConfig
from planarena.trainers.loop.batches import Sample

__all__ = ["MetricsLog", "rollout_metrics"]


class MetricsLog:
    """Writes metrics.jsonl of a run; a resumed run continues where its checkpoint stands.

    Args:
        root: Of the run.
        config: Further places.
        step: Lines of later steps are removed: they are made again.
        settings: The whole configuration, for Weights & Biases.
        run_id: What the run is called there.

    Attributes:
        lost: Steps up to `step` of which the file has no line: it was damaged.
    """

    def __init__(
        self, root: Path, config: LogConfig, *, step: int, settings: Mapping[str, Any], run_id: str = ""
    ) -> None:
        self.path = root / "metrics.jsonl"
        kept = [line for line in read_steps(self.path, missing_ok=True) if line["step"] <= step]
        self.lost = max(step - len({line["step"] for line in kept if line["step"] > 0}), 0)
        write_durably(self.path, b"".join(msgspec.json.encode(line) + b"\n" for line in kept))
        self._file = self.path.open("ab")
        self._board: Any = None
        self._wandb: Any = None
        if config.tensorboard:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(root / "tensorboard"), purge_step=step + 1)
        if config.wandb:
            import wandb

            self._wandb = wandb.init(
                project=config.wandb,
                dir=str(root),
                config=dict(settings),
                name=root.name,
                id=run_id or None,
                resume="allow",
            )

    def write(self, line: Mapping[str, Any]) -> None:
        """Write the metrics of one step."""
        self._file.write(msgspec.json.encode({key: _json(value) for key, value in line.items()}) + b"\n")
        self._file.flush()
        numbers = {key: value for key, value in line.items() if isinstance(value, int | float)}
        if self._board is not None:
            for key, value in numbers.items():
                self._board.add_scalar(key, value, line["step"])
        if self._wandb is not None:
            self._wandb.log(numbers, step=int(line["step"]))

    def close(self) -> None:
        """Flush and close everything."""
        self._file.close()
        if self._board is not None:
            self._board.close()
        if self._wandb is not None:
            self._wandb.finish()


def _json(value: Any) -> Any:
    # JSON has no NaN; what could not be measured is null.
    return None if isinstance(value, float) and not math.isfinite(value) else value


def rollout_metrics(samples: Sequence[Sample]) -> dict[str, float]:
    """Return what to watch of a rollout batch; demonstrations in the groups do not count.

    `policy/entropy` is the mean of -log pi at the sampled tokens, an unbiased estimate of the entropy that costs
    nothing; an algorithm that needs the entropy itself gives its exact mean.
    """
    own = [sample for sample in samples if not sample.is_demo]
    if not own:
        return {}
    tokens = sum(sum(sample.mask) for sample in own)
    exact = all(sample.entropy for sample in own)
    source = (sample.entropy if exact else [-value for value in sample.logp] for sample in own)
    found = {
        "reward/mean": mean(sample.reward for sample in own),
        "reward/success": mean(sample.success for sample in own),
        "length/mean": tokens / len(own),
        "length/truncated": mean(float(sample.truncated) for sample in own),
        "policy/entropy": sum(
            value * flag
            for values, sample in zip(source, own, strict=True)
            for value, flag in zip(values, sample.mask, strict=True)
        )
        / max(tokens, 1),
        "rollout/rows": float(len(own)),
        "rollout/tokens": float(tokens),
    }
    names = sorted({name for sample in own for name in sample.parts})
    found |= {f"reward/{name}": mean(sample.parts.get(name, 0.0) for sample in own) for name in names}
    judged = [sample.reason for sample in own if math.isfinite(sample.reason)]
    if judged:
        found["reward/reasoning"] = mean(judged)
    return found


def mean(values: Iterable[float]) -> float:
    """Return the mean of the finite values, NaN without any."""
    finite = [value for value in values if math.isfinite(value)]
    return math.fsum(finite) / len(finite) if finite else float("nan")
