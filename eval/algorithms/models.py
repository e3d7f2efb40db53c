"""A study with several models: one study a model, and tables with a column for each (ToolUPT Tables 2-5)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from planarena.errors import ConfigError
from planarena.eval.algorithms.plan import StudyConfig
from planarena.eval.algorithms.tables import Table, markdown_tables, points, share

__all__ = ["model_tables", "studies_of_models", "write_models"]

# Width and layers of a tiny model, as 64x2.
_SIZE = re.compile(r"tiny:(\d+)x(\d+)")
_HEAD = 32


def studies_of_models(config: StudyConfig, models: Sequence[str]) -> dict[str, StudyConfig]:
    """Return by label the study of each model, in a folder of its own; one model alone keeps the folder.

    Args:
        config: What they share.
        models: `tiny`, `tiny:HIDDENxLAYERS`, or folders that transformers loads.

    Raises:
        ConfigError: A model twice, or a size that cannot be.

    Example:
        >>> found = studies_of_models(StudyConfig(out="study"), ["tiny", "tiny:64x2"])
        >>> [(name, one.out, one.tiny.hidden) for name, one in found.items()]
        [('tiny', 'study/tiny', 128), ('tiny-64x2', 'study/tiny-64x2', 64)]
    """
    found: dict[str, StudyConfig] = {}
    for text in models:
        one, label = _of_size(config, text), _label(text)
        if label in found:
            raise ConfigError(f"names {label} twice", where="--model", fix="give each model once")
        if len(models) > 1 and config.out:
            one = msgspec.structs.replace(one, out=str(Path(config.out) / label))
        found[label] = one
    return found or {_label(config.model): config}


def _of_size(config: StudyConfig, text: str) -> StudyConfig:
    match = _SIZE.fullmatch(text)
    if match is None:
        if text.startswith("tiny:"):
            raise ConfigError(
                f"{text!r} is no size", where="--model", fix="write tiny:HIDDENxLAYERS, as tiny:64x2"
            )
        return msgspec.structs.replace(config, model=text)
    hidden, layers = int(match[1]), int(match[2])
    if hidden < _HEAD or hidden % _HEAD or not layers:
        raise ConfigError(
            f"a width of {hidden} and {layers} layers cannot be",
            where="--model",
            fix=f"give a multiple of {_HEAD} and at least one layer, as tiny:64x2",
        )
    tiny = msgspec.structs.replace(
        config.tiny, hidden=hidden, layers=layers, heads=hidden // _HEAD, intermediate=3 * hidden
    )
    return msgspec.structs.replace(config, model="tiny", tiny=tiny)


def _label(text: str) -> str:
    return text.replace(":", "-") if text.startswith("tiny") else Path(text).absolute().name


def model_tables(found: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """Return success by method and model, and the signs of an ablation by model.

    Args:
        found: By label, what a study's scores.json holds.
    """
    tables, first = [], next(iter(found.values()))
    for regime, part in first["regimes"].items():
        lines = [
            [
                method,
                *(share(one["regimes"][regime]["rows"][method]["greedy"]["all"]) for one in found.values()),
                _mean([one["regimes"][regime]["rows"][method]["greedy"]["all"] for one in found.values()]),
            ]
            for method in part["rows"]
        ]
        tables.append(
            Table(
                f"{regime}: success, greedy, by model",
                "Per cent of all held-out tasks with 95 % intervals; the mean is over models.",
                ["Method", *found, "Mean"],
                lines,
            )
        )
    if "ablation" in first:
        lines = [
            [
                sign["better"],
                sign["worse"],
                sign["manner"],
                *(points(one["ablation"]["signs"][place]) for one in found.values()),
            ]
            for place, sign in enumerate(first["ablation"]["signs"])
        ]
        tables.append(
            Table(
                f"Signs of {first['ablation']['source']}, by model",
                "Better minus worse as the paper has them, in points of success on all held-out tasks.",
                ["The paper has above", "below", "Manner", *found],
                lines,
            )
        )
    return [table for table in tables if table.rows]


def _mean(values: Sequence[Mapping[str, float]]) -> str:
    return f"{100 * sum(value['value'] for value in values) / len(values):.1f}"


def write_models(root: Path, found: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write models.md into the folder that holds the studies, and return its path."""
    path, draft = root / "models.md", root / ".models.md.tmp"
    draft.write_text(markdown_tables(model_tables(found)), encoding="utf-8")
    draft.replace(path)
    return path
