"""Chunks, ledger, shards, the local runner."""

from __future__ import annotations

from planarena.pipeline.run.build import Progress, build
from planarena.pipeline.run.dry_run import DryRun, plan_build

__all__ = ["DryRun", "Progress", "build", "plan_build"]
