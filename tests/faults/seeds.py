"""What random cases are drawn from: the short forms draw others with every version, the long ones always the same."""

from __future__ import annotations

import os

__all__ = ["seeded"]


def seeded(share: str) -> str:
    """Return what the draws of a share depend on: of `few` FAULTS_SEED or the version of planarena, of `many` nothing."""
    from planarena import __version__

    return (os.environ.get("FAULTS_SEED") or __version__) if share == "few" else ""
