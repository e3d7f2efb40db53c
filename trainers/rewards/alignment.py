"""Which sampled tokens equal the gold's: by position, or along a longest common subsequence."""

from __future__ import annotations

from collections.abc import Sequence
from operator import eq

import numpy as np
from numpy.typing import NDArray

__all__ = ["lcs_flags", "positional_flags"]


def positional_flags(tokens: Sequence[int], gold: Sequence[int]) -> NDArray[np.bool_]:
    """Flag the tokens that equal the gold token at their position; past the gold's end none does.

    Args:
        tokens: T sampled ids.
        gold: Gold ids.

    Returns:
        (T,) flags.
    """
    flags = np.zeros(len(tokens), dtype=np.bool_)
    length = min(len(tokens), len(gold))
    if length and type(tokens[0]) is int and type(gold[0]) is int:
        # Comparing Python's own integers is faster than first building two arrays of them.
        flags[:length] = np.frombuffer(bytes(map(eq, tokens, gold)), dtype=np.bool_)
    else:
        flags[:length] = np.asarray(tokens[:length]) == np.asarray(gold[:length])
    return flags


def lcs_flags(tokens: Sequence[int], gold: Sequence[int]) -> NDArray[np.bool_]:
    """Flag the tokens that lie on a longest common subsequence with the gold.

    Of several the one is taken that a scan from the left finds: it matches equal tokens at once, and where
    skipping either side loses nothing it skips the sampled token. One numpy pass per sampled token, and
    one bit per pair of tokens, so 10,000 x 10,000 tokens need 12.5 MB.

    Args:
        tokens: T sampled ids.
        gold: n gold ids.

    Returns:
        (T,) flags.
    """
    left, right = np.asarray(tokens), np.asarray(gold)
    flags = np.zeros(len(left), dtype=np.bool_)
    if not len(left) or not len(right):
        return flags
    # The scan takes a common beginning token by token, so it needs no table.
    shortest = min(len(left), len(right))
    differing = np.flatnonzero(left[:shortest] != right[:shortest])
    head = int(differing[0]) if len(differing) else shortest
    flags[:head] = True
    left, right = left[head:], right[head:]
    if not len(left) or not len(right):
        return flags
    count, width = len(left), len(right)
    skips = np.empty((count, (width + 7) // 8), dtype=np.uint8)
    below = np.zeros(width + 1, dtype=np.int32)
    row = np.zeros(width + 1, dtype=np.int32)
    for i in range(count - 1, -1, -1):
        # best[i][j] is the greatest of best[i+1][j], best[i][j+1] and, where the tokens are equal,
        # best[i+1][j+1] + 1; the running maximum from the right supplies the second.
        best = np.maximum(below[:-1], np.where(left[i] == right, below[1:] + 1, 0))
        row[:-1] = np.maximum.accumulate(best[::-1])[::-1]
        skips[i] = np.packbits(below[:-1] >= row[1:])
        below, row = row, below
    i = j = 0
    while i < count and j < width:
        if left[i] == right[j]:
            flags[head + i] = True
            i, j = i + 1, j + 1
        elif skips[i, j >> 3] & (128 >> (j & 7)):
            i += 1
        else:
            j += 1
    return flags
