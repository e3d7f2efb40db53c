"""What replaying shows of tasks before they are given away: the gold earns all, doing less nothing, twice the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from planarena.records import content_id
from planarena.session import Session, SessionTask, observation_text

__all__ = ["TaskProof", "prove_task", "summarise_proofs"]


class TaskProof(msgspec.Struct, frozen=True):
    """What was measured of one task.

    Attributes:
        task_id: The task.
        oracle: Reward of the gold.
        floor: The highest reward of: answering at once, and the gold but for its last call.
        replayed: Two more plays of the gold, in sessions of their own, showed the same and ended in the same state.
        isolated: Another session of the task, open meanwhile, stayed as it was.
        leaks: Of what a policy sees before its first step, the texts that tell the goal or an answer.
        observations: The id of all that the gold was shown.
    """

    task_id: str
    oracle: float
    floor: float
    replayed: bool
    isolated: bool
    leaks: tuple[str, ...]
    observations: str

    @property
    def holds(self) -> bool:
        """Whether the task may be given away."""
        return self.oracle == 1.0 and self.floor == 0.0 and self.replayed and self.isolated and not self.leaks


def prove_task(task: SessionTask) -> TaskProof:
    """Replay a task and measure it."""
    beside = Session()
    beside.reset(task)
    untouched = beside.world.digest()
    first = _play(task)
    floors = [_play(task, calls=0)] if task.actions else [_play(task, answers=False)]
    if task.actions:
        floors.append(_play(task, calls=task.actions - 1))
    again = [_play(task), _play(task)]
    shown = msgspec.json.encode([task.messages, task.tools]).decode()
    told = [task.open().goal.final_state_hash, *(text for text in task.answers if len(text) > 20)]
    return TaskProof(
        task_id=task.id,
        oracle=first[0],
        floor=max(reward for reward, *_ in floors),
        replayed=all(one == first for one in again),
        isolated=beside.world.digest() == untouched and not beside.observed,
        leaks=tuple(text for text in told if text in shown),
        observations=first[2],
    )


def _play(task: SessionTask, calls: int | None = None, *, answers: bool = True) -> tuple[float, str, str]:
    """Do what the gold does, at most so many calls; return the reward, the final state and the id of what was shown."""
    session = Session()
    session.reset(task)
    left = task.actions if calls is None else calls
    said = iter(task.answers)
    shown: list[str] = []
    for decision in task.gold:
        if not decision:
            if answers:
                session.answer(next(said))
            continue
        for call in decision[: max(left, 0)]:
            shown.append(observation_text(session.call(call.name, call.arguments)))
        left -= len(decision)
    return session.reward().value, session.world.digest(), content_id("shown", shown)


def summarise_proofs(proofs: Iterable[TaskProof]) -> dict[str, Any]:
    """Return the shares of tasks for which each property held, and how it was measured."""
    found = list(proofs)
    number = max(len(found), 1)
    return {
        "tasks": len(found),
        "oracle_max": sum(one.oracle == 1.0 for one in found) / number,
        "floor": max((one.floor for one in found), default=0.0),
        "replayability": sum(one.replayed for one in found) / number,
        "verifier_determinism": sum(one.replayed for one in found) / number,
        "episode_determinism": sum(one.replayed for one in found) / number,
        "episode_isolation": sum(one.isolated for one in found) / number,
        "no_solution_leakage": sum(not one.leaks for one in found) / number,
        "method": "every task's gold was replayed three times in sessions of their own beside an untouched one; the "
        "floor is the highest reward of answering at once and of the gold without its last call",
    }
