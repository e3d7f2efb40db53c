"""How much can be composed from an environment's tools: the rule `tasks`."""

from __future__ import annotations

from collections.abc import Mapping

from planarena.environments.check.findings import Finding

__all__ = ["too_few_tasks"]

_LENGTHS = (2, 3, 4)


def too_few_tasks(counts: Mapping[str, int], least: int) -> list[Finding]:
    """Return a finding for each length, from two actions to four, of which there are too few tasks.

    Args:
        counts: Composed tasks that pass the proofs by their number of actions, as in JSON.
        least: Fewest tasks of each length.

    Examples:
        >>> [one.where for one in too_few_tasks({"2": 5, "3": 2}, 3)]
        ['3 actions', '4 actions']
    """
    return [
        Finding(
            "tasks",
            f"{length} actions",
            f"only {counts.get(str(length), 0)} composed tasks of {length} actions pass the proofs",
            "let tools take what others show: the same semantic type on both sides, and `refer` in words.yaml",
        )
        for length in _LENGTHS
        if counts.get(str(length), 0) < least
    ]
