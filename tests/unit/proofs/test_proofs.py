"""Every proof that should fail does: a broken binding, order, parallel block, step and a hidden clock."""

from __future__ import annotations

from random import Random
from typing import Annotated, TypedDict

import pytest

from planarena.environments import Environment, Seed, ToolError, World, tool
from planarena.episodes import Episode, Goal, RequiredOutput, reached
from planarena.proofs import (
    find_dependences,
    find_superfluous,
    known_values,
    prove_orders,
    scalars_of,
    swap_changes,
)
from planarena.tasks.atoms import Binding, Call
from planarena.tools import Semantic

BoxId = Annotated[str, Semantic("box_id", hidden=True)]
Label = Annotated[str, Semantic("label")]
_ticks = [0]


class Box(TypedDict):
    box_id: BoxId
    label: Label


class Weight(TypedDict):
    grams: int


class Boxes(Environment):
    """Boxes on shelves."""

    domain = "boxes"
    summary = "Boxes on shelves."

    @classmethod
    def seed(cls, rng: Random) -> Seed:
        rows = {"box_1": {"box_id": "box_1", "label": "old", "grams": 5, "open": False}}
        return Seed(
            {"boxes": rows, "log": {}}, "Shelf", "A shelf.", {"now": "2026-01-05T09:00", "user_name": "Ana"}
        )

    @tool("read")
    def find_box(self, label: Label) -> Box:
        """Find a box by its label.

        Args:
            label: The label.
        """
        for record in self.state.scan("boxes"):
            if record["label"] == label:
                return {"box_id": record["box_id"], "label": label}
        raise ToolError("not_found", "no such box")

    @tool("create")
    def make_box(self, label: Label) -> Box:
        """Make a box.

        Args:
            label: The label.
        """
        box_id = self.new_id("box", label)
        self.state.put("boxes", box_id, {"box_id": box_id, "label": label, "grams": 0, "open": False})
        return {"box_id": box_id, "label": label}

    @tool("update")
    def open_box(self, box_id: BoxId) -> Box:
        """Open a box.

        Args:
            box_id: The box.
        """
        record = self.require("boxes", box_id, "box")
        if record["open"]:
            raise ToolError("already_open", "it is open")
        self.state.patch("boxes", box_id, open=True)
        return {"box_id": box_id, "label": record["label"]}

    @tool("update")
    def fill_box(self, box_id: BoxId, grams: int) -> Weight:
        """Put weight into an open box.

        Args:
            box_id: The box.
            grams: The weight.
        """
        record = self.require("boxes", box_id, "box")
        if not record["open"]:
            raise ToolError("closed", "it is closed")
        self.state.patch("boxes", box_id, grams=record["grams"] + grams)
        return {"grams": grams}

    @tool("read")
    def weigh_box(self, box_id: BoxId) -> Weight:
        """Weigh a box.

        Args:
            box_id: The box.
        """
        return {"grams": self.require("boxes", box_id, "box")["grams"]}

    @tool("update")
    def rename_box(self, box_id: BoxId, label: Label) -> Weight:
        """Rename a box; says nothing of the name before.

        Args:
            box_id: The box.
            label: The new label.
        """
        self.state.patch("boxes", box_id, label=label)
        return {"grams": 0}

    @tool("read")
    def tick(self) -> Weight:
        """Tell a time that moves: what no environment may do."""
        _ticks[0] += 1
        return {"grams": _ticks[0]}

    @tool("update")
    def write_log(self, text: str) -> Weight:
        """Append to a log whose entries are numbered by a counter: two appends do not commute.

        Args:
            text: The entry.
        """
        number = sum(1 for _ in self.state.scan("log"))
        self.state.put("log", f"{number:03d}", {"text": text})
        return {"grams": 1}


FIND = Call("find_box", {"label": "old"}, ())
BOX = ("box_id",)


def bound(name, source, **literals):
    return Call(name, literals, (Binding("box_id", source, BOX),))


@pytest.fixture
def world():
    return World([Boxes], [Boxes.seed(Random(0))])


def run(world, program):
    episode = Episode(world, program)
    taken = [episode.perform_fully(step) for step in range(len(program))]
    final = world.digest()
    world.rollback(0)
    return taken, final


