"""Which items of a chunk are kept: no exact duplicates, the asked-for mix, and the first N, in chunk order."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from planarena.quality.fingerprints import FingerprintSet

__all__ = ["BALANCE", "DROP", "DUPLICATE", "KEEP", "Balance", "Chooser", "ItemKeys"]

DROP, KEEP, DUPLICATE, BALANCE = 0, 1, 2, 3

# How far a share may exceed what was asked for, plus a few items so that small builds are not starved [ours].
_SLACK_ITEMS = 4.0
# Items after which a category that none of them had counts as out of reach [ours].
_PATIENCE = 200


class ItemKeys(msgspec.Struct, frozen=True, array_like=True):
    """What the choice needs to know of a chunk's items.

    Attributes:
        tasks: Fingerprint by item of its query and masked shape together, 0 for a discard: equal ones are duplicates.
        shapes: Fingerprint by item of the argument-masked shape alone.
        categories: By item its category by dimension (`length`, `shape`, `domain`, `purpose`); empty for a discard.
        sizes: For a draw by quotas: the number of items of each scenario.
        tools: For a draw by quotas: fingerprints of the tools that each scenario offers.
        more: For a draw by quotas: whether the source has more after this chunk.
    """

    tasks: tuple[int, ...]
    shapes: tuple[int, ...]
    categories: tuple[dict[str, str], ...]
    sizes: tuple[int, ...] = ()
    tools: tuple[tuple[int, ...], ...] = ()
    more: bool = True


class Balance:
    """Keeps the share of each category of one dimension from exceeding its weight.

    No category may exceed its share by more than `slack`, so together the others cannot push a scarce
    one further below its share than the sum of their slacks. A category that nothing offered has (seven actions
    at a depth of two) does not count: waiting for it would end the build.

    Args:
        weights: Weight by category; those of weight 0 are never admitted, those without one not limited.
        slack: Share by which a category may exceed its own.
    """

    def __init__(self, weights: Mapping[str, float], slack: float) -> None:
        self._weights = dict(weights)
        self._whole = sum(weights.values())
        self._slack = slack
        self._offered: set[str] = set()
        self._offers = 0
        self._counts: dict[str, int] = {}
        self._total = 0

    def offer(self, category: str) -> None:
        """Take note that an item of the category could be had."""
        if category in self._weights:
            self._offers += 1
            self._offered.add(category)
            if self._offers >= _PATIENCE:
                self._whole = sum(self._weights[name] for name in sorted(self._offered))

    def admits(self, category: str) -> bool:
        """Say whether one more of the category keeps it within its share."""
        if category not in self._weights:
            return True
        if not self._weights[category]:
            return False
        share = self._weights[category] / self._whole
        return self._counts.get(category, 0) + 1 <= (share + self._slack) * (self._total + 1) + _SLACK_ITEMS

    def count(self, category: str) -> None:
        """Count one of the category."""
        if category in self._weights:
            self._counts[category] = self._counts.get(category, 0) + 1
            self._total += 1


class Chooser:
    """Decides chunk by chunk; the decision on a chunk depends on the chunks before it alone.

    Args:
        wanted: Gold trajectories to accept.
        balances: By dimension.

    Attributes:
        accepted: Gold trajectories accepted so far.
        shapes: The distinct argument-masked shapes accepted.
    """

    def __init__(self, wanted: int, balances: Mapping[str, Balance] | None = None) -> None:
        self.wanted = wanted
        self.accepted = 0
        self.shapes = FingerprintSet()
        self._seen = FingerprintSet()
        self._balances = dict(balances or {})

    @property
    def full(self) -> bool:
        """Whether as many were accepted as are wanted."""
        return self.accepted >= self.wanted

    def choose(self, keys: ItemKeys) -> bytes:
        """Decide on a chunk.

        Returns:
            One byte per item (`DROP`, `KEEP`, `DUPLICATE`, `BALANCE`); it ends with the last wanted gold item.
        """
        decisions = bytearray()
        for task, shape, mine in zip(keys.tasks, keys.shapes, keys.categories, strict=True):
            if self.full:
                break
            if task == 0:
                decisions.append(DROP)
                continue
            for name, balance in self._balances.items():
                if name in mine:
                    balance.offer(mine[name])
            if not all(
                balance.admits(mine[name]) for name, balance in self._balances.items() if name in mine
            ):
                decisions.append(BALANCE)
            elif self._seen.add(task):
                decisions.append(KEEP)
                self.shapes.add(shape)
                self.accepted += 1
                for name, balance in self._balances.items():
                    if name in mine:
                        balance.count(mine[name])
            else:
                decisions.append(DUPLICATE)
        return bytes(decisions)
