"""Canonical JSON and content ids: the same value always gives the same bytes and the same id."""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Any

import orjson

__all__ = ["CanonicalError", "canonical_bytes", "canonical_json", "content_id", "digest_bytes", "id_of_bytes"]

ID_BYTES = 16


class CanonicalError(ValueError):
    """The value has no canonical JSON: NaN, an infinity, an integer beyond 64 bits, a key that is no string."""


def canonical_bytes(value: Any) -> bytes:
    """Encode a JSON value with sorted keys, no white space and UTF-8.

    Args:
        value: dict, list, str, int, float, bool or None, nested.

    Returns:
        The bytes; equal values give equal bytes. 1 and 1.0 are different values here.

    Raises:
        CanonicalError: For NaN, infinities, integers beyond 64 bits, keys that are not strings,
            lone surrogates, and nesting too deep to encode.
    """
    try:
        encoded = orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS)
    except (TypeError, RecursionError) as error:
        raise CanonicalError(str(error)) from error
    # orjson writes NaN and the infinities as null: only a text that holds a null can hide one, and one that reads as
    # the value does not. Tuples read as lists: they are looked through.
    if b"null" in encoded and orjson.loads(encoded) != value:
        _refuse_non_finite(value)
    return encoded


def _refuse_non_finite(value: Any) -> None:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float):
            if not math.isfinite(item):
                raise CanonicalError(f"{item} is not a JSON number")
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)


def canonical_json(value: Any) -> str:
    """Return `canonical_bytes` as text."""
    return canonical_bytes(value).decode()


def digest_bytes(data: bytes) -> bytes:
    """Return the 16-byte BLAKE2b digest of data."""
    return blake2b(data, digest_size=ID_BYTES).digest()


def id_of_bytes(data: bytes) -> str:
    """Return the id (32 hexadecimal digits of BLAKE2b-128) of bytes that are canonical already."""
    return blake2b(data, digest_size=ID_BYTES).hexdigest()


def content_id(*identity: Any) -> str:
    """Return the id of the identity fields: BLAKE2b-128 of their canonical JSON list.

    Raises:
        CanonicalError: As `canonical_bytes`.
    """
    return id_of_bytes(canonical_bytes(list(identity)))
