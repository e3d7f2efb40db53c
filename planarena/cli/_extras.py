"""A package that only an extra brings and that is absent: which extra, and the line that installs it."""

from __future__ import annotations

import sys

from planarena.errors import EnvironmentUnavailableError, UserError

__all__ = ["EXTRAS", "explain_missing"]

# Module -> the extra to ask for. A module of several extras stands with the one that most commands need it for.
EXTRAS = {
    "matplotlib": "train",
    "peft": "train",
    "safetensors": "train",
    "tokenizers": "train",
    "torch": "train",
    "transformers": "train",
    "cachetools": "verl",
    "fastapi": "verl",
    "hydra": "verl",
    "omegaconf": "verl",
    "tensordict": "verl",
    "transfer_queue": "verl",
    "verl": "verl",
    "zmq": "verl",
    "math_verify": "eval",
    "ray": "ray",
    "jinja2": "view",
    "starlette": "serve",
    "uvicorn": "serve",
}


def explain_missing(error: ImportError, words: list[str]) -> UserError | None:
    """Return what to tell a user whose installation lacks an extra, or None where the error is another one.

    Args:
        error: What an import raised.
        words: The command's arguments; the first of them name the command.
    """
    extra = EXTRAS.get((error.name or "").partition(".")[0])
    if extra is None or not isinstance(error, ModuleNotFoundError):
        return None
    module = (error.name or "").partition(".")[0]
    if module in sys.modules:  # the package is there and lacks a part: not what an installation mends
        return None
    command = next((word for word in words if not word.startswith("-")), "")
    return EnvironmentUnavailableError(
        f"{module} is not installed",
        where=f"planarena {command}".rstrip(),
        fix=f"pip install 'planarena[{extra}]'  (in a checkout: pip install -e '.[{extra}]')",
    )
