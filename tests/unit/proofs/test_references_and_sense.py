"""References that change or tie, and tasks that nobody would ask for."""

from __future__ import annotations

from typing import Any

import pytest

from planarena.environments import Environment, Seed, World, operations
from planarena.environments.contract import tool
from planarena.environments.state import Footprint
from planarena.environments.wording import Reference, ToolWording
from planarena.episodes import Episode
from planarena.proofs import Done, Order, Sense, find_reference_fault
from planarena.tasks.atoms import Binding, Call


class Shelf(Environment):
    """Boxes on a shelf, the heaviest first."""

    domain = "shelf"
    summary = "A shelf."

    @classmethod
    def seed(cls, rng: Any, shared: Any = None) -> Seed:
        boxes = {key: {"id": key, "weight": weight} for key, weight in (("a", 5), ("b", 3), ("c", 3))}
        return Seed(
            {"boxes": boxes, "notes": {}},
            "A shelf",
            "A shelf with three boxes on it.",
            {"now": "2026-05-01T09:00"},
        )

    @tool("read")
    def list_boxes(self) -> dict[str, Any]:
        """List the boxes."""
        rows = sorted(self.state.scan("boxes"), key=lambda row: (-row["weight"], row["id"]))
        return {"boxes": [{"id": row["id"], "weight": row["weight"]} for row in rows]}

    @tool("update")
    def load_box(self, box: str, weight: int) -> str:
        """Change a box.

        Args:
            box: Which.
            weight: Its new weight.
        """
        self.state.patch("boxes", box, weight=weight)
        return "done"

    @tool("update")
    def mark_box(self, box: str) -> str:
        """Mark a box.

        Args:
            box: Which.
        """
        self.state.patch("boxes", box, marked=True)
        return "done"


def taken_of(world: World, program: list[Call]) -> list[Any]:
    episode = Episode(world, program)
    start = world.mark()
    taken = [episode.perform_fully(step) for step in range(len(program))]
    world.rollback(start)
    assert all(one.outcome.status == "ok" for one in taken)
    return taken


def box_at(place: int, source: int = 0) -> tuple[Binding, ...]:
    return (Binding("box", source, ("boxes", place, "id")),)


def fault_of(program: list[Call], orders: Any = None) -> Any:
    world = World([Shelf], [Shelf.seed(None)])
    before = world.digest()
    found = find_reference_fault(
        world, program, taken_of(world, program), lambda name: name == "list_boxes", orders or {}
    )
    assert world.digest() == before
    return found


LIST = Call("list_boxes", {}, ())


def test_a_reference_that_a_write_changes_is_found() -> None:
    heavier = Call("load_box", {"box": "b", "weight": 9}, ())
    assert fault_of([LIST, Call("mark_box", {}, box_at(0))]) is None
    changed = fault_of([LIST, heavier, Call("mark_box", {}, box_at(0))])
    assert changed.reason == "changed"
    assert "'a'" in changed.detail
    # A write that leaves the order as it is changes no reference.
    assert (
        fault_of([LIST, Call("load_box", {"box": "a", "weight": 7}, ()), Call("mark_box", {}, box_at(0))])
        is None
    )


def test_a_reference_to_one_of_two_equals_is_tied() -> None:
    orders = {"list_boxes": {("boxes",): Order(("boxes",), ("weight",))}}
    assert fault_of([LIST, Call("mark_box", {}, box_at(0))], orders) is None
    assert fault_of([LIST, Call("mark_box", {}, box_at(1))], orders).reason == "tied"
    assert fault_of([LIST, Call("mark_box", {}, box_at(2))], orders).reason == "tied"
    assert fault_of([LIST, Call("mark_box", {}, box_at(1))]) is None


def words(**fields: Any) -> ToolWording:
    return ToolWording(ask=("x",), plan=("X",), outputs=(), report=("x",), **fields)


def done(tool: str, arguments: dict[str, Any], result: Any = None, writes: Any = (), bound: Any = ()) -> Done:
    return Done(Call(tool, arguments, bound), arguments, result, Footprint(frozenset(), frozenset(writes)))


@pytest.fixture
def sense() -> Sense:
    wording = {
        "list_boxes": words(),
        "load_box": words(undoes=("load_box",)),
        "mark_box": words(ends=("box",)),
    }
    return Sense(operations(Shelf), wording, "2026-05-01T09:00")


def reason(sense: Sense, *steps: Done) -> str:
    found = sense.fault(steps)
    return found.reason if found is not None else ""


def test_writes_that_undo_or_repeat_need_one_record(sense: Sense) -> None:
    first = done("load_box", {"box": "a", "weight": 1}, writes=[("boxes", "a")])
    again = done("load_box", {"box": "a", "weight": 2}, writes=[("boxes", "a")])
    other = done("load_box", {"box": "b", "weight": 2}, writes=[("boxes", "b")])
    assert reason(sense, first, again) == "undone_or_repeated"
    assert reason(sense, first, other) == ""


