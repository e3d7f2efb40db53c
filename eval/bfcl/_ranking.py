"""BM25+ for the memories of BFCL, in the place of a package that needs NumPy. Runs inside the sandbox."""

from __future__ import annotations

import math
import sys
import types
from collections import Counter


class Ranking:
    """BM25+ as `rank_bm25` computes it, which a memory searches its keys with; that package needs NumPy.

    idf(q) = ln((N + 1) / n(q)); score = sum of idf(q) (1 + 2.5 f / (f + 1.5 (.25 + .75 length / mean length))).
    """

    def __init__(self, corpus: list[list[str]]) -> None:
        self._corpus = [Counter(words) for words in corpus]
        self._lengths = [len(words) for words in corpus]
        self._mean = sum(self._lengths) / len(corpus)
        self._holding = Counter(word for words in self._corpus for word in words)

    def get_scores(self, query: list[str]) -> list[float]:
        """Return the score of each document."""
        scores = []
        for words, length in zip(self._corpus, self._lengths, strict=True):
            bound = 1.5 * (0.25 + 0.75 * length / self._mean) if self._mean else 1.5
            scores.append(
                sum(
                    math.log((len(self._corpus) + 1) / self._holding[word])
                    * (1 + words[word] * 2.5 / (bound + words[word]))
                    for word in query
                    if self._holding[word]
                )
            )
        return scores


def install() -> None:
    """Stand in for the package `rank_bm25`."""
    module = types.ModuleType("rank_bm25")
    module.BM25Plus = Ranking  # type: ignore[attr-defined]
    sys.modules["rank_bm25"] = module
