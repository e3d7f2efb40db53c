"""Duplicates, choice and splits."""

from __future__ import annotations

from planarena.quality.choice import Chooser
from planarena.quality.fingerprints import FingerprintSet, fingerprint
from planarena.quality.splits import SPLITS, split_of

__all__ = ["SPLITS", "Chooser", "FingerprintSet", "fingerprint", "split_of"]
