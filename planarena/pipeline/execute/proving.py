"""Proving one task: run it, state its goal, run it again in every legal order, and without each of its steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from planarena.environments import World
from planarena.episodes import Episode, ExecutedCall, Goal, RequiredOutput
from planarena.generate.naming import must_be_told
from planarena.pipeline.execute.plausible import Path, Telling, idle_answer, senseless_write
from planarena.pipeline.execute.staleness import stale_answer
from planarena.pipeline.execute.subjects import subjects_of, unrelated_requests
from planarena.pipeline.products import Discard
from planarena.proofs import (
    find_reference_fault,
    find_superfluous,
    known_values,
    prove_orders,
)
from planarena.tasks.atoms import Call, resolve
from planarena.tasks.messages import Arrangement, arrange

__all__ = ["Path", "Proven", "Telling", "arrange_told", "prove_task", "required_outputs", "told_values"]


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
    idle = senseless_write(world, program, executed)
    if idle is not None:
        return Discard(text, "sense", *idle)
    fault = find_reference_fault(world, program, executed, lambda tool: _is_read(world, tool), telling.orders)
    if fault is not None:
        return Discard(text, "reference", *fault)
    values = {step: told_values(telling.outputs[one.tool], one.result) for step, one in enumerate(executed)}
    told = arrange_told(world, program, executed, values, telling)
    reported = [step for step in range(len(program)) if told.asked[step]]
    if telling.known is not None:
        about = [
            subjects_of(world.operations[one.tool].tool, one.arguments, one.result) - telling.known
            for one in executed
        ]
        joined = unrelated_requests(program, about, reported, told.turn_of)
        if joined is not None:
            return Discard(text, "sense", *joined)
    if any(values[step] is None for step in reported):
        return Discard(text, "execution", "missing_output", "a result lacks a value that the answer reports")
    idle = idle_answer(world, program, executed, values, reported, telling)
    if idle is not None:
        return Discard(text, "sense", *idle)
    stale = stale_answer(world, executed, values, reported, told.turn_of, telling.wording)
    if stale is not None:
        return Discard(text, "sense", *stale)
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
        idle = idle_answer(world, program, executed, values, [superfluous], telling)
        if idle is None:
            more = [*reported, superfluous]
            idle = stale_answer(world, executed, values, more, told.turn_of, telling.wording)
        if idle is not None:
            return Discard(text, "sense", *idle)
        reported.append(superfluous)


def arrange_told(
    world: World,
    program: Sequence[Call],
    executed: Sequence[ExecutedCall],
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
        [_untold(world, program, executed, step, telling) for step in range(len(program))],
    )


def _untold(
    world: World, program: Sequence[Call], executed: Sequence[ExecutedCall], step: int, telling: Telling
) -> set[int]:
    """Return the look-ups whose values a step takes up in words that nobody would follow before an answer told them."""
    found = set()
    for binding in program[step].bound:
        one = executed[binding.source]
        words = telling.wording.get(one.tool)
        if words is None or not _is_read(world, one.tool):
            continue
        pointer = "".join(f"/{word}" for word in binding.path)
        writes = not _is_read(world, program[step].tool)
        tool = world.operations[one.tool].tool
        if must_be_told(tool, words, pointer, one.arguments, one.result, writes=writes):
            found.add(binding.source)
    return found


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
