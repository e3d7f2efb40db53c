"""Access to models for evaluation: servers through the gateway, and folders on this machine."""

from __future__ import annotations

from planarena.eval.models.choosing import open_policy

__all__ = ["open_policy"]
