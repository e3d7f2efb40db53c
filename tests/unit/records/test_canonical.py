"""Canonical JSON and content ids."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planarena.records.canonical import CanonicalError, canonical_bytes, canonical_json, content_id

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_decoding_gives_the_value_back(value):
    assert json.loads(canonical_bytes(value)) == value


@given(
    st.dictionaries(st.text("abc", max_size=3), st.integers(), max_size=6), st.randoms(use_true_random=False)
)
def test_the_order_of_keys_does_not_matter(value, rng):
    small = {key: number % 2**60 for key, number in value.items()}
    keys = list(small)
    rng.shuffle(keys)
    assert canonical_bytes({key: small[key] for key in keys}) == canonical_bytes(small)


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        [1, {"a": float("-inf")}],
        {"a": None, "b": [float("nan")]},
        2**64,
        -(2**63) - 1,
        {1: "key is no string"},
        "\ud800",
        {1, 2},
        b"bytes",
    ],
)
def test_what_has_no_canonical_json_is_refused(value):
    with pytest.raises(CanonicalError):
        canonical_bytes(value)


def test_none_is_not_mistaken_for_nan():
    assert canonical_json({"b": None, "a": ["null", 1.5]}) == '{"a":["null",1.5],"b":null}'


def test_numbers_keep_their_kind():
    assert canonical_json([1, 1.0]) == "[1,1.0]"


def test_ids_are_pinned():
    # A change here orphans every run ever written: raise FORMAT_VERSION instead.
    assert content_id("tool", "a", {"b": [1, None], "a": "é"}) == PINNED
    assert len(PINNED) == 32


PINNED = "dee7c71e24f0a85802dfa6bb671429d1"
