"""Duplicates, choice, splits, and the scorecard of a run."""

from __future__ import annotations

from planarena.quality.choice import Balance, Chooser, ItemKeys
from planarena.quality.fingerprints import FingerprintSet, fingerprint
from planarena.quality.scorecard import measure_run
from planarena.quality.splits import SPLITS, split_of

__all__ = [
    "SPLITS",
    "Balance",
    "Chooser",
    "FingerprintSet",
    "ItemKeys",
    "fingerprint",
    "measure_run",
    "split_of",
]
