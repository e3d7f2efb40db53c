"""What a choice at a decision point is worth, decided by executing it from the same state as the right one.

Right: `frontier` (a step of the message at hand that may come next), `equivalent` (same state, and it shows what the
step should show), `harmless` (a look-up that the request needs, only early or by another way).
Wrong: `useless` (a call of no use to anyone, after which the goal can still be reached), `diverges` (it no longer
can), `ungrounded` (a right value that the agent could not know), `error` (a call fails).
What a later message asks for is not asked yet: a choice is judged against the message at hand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Literal, NamedTuple

from planarena.environments.world import Outcome
from planarena.episodes import Episode, ExecutedCall, Goal, reached
from planarena.proofs.minimality import scalars_of, scalars_shown
from planarena.tasks.atoms import Call, resolve

__all__ = ["Choice", "ChoiceOutcome", "DecisionPoint", "Judgement", "judge_choice", "ready_steps"]

ChoiceOutcome = Literal["frontier", "equivalent", "harmless", "useless", "diverges", "ungrounded", "error"]
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class Choice(NamedTuple):
    """A call that an agent might make.

    Attributes:
        tool: Wire name, possibly of no existing tool.
        arguments: The arguments.
        grounded: Whether every value of it could be known; see `planarena.generate.mutations`.
        beside: A second call made in the same turn, or None.
    """

    tool: str
    arguments: dict[str, Any]
    grounded: bool = True
    beside: tuple[str, dict[str, Any]] | None = None


class DecisionPoint(NamedTuple):
    """A place in a gold trajectory: the world stands in the state before `step`.

    Attributes:
        program: The task's calls.
        before: Predecessors by step, as bit masks.
        step: The step to be made; all earlier ones are done. The number of steps where only the answer is left.
        taken: The gold executions of all steps.
        goal: The task's goal.
        until: The first step that only a later message asks for; None where there is none.
    """

    program: Sequence[Call]
    before: Sequence[int]
    step: int
    taken: Sequence[ExecutedCall]
    goal: Goal
    until: int | None = None

    @property
    def left(self) -> range:
        """The steps of the message at hand that are not done."""
        return range(self.step, len(self.program) if self.until is None else self.until)


class Judgement(NamedTuple):
    """What a choice is worth, and its executions.

    Attributes:
        outcome: See the module.
        taken: The execution of the call; None where it is a ready step of the gold, which was executed already.
        beside: The execution of the second call, or None.
    """

    outcome: ChoiceOutcome
    taken: ExecutedCall | None
    beside: ExecutedCall | None = None


def ready_steps(point: DecisionPoint) -> list[int]:
    """Return the steps of the message at hand that may come next in the task's partial order."""
    done = (1 << point.step) - 1
    return [later for later in point.left if not point.before[later] & ~done]


def judge_choice(
    episode: Episode, point: DecisionPoint, choice: Choice, known: AbstractSet[bytes] = frozenset()
) -> Judgement:
    """Decide what a call is worth; the world is left in the state before the step.

    Args:
        episode: Over the program, with the results of the steps before `point.step`.
        point: Where.
        choice: What.
        known: The scalars that the agent knows, as canonical JSON: a look-up that shows only such is of no use.

    Raises:
        WithheldCallError: It is a call of a live tool that may not be made.
    """
    if choice.grounded and choice.beside is None:
        for step in ready_steps(point):
            gold = point.taken[step]
            if gold.tool == choice.tool and gold.arguments == choice.arguments:
                return Judgement("frontier", None)
    backend = episode.backend
    mark = backend.mark()
    saved = list(episode.results)
    try:
        taken = episode.act(choice.tool, choice.arguments)
        if choice.beside is not None:
            second = episode.act(*choice.beside)
            return Judgement(_worth_of_two(episode, point, choice, taken, second), taken, second)
        if not choice.grounded:
            return Judgement("ungrounded", taken)
        return Judgement(_worth(episode, point, taken, known, mark, saved), taken)
    finally:
        backend.rollback(mark)
        episode.results[:] = saved


