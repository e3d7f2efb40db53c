"""Recipes: one YAML file per algorithm and preset, every value with its source."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any, Literal

import msgspec

from planarena.errors import ConfigError

__all__ = ["Recipe", "RecipeReward", "RecipeTraining", "leaves", "load_recipe", "recipe_names"]


class RecipeReward(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The reward that goes with an algorithm.

    Args:
        name: A name of `planarena.trainers.rewards`.
        options: Options of that reward that differ from its defaults.
        overlong: Options of DAPO's soft overlong penalty, added to the reward; None for none.
    """

    name: str
    options: dict[str, Any] = {}
    overlong: dict[str, Any] | None = None


class RecipeTraining(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Settings of the run; None leaves the engine's own.

    Args:
        steps: Optimiser steps.
        epochs: Passes over the supervised data.
        learning_rate: Peak learning rate.
        schedule: Shape of the learning rate over the run.
        sft_learning_rate: Peak in a supervised stage of its own.
        sft_schedule: Its shape over that stage.
        adam_betas: Moments of Adam.
        batch_size: Prompts of one rollout batch, or rows of one supervised batch.
        mini_batch_size: Prompts of one optimiser update.
        group_size: Rollouts per prompt, K.
        expert_batch_size: Rows of the expert batch.
        updates_per_batch: Optimiser updates per rollout batch; 1 is strictly on-policy.
        sync_interval: Updates between synchronisations of the rollout policy.
        temperature: Of sampling.
        max_prompt_length: In tokens.
        max_response_length: In tokens.
        selection: Which checkpoint counts.
    """

    steps: int | None = None
    epochs: int | None = None
    learning_rate: float | None = None
    schedule: Literal["constant", "cosine"] | None = None
    sft_learning_rate: float | None = None
    sft_schedule: Literal["constant", "cosine"] | None = None
    adam_betas: tuple[float, float] | None = None
    batch_size: int | None = None
    mini_batch_size: int | None = None
    group_size: int | None = None
    expert_batch_size: int | None = None
    updates_per_batch: int | None = None
    sync_interval: int | None = None
    temperature: float | None = None
    max_prompt_length: int | None = None
    max_response_length: int | None = None
    selection: Literal["last", "best"] | None = None


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One algorithm with a reward, a format and the settings of a paper.

    Args:
        name: The file's name.
        title: The algorithm or baseline in prose.
        paper: Where it is described.
        algorithm: Options as `build_config` takes them; the rest keep their defaults.
        reward: The reward, None where none is used.
        format: A name of `planarena.formats`.
        training: Settings of the run.
        sources: Where each value above comes from, by dotted path; `ours` marks our choices.
    """

    name: str
    title: str
    paper: str
    algorithm: dict[str, Any]
    format: str
    reward: RecipeReward | None = None
    training: RecipeTraining = RecipeTraining()
    sources: dict[str, str] = {}

    def unsourced(self) -> list[str]:
        """Return the dotted paths of values without a source, and of sources without a value."""
        values = leaves(
            {
                "algorithm": {key: value for key, value in self.algorithm.items() if key != "algorithm"},
                "reward": msgspec.to_builtins(self.reward) if self.reward else {},
                "format": self.format,
                "training": msgspec.to_builtins(self.training),
            }
        )
        return sorted(set(values) ^ set(self.sources))


def leaves(tree: dict[str, Any], prefix: str = "") -> list[str]:
    """Return the dotted paths of all values that are no dictionaries; tags of nested options are none."""
    paths: list[str] = []
    for key, value in tree.items():
        if isinstance(value, dict):
            paths.extend(leaves(value, f"{prefix}{key}."))
        else:
            paths.append(f"{prefix}{key}")
    return paths


@functools.cache
def recipe_names() -> tuple[str, ...]:
    """Return the names of all recipes, sorted."""
    folder = resources.files(__name__)
    return tuple(sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".yaml")))


@functools.cache
def load_recipe(name: str) -> Recipe:
    """Read a recipe.

    Raises:
        ConfigError: If the file does not hold a recipe.
    """
    text = (resources.files(__name__) / f"{name}.yaml").read_text(encoding="utf-8")
    try:
        return msgspec.yaml.decode(text, type=Recipe)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), where=f"recipe {name}", fix="compare with another recipe") from error
