"""Proving one task: run it, state its goal, run it again in every legal order, and without each of its steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from planarena.environments import World
from planarena.episodes import Episode, ExecutedCall, Goal, RequiredOutput
from planarena.pipeline.products import Discard
from planarena.proofs import (
    Order,
    find_reference_fault,
    find_superfluous,
    is_tied,
    known_values,
    prove_orders,
)
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
        executed: Its calls in the recorded order.
        goal: Its goal.
        reported: The steps that a message asks for; its answer reports their outputs.
        turn_of: The message of each step.
        unproven: It was executed once and nothing was proven: see `planarena.pipeline.execute.irreversible`.
    """

    executed: Sequence[ExecutedCall]
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
    # What is recorded is executed again; the proofs below compare it with other executions, which may be remembered.
    remembered = world.remember(False)
    executed = [episode.perform_fully(step) for step in range(len(program))]
    world.remember(remembered)
    final = world.digest()
    world.rollback(start)
    for step, one in enumerate(executed):
        if one.error is not None:
            return Discard(text, "execution", one.error["code"], f"step {step}: {one.error['message']}")
    fault = find_reference_fault(world, program, executed, lambda tool: _is_read(world, tool), telling.orders)
    if fault is not None:
        return Discard(text, "reference", *fault)
    values = {step: told_values(telling.outputs[one.tool], one.result) for step, one in enumerate(executed)}
    told = arrange_told(world, program, values, telling)
    reported = [step for step in range(len(program)) if told.asked[step]]
    if any(values[step] is None for step in reported):
        return Discard(text, "execution", "missing_output", "a result lacks a value that the answer reports")
    idle = _idle_answer(program, executed, values, reported, telling)
    if idle is not None:
        return Discard(text, "sense", *idle)
    episode.forget()
    payloads = [one.outcome.payload for one in executed]
    violation = prove_orders(episode, before, payloads, [one.state_after for one in executed])
    if violation is not None:
        steps = " ".join(map(str, violation.order))
        stage = "determinism" if violation.kind == "determinism" else "parallel"
        return Discard(text, stage, "order_matters", f"in the order {steps}: {violation.detail}")
    known = known_values(program, world.facts)
    results = [one.result for one in executed]
    while True:
        goal = Goal(final, tuple(required_outputs(world, executed, values, reported)))
        episode.forget()
        superfluous = find_superfluous(episode, program, goal, known, results)
        if superfluous is None:
            return Proven(executed, goal, tuple(sorted(reported)), told.turn_of)
        # A look-up whose value is known from elsewhere too was asked for all the same: its answer is reported.
        tool = program[superfluous].tool
        if superfluous in reported or values[superfluous] is None or not _is_read(world, tool):
            detail = f"the goal holds without step {superfluous} ({tool})"
            return Discard(text, "minimality", "superfluous_step", detail)
        reported.append(superfluous)


def _idle_answer(
    program: Sequence[Call],
    executed: Sequence[ExecutedCall],
    values: Mapping[int, tuple[tuple[Path, Any], ...] | None],
    reported: Sequence[int],
    telling: Telling,
) -> tuple[str, str] | None:
    """Return why an answer to a look-up would be no answer: it names a first among equals, or what the user just said."""
    for step in reported:
        tool, result = program[step].tool, executed[step].result
        for path in telling.outputs[tool]:
            if is_tied(result, path, telling.orders.get(tool, {})):
                return "tied_answer", f"step {step}: {_pointer(path)} of {tool} ties"
        found = {value for _, value in values[step] or ()}
        if len(found) < 2 or executed[step].state_after != executed[step].state_before:
            continue
        for earlier in range(step):
            one = executed[earlier]
            if one.state_after != one.state_before and found <= _said_by(one):
                return "told_already", f"step {step}: step {earlier} ({one.tool}) says all that {tool} tells"
    return None


def _said_by(one: ExecutedCall) -> set[Any]:
    """Return the single values that a call was told and showed."""
    shown = one.result.values() if isinstance(one.result, dict) else ()
    return {value for value in (*one.arguments.values(), *shown) if isinstance(value, str | int | float)}


def _pointer(path: Path) -> str:
    return "".join(f"/{word}" for word in path)


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
    executed: Sequence[ExecutedCall],
    values: Mapping[int, tuple[tuple[Path, Any], ...] | None],
    reported: Iterable[int],
) -> Iterable[RequiredOutput]:
    """Require what the answer reports of reads.

    What a write reports is in the state; requiring it too would let a write count as needed although a
    later one overwrites all it did.
    """
    for step in sorted(reported):
        shown = values[step]
        if shown is not None and _is_read(world, executed[step].tool):
            yield RequiredOutput(executed[step].tool, shown)
