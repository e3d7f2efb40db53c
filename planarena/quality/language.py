"""How varied messages are: vocabulary, repeated word pairs, likeness to each other, repeated shapes of sentences.

All figures depend on the length of the text, so they are taken over a fixed number of tokens; only figures over the same
number can be compared.
"""

from __future__ import annotations

import math
import random
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["measure_language", "repeats_a_phrase"]

_TOKENS = 12_000
_COMPARED = 300
_SHORTEST = 9
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?|\d+|[^\w\s]")
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+")
_QUOTED, _ADDRESS, _NUMBER = re.compile(r'"[^"]*"'), re.compile(r"\S+@\S+"), re.compile(r"\d[\d.,:/-]*")
_NAME, _NAMES = re.compile(r"[A-Z][a-z]"), re.compile(r"(E ?)+")


def measure_language(messages: Iterable[str]) -> dict[str, Any]:
    """Measure messages over the same number of tokens, drawn in an order that depends on nothing but them.

    Args:
        messages: In their order.

    Returns:
        `messages` (how many), `tokens` (over which the rest is measured), `vocabulary` (distinct words), `distinct_2` (share of distinct word pairs), `self_bleu_4`
        (likeness of a message to the closest others; lower is more varied) and `unique_masked_4grams` (share of distinct
        sequences of four words once names, numbers, addresses and quotations are masked); None where there is no text.
    """
    everything = list(messages)
    pool = [text for text in everything if len(text) >= _SHORTEST]
    random.Random(0).shuffle(pool)
    taken: list[list[str]] = []
    size = 0
    for text in pool:
        taken.append(_lower_words(text))
        size += len(taken[-1])
        if size >= _TOKENS:
            break
    pairs = [pair for words in taken for pair in _ngrams(words, 2)]
    masked = " ".join(_mask(text) for text in pool[: len(taken)]).split()
    shapes = list(_ngrams(masked, 4))
    return {
        "messages": len(everything),
        "tokens": size,
        "vocabulary": len({word for words in taken for word in words}),
        "distinct_2": _share(len(set(pairs)), len(pairs)),
        "self_bleu_4": _self_bleu([_lower_words(text) for text in pool[:_COMPARED]]),
        "unique_masked_4grams": _share(len(set(shapes)), len(shapes)),
    }


def repeats_a_phrase(messages: Sequence[str]) -> bool:
    """Say whether a phrase of four words stands three times or more in what a user says."""
    words = [word for word in _lower_words(" ".join(messages)) if word.isalnum()]
    return any(number >= 3 for number in Counter(_ngrams(words, 4)).values())


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def _lower_words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _ngrams(words: Sequence[str], order: int) -> Iterable[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(order)), strict=False)


def _mask(text: str) -> str:
    """Replace what differs from world to world, so that what stays is the shape of the sentence."""
    for pattern, mark in ((_QUOTED, "Q"), (_ADDRESS, "M"), (_NUMBER, "N")):
        text = pattern.sub(mark, text)
    masked = []
    for sentence in _SENTENCE_END.split(text):
        # The first word has a capital for being first.
        first, *rest = sentence.split() or [""]
        words = [first, *("E" if _NAME.match(word) else word for word in rest)] if first else []
        masked.append(_NAMES.sub("E ", " ".join(words)).strip().lower())
    return " ".join(masked)


def _self_bleu(texts: Sequence[Sequence[str]]) -> float | None:
    """Return the mean BLEU-4 of every text against all others.

    For every n-gram the largest count of any text and that of the next are enough: each text is held against the others,
    so where it holds the largest count itself, the next counts. One pass instead of all pairs.
    """
    counted = [[Counter(_ngrams(words, order)) for order in range(1, 5)] for words in texts]
    largest: dict[tuple[str, ...], tuple[int, int, int]] = {}
    for number, grams in enumerate(counted):
        for gram, count in (item for counter in grams for item in counter.items()):
            first, owner, second = largest.get(gram, (0, -1, 0))
            if count > first:
                largest[gram] = (count, number, first)
            elif count > second:
                largest[gram] = (first, owner, count)
    scores = []
    for number, grams in enumerate(counted):
        if len(texts[number]) < 5:
            continue
        logarithm = 0.0
        for counter in grams:
            hits = 0
            for gram, count in counter.items():
                first, owner, second = largest[gram]
                hits += min(count, second if owner == number else first)
            logarithm += math.log(max(hits, 0.1) / counter.total()) / 4
        scores.append(math.exp(logarithm))
    return round(statistics.mean(scores), 3) if scores else None
