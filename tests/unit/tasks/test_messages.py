"""Which message asks for which step: what is implied, what is never, and where messages must end."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from planarena.tasks.messages import arrange


def draws(sources, groups, reads, implied=None, count=200):
    n = len(groups)
    tellable = [True] * n
    implied = implied or [True] * n
    return {arrange(sources, groups, reads, tellable, implied, Random(seed)) for seed in range(count)}


def test_a_look_up_that_only_serves_is_mostly_implied() -> None:
    found = draws([[], [0]], [0, 1], [True, False])
    single = [one for one in found if one.turn_of == (0, 0)]
    assert {one.asked for one in single} == {(False, True), (True, True)}
    shares = [
        arrange([[], [0]], [0, 1], [True, False], [True, True], [True, True], Random(seed))
        for seed in range(500)
    ]
    implied = sum(one.asked == (False, True) for one in shares)
    assert 0.4 < implied / 500 < 0.9
    # In a message of its own it is asked for: nothing there takes it up.
    assert all(one.asked == (True, True) for one in found if one.turn_of == (0, 1))


def test_what_a_reference_cannot_say_is_asked_for() -> None:
    found = draws([[], [0]], [0, 1], [True, False], implied=[False, True])
    assert all(one.asked == (True, True) for one in found)


def test_what_changes_something_is_never_implied() -> None:
    found = draws([[], [0]], [0, 1], [False, False])
    assert found == {next(iter(found))}
    assert next(iter(found)).turn_of == (0, 1)


def test_a_description_goes_one_look_up_deep() -> None:
    chain = [[], [0], [1], [2]]
    for one in draws(chain, [0, 1, 2, 3], [True, True, True, False]):
        inside = [step for step in range(4) if one.turn_of[step] == one.turn_of[3]]
        assert len(inside) <= 2


def test_what_only_an_answer_makes_clear_is_told_in_a_message_before() -> None:
    for seed in range(50):
        one = arrange([[], [0]], [0, 1], [True, False], [True] * 2, [True] * 2, Random(seed), [set(), {0}])
        assert one.turn_of == (0, 1)
        assert one.asked == (True, True)


def test_a_message_asks_for_four_things_at_most_where_it_can_be_split() -> None:
    groups = [0, 0, 0, 1, 1, 1]
    sources = [[], [], [], [0], [1], [2]]
    for one in draws(sources, groups, [False] * 6):
        for turn in range(one.turn_of[-1] + 1):
            assert sum(asked for asked, at in zip(one.asked, one.turn_of, strict=True) if at == turn) <= 4


@given(st.data())
def test_every_message_asks_and_order_is_kept(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 7))
    sources = [
        sorted(data.draw(st.sets(st.integers(0, step - 1), max_size=2))) if step else [] for step in range(n)
    ]
    depth: list[int] = []
    for found in sources:
        depth.append(1 + max((depth[one] for one in found), default=-1))
    order = sorted(range(n), key=lambda step: depth[step])
    place = {step: number for number, step in enumerate(order)}
    sources = [sorted(place[one] for one in sources[step]) for step in order]
    groups = sorted(depth)
    reads = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    implied = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    one = arrange(sources, groups, reads, [True] * n, implied, Random(data.draw(st.integers(0, 99))))
    assert list(one.turn_of) == sorted(one.turn_of)
    for turn in range(one.turn_of[-1] + 1):
        assert any(asked for asked, at in zip(one.asked, one.turn_of, strict=True) if at == turn)
    for step in range(n):
        assert one.asked[step] or (reads[step] and implied[step])
        assert one.asked[step] or any(
            step in sources[later] and one.turn_of[later] == one.turn_of[step] for later in range(n)
        )
