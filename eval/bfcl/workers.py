"""Workers with bfcl-eval's environment."""

from __future__ import annotations

from pathlib import Path

from planarena import managed
from planarena.eval.config import EvalConfig
from planarena.eval.pool import Pool

__all__ = ["open_pool"]

_FOLDER = Path(__file__).parent


def open_pool(config: EvalConfig) -> Pool:
    """Start the workers; close them, or use them until the evaluation ends.

    Raises:
        EnvironmentUnavailableError: bfcl-eval cannot be installed, or there is no sandbox.
    """
    python = managed.environment("bfcl").python
    return Pool(config, _FOLDER / "_service.py", python=python, readable=[_FOLDER])
