"""Replaying a stored trajectory from the tables alone: same observations, same states, same goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from planarena.environments import Outcome, World
from planarena.environments.catalog import restore_world
from planarena.environments.wording import parse_pointer
from planarena.episodes import Episode, Goal, RequiredOutput, reached
from planarena.records.canonical import canonical_json

__all__ = ["open_scenario", "read_goal", "read_message_goals", "replay_trajectory"]


def open_scenario(scenario: Mapping[str, Any]) -> World:
    """Return the world of a row of the table `scenarios`, in its initial state.

    Raises:
        SourceError: The scenario needs an environment that is not here.
    """
    environment = msgspec.json.decode(scenario["environment"])
    return restore_world(
        environment["domains"],
        msgspec.json.decode(scenario["seed_state"]),
        msgspec.json.decode(scenario["context"]),
        environment.get("presented"),
    )


def read_goal(text: str) -> Goal:
    """Read the column `goal` of the table `tasks`."""
    return _goal_of(msgspec.json.decode(text))


def read_message_goals(text: str) -> list[Goal]:
    """Read from the column `goal` what each message is to reach, in order; empty where the goal of the whole says it."""
    return [_goal_of(stored) for stored in msgspec.json.decode(text).get("messages", ())]


def _goal_of(stored: Mapping[str, Any]) -> Goal:
    outputs = tuple(
        RequiredOutput(
            output["tool"],
            tuple((parse_pointer(value["pointer"]), value["value"]) for value in output["values"]),
            output.get("error", ""),
        )
        for output in stored["required_outputs"]
    )
    return Goal(stored["final_state_hash"], outputs)


def replay_trajectory(
    world: World,
    goal: Goal,
    steps: Sequence[Mapping[str, Any]],
    executions: Mapping[str, Mapping[str, Any]],
    tool_names: Mapping[str, str],
) -> list[str]:
    """Execute a stored trajectory again and return every difference; the world is left in its initial state.

    Args:
        world: Of its scenario, in the initial state.
        goal: Of its task.
        steps: Its rows of the table `steps`, in order.
        executions: Rows of the table `executions` by id.
        tool_names: Wire name by tool id.

    Returns:
        What differs, for people; empty for a faithful trajectory.
    """
    faults: list[str] = []
    start = world.mark()
    episode = Episode(world)
    observed: list[tuple[str, Outcome]] = []
    for step in steps:
        stored = executions[step["execution_id"]]
        name = tool_names[step["tool_id"]]
        taken = episode.act(name, msgspec.json.decode(step["arguments"]))
        observed.append((name, taken.outcome))
        place = f"step {step['step']} ({name})"
        if taken.outcome.status != stored["status"]:
            faults.append(f"{place}: {taken.outcome.status} instead of {stored['status']}")
        elif taken.outcome.status == "ok" and canonical_json(taken.outcome.result) != stored["result"]:
            faults.append(f"{place}: another result")
        if taken.state_before != stored["state_before"] or taken.state_after != stored["state_after"]:
            faults.append(f"{place}: another state before or after")
        faults += _binding_faults(place, step, steps, executions)
    if not reached(goal, world.digest(), observed):
        faults.append("the goal is not reached")
    world.rollback(start)
    return faults


def _binding_faults(
    place: str,
    step: Mapping[str, Any],
    steps: Sequence[Mapping[str, Any]],
    executions: Mapping[str, Mapping[str, Any]],
) -> list[str]:
    from planarena.tasks.atoms import resolve

    faults = []
    arguments = msgspec.json.decode(step["arguments"])
    for pointer, source in msgspec.json.decode(step["bound_from"]).items():
        produced = msgspec.json.decode(executions[steps[source["step"]]["execution_id"]]["result"])
        value = resolve(produced, parse_pointer(source["pointer"]))
        if source["step"] >= step["step"] or value != resolve(arguments, parse_pointer(pointer)):
            faults.append(f"{place}: {pointer} is not what step {source['step']} gave at {source['pointer']}")
    return faults