def _worth(
    episode: Episode,
    point: DecisionPoint,
    taken: ExecutedCall,
    known: AbstractSet[bytes],
    mark: int,
    saved: list[Any],
) -> ChoiceOutcome:
    if taken.outcome.status != "ok":
        return "error"
    if taken.state_after == taken.state_before:
        # Nothing changed: the gold steps from here are known to reach the goal.
        if _stands_in(point, taken):
            return "equivalent"
        return "harmless" if _serves(point, taken, known) else "useless"
    stands_for = _stands_for(point, taken)
    if stands_for is not None:
        if _rest_reaches(episode, point, [taken], stands_for):
            return "equivalent"
        episode.backend.rollback(mark)
        episode.results[:] = saved
        episode.backend.call(taken.tool, taken.arguments)
    return "useless" if _rest_reaches(episode, point, [taken], None) else "diverges"


def _worth_of_two(
    episode: Episode, point: DecisionPoint, choice: Choice, taken: ExecutedCall, second: ExecutedCall
) -> ChoiceOutcome:
    """Judge two calls of one turn, the first of which is the gold step or stands for nothing."""
    if not choice.grounded:
        return "ungrounded"
    if taken.outcome.status != "ok" or second.outcome.status != "ok":
        return "error"
    ready = [step for step in ready_steps(point) if _is_gold(point, step, taken)]
    done = ready[0] if ready else None
    # A second call that was right would be a step of its own; here it is at best of no use.
    return "useless" if _rest_reaches(episode, point, [taken, second], done) else "diverges"


def _is_gold(point: DecisionPoint, step: int, taken: ExecutedCall) -> bool:
    gold = point.taken[step]
    return gold.tool == taken.tool and gold.arguments == taken.arguments


def _is_of_another(gold: ExecutedCall, taken: ExecutedCall) -> bool:
    """Say whether a call looks up another thing with the same tool: an argument that both give differs."""
    return gold.tool == taken.tool and any(
        taken.arguments.get(name, value) != value for name, value in gold.arguments.items()
    )


def _stands_in(point: DecisionPoint, taken: ExecutedCall) -> bool:
    """Say whether a call does what the gold step does: the same state, and every value that is used later."""
    if point.step not in point.left:
        return False
    gold = point.taken[point.step]
    # What failed and was not the gold's call has used a fault up for nothing.
    if taken.state_after != gold.state_after or gold.status != "ok":
        return False
    if taken.state_after == taken.state_before and _is_of_another(gold, taken):
        return taken.outcome.payload == gold.outcome.payload
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
    # A look-up from which nothing is taken and that nobody is told of is stood in for by nothing.
    if not needed and taken.state_after == taken.state_before:
        return False
    return all(resolve(taken.outcome.result, path) == value for path, value in needed)


def _serves(point: DecisionPoint, taken: ExecutedCall, known: AbstractSet[bytes]) -> bool:
    """Say whether a look-up is a later step of this message, or shows what one needs and nobody knows yet.

    A look-up of another person or thing does not serve, whatever it happens to show.
    """
    gold = [point.taken[step] for step in point.left]
    shown = taken.outcome.payload
    if any(
        _is_gold(point, step, taken) and point.taken[step].outcome.payload == shown for step in point.left
    ):
        return True
    if any(_is_of_another(one, taken) and one.outcome.payload != shown for one in gold):
        return False
    needed: set[bytes] = set()
    for step in point.left:
        for binding in point.program[step].bound:
            value = point.taken[step].arguments[binding.argument]
            # A day or a number that is shown too says little; a name or an id can be taken from here.
            if binding.source >= point.step and isinstance(value, str) and not _DAY.match(value):
                needed |= scalars_of(value)
    return not needed.isdisjoint(scalars_shown(taken.outcome) - known) if needed else False


def _stands_for(point: DecisionPoint, taken: ExecutedCall) -> int | None:
    """Return the gold step that a state-changing call does: the next one, or a later one made early."""
    if _stands_in(point, taken):
        return point.step
    return next((step for step in point.left if step > point.step and _is_gold(point, step, taken)), None)


def _rest_reaches(
    episode: Episode, point: DecisionPoint, chosen: Sequence[ExecutedCall], done: int | None
) -> bool:
    """Execute the remaining gold steps but `done` after a choice and say whether the goal is reached."""
    observed: list[tuple[str, Outcome]] = [(one.tool, one.outcome) for one in point.taken[: point.step]]
    observed += [(one.tool, one.outcome) for one in chosen]
    if done is not None:
        episode.results[done] = chosen[0].outcome.result
    for step in range(point.step, len(point.program)):
        if step == done:
            continue
        outcome = episode.perform(step)
        if outcome.status != "ok" and point.taken[step].status == "ok":
            return False
        observed.append((point.program[step].tool, outcome))
    return reached(point.goal, episode.backend.digest(), observed)
