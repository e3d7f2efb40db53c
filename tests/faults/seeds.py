"""What random cases are drawn from: the short forms draw others with every version, the long ones always the same."""

from __future__ import annotations

import os
from collections.abc import Iterable
from random import Random
from typing import TypeVar

__all__ = ["drawn", "seeded"]


_T = TypeVar("_T")


def drawn(what: str, cases: Iterable[_T], number: int) -> frozenset[_T]:
    """Return which cases of a table the short form runs: so many, others with every version."""
    listed = list(cases)
    return frozenset(Random(f"{what}/{seeded('few')}").sample(listed, min(number, len(listed))))


def seeded(share: str) -> str:
    """Return what the draws of a share depend on: of `few` FAULTS_SEED or the version of planarena, of `many` nothing."""
    from planarena import __version__

    return (os.environ.get("FAULTS_SEED") or __version__) if share == "few" else ""
