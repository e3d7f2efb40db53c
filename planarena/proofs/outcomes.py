"""What a choice at a decision point is worth, decided by executing it from the same state as the right one.

Right: `frontier` (a ready step of the task's partial order), `equivalent` (same state, and it shows what the
step should show), `inefficient` (a wasted call after which the remaining gold steps still reach the goal).
Wrong: `diverges` (they no longer do), `ungrounded` (a right value that the agent could not know), `error`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from planarena.environments.world import Outcome
from planarena.episodes import Episode, Goal, Taken, reached
from planarena.tasks.atoms import Call, resolve

__all__ = ["Choice", "ChoiceOutcome", "DecisionPoint", "judge_choice", "ready_steps"]

ChoiceOutcome = Literal["frontier", "equivalent", "inefficient", "diverges", "ungrounded", "error"]


class Choice(NamedTuple):
    """A call that an agent might make.

    Attributes:
        tool: Wire name, possibly of no existing tool; empty for answering at once.
        arguments: The arguments.
        grounded: Whether every value of it could be known; see `planarena.generate.mutations`.
    """

    tool: str
    arguments: dict[str, Any]
    grounded: bool = True


class DecisionPoint(NamedTuple):
    """A place in a gold trajectory: the world stands in the state before `step`.

    Attributes:
        program: The task's calls.
        before: Predecessors by step, as bit masks.
        step: The step to be made; all earlier ones are done.
        taken: The gold executions of all steps.
        goal: The task's goal.
    """

    program: Sequence[Call]
    before: Sequence[int]
    step: int
    taken: Sequence[Taken]
    goal: Goal


def ready_steps(point: DecisionPoint) -> list[int]:
    """Return the steps that may come next in the task's partial order."""
    done = (1 << point.step) - 1
    return [later for later in range(point.step, len(point.program)) if not point.before[later] & ~done]


def judge_choice(
    episode: Episode, point: DecisionPoint, choice: Choice
) -> tuple[ChoiceOutcome, Taken | None]:
    """Decide what a choice is worth; the world is left in the state before the step.

    Args:
        episode: Over the program, with the results of the steps before `point.step`.
        point: Where.
        choice: What.

    Returns:
        The outcome, and the execution, or None where nothing was executed.
    """
    if not choice.tool:
        # Answering ends the episode: right only if nothing is left to do.
        return "diverges", None
    if not choice.grounded:
        return "ungrounded", None
    for step in ready_steps(point):
        gold = point.taken[step]
        if gold.tool == choice.tool and gold.arguments == choice.arguments:
            return "frontier", None
    backend = episode.backend
    mark = backend.mark()
    saved = list(episode.results)
    taken = episode.act(choice.tool, choice.arguments)
    try:
        if taken.outcome.status != "ok":
            return "error", taken
        if taken.state_after == taken.state_before:
            # Nothing changed: the gold steps from here are known to reach the goal.
            return ("equivalent" if _stands_in(point, taken) else "inefficient"), taken
        stands_for = _stands_for(point, taken)
        if stands_for is not None:
            if _rest_reaches(episode, point, taken, stands_for):
                return "equivalent", taken
            backend.rollback(mark)
            episode.results[:] = saved
            backend.call(choice.tool, choice.arguments)
        if _rest_reaches(episode, point, taken, None):
            return "inefficient", taken
        return "diverges", taken
    finally:
        backend.rollback(mark)
        episode.results[:] = saved


def _stands_in(point: DecisionPoint, taken: Taken) -> bool:
    """Say whether a call does what the gold step does: the same state, and every value that is used later."""
    gold = point.taken[point.step]
    if taken.state_after != gold.state_after:
        return False
    needed = [
        (binding.path, resolve(gold.outcome.result, binding.path))
        for call in point.program[point.step + 1 :]
        for binding in call.bound
        if binding.source == point.step
    ]
    for required in point.goal.required_outputs:
        if required.tool == gold.tool and required.shown_by(gold.outcome.result):
            if taken.tool != gold.tool:
                return False
            needed += required.values
    return all(resolve(taken.outcome.result, path) == value for path, value in needed)


def _stands_for(point: DecisionPoint, taken: Taken) -> int | None:
    """Return the gold step that a state-changing call does: the next one, or a later one made early."""
    if _stands_in(point, taken):
        return point.step
    for step in range(point.step + 1, len(point.program)):
        gold = point.taken[step]
        if gold.tool == taken.tool and gold.arguments == taken.arguments:
            return step
    return None


def _rest_reaches(episode: Episode, point: DecisionPoint, taken: Taken, done: int | None) -> bool:
    """Execute the remaining gold steps but `done` after a choice and say whether the goal is reached."""
    observed: list[tuple[str, Outcome]] = [(one.tool, one.outcome) for one in point.taken[: point.step]]
    observed.append((taken.tool, taken.outcome))
    if done is not None:
        episode.results[done] = taken.outcome.result
    for step in range(point.step, len(point.program)):
        if step == done:
            continue
        outcome = episode.perform(step)
        if outcome.status != "ok":
            return False
        observed.append((point.program[step].tool, outcome))
    return reached(point.goal, episode.backend.digest(), observed)
