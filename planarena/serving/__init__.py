"""Servers over sessions and policies: MCP, OpenAI-compatible chat completions, OpenEnv.

Import the modules: some run in environments of consumers, which have little of ours.
"""

from __future__ import annotations

from planarena.serving.limits import Limits
from planarena.serving.pool import SessionPool
from planarena.serving.sources import open_tasks

__all__ = ["Limits", "SessionPool", "open_tasks"]
