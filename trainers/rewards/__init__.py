"""Rewards, chosen apart from the algorithm: pure functions of output, gold and scores passed in."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import msgspec

from planarena.errors import ConfigError, UserError
from planarena.trainers.rewards.alignment import lcs_flags, positional_flags
from planarena.trainers.rewards.awpo import AWPO, JUDGE_WEIGHTS, TIERS, snap
from planarena.trainers.rewards.chord import Binary, MathAnswer, answers_equal, calls_equal
from planarena.trainers.rewards.dupo import DUPO, one_scorer, sequential_decay
from planarena.trainers.rewards.overlong import Overlong, WithOverlong, overlong_penalty
from planarena.trainers.rewards.rubric import Rubric, rubric_share
from planarena.trainers.rewards.score import Context, Reward, Score
from planarena.trainers.rewards.toolrl import ToolRL
from planarena.trainers.rewards.toolupt import ToolUPT

__all__ = [
    "JUDGE_WEIGHTS",
    "TIERS",
    "Context",
    "Reward",
    "Score",
    "WithOverlong",
    "answers_equal",
    "calls_equal",
    "get",
    "lcs_flags",
    "names",
    "one_scorer",
    "overlong_penalty",
    "positional_flags",
    "rubric_share",
    "sequential_decay",
    "snap",
]

_REWARDS: dict[str, tuple[type[Reward], dict[str, Any]]] = {
    "dupo": (DUPO, {}),
    "awpo": (AWPO, {}),
    "awpo_mixed": (AWPO, {"channel": "mixed"}),
    "toolupt": (ToolUPT, {}),
    "toolupt_outcome": (ToolUPT, {"process": False}),
    "toolrl": (ToolRL, {}),
    "binary": (Binary, {}),
    "math": (MathAnswer, {}),
    "rubric": (Rubric, {}),
    "overlong": (Overlong, {}),
}


def names() -> tuple[str, ...]:
    """Return the names of all rewards: the papers' own and the presets of their baselines."""
    return tuple(_REWARDS)


def get(
    name: str, options: Mapping[str, Any] | None = None, overlong: Mapping[str, Any] | None = None
) -> Reward:
    """Return a reward by name.

    Args:
        name: One of `names()`.
        options: Options of the reward; the rest keep the papers' values.
        overlong: Options of DAPO's soft overlong penalty, which is then added; None for none.

    Raises:
        UserError: When there is no reward of that name.
        ConfigError: When an option does not exist, or has the wrong type or range.
    """
    reward = _build(name, options or {})
    if overlong is None:
        return reward
    penalty = _build("overlong", overlong)
    assert isinstance(penalty, Overlong)
    return WithOverlong(reward=reward, overlong=penalty, format=reward.format)


def _build(name: str, options: Mapping[str, Any]) -> Reward:
    found = _REWARDS.get(name)
    if found is None:
        near = get_close_matches(name, _REWARDS, n=1)
        fix = f"write {near[0]!r}" if near else "write one of: " + ", ".join(_REWARDS)
        raise UserError(f"there is no reward {name!r}", fix=fix)
    kind, preset = found
    known = kind.__struct_fields__
    for key in options:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            fix = f"write {near[0]!r}" if near else "write one of: " + ", ".join(known)
            raise ConfigError(f"the reward {name} has no option {key!r}", where=key, fix=fix)
    try:
        return msgspec.convert({**preset, **options}, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(
            str(error), where=f"reward {name}", fix="give a value of that type and range"
        ) from error
