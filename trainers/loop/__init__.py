"""The loop that both engines share: material, phases, updates, validation, checkpoints, metrics, resume."""

from __future__ import annotations
