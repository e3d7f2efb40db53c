"""How alike texts, values and calls are, exactly defined: the parts of the offline scorers."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from planarena.formats import Call
from planarena.records.canonical import CanonicalError, canonical_bytes

__all__ = ["call_similarity", "calls_similarity", "mentioned", "same", "text_similarity", "words"]

_WORD = re.compile(r"\w+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_LONGEST = 20_000


def words(text: str) -> list[str]:
    """Split a text: NFKC, camelCase and underscores parted, case folded, runs of letters and digits.

    Only the first 20,000 characters are read.
    """
    text = unicodedata.normalize("NFKC", text[:_LONGEST])
    return _WORD.findall(_CAMEL.sub(" ", text).replace("_", " ").casefold())


def text_similarity(left: str, right: str) -> float:
    """Return 2 |A and B| / (|A| + |B|) over the multisets of words and of pairs of neighbouring words.

    1 when neither has a word, 0 when one has none.
    """
    a, b = words(left), words(right)
    if not a or not b:
        return float(not a and not b)
    if a == b:
        return 1.0
    first, second = Counter[Any](a), Counter[Any](b)
    first.update(pairwise(a))
    second.update(pairwise(b))
    return 2 * (first & second).total() / (first.total() + second.total())


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values have the same canonical JSON."""
    try:
        return canonical_bytes(left) == canonical_bytes(right)
    except CanonicalError:
        return type(left) is type(right) and bool(left == right)


def _value_similarity(left: Any, right: Any) -> float:
    if same(left, right):
        return 1.0
    if isinstance(left, str) and isinstance(right, str):
        return text_similarity(left, right)
    return 0.0


def call_similarity(left: Call, right: Call) -> float:
    """Return 0.4 name + 0.6 arguments.

    The name counts as text (`get_user` and `getUser` are alike). The arguments count the mean, over the
    union of their keys, of 1 for equal values, the text similarity of two strings, else 0; 1 without any key.
    """
    keys = left.arguments.keys() | right.arguments.keys()
    shared = left.arguments.keys() & right.arguments.keys()
    # Sorted, since a sum in the order of a set would differ in its last digit from run to run.
    total = sum(_value_similarity(left.arguments[key], right.arguments[key]) for key in sorted(shared))
    arguments = total / len(keys) if keys else 1.0
    return 0.4 * text_similarity(left.name, right.name) + 0.6 * arguments


def calls_similarity(left: Sequence[Call], right: Sequence[Call]) -> float:
    """Return the sum of a one-to-one matching's similarities over the larger number of calls; 1 without any.

    Greedy: the most similar pair first; of equal ones the first in order.
    """
    if not left or not right:
        return float(not left and not right)
    pairs = sorted(
        ((-call_similarity(a, b), i, j) for i, a in enumerate(left) for j, b in enumerate(right)),
    )
    used_left: set[int] = set()
    used_right: set[int] = set()
    total = 0.0
    for negative, i, j in pairs:
        if i not in used_left and j not in used_right:
            used_left.add(i)
            used_right.add(j)
            total -= negative
    return total / max(len(left), len(right))


def mentioned(text: str, calls: Sequence[Call]) -> float:
    """Return the mean over calls of the share of their words that a text holds, found in the calls' order.

    A call's words are those of its name and of its scalar values. A call whose words stand, at their first
    new place, before those of the call before it counts half. 1 without calls.
    """
    if not calls:
        return 1.0
    found = words(text)
    first = {word: place for place, word in reversed(list(enumerate(found)))}
    total, before = 0.0, -1
    for call in calls:
        wanted = set(words(call.name))
        for value in call.arguments.values():
            if isinstance(value, str | int | float):
                wanted |= set(words(str(value)))
        places = [first[word] for word in wanted if word in first]
        share = len(places) / len(wanted) if wanted else 1.0
        here = max(places, default=before)
        total += share if here >= before else share / 2
        before = max(before, here)
    return total / len(calls)
