"""What an answer without a call says back."""

from __future__ import annotations

import pytest

from planarena.generate.no_call import to_user


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("keep me posted about Pale Estuary by following them", "keep you posted about Pale Estuary by following them"),
        ('put "Call me, I\'m late" on my list', 'put "Call me, I\'m late" on your list'),
        ("see whether I'm due for a visit", "see whether you're due for a visit"),
        ("see where I am expected, and by what name they know me", "see where you are expected, and by what name they know you"),
        ("order the Miro lamp", "order the Miro lamp"),
    ],
)  # fmt: skip
def test_a_request_is_repeated_as_its_hearer_says_it(asked: str, told: str) -> None:
    assert to_user(asked) == told
