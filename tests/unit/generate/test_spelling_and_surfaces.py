"""British and American spelling, contractions, and values written in words whatever they are."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planarena.generate.spelling import Style, draw_style, spell
from planarena.generate.surfaces import MANNERS, surface

BRITISH, AMERICAN = Style(), Style(british=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KINDS = (
    "plain",
    "date",
    "time",
    "datetime",
    "money",
    "percent",
    "temperature",
    "minutes",
    "word",
    "name",
    "",
)


def test_each_spelling_keeps_to_itself() -> None:
    text = "My favourite neighbour organises a programme at the theatre centre, coloured grey"
    assert spell(text, BRITISH) == text
    assert spell(text, AMERICAN) == (
        "My favorite neighbor organizes a program at the theater center, coloured grey".replace(
            "grey", "gray"
        )
    )
    assert spell("Favour", AMERICAN) == "Favor"


def test_contractions_only_where_people_use_them() -> None:
    style = Style(contracted=True)
    assert (
        spell("it is done and there is more, it is not much", style)
        == "it's done and there's more, it's not much"
    )
    assert spell("how much space I have left", style) == "how much space I have left"
    assert spell("I cannot, it will not and you will see", style) == "I can't, it won't and you'll see"
    assert spell("it is done", Style()) == "it is done"


def test_dates_and_hours_go_with_the_spelling() -> None:
    drawn = {draw_style(Random(seed), "2026-05-01T09:00") for seed in range(400)}
    assert {style.british for style in drawn} == {True, False}
    for style in drawn:
        said = surface("2026-05-07T16:30", {"x-surface": "datetime"}, style.manner, None, style.year)
        if style.manner != 2:
            assert ("May 7" in said) != style.british
            assert said.endswith("pm") != style.british
    assert surface("2026-05-07", {"x-surface": "date"}, 3, None, "2026") == "7 May"
    assert surface("2027-05-07", {"x-surface": "date"}, 3, None, "2026") == "7 May 2027"
    assert surface("2026-05-07", {"x-surface": "date"}, 3) == "7 May 2026"
    assert surface("2026-05-07", {"x-surface": "date"}, 4, None, "2026") == "May 7"


@given(JSON, st.sampled_from(KINDS), st.integers(0, MANNERS - 1))
def test_any_value_has_words(value: Any, kind: str, manner: int) -> None:
    """A source may call anything a date."""
    assert isinstance(surface(value, {"x-surface": kind}, manner, None, "2026"), str)
    assert isinstance(surface([value], {"items": {"x-surface": kind}}, manner), str)
    assert isinstance(surface({"a": value}, {"properties": {"a": {"x-surface": kind}}}, manner), str)


@pytest.mark.parametrize("text", ["aaaa", "2026-13-45", "", "25:99", "2026-02-30T10:00", "10"])
def test_what_is_no_date_stays_as_it_is(text: str) -> None:
    for kind in ("date", "time", "datetime"):
        for manner in range(MANNERS):
            assert surface(text, {"x-surface": kind}, manner) == text
