"""More data of a run: its gold trajectories among other tools, under other names, with noise, orders and gaps."""

from __future__ import annotations

from planarena.augment.run import augment
from planarena.augment.settings import KINDS, AugmentConfig

__all__ = ["KINDS", "AugmentConfig", "augment"]
