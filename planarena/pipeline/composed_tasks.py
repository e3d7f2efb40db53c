"""Counting what can be composed from one source, for those who check an environment."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from msgspec.structs import replace

from planarena.config import BuildConfig
from planarena.pipeline.run.build import build

__all__ = ["count_composed_tasks"]


def count_composed_tasks(config: BuildConfig) -> dict[str, int]:
    """Build trajectories without aims in a folder of their own and count the gold by number of actions.

    Args:
        config: Of a build; its `out` and its share of aims are replaced.
    """
    with tempfile.TemporaryDirectory() as folder:
        run = build(
            replace(config, out=str(Path(folder) / "run"), composition=replace(config.composition, aims=0.0))
        )
        rows = run.table("trajectories").collect().filter(kind="gold")
        return {str(length): count for length, count in sorted(Counter(rows["n_actions"].to_list()).items())}
