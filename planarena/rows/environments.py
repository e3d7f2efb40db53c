"""The environment that a row refers to, opened where the row stands."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from planarena.environments import World
from planarena.episodes import Episode, Goal
from planarena.errors import RunError
from planarena.proofs import open_scenario, read_goal
from planarena.records import Run, read_rows
from planarena.rows.dialogue import Dialogue
from planarena.rows.row import EnvironmentReference
from planarena.rows.run_reading import ShardReader

__all__ = ["Opened", "locate", "open_environment"]


class Opened(NamedTuple):
    """A world in the state that a row stands in, an episode in it, and the task's goal.

    Attributes:
        world: The world.
        episode: What acts in it; `observed` are the calls that led here, for `reached`.
        goal: The goal.
        observed: (tool, outcome) of the calls made so far.
    """

    world: World
    episode: Episode
    goal: Goal
    observed: list[tuple[str, Any]]


def locate(reader: ShardReader, dialogue: Dialogue) -> EnvironmentReference | None:
    """Say where a policy can act on a dialogue's task; None without an environment, and where it is live.

    What a policy tries is mostly wrong, and what is live cannot go back.
    """
    environment = msgspec.json.decode(dialogue.environment) if dialogue.environment else {"kind": "none"}
    if environment.get("kind") == "none" or environment.get("safety") == "live":
        return None
    return EnvironmentReference(str(reader.run.path), dialogue.scenario_id, dialogue.task_id, reader.shard)


def open_environment(reference: EnvironmentReference) -> Opened:
    """Make the world of a row and bring it to the row's state by making the calls before it.

    Args:
        reference: Of a `TrainingRow` or an `EpisodeRow`.

    Raises:
        RunError: The run is gone or another one.
        SourceError: The scenario needs an environment that is not here.
    """
    scenarios, goals = _shard(reference.run, reference.shard)
    try:
        scenario, goal = scenarios[reference.scenario_id], goals[reference.task_id]
    except KeyError as error:
        raise RunError(
            f"holds no {error}", where=reference.run, fix="give the run that the rows were read from"
        ) from error
    world = open_scenario(scenario)
    episode = Episode(world)
    observed = [(call.name, episode.act(call.name, call.arguments).outcome) for call in reference.calls]
    return Opened(world, episode, read_goal(goal), observed)


@lru_cache(maxsize=16)
def _shard(run: str, shard: str) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    root = Run.open(run).path / "tables"
    try:
        scenarios = read_rows(root / "scenarios" / f"{shard}.parquet", "scenarios")
        tasks = read_rows(root / "tasks" / f"{shard}.parquet", "tasks")
    except FileNotFoundError as error:
        raise RunError(
            f"has no shard {shard}", where=run, fix="give the run that the rows were read from"
        ) from error
    columns = ("environment", "seed_state", "context")
    return (
        {row.scenario_id: {name: getattr(row, name) for name in columns} for row in scenarios},
        {row.task_id: row.goal for row in tasks},
    )
