"""Resources only: wording, seeds, locks, prompts; read through `load_yaml` and `read_text`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["load_yaml", "read_bytes", "read_text"]


def read_bytes(path: str) -> bytes:
    """Return a resource's bytes, as `read_bytes("seeds/people.yaml")`."""
    return files("planarena.data").joinpath(path).read_bytes()


def read_text(path: str) -> str:
    """Return a resource's text."""
    return read_bytes(path).decode()


@cache
def load_yaml(path: str) -> Any:
    """Return a YAML resource, parsed once per process; treat it as immutable."""
    import yaml

    return yaml.load(read_bytes(path), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  safe loaders
