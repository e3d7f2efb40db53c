"""The embedded engine: rollout, score, update and save in one process on one device."""

from __future__ import annotations
