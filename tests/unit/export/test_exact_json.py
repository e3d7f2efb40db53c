"""Numbers come back exactly from the parser that `datasets` uses, and from every other."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from planarena.export.exact_json import exact_json
from planarena.records import canonical_json


def read(text: str) -> Any:
    """As `datasets` reads its JSON type."""
    from pandas.io.json._json import ujson_loads

    return ujson_loads(text)


PRICES = st.integers(-(10**7), 10**7).map(lambda cents: cents / 100)
PLACES = st.integers(-(10**15), 10**15).map(lambda number: number / 10**9)
# Doubles whose decimal value has at most 19 digits beside its zeros; smaller ones end in the parser's own limits.
WIDE = st.floats(1e-30, 1e30) | st.floats(-1e30, -1e-30)


@given(PRICES | PLACES | st.floats(0, 1).filter(lambda x: x == 0 or x > 1e-30) | WIDE)
def test_every_reader_gets_the_number(number: float) -> None:
    text = exact_json({"x": number})
    assert json.loads(text) == {"x": number}
    assert read(text) == {"x": number}


def test_the_parser_of_datasets_needs_the_care() -> None:
    assert read("0.3") != 0.3
    assert exact_json(0.3) == "0.30"
    assert exact_json([0.1, 12.5, 7, -3, 1.0]) == "[0.1,12.5,7,-3,1.0]"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | PRICES | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=12,
    )
)
def test_nothing_but_numbers_is_spelled_otherwise(value: Any) -> None:
    text = exact_json(value)
    assert json.dumps(json.loads(text), sort_keys=True) == json.dumps(
        json.loads(canonical_json(value)), sort_keys=True
    )


def test_text_that_looks_like_a_number_is_kept() -> None:
    value = {'0.3 "0.3" \\': ["0.3", '"', "\\", "1e5 0.3"]}
    assert exact_json(value) == canonical_json(value)
