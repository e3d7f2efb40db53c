"""Rows as verl's workers take them: samples, experts and pairs as named tensors, and what holds for all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from typing import Any

import torch
from torch import Tensor

from planarena.trainers.loop.batches import Expert, Sample
from planarena.trainers.types import Step

__all__ = [
    "INFO",
    "Info",
    "Kind",
    "Row",
    "deal",
    "expert_row",
    "padding_row",
    "preference_row",
    "sample_row",
    "tensors",
]

# The field of a batch that holds `Info` as JSON.
INFO = "planarena"
_TOKENS = ("old_log_probs", "advantages", "ref_log_prob", "token_types", "keep")
NUMBERS = ("kind", "reward", "eps_low", "eps_high", "is_demo", "preference", "pair")


class Kind(IntEnum):
    """What a row is to the loss."""

    ROLLOUT = 0
    EXPERT = 1
    PADDING = 2


@dataclass(slots=True)
class Info:
    """What holds for all rows of an update; it travels with the batch as JSON.

    Attributes:
        step: Where training stands, and the global counts.
        scalars: `LossInputs.scalars`.
        state: `Algorithm.state_dict()` of the driver.
        rate: Learning rate of this update.
        on_policy: The ratio is 1.
        present: Optional fields of `LossInputs` that this batch has.
        expert_entropy: The loss reads the entropy at expert tokens.
        entropy: The loss reads the entropy at sampled tokens.
        distributions: The loss reads whole distributions of policy and teacher.
        together: The experts are hints, whose loss stands beside the policy loss (UFT).
    """

    step: Step
    scalars: dict[str, float] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    rate: float = 0.0
    on_policy: bool = False
    present: list[str] = field(default_factory=list)
    expert_entropy: bool = False
    entropy: bool = False
    distributions: bool = False
    together: bool = False

    def encode(self) -> str:
        """Return it as JSON; infinities are kept."""
        return json.dumps(asdict(self))

    @classmethod
    def decode(cls, text: str) -> Info:
        """Return what `encode` wrote."""
        values = json.loads(text)
        return cls(**{**values, "step": Step(**values["step"])})


@dataclass(slots=True)
class Row:
    """One row: a prompt, a response, and its tensors.

    Attributes:
        prompt: L tokens.
        response: T tokens.
        mask: T flags.
        kind: Of the row.
        tokens: Further (T,) values by name: `old_log_probs`, `advantages`, `ref_log_prob`, `keep`, `token_types`.
        numbers: Values of the row by name (`NUMBERS`).
        temperature: Divides the logits.
        teacher: Tokens of the prompt that the teacher sees, where the loss reads its distributions.
    """

    prompt: Sequence[int]
    response: Sequence[int]
    mask: Sequence[int]
    kind: Kind
    tokens: dict[str, Any] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    temperature: float = 1.0
    teacher: Sequence[int] | None = None

    @property
    def length(self) -> int:
        """All tokens."""
        return len(self.prompt) + len(self.response)


def sample_row(
    index: int,
    sample: Sample,
    fields: Mapping[str, Tensor | None],
    *,
    temperature: float,
    teacher: Sequence[int] | None = None,
) -> Row:
    """Return one row of a rollout batch.

    Args:
        index: Of the row in the batch.
        sample: The same row before it became tensors.
        fields: Of the whole batch by name: (B, T) and (B,), None where the batch has none.
        temperature: That it was sampled at.
        teacher: As in `Row`.
    """
    length = len(sample.response_ids)
    held = {name: value for name, value in fields.items() if value is not None}
    return Row(
        prompt=sample.prompt_ids,
        response=sample.response_ids,
        mask=sample.mask,
        kind=Kind.ROLLOUT,
        tokens={name: held[name][index, :length].float().cpu() for name in _TOKENS if name in held},
        numbers={name: float(held[name][index]) for name in NUMBERS if name in held},
        temperature=temperature,
        teacher=teacher,
    )


def preference_row(sample: Sample, sign: float, ref_logp_T: Tensor) -> Row:
    """Return one member of a preference pair: 1 chosen, -1 rejected."""
    length = len(sample.response_ids)
    return Row(
        prompt=sample.prompt_ids,
        response=sample.response_ids,
        mask=sample.mask,
        kind=Kind.ROLLOUT,
        tokens={"ref_log_prob": ref_logp_T[:length].float().cpu()},
        numbers={"pair": float(sample.group), "preference": sign},
    )


def expert_row(expert: Expert) -> Row:
    """Return a demonstration as a row."""
    return Row(
        prompt=expert.prompt_ids,
        response=expert.target_ids,
        mask=expert.mask,
        kind=Kind.EXPERT,
        tokens={"keep": expert.keep},
    )


def padding_row(like: Row) -> Row:
    """Return a row that counts for nothing; it makes the rows divide evenly over ranks and passes."""
    teacher = None if like.teacher is None else list(like.teacher[:1])
    return Row(prompt=list(like.prompt[:1]), response=[0], mask=[0], kind=Kind.PADDING, teacher=teacher)


def tensors(row: Row) -> dict[str, Tensor]:
    """Return the fields of one row; every row of every batch has the same ones, but for the teacher's prompt."""
    prompt = torch.tensor(list(row.prompt), dtype=torch.long)
    response = torch.tensor(list(row.response), dtype=torch.long)
    ids, mask = torch.cat([prompt, response]), torch.tensor(list(row.mask), dtype=torch.long)
    found = {
        "prompts": prompt,
        "responses": response,
        "input_ids": ids,
        "position_ids": torch.arange(len(ids)),
        "response_mask": mask,
        "loss_mask": mask,
        "temperature": torch.tensor(row.temperature, dtype=torch.float32),
        "numbers": torch.tensor(
            [float(row.kind), *(row.numbers.get(name, 0.0) for name in NUMBERS[1:])], dtype=torch.float64
        ),
    }
    for name in _TOKENS:
        values = row.tokens.get(name)
        found[name] = (
            torch.zeros(len(response)) if values is None else torch.as_tensor(values, dtype=torch.float32)
        )
    if row.teacher is not None:
        found["teacher_ids"] = torch.cat([torch.tensor(list(row.teacher), dtype=torch.long), response])
    return found


def deal(rows: Sequence[Row], ranks: int, *, budget: int, pairs: bool = False) -> tuple[list[Row], int]:
    """Order rows so that every rank gets as many, of similar lengths, in passes that keep a budget.

    Args:
        rows: Of one update.
        ranks: Data-parallel ranks; each takes its share in one piece.
        budget: Most padded tokens of a pass; one row is never divided.
        pairs: Neighbours belong together.

    Returns:
        The rows, padded to a multiple of ranks and passes, and the rows of one pass.
    """
    unit = 2 if pairs else 1
    blocks = [list(rows[start : start + unit]) for start in range(0, len(rows), unit)]
    blocks.sort(key=lambda block: -max(row.length for row in block))
    longest = max(row.length for row in rows)
    share = -(-len(blocks) // ranks)
    size = max(min(budget // (longest * unit), share), 1)
    share = -(-share // size) * size
    empty = [padding_row(rows[0]) for _ in range(unit)]
    dealt: list[list[Row]] = [[] for _ in range(ranks)]
    for place in range(share * ranks):
        dealt[place % ranks].extend(blocks[place] if place < len(blocks) else empty)
    return [row for part in dealt for row in part], size * unit
