"""Duplicates, choice and splits."""

from __future__ import annotations

from planarena.quality.choice import Balance, Chooser, ItemKeys
from planarena.quality.fingerprints import FingerprintSet, fingerprint
from planarena.quality.splits import SPLITS, split_of

__all__ = ["SPLITS", "Balance", "Chooser", "FingerprintSet", "ItemKeys", "fingerprint", "split_of"]
