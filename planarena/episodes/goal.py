"""The one goal predicate: the final state is reached and the required outputs were observed; and what success is.

A state hash alone would call every read-only task minimal at zero steps and let a policy that does
nothing succeed. Minimality, negatives, training and evaluation all use `reached`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from planarena.environments.world import Outcome
from planarena.tasks.atoms import resolve

__all__ = ["Goal", "RequiredOutput", "reached"]

Path = tuple[str | int, ...]


class RequiredOutput(msgspec.Struct, frozen=True, array_like=True):
    """Values that the answer reports: some successful call of `tool` must have shown all of them.

    Attributes:
        tool: Wire name.
        values: (path into the result, value) pairs.
        error: Where the answer reports that a call failed: the code that some failed call of `tool` must have shown.
    """

    tool: str
    values: tuple[tuple[Path, Any], ...]
    error: str = ""

    def shown_by(self, result: Any) -> bool:
        """Say whether a result holds every value at its path."""
        return all(_same(resolve(result, path), value) for path, value in self.values)


class Goal(msgspec.Struct, frozen=True, array_like=True):
    """What a task is to reach.

    Attributes:
        final_state_hash: The state's hash after the gold steps.
        required_outputs: What must have been observed.
    """

    final_state_hash: str
    required_outputs: tuple[RequiredOutput, ...]


def succeeded(goal: bool, answered: bool, *, calls: int, gold_calls: int) -> bool:
    """Say whether an episode is a success: the goal is reached and the user has an answer.

    Where no call is right, whoever answers must not have made any: a look that changes nothing leaves the goal reached.

    Args:
        goal: What `reached` says at its end.
        answered: It ended with an answer to the user's last message.
        calls: Calls that it made.
        gold_calls: Calls of the gold.
    """
    return goal and answered and (gold_calls > 0 or calls == 0)


def _same(left: Any, right: Any) -> bool:
    # True == 1 in Python, but not in JSON.
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def reached(goal: Goal, state_hash: str, observed: Iterable[tuple[str, Outcome]]) -> bool:
    """Say whether a goal is reached.

    Args:
        goal: The goal.
        state_hash: The present state's hash.
        observed: (tool, outcome) of every call made.
    """
    if state_hash != goal.final_state_hash:
        return False
    if not goal.required_outputs:
        return True
    results: dict[str, list[Any]] = {}
    errors: set[tuple[str, str]] = set()
    for tool, outcome in observed:
        if outcome.status == "ok":
            results.setdefault(tool, []).append(outcome.result)
        elif outcome.error is not None:
            errors.add((tool, outcome.error["code"]))
    return all(
        (required.tool, required.error) in errors
        if required.error
        else any(map(required.shown_by, results.get(required.tool, ())))
        for required in goal.required_outputs
    )