def dependences(world, program):
    episode = Episode(world, program)
    footprints = []
    for step in range(len(program)):
        assert episode.perform(step).status == "ok"
        footprints.append(world.footprint())
    world.rollback(0)
    return find_dependences(program, footprints, episode)


def violation(world, program, before):
    taken, _ = run(world, program)
    payloads = [one.outcome.payload for one in taken]
    return prove_orders(Episode(world, program), before, payloads, [one.state_after for one in taken])


def superfluous(world, program, required):
    taken, final = run(world, program)
    outputs = tuple(
        RequiredOutput(program[step].tool, ((("grams",), taken[step].outcome.result["grams"]),))
        for step in required
    )
    goal = Goal(final, outputs)
    assert reached(goal, final, [(one.tool, one.outcome) for one in taken])
    known = known_values(program, world.facts)
    start = world.digest()
    found = find_superfluous(
        Episode(world, program), program, goal, known, [one.outcome.result for one in taken]
    )
    assert world.digest() == start
    return found


def test_a_broken_binding_fails_the_call(world):
    program = [FIND, Call("open_box", {}, (Binding("box_id", 0, ("no_such_field",)),))]
    taken, _ = run(world, program)
    assert taken[1].outcome.status == "schema_error"
    assert taken[1].outcome.error["code"] == "unbound"


def test_order_edges_are_found_and_say_what_changes(world):
    program = [FIND, bound("open_box", 0), bound("fill_box", 0, grams=3), bound("weigh_box", 0)]
    found = dependences(world, program)
    assert found.before == [0, 0b1, 0b11, 0b111]
    assert [(edge.earlier, edge.later, edge.change) for edge in found.order_edges] == [
        (1, 2, "later_result"),
        (2, 3, "later_result"),
    ]


def test_a_conflict_that_changes_nothing_is_no_order_edge(world):
    # `find_box` scans the table that `fill_box` writes, but the weight does not change what it finds.
    program = [FIND, bound("open_box", 0), Call("find_box", {"label": "old"}, ())]
    found = dependences(world, program)
    assert found.before == [0, 0b1, 0]
    assert found.order_edges == []


def test_a_state_that_differs_is_an_order_edge_although_results_agree(world):
    program = [FIND, bound("rename_box", 0, label="red"), bound("rename_box", 0, label="blue")]
    found = dependences(world, program)
    assert [(edge.earlier, edge.later, edge.change) for edge in found.order_edges] == [(1, 2, "state")]


def test_a_reversed_order_is_caught(world):
    program = [FIND, bound("fill_box", 0, grams=3), bound("open_box", 0)]
    taken, _ = run(world, program)
    assert taken[1].outcome.error["code"] == "closed"


def test_a_false_parallel_block_is_caught(world):
    program = [FIND, bound("open_box", 0), bound("fill_box", 0, grams=3)]
    assert violation(world, program, [0, 0b1, 0b11]) is None
    found = violation(world, program, [0, 0b1, 0b1])
    assert found.kind == "parallel"
    assert found.order == (0, 2)


def test_a_parallel_block_with_equal_results_but_another_state_is_caught(world):
    program = [Call("write_log", {"text": "a"}, ()), Call("write_log", {"text": "b"}, ())]
    found = violation(world, program, [0, 0])
    assert found.kind == "parallel"
    assert "state" in found.detail


def test_creates_with_content_ids_commute(world):
    program = [Call("make_box", {"label": name}, ()) for name in ("a", "b", "c")]
    assert violation(world, program, [0, 0, 0]) is None


def test_a_clock_that_ticks_is_not_deterministic(world):
    found = violation(world, [Call("tick", {}, ())], [0])
    assert found.kind == "determinism"


def test_a_step_that_is_needed_is_not_superfluous(world):
    program = [FIND, bound("open_box", 0), bound("fill_box", 0, grams=3)]
    assert superfluous(world, program, [2]) is None


def test_an_added_step_is_superfluous(world):
    program = [
        FIND,
        bound("open_box", 0),
        Call("find_box", {"label": "old"}, ()),
        bound("fill_box", 0, grams=3),
    ]
    assert superfluous(world, program, [3]) == 2


