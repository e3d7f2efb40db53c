"""Proving one task: run it, state its goal, run it again in every legal order, and without each of its steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from planarena.environments import World
from planarena.episodes import Episode, ExecutedCall, Goal, RequiredOutput
from planarena.pipeline.products import Discard
from planarena.proofs import find_superfluous, known_values, prove_orders
from planarena.tasks.atoms import Call, resolve

__all__ = ["Path", "Proven", "prove_task", "required_outputs", "told_values"]

Path = tuple[str | int, ...]


class Proven(NamedTuple):
    """A task that passed every proof.

    Attributes:
        executed: Its calls in the recorded order.
        goal: Its goal.
        reported: The steps whose outputs the answer reports.
        unproven: It was executed once and nothing was proven: see `planarena.pipeline.execute.irreversible`.
    """

    executed: Sequence[ExecutedCall]
    goal: Goal
    reported: tuple[int, ...]
    unproven: bool = False


def prove_task(
    world: World,
    program: Sequence[Call],
    before: Sequence[int],
    outputs: Mapping[str, Sequence[Path]],
    text: str,
) -> Proven | Discard:
    """Prove a task, or say which proof fails.

    Args:
        world: In the initial state, where it is left again.
        program: The calls in unrolled order.
        before: Predecessors by step, as bit masks.
        outputs: By tool, the paths of what an answer reports.
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
    consumed = {binding.source for call in program for binding in call.bound}
    reported = [step for step in range(len(program)) if step not in consumed]
    values = {step: told_values(outputs[one.tool], one.result) for step, one in enumerate(executed)}
    if any(values[step] is None for step in reported):
        return Discard(text, "execution", "missing_output", "a result lacks a value that the answer reports")
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
            return Proven(executed, goal, tuple(sorted(reported)))
        # A look-up whose value is known from elsewhere too was asked for all the same: its answer is reported.
        tool = program[superfluous].tool
        if superfluous in reported or values[superfluous] is None or not _is_read(world, tool):
            detail = f"the goal holds without step {superfluous} ({tool})"
            return Discard(text, "minimality", "superfluous_step", detail)
        reported.append(superfluous)


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
