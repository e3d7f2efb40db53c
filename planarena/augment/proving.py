"""Proving a variant from the rows that are written of it, as if nothing else were known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from planarena.environments import Outcome, World
from planarena.episodes import Episode, reached
from planarena.proofs import (
    find_superfluous,
    known_values,
    open_scenario,
    prove_orders,
    read_goal,
    read_message_goals,
    replay_trajectory,
)
from planarena.records.tables import ExecutionRow, QueryRow, ScenarioRow, StepRow, TaskRow, ToolRow
from planarena.tasks.algebra import generations, parse, predecessors
from planarena.tasks.atoms import Call
from planarena.tools import SchemaValidator

__all__ = ["find_faults", "find_text_faults"]


def find_faults(
    scenario: ScenarioRow,
    task: TaskRow,
    steps: list[StepRow],
    executions: Mapping[str, ExecutionRow],
    program: list[Call],
    tools: Mapping[str, ToolRow],
) -> list[tuple[str, str]]:
    """Execute the rows of a variant again and prove all that its trajectory was proven to be.

    It restores to the stated state; its steps give the stated results and reach the goal; every order that its
    expression allows does; no step is superfluous; every call fits its schema.

    Args:
        scenario: Its rows.
        task: Likewise.
        steps: Likewise; none where no call is right.
        executions: By id.
        program: Its calls.
        tools: By id.

    Returns:
        (reason, detail) of each fault.
    """
    row = {name: getattr(scenario, name) for name in ("environment", "seed_state", "context")}
    world = open_scenario(row)
    faults: list[tuple[str, str]] = []
    if world.digest() != scenario.seed_state_hash:
        return [("state", "the initial state is not the stated one")]
    goal = read_goal(task.goal)
    if not steps:
        return [] if reached(goal, world.digest(), []) else [("goal", "doing nothing is not the goal")]
    if reached(goal, world.digest(), []):
        faults.append(("goal", "the goal is reached without any call"))
    names = {one.tool_id: one.wire_name for one in tools.values()}
    stored = {key: msgspec.structs.asdict(one) for key, one in executions.items()}
    differences = replay_trajectory(
        world, goal, [msgspec.structs.asdict(one) for one in steps], stored, names
    )
    faults += [("replay", one) for one in differences]
    for step in steps:
        stated = SchemaValidator(msgspec.json.decode(tools[step.tool_id].input_schema), step.tool)
        if not stated.reference_is_valid(msgspec.json.decode(step.arguments)):
            faults.append(("schema", f"step {step.step} does not fit the schema of {step.tool}"))
    made = [executions[step.execution_id] for step in steps]
    expression = parse(task.canonical)
    place = {atom: number for number, atom in enumerate(a for row in generations(expression) for a in row)}
    payloads = [_outcome(one).payload for one in made]
    episode = Episode(world, program)
    violation = prove_orders(
        episode, predecessors(expression, place), payloads, [one.state_after for one in made]
    )
    if violation is not None:
        faults.append((violation.kind, violation.detail))
    faults += [("minimality", one) for one in _superfluous(world, task, steps, made, program)]
    return faults


def _superfluous(
    world: World, task: TaskRow, steps: list[StepRow], made: list[ExecutionRow], program: list[Call]
) -> list[str]:
    """Return the steps that are not needed: for the whole, or for their message where later ones take things back."""
    known = known_values(program, world.facts)
    results = [msgspec.json.decode(one.result) for one in made]
    found = []
    messages = read_message_goals(task.goal)
    turns = sorted({step.turn for step in steps})
    parts = [(len(steps), 0, read_goal(task.goal))]
    if messages:
        turn_of = [step.turn for step in steps]
        parts = [
            (sum(one <= turn for one in turn_of), turn_of.index(turn), goal)
            for turn, goal in zip(turns, messages, strict=True)
        ]
    for until, first, goal in parts:
        episode = Episode(world, program[:until])
        superfluous = find_superfluous(episode, program[:until], goal, known, results[:until], first)
        if superfluous is not None:
            found.append(f"the goal holds without step {superfluous} ({program[superfluous].tool})")
    return found


def find_text_faults(
    query: QueryRow, texts: list[str], tools: Mapping[str, ToolRow]
) -> list[tuple[str, str]]:
    """Return the names of tools that the user or the assistant would say."""
    said = " ".join([query.turns, *texts])
    names = [row.wire_name for row in tools.values()]
    return [
        ("words", f"{name} is said")
        for name in names
        if re.search(r"_|-|[a-z][A-Z]", name) and re.search(rf"\b{re.escape(name)}\b", said)
    ]


def _outcome(row: ExecutionRow) -> Outcome:
    decode: Any = msgspec.json.decode
    return Outcome(row.status, decode(row.result), decode(row.error))
