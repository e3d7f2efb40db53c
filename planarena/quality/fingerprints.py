"""64-bit fingerprints of texts and a compact set of them: a few bytes per trajectory, whatever the size of a build."""

from __future__ import annotations

from hashlib import blake2b

import numpy

__all__ = ["FingerprintSet", "fingerprint"]


def fingerprint(text: str) -> int:
    """Return a 64-bit fingerprint of a text, never 0."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") or 1


class FingerprintSet:
    """A set of non-zero 64-bit numbers: open addressing in one array, 11 to 22 bytes a member (32 while growing)."""

    def __init__(self) -> None:
        self._slots = numpy.zeros(1024, dtype=numpy.uint64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, value: int) -> bool:
        slots, mask = self._slots, len(self._slots) - 1
        place = value & mask
        while (found := int(slots[place])) != 0:
            if found == value:
                return True
            place = (place + 1) & mask
        return False

    def add(self, value: int) -> bool:
        """Add a number and say whether it is new."""
        if self._count * 4 >= len(self._slots) * 3:
            self._grow()
        slots, mask = self._slots, len(self._slots) - 1
        place = value & mask
        while (found := int(slots[place])) != 0:
            if found == value:
                return False
            place = (place + 1) & mask
        slots[place] = value
        self._count += 1
        return True

    def _grow(self) -> None:
        old = self._slots
        self._slots = numpy.zeros(len(old) * 2, dtype=numpy.uint64)
        mask = len(self._slots) - 1
        for value in old[old != 0]:
            place = int(value) & mask
            while self._slots[place] != 0:
                place = (place + 1) & mask
            self._slots[place] = value
