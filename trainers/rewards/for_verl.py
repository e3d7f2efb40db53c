"""The reward function for verl's own trainers on rows of `planarena export --format verl`.

    custom_reward_function.path=pkg://planarena.trainers.rewards.for_verl
    custom_reward_function.name=compute_score

The row says in which format its policy speaks; the gold is JSON text. Nothing here needs torch or a judge: the
semantic term of `dupo` is neutral, as where a judge failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from planarena import formats
from planarena.formats import Gold
from planarena.trainers import rewards

__all__ = ["compute_score"]

# Format of a row -> the reward that its paper gives; any other format takes the last one.
_OF_FORMAT = {
    "planarena": "dupo",
    "toolupt": "toolupt",
    "toolrl": "toolrl",
    "chord": "binary",
    "math": "math",
}


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    *,
    reward: str = "",
    options: Mapping[str, Any] | None = None,
    **_: Any,
) -> dict[str, float]:
    """Score one output of a policy; any text has a score.

    Args:
        data_source: `planarena`, as the export writes it.
        solution_str: The output, without special tokens.
        ground_truth: The gold as JSON text (`reward_model.ground_truth`).
        extra_info: The row's `extra_info`: the format, and which step of how many.
        reward: Another reward than the one of the format: `custom_reward_function.reward_kwargs.reward`.
        options: Of that reward, as `{lambda_sem: 0.2}`.

    Returns:
        `score`, which verl optimises; `acc`, 1 where calls and format are right; `format`, 1 where the output keeps
        the format. The same keys for every output, as verl gathers them by key.

    Raises:
        ValueError: The row is not one of our export.

    Example:
        >>> row = {"calls": [{"name": "ring", "arguments": {}}], "plan": None, "response": None}
        >>> said = '<tool_call>{"name": "ring", "arguments": {}}</tool_call>'
        >>> compute_score("planarena", said, json.dumps(row), {"format": "planarena"})["acc"]
        1.0
    """
    try:
        gold = msgspec.json.decode(ground_truth, type=Gold)
    except (msgspec.MsgspecError, TypeError) as error:
        raise ValueError(
            f"the ground truth of data_source={data_source!r} is not one of `planarena export --format verl`: {error}"
        ) from error
    row = extra_info or {}
    name = str(row.get("format") or "planarena")
    scorer = rewards.get(reward or _OF_FORMAT.get(name, "binary"), {**(options or {}), "format": name})
    parsed = formats.get(name).parse(solution_str)
    context = rewards.Context(step=int(row.get("step") or 1), steps=int(row.get("steps") or 1))
    score = scorer.score(parsed, gold, context)
    keeps = not parsed.broken and not formats.get(name).check(parsed, gold.category)
    right = keeps and rewards.calls_equal(parsed.calls, gold.calls)
    return {"score": float(score.total), "acc": float(right), "format": float(keeps)}
