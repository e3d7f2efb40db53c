"""Where a model comes from: the checkpoint of a training run, and what that run's prompts look like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from planarena.records.foreign_yaml import load_yaml

__all__ = ["find_checkpoint", "grew_from_tiny", "trained_with"]

# A checkpoint of a training of a checkpoint of ...: no further back than that.
_LONGEST_LINE = 16


def find_checkpoint(path: Path) -> Path:
    """Return the folder with the model: the given one, or the best or newest checkpoint of a training run."""
    folder = path / "checkpoints"
    if (path / "config.json").is_file() or (path / "adapter_config.json").is_file() or not folder.is_dir():
        return path
    best = folder / "best"
    if (best / "config.json").is_file() or (best / "adapter_config.json").is_file():
        return best
    steps = [one for one in folder.glob("step_*") if one.name.removeprefix("step_").isdigit()]
    return max(steps, key=lambda one: int(one.name.removeprefix("step_")), default=path)


def trained_with(path: Path) -> dict[str, Any]:
    """Return `data` of the configuration of the run that a checkpoint lies in; empty where it lies in none."""
    return _section(_settings(path), "data")


def grew_from_tiny(path: Path) -> bool:
    """Tell whether a checkpoint is one of `--model tiny`, however many trainings ago."""
    for _ in range(_LONGEST_LINE):
        start = _section(_settings(path), "model").get("path")
        if start == "tiny" or not isinstance(start, str) or not start:
            return start == "tiny"
        path = Path(start)
    return False


def _settings(path: Path) -> dict[str, Any]:
    for folder in (path, *path.absolute().parents[:2]):
        file = folder / "config.yaml"
        if (folder / "checkpoints").is_dir() and file.is_file():
            try:
                read = load_yaml(file.read_text())
            except (OSError, UnicodeDecodeError, yaml.YAMLError):
                return {}
            return read if isinstance(read, dict) else {}
    return {}


def _section(settings: dict[str, Any], name: str) -> dict[str, Any]:
    found = settings.get(name)
    return found if isinstance(found, dict) else {}