def test_once_apart_and_completes_are_as_the_words_say() -> None:
    wording = {
        "list_boxes": words(),
        "load_box": words(once=("box",), apart=("mark_box",)),
        "mark_box": words(completes=("list_boxes",)),
    }
    sense = Sense(operations(Shelf), wording, "2026-05-01T09:00")
    load = done("load_box", {"box": "box_a", "weight": 1}, "done")
    assert reason(sense, load, done("load_box", {"box": "box_a", "weight": 2}, "done")) == "asked_twice"
    assert reason(sense, load, done("load_box", {"box": "box_b", "weight": 2}, "done")) == ""
    mark = done("mark_box", {"box": "box_a"}, {"code": "c-77"})
    for pair in ((load, mark), (mark, load)):
        assert reason(sense, *pair) == "apart"
    assert reason(sense, load, done("mark_box", {"box": "box_b"})) == "", "another box"
    # One that takes a value from the other has a reason to stand beside it.
    assert reason(sense, mark, done("load_box", {"box": "box_a", "weight": "c-77"})) == ""
    look = done("list_boxes", {}, {"boxes": []})
    assert reason(sense, mark, look) == "after_completion"
    assert reason(sense, look, mark) == ""


def test_a_sum_goes_to_whom_it_is_owed() -> None:
    owed = Reference(short=("x",), full=("x",), beside="/whom")
    wording = {
        "list_boxes": words(refer={"/sum": owed, "/whom": Reference(("x",), ("x",))}),
        "load_box": words(),
    }
    sense = Sense(operations(Shelf), wording, "2026-05-01T09:00")
    bill = done("list_boxes", {}, {"sum": 9, "whom": "a"})
    both = (Binding("weight", 0, ("sum",)), Binding("box", 0, ("whom",)))
    assert reason(sense, bill, done("load_box", {"box": "a", "weight": 9}, bound=both)) == ""
    assert reason(sense, bill, done("load_box", {"box": "b", "weight": 9}, bound=both[:1])) == "half_taken"


def test_what_was_ended_is_not_used(sense: Sense) -> None:
    end, use = done("mark_box", {"box": "a"}), done("load_box", {"box": "a", "weight": 2})
    assert reason(sense, end, use) == "used_after_end"
    assert reason(sense, use, end) == "used_after_end", "nor changed before"
    assert reason(sense, done("load_box", {"box": "b", "weight": 2}), end) == ""


def test_a_look_up_that_shows_no_more_is_a_repetition(sense: Sense) -> None:
    rows = [{"id": "a"}, {"id": "b"}, {"id": "c"}]
    whole, part = done("list_boxes", {}, {"boxes": rows}), done("list_boxes", {}, {"boxes": rows[:1]})
    other = done("list_boxes", {}, {"boxes": [{"id": "d"}]})
    assert reason(sense, whole, part) == reason(sense, part, whole) == "repeated_look_up"
    assert reason(sense, part, other) == ""
    assert (
        reason(sense, done("list_boxes", {}, {"n": 1}), done("list_boxes", {}, {"n": 1}))
        == "repeated_look_up"
    )
    assert reason(sense, done("list_boxes", {}, {"n": 1}), done("list_boxes", {}, {"n": 2})) == ""


def test_values_of_one_call_belong_to_one_record(sense: Sense) -> None:
    listed = done("list_boxes", {}, {"boxes": [{"id": "a", "weight": 1}, {"id": "b", "weight": 2}]})

    def load(place: int) -> Done:
        bound = (Binding("box", 0, ("boxes", 0, "id")), Binding("weight", 0, ("boxes", place, "weight")))
        return done("load_box", {"box": "a", "weight": 1}, bound=bound)

    assert reason(sense, listed, load(0)) == ""
    assert reason(sense, listed, load(1)) == "mixed_records"


def test_only_new_pairs_are_judged_where_parts_were_judged_before(sense: Sense) -> None:
    first = done("load_box", {"box": "a", "weight": 1}, writes=[("boxes", "a")])
    again = done("load_box", {"box": "a", "weight": 2}, writes=[("boxes", "a")])
    other = done("list_boxes", {}, {"n": 1})
    assert sense.fault([first, again, other], 2) is None
    assert sense.fault([first, other, again], 2) is not None


@pytest.mark.parametrize(
    ("side", "value", "good"),
    [
        ("future", "2026-05-02", True), ("future", "2026-04-30", False), ("future", "2026-05-01", True),
        ("future", "2026-05-01T08:00", False), ("future", "2026-05-01T10:00", True),
        ("past", "2026-04-30", True), ("past", "2026-05-02", False), ("any", "2020-01-01", True),
    ],
)  # fmt: skip
def test_dates_lie_on_their_side_of_now(side: str, value: str, good: bool) -> None:
    from planarena.environments.domains import load_domain

    known = operations(load_domain("banking"))
    tool_name = "create_standing_order"
    wording = {name: words() for name in known}
    wording[tool_name] = words(dates={"first_date": side})
    judged = Sense(known, wording, "2026-05-01T09:00").fault([done(tool_name, {"first_date": value})])
    assert (judged is None) == good
    assert judged is None or judged.reason == "wrong_side_of_now"
