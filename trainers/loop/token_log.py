"""rollouts.jsonl: one or a few whole groups of rollouts token by token, with what the algorithm made of them, for people.

Not every batch: the first of the run and one a validation. A line holds all that the pure functions of the algorithms
read, so that what they do to each token can be shown afterwards (`planarena view`), also for another algorithm. One
line, shortened::

    {"step": 1, "total": 500, "batch": 0, "algorithm": "dupo", "scalars": {}, "rows": [{"group": 0, "key": "...",
     "prompt": "...", "pieces": ["<plan>", "I", ...], "mask": [1, 1, ...], "logp": [-0.1, ...], "types": [0, 3, ...],
     "advantages": [0.5, ...], "reward": 1.0, "parts": {"format": 1.0}}], "experts": [{"pieces": ["<plan>", ...],
     "mask": [1, ...], "keep": [1, ...], "logp": [-0.2, ...], "key": "..."}]}
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from planarena.trainers.loop.backend import Backend, Work
from planarena.trainers.loop.batches import Expert, Sample, token_type_codes
from planarena.trainers.types import Advantages, RolloutBatch, Step

__all__ = ["TokenLog"]

_NAME = "rollouts.jsonl"
_LONGEST_PROMPT = 4_000
# Per-token fields of a batch beside those of a sample, and of the advantages.
_BATCH = ("entropy_BT", "teacher_logp_BT", "reverse_kl_BT")


class TokenLog:
    """Writes rollouts.jsonl; a resumed run continues where its checkpoint stands.

    Args:
        root: Of the run.
        groups: Groups of a line; 0 writes nothing.
        every: Steps between two lines.
        step: Lines of later steps are removed: they are made again.
    """

    def __init__(self, root: Path, groups: int, every: int, *, step: int) -> None:
        self._path, self._groups, self._every = root / _NAME, groups, max(every, 1)
        self._last = -1
        if self._path.is_file():
            kept = [line for line in self._path.read_bytes().splitlines() if 0 < _step_of(line) <= step]
            self._path.write_bytes(b"".join(line + b"\n" for line in kept))
            self._last = max(map(_step_of, kept), default=-1)

    def due(self, done: int) -> bool:
        """Whether the batch that the next update trains on is to be written."""
        return self._groups > 0 and (self._last < 0 or done // self._every > (self._last - 1) // self._every)

    def write(
        self,
        work: Work,
        step: Step,
        batch: int,
        algorithm: str,
        backend: Backend,
        experts: Mapping[str, Expert],
    ) -> None:
        """Write some groups of a batch, before its first update.

        Args:
            work: The batch.
            step: Where training stands.
            batch: Its number, from 0.
            algorithm: Its name.
            backend: For its tokenizer, and for the demonstrations' log-probabilities.
            experts: Demonstrations by key; those of the groups' own prompts are written; none writes none.
        """
        self._last = step.step + 1
        wanted = self._chosen(work)
        rows = [place for place, sample in enumerate(work.samples) if sample.group in wanted]
        shown = [
            experts[key] for key in dict.fromkeys(work.samples[row].key for row in rows) if key in experts
        ]
        line = {
            "step": step.step + 1,
            "total": step.total_steps,
            "batch": batch,
            "algorithm": algorithm,
            "scalars": dict(work.advantages.scalars),
            "rows": [_row(work, row, backend) for row in rows],
            "experts": _experts(shown, backend) if shown else [],
        }
        with self._path.open("ab") as handle:
            handle.write(msgspec.json.encode(line) + b"\n")

    def _chosen(self, work: Work) -> set[int]:
        """Return the first groups in which a token has an advantage, and further ones where those are too few."""
        learns: dict[int, bool] = {}
        for sample, moved in zip(work.samples, work.advantages.values_BT.any(1).tolist(), strict=True):
            learns[sample.group] = learns.get(sample.group, False) or bool(moved)
        ranked = sorted(learns, key=lambda group: (not learns[group], group))
        return set(ranked[: self._groups])


def _step_of(line: bytes) -> int:
    try:
        return int(msgspec.json.decode(line)["step"])
    except (msgspec.DecodeError, LookupError, TypeError, ValueError):
        return -1


def _row(work: Work, row: int, backend: Backend) -> dict[str, Any]:
    sample, batch, advantages = work.samples[row], work.batch, work.advantages
    length = len(sample.response_ids)
    text, offsets = backend.chat.text(sample.response_ids)
    found: dict[str, Any] = {
        "group": sample.group,
        "key": sample.key,
        "prompt": backend.chat.plain(sample.prompt_ids)[-_LONGEST_PROMPT:],
        "pieces": [text[start:end] for start, end in offsets],
        "mask": [int(one) for one in sample.mask],
        "types": _types(sample, text, offsets),
        "reward": _finite(sample.reward),
        "success": sample.success,
        "parts": {name: _finite(value) for name, value in sample.parts.items()},
        "reason": _finite(sample.reason),
        "decay": sample.decay,
        "demo": sample.is_demo,
        "trajectory": sample.trajectory,
        "truncated": sample.truncated,
        "logp": _numbers(sample.logp),
        "advantages": _numbers(advantages.values_BT[row, :length].tolist()),
    }
    for name in ("turn", "anchors", "returns", "token_rewards"):
        values = getattr(sample, name)
        found |= {name: [_finite(value) for value in values]} if values else {}
    found |= _of_batch(batch, advantages, row, length)
    if work.ref_logp_BT is not None:
        found["ref_logp"] = _numbers(work.ref_logp_BT[row, :length].tolist())
    return found


def _of_batch(batch: RolloutBatch, advantages: Advantages, row: int, length: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in _BATCH:
        values = getattr(batch, name)
        if values is not None:
            found[name.removesuffix("_BT")] = _numbers(values[row, :length].tolist())
    for name in ("eps_low_B", "eps_high_B"):
        radius = getattr(advantages, name)
        if radius is not None:
            found[name.removesuffix("_B")] = _number(float(radius[row]))
    return found


def _types(sample: Sample, text: str, offsets: Sequence[tuple[int, int]]) -> list[int]:
    """Return the types of the tokens where they are known, or one reading covers them all."""
    if sample.token_types:
        return [int(one) for one in sample.token_types]
    if sample.parsed is None or sample.parsed.text != text:
        return []
    return token_type_codes(sample.parsed, offsets)


def _experts(shown: Sequence[Expert], backend: Backend) -> list[dict[str, Any]]:
    rows = [
        Sample(one.prompt_ids, one.target_ids, one.mask, [], group=number) for number, one in enumerate(shown)
    ]
    scores = backend.score(rows, by="policy", entropy=True)
    found = []
    for number, one in enumerate(shown):
        length = len(one.target_ids)
        text, offsets = backend.chat.text(one.target_ids)
        line: dict[str, Any] = {
            "key": one.key,
            "pieces": [text[start:end] for start, end in offsets],
            "mask": [int(flag) for flag in one.mask],
            "keep": [int(flag) for flag in one.keep],
            "logp": _numbers(scores.logp_NT[number, :length].tolist()),
        }
        if scores.entropy_NT is not None:
            line["entropy"] = _numbers(scores.entropy_NT[number, :length].tolist())
        found.append(line)
    return found


def _numbers(values: Sequence[float]) -> list[float | None]:
    return [_number(value) for value in values]


def _number(value: float) -> float | None:
    """Return a number in nine digits, which say a 32-bit one exactly; None where it is not finite."""
    return float(f"{value:.9g}") if math.isfinite(value) else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
