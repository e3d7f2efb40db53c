"""Which items of a chunk are kept: exact duplicates go, and the first N gold ones count, in chunk order."""

from __future__ import annotations

from collections.abc import Sequence

from planarena.quality.fingerprints import FingerprintSet

__all__ = ["DROP", "DUPLICATE", "KEEP", "Chooser"]

DROP, KEEP, DUPLICATE = 0, 1, 2


class Chooser:
    """Decides chunk by chunk; the decision on a chunk depends on the chunks before it alone.

    Args:
        wanted: Gold trajectories to accept.

    Attributes:
        accepted: Gold trajectories accepted so far.
        shapes: The distinct argument-masked shapes accepted.
    """

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.accepted = 0
        self.shapes = FingerprintSet()
        self._seen = FingerprintSet()

    @property
    def full(self) -> bool:
        """Whether as many were accepted as are wanted."""
        return self.accepted >= self.wanted

    def choose(self, tasks: Sequence[int], shapes: Sequence[int]) -> bytes:
        """Decide on a chunk.

        Args:
            tasks: Fingerprint by item; 0 for a discard.
            shapes: Fingerprint of the masked shape by item.

        Returns:
            One byte per item (`DROP`, `KEEP`, `DUPLICATE`); it ends with the last wanted gold item.
        """
        decisions = bytearray()
        for task, shape in zip(tasks, shapes, strict=True):
            if self.full:
                break
            if task == 0:
                decisions.append(DROP)
            elif self._seen.add(task):
                decisions.append(KEEP)
                self.shapes.add(shape)
                self.accepted += 1
            else:
                decisions.append(DUPLICATE)
        return bytes(decisions)
