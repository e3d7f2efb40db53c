"""Words and runs of words of a text."""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["repeated_phrase"]

_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?|\d+")
# A run of so many words may stand at most so often in a request.
_LENGTH, _MOST = 4, 2


def repeated_phrase(text: str) -> str:
    """Return a run of four words that stands in a text three times or more, or an empty text."""
    words = [word.lower() for word in _WORD.findall(text)]
    runs = Counter(zip(*(words[start:] for start in range(_LENGTH)), strict=False))
    return next((" ".join(run) for run, count in runs.items() if count > _MOST), "")
