"""Proving one task: run it, state its goal, run it again in every legal order, and without each of its steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from planarena.environments import World
from planarena.episodes import Episode, Goal, RequiredOutput, Taken
from planarena.pipeline.products import Discard
from planarena.proofs import Order, find_reference_fault, find_superfluous, known_values, prove_orders
from planarena.tasks.atoms import Call, resolve
from planarena.tasks.messages import Arrangement, arrange

__all__ = ["Path", "Proven", "Telling", "arrange_told", "prove_task", "required_outputs", "told_values"]

Path = tuple[str | int, ...]


class Telling(NamedTuple):
    """What decides how a task is asked for and told.

    Attributes:
        outputs: By tool, the paths of what an answer reports.
        orders: By tool, what decides which record of a list in its result comes first.
        implied: By step, whether references to its result say all that the look-up is told.
        groups: By step, its generation.
        rng: Chooses among ways of telling.
    """

    outputs: Mapping[str, Sequence[Path]]
    orders: Mapping[str, Mapping[Path, Order]]
    implied: Sequence[bool]
    groups: Sequence[int]
    rng: Random


class Proven(NamedTuple):
    """A task that passed every proof.

    Attributes:
        taken: Its executions in the recorded order.
        goal: Its goal.
        reported: The steps that a message asks for; its answer reports their outputs.
        turn_of: The message of each step.
        unproven: It was executed once and nothing was proven: see `planarena.pipeline.for_good`.
    """

    taken: list[Taken]
    goal: Goal
    reported: tuple[int, ...]
    turn_of: tuple[int, ...]
    unproven: bool = False


def prove_task(
    world: World,
    program: Sequence[Call],
    before: Sequence[int],
    telling: Telling,
    text: str,
) -> Proven | Discard:
    """Prove a task, or say which proof fails.

    Args:
        world: In the initial state, where it is left again.
        program: The calls in unrolled order.
        before: Predecessors by step, as bit masks.
        telling: How it is asked for and told.
        text: The task's expression, for the discard.
    """
    start = world.mark()
    episode = Episode(world, program)
    # What is recorded is executed anew; the proofs below compare it with other executions, which may be remembered.
    remembered = world.remember(False)
    taken = [episode.perform_fully(step) for step in range(len(program))]
    world.remember(remembered)
    final = world.digest()
    world.rollback(start)
    for step, one in enumerate(taken):
        if one.outcome.error is not None:
            return Discard(
                text, "execution", one.outcome.error["code"], f"step {step}: {one.outcome.error['message']}"
            )
    fault = find_reference_fault(world, program, taken, lambda tool: _is_read(world, tool), telling.orders)
    if fault is not None:
        return Discard(text, "reference", *fault)
    values = {
        step: told_values(telling.outputs[one.tool], one.outcome.result) for step, one in enumerate(taken)
    }
    told = arrange_told(world, program, values, telling)
    reported = [step for step in range(len(program)) if told.asked[step]]
    if any(values[step] is None for step in reported):
        return Discard(text, "execution", "missing_output", "a result lacks a value that the answer reports")
    episode.forget()
    payloads = [one.outcome.payload for one in taken]
    violation = prove_orders(episode, before, payloads, [one.state_after for one in taken])
    if violation is not None:
        steps = " ".join(map(str, violation.order))
        stage = "determinism" if violation.kind == "determinism" else "parallel"
        return Discard(text, stage, "order_matters", f"in the order {steps}: {violation.detail}")
    known = known_values(program, world.facts)
    results = [one.outcome.result for one in taken]
    while True:
        goal = Goal(final, tuple(required_outputs(world, taken, values, reported)))
        episode.forget()
        superfluous = find_superfluous(episode, program, goal, known, results)
        if superfluous is None:
            return Proven(taken, goal, tuple(sorted(reported)), told.turn_of)
        # A look-up whose value is known from elsewhere too was asked for all the same: its answer is reported.
        tool = program[superfluous].tool
        if superfluous in reported or values[superfluous] is None or not _is_read(world, tool):
            detail = f"the goal holds without step {superfluous} ({tool})"
            return Discard(text, "minimality", "superfluous_step", detail)
        reported.append(superfluous)


def arrange_told(
    world: World,
    program: Sequence[Call],
    values: Mapping[int, tuple[tuple[Path, Any], ...] | None],
    telling: Telling,
) -> Arrangement:
    """Choose which message asks for which step, and which steps are only implied."""
    return arrange(
        [{binding.source for binding in call.bound} for call in program],
        telling.groups,
        [_is_read(world, call.tool) for call in program],
        [values[step] is not None for step in range(len(program))],
        telling.implied,
        telling.rng,
    )


def _is_read(world: World, tool: str) -> bool:
    return world.operations[tool].tool.effects == "read"


def told_values(paths: Iterable[Path], result: Any) -> tuple[tuple[Path, Any], ...] | None:
    """Return the values of a result that an answer reports, or None where one is missing."""
    found = []
    for path in paths:
        value = resolve(result, path)
        if not isinstance(value, str | int | float):
            return None
        found.append((path, value))
    return tuple(found)


def required_outputs(
    world: World,
    taken: Sequence[Taken],
    values: Mapping[int, tuple[tuple[Path, Any], ...] | None],
    reported: Iterable[int],
) -> Iterable[RequiredOutput]:
    """Require what the answer reports of reads.

    What a write reports is in the state; requiring it too would let a write count as needed although a
    later one overwrites all it did.
    """
    for step in sorted(reported):
        shown = values[step]
        if shown is not None and _is_read(world, taken[step].tool):
            yield RequiredOutput(taken[step].tool, shown)
