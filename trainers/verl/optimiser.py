"""AdamW as the local engine builds it: weight decay on matrices alone. verl's configuration names this class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from planarena.trainers.local.optimiser import decay_groups

__all__ = ["MatrixDecayAdamW"]


class MatrixDecayAdamW(torch.optim.AdamW):
    """AdamW whose weight decay leaves vectors (norms, biases) alone.

    Args:
        parameters: All that the module has; those without gradient are left out. Shards keep their whole shape.
        weight_decay: Of tensors with at least two dimensions.
        **options: Of `torch.optim.AdamW`.
    """

    def __init__(
        self, parameters: Iterable[nn.Parameter], *, weight_decay: float = 0.01, **options: Any
    ) -> None:
        trained = [value for value in parameters if value.requires_grad]
        super().__init__(decay_groups(trained, weight_decay), **options)
