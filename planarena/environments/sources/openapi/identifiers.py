"""Names as programs write them, and as people read them."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["normal", "singular", "words_of"]

_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman", "statuses": "status"}


@lru_cache(maxsize=16384)
def normal(name: str) -> str:
    """Return a name without case and separators: `petId`, `pet_id` and `pet-id` are one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def singular(word: str) -> str:
    """Return the singular of an English plural, roughly."""
    if word.rsplit(" ", maxsplit=1)[-1] in _IRREGULAR:
        return (
            word.removesuffix(word.rsplit(" ", maxsplit=1)[-1]) + _IRREGULAR[word.rsplit(" ", maxsplit=1)[-1]]
        )
    if re.search(r"(ss|us|is|news|series|status)$", word):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if re.search(r"(ches|shes|xes|sses|zes)$", word):
        return word[:-2]
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def words_of(name: str) -> str:
    """Return an identifier as plain words: `shipToAddress` becomes `ship to address`."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return re.sub(r"[^A-Za-z0-9]+", " ", spaced).strip().lower()
