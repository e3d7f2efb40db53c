"""Resources only: guidelines, locks, prompts, samples; read through `load_yaml` and `read_text`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

__all__ = ["load_yaml", "read_bytes", "read_text"]


def read_bytes(path: str) -> bytes:
    """Return a resource's bytes, as `read_bytes("prompts/repair.yaml")`."""
    return files("planarena.data").joinpath(path).read_bytes()


def read_text(path: str) -> str:
    """Return a resource's text."""
    return read_bytes(path).decode()


@cache
def load_yaml(path: str | Path) -> Any:
    """Return a YAML resource by its name, or another YAML file by its `Path`, parsed once per process.

    Treat it as immutable.
    """
    import yaml

    text = read_bytes(path) if isinstance(path, str) else path.read_bytes()
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  safe loaders
