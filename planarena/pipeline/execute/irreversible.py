"""Gold trajectories whose calls cannot be undone: executed once, never proven, and never again.

Before the first call a record is on disk, and after the last what each call gave. A build that is interrupted and
goes on takes what stands there; a trajectory that was started and not ended is given up, for nobody knows how far it came.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from planarena.environments import World
from planarena.environments.sources.session_world import SessionWorld
from planarena.episodes import Episode, ExecutedCall, Goal
from planarena.pipeline.execute.proving import Proven, Telling, arrange_told, required_outputs, told_values
from planarena.pipeline.products import Discard
from planarena.records.canonical import content_id
from planarena.records.shards import write_durably
from planarena.tasks.atoms import Call

__all__ = ["FOLDER", "IrreversibleTasks"]

# Below the run directory, and not under `work/`: what that holds can be made again, and this cannot. The name, and
# those in its records, are the first ones that were used: a run that goes on must find what it executed.
FOLDER = "for_good"


class _Record(msgspec.Struct, frozen=True):
    scenario_id: str
    attempts: tuple[ExecutedCall, ...] | None = None


class IrreversibleTasks(NamedTuple):
    """Executes the gold trajectories of one scenario that cannot be undone.

    Attributes:
        folder: Of the build's records.
        most: How many of them the build may execute at all.
        scenario_id: The scenario.
    """

    folder: Path
    most: int
    scenario_id: str

    def execute(self, world: World, program: Sequence[Call], telling: Telling, text: str) -> Proven | Discard:
        """Execute a task, unless that was done before, and state its goal.

        Args:
            world: In the initial state, which it is taken to be in afterwards.
            program: The calls in order.
            telling: How it is asked for and told.
            text: The task's expression, for the discard.
        """
        executed = self._executed(world, program, text)
        if isinstance(executed, Discard):
            return executed
        for step, one in enumerate(executed):
            if one.error is not None:
                return Discard(text, "execution", one.error["code"], f"step {step}: {one.error['message']}")
        values = {
            step: told_values(telling.outputs[one.tool], one.result) for step, one in enumerate(executed)
        }
        told = arrange_told(world, program, executed, values, telling)
        reported = [step for step in range(len(program)) if told.asked[step]]
        if any(values[step] is None for step in reported):
            return Discard(
                text, "execution", "missing_output", "a result lacks a value that the answer reports"
            )
        goal = Goal(executed[-1].state_after, tuple(required_outputs(world, executed, values, reported)))
        return Proven(executed, goal, tuple(reported), told.turn_of, unproven=True)

    def _executed(self, world: World, program: Sequence[Call], text: str) -> Sequence[ExecutedCall] | Discard:
        tools = [world.operations[call.tool].tool.tool_id for call in program]
        bound = [[[one.argument, one.source, list(one.path)] for one in call.bound] for call in program]
        key = content_id("for_good", tools, [call.literals for call in program], bound)
        path = self.folder / f"{key}.json"
        if path.is_file():
            known = msgspec.json.decode(path.read_bytes(), type=_Record)
            if known.scenario_id != self.scenario_id:
                return Discard(text, "duplicate", "executed_before", "in another scenario, and for good")
            if known.attempts is None:
                detail = "the build was interrupted while it was executed: it is not started again"
                return Discard(text, "execution", "interrupted", detail)
            return known.attempts
        if sum(1 for _ in self.folder.glob("*.json")) >= self.most:
            return Discard(text, "balance", "enough_for_good", f"{self.most} were executed already")
        write_durably(path, msgspec.json.encode(_Record(self.scenario_id)))
        made = tuple(_perform(cast(SessionWorld, world), program))
        write_durably(path, msgspec.json.encode(_Record(self.scenario_id, made)))
        return made


def _perform(world: SessionWorld, program: Sequence[Call]) -> list[ExecutedCall]:
    """Make the calls, up to the first that fails."""
    start = world.mark()
    episode = Episode(world, program)
    made: list[ExecutedCall] = []
    with world.irreversibly():
        for step in range(len(program)):
            made.append(episode.perform_fully(step))
            if made[-1].status != "ok":
                break
    world.rollback(start)
    return made
