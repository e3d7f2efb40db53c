"""What a checkpoint's training run says about it: the format it speaks and the prompts it has read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from planarena.records.foreign_yaml import load_yaml

__all__ = ["find_checkpoint", "trained_with"]


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
    for folder in (path, *path.absolute().parents[:2]):
        file = folder / "config.yaml"
        if (folder / "checkpoints").is_dir() and file.is_file():
            try:
                read = load_yaml(file.read_text())
            except (OSError, UnicodeDecodeError, yaml.YAMLError):
                return {}
            data = read.get("data") if isinstance(read, dict) else None
            return data if isinstance(data, dict) else {}
    return {}