def test_two_steps_that_undo_each_other_are_caught(world):
    program = [FIND, bound("rename_box", 0, label="red"), bound("rename_box", 0, label="blue")]
    assert superfluous(world, program, [2]) == 1


def test_a_producer_whose_value_was_told_is_superfluous(world):
    # The user says the label himself, so looking it up is not needed.
    told = [FIND, Call("make_box", {}, (Binding("label", 0, ("label",)),))]
    taken, final = run(world, told)
    goal = Goal(final, ())
    results = [one.outcome.result for one in taken]
    known = known_values(told, world.facts)
    assert find_superfluous(Episode(world, told), told, goal, known, results) == 0
    # Not told (another literal finds it), the producer is needed.
    assert find_superfluous(Episode(world, told), told, goal, frozenset(), results) is None


def test_a_producer_whose_value_another_step_shows_is_superfluous(world):
    # The second renaming takes the id from the first, but the search had shown it before.
    program = [FIND, bound("rename_box", 0, label="red"), Call("make_box", {"label": "x"}, ())]
    assert superfluous(world, program, []) is None
    chained = [
        FIND,
        bound("open_box", 0),
        bound("rename_box", 1, label="red"),
        bound("rename_box", 2, label="blue"),
    ]
    # rename_box shows no id, so bind through open_box, which does.
    chained[3] = bound("rename_box", 1, label="blue")
    assert superfluous(world, chained, []) == 2


def test_a_value_shown_only_by_what_hangs_on_the_dropped_step_is_not_known(world):
    program = [Call("make_box", {"label": "new"}, ()), bound("open_box", 0), bound("fill_box", 1, grams=2)]
    assert superfluous(world, program, [2]) is None


def test_a_consumer_that_runs_on_known_values_shows_its_own(world):
    # Without the first search the second one runs all the same, for the label was told, and shows the id.
    again = Call("find_box", {}, (Binding("label", 0, ("label",)),))
    program = [FIND, again, bound("open_box", 0), bound("fill_box", 1, grams=2)]
    assert superfluous(world, program, [3]) == 0


def test_a_value_told_is_known_at_any_distance_from_the_dropped_step(world):
    # With the id told, nothing is lost at any distance from the dropped search.
    program = [FIND, bound("open_box", 0), bound("rename_box", 1, label="red")]
    taken, final = run(world, program)
    episode, results = Episode(world, program), [one.outcome.result for one in taken]
    known = frozenset({b'"box_1"'})
    assert find_superfluous(episode, program, Goal(final, ()), known, results) == 0
    assert find_superfluous(Episode(world, program), program, Goal(final, ()), frozenset(), results) is None


def test_a_read_only_task_is_not_minimal_at_zero_steps(world):
    program = [FIND, bound("weigh_box", 0)]
    assert superfluous(world, program, [1]) is None
    _, final = run(world, program)
    goal = Goal(final, (RequiredOutput("weigh_box", ((("grams",), 5),)),))
    assert not reached(goal, final, [])


def test_who_knows_a_moment_knows_its_date_and_its_time():
    known = scalars_of({"start": ["2026-10-29T18:00"], "open": True, "seats": 4, "note": None})
    assert known == {b'"2026-10-29T18:00"', b'"2026-10-29"', b'"18:00"', b"4"}
    assert scalars_of("2026-10-29") <= known
    assert not scalars_of("2026-10-29T19:00") <= known
    assert not scalars_of("2026-10-30") <= known


def test_the_goal_tells_true_from_one(world):
    required = RequiredOutput("t", ((("x",), 1),))
    assert required.shown_by({"x": 1})
    assert required.shown_by({"x": 1.0})
    assert not required.shown_by({"x": True})
    assert not required.shown_by({})


def test_swap_leaves_the_world_as_it_was(world):
    program = [FIND, bound("open_box", 0), bound("fill_box", 0, grams=3)]
    start = world.digest()
    episode = Episode(world, program)
    assert swap_changes(episode, [0, 1, 3], 1, 2) == "later_result"
    assert world.digest() == start == world.store.recompute_digest()
