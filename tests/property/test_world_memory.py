"""A world that remembers calls behaves as one that runs each of them, whatever is called and undone in between."""

from __future__ import annotations

from random import Random

import pytest

from planarena.environments import World
from planarena.environments.domains import DOMAINS, draw_seeds, load_domain


def _world(domain: str, number: int) -> World:
    return World([load_domain(domain)], draw_seeds((domain,), Random(number)))


@pytest.mark.parametrize("domain", DOMAINS)
def test_remembered_calls_equal_executed_ones(domain: str) -> None:
    plain, memory = _world(domain, 7), _world(domain, 7)
    memory.remember(True)
    rng = Random(11)
    calls = [(name, one) for name in plain.operations for one in plain.propose(name, rng)]
    # Literal arguments alone: calls that need an id get one that an earlier result showed, or a wrong one.
    seen = ["nothing_0000000000"]
    marks = [(plain.mark(), memory.mark())]
    recalled = 0
    for _ in range(600):
        if rng.random() < 0.3 and len(marks) > 1:
            ours, theirs = marks.pop(rng.randrange(1, len(marks)))
            marks = [pair for pair in marks if pair[0] < ours or pair == marks[0]]
            plain.rollback(ours)
            memory.rollback(theirs)
        name, literals = calls[rng.randrange(len(calls))]
        arguments = {key: value for key, value in literals.items() if type(value).__name__ != "_Bound"}
        for key in plain.operations[name].tool.required:
            arguments.setdefault(key, seen[rng.randrange(len(seen))])
        marks.append((plain.mark(), memory.mark()))
        held = len(memory._memory or ())
        left, right = plain.call(name, arguments), memory.call(name, arguments)
        recalled += len(memory._memory or ()) == held
        assert left == right
        assert left.payload == right.payload
        one, other = plain.footprint(), memory.footprint()
        assert (one.reads, one.writes) == (other.reads, other.writes)
        assert plain.digest() == memory.digest()
        if left.result is not None:
            stack = [left.result]
            while stack:
                item = stack.pop()
                if isinstance(item, dict | list):
                    stack.extend(item.values() if isinstance(item, dict) else item)
                elif isinstance(item, str) and "_" in item and len(seen) < 60:
                    seen.append(item)
    assert recalled > 100  # or nothing was shown
    assert plain.digest() == plain.store.recompute_digest() == memory.store.recompute_digest()
    assert plain.store.dump() == memory.store.dump()


def test_switching_off_runs_the_call_again() -> None:
    world = _world("banking", 3)
    world.remember(True)
    name, arguments = next(
        (name, one)
        for name in world.operations
        for one in world.propose(name, Random(1))
        if not any(type(value).__name__ == "_Bound" for value in one.values())
        and world.call(name, one).status == "ok"
    )
    world.rollback(0)
    first = world.call(name, arguments)
    world.rollback(0)
    assert world.call(name, arguments) is first
    world.rollback(0)
    assert world.remember(False) is True
    again = world.call(name, arguments)
    assert again == first
    assert again is not first
