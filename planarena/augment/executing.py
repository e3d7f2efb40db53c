"""A variant executed: the calls of the trajectory made again as they are shown now, with the results that they give."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from planarena.augment.cases import Case
from planarena.augment.variant import Draft
from planarena.environments.presented import Presentation, noise_for, present
from planarena.episodes import Episode
from planarena.pipeline.execute.conversations.noise import put_order
from planarena.records.canonical import canonical_json
from planarena.records.tables import ExecutionRow
from planarena.tasks.atoms import Call

__all__ = ["Made", "Refused", "execute", "shown_program"]


class Refused(Exception):  # noqa: N818  it is no error: the variant is not made, and the run says why
    """A variant that is not what its trajectory was; the reason is a stable word."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Made(NamedTuple):
    """What the execution of a variant gave.

    Attributes:
        program: Its calls as they are shown.
        arguments: By step.
        executions: By step, without ids.
        seed_state: The initial state.
        digest: Its hash.
        goal: The column `goal`.
    """

    program: list[Call]
    arguments: list[dict[str, Any]]
    executions: list[ExecutionRow]
    seed_state: str
    digest: str
    goal: str


def shown_program(case: Case, presentation: Presentation) -> list[Call]:
    """Return the calls of a trajectory under the names that are shown."""
    found = []
    for call in case.program:
        shown = presentation.tools.get(call.tool)
        names = shown.arguments if shown is not None else {}
        bound = tuple(
            binding._replace(argument=names.get(binding.argument, binding.argument)) for binding in call.bound
        )
        literals = presentation.arguments(call.tool, call.literals)
        found.append(Call(presentation.name(call.tool), literals, bound))
    return found


def execute(draft: Draft) -> Made:
    """Make the calls of a variant, and hold what they give against what they gave before.

    Raises:
        Refused: A call gives something else than it should.
    """
    case, presentation = draft.case, draft.presentation
    program = shown_program(case, presentation)
    row = case.scene.row
    if not case.is_proven:
        arguments = [
            presentation.arguments(call.tool, own)
            for call, own in zip(case.program, case.arguments, strict=True)
        ]
        goal = _goal(case, presentation, {})
        return Made(program, arguments, list(case.executions), row.seed_state, row.seed_state_hash, goal)
    below = case.scene.world(draft.tables)
    seed_state = row.seed_state if draft.tables is None else canonical_json(draft.tables)
    world = present(below, msgspec.to_builtins(presentation) if presentation.tools else None)
    episode = Episode(world, program)
    digest = world.digest()
    states = {row.seed_state_hash: digest}
    executions, taken = [], []
    for step, before in enumerate(case.executions):
        made = episode.perform_fully(step)
        taken.append(made.arguments)
        own = case.steps[step].tool
        if made.status != before.status:
            raise Refused("another_outcome", f"step {step} is {made.status}, it was {before.status}")
        if made.result != _expected(draft, step, presentation, made.arguments):
            raise Refused("another_result", f"step {step} ({own}) gives another result")
        was = msgspec.json.decode(before.error)
        if (made.error or {}).get("code") != (was or {}).get("code"):
            raise Refused("another_failure", f"step {step} ({own}) fails otherwise")
        states[before.state_after] = made.state_after
        executions.append(
            ExecutionRow(
                execution_id="",
                status=made.status,
                result=canonical_json(made.result),
                error=canonical_json(made.error),
                state_before=made.state_before,
                state_after=made.state_after,
                execution_kind=before.execution_kind,
                proven=before.proven,
            )
        )
    return Made(program, taken, executions, seed_state, digest, _goal(case, presentation, states))


def _expected(draft: Draft, step: int, presentation: Presentation, arguments: dict[str, Any]) -> Any:
    """Return what a step has to give: what it gave, with the injected order and the additions."""
    result = draft.case.results[step]
    own = draft.case.steps[step].tool
    if draft.order is not None and draft.order[0] == step:
        result = put_order(result, draft.order[1], draft.order[2])
    shown = presentation.tools.get(own)
    if shown is not None and shown.noise and isinstance(result, dict):
        result = {**noise_for(shown.noise, own, arguments), **result}
    return result


def _goal(case: Case, presentation: Presentation, states: dict[str, str]) -> str:
    """Return the goal with the states that the variant reaches."""
    stored = msgspec.json.decode(case.task.goal)

    def one(goal: dict[str, Any]) -> dict[str, Any]:
        state = goal["final_state_hash"]
        if states and state not in states:
            raise Refused("another_state", "the goal is a state that no step of the trajectory reaches")
        outputs = [
            {**output, "tool": presentation.name(output["tool"])} for output in goal["required_outputs"]
        ]
        return {**goal, "final_state_hash": states.get(state, state), "required_outputs": outputs}

    goal = one(stored)
    if "messages" in stored:
        goal["messages"] = [one(message) for message in stored["messages"]]
    return canonical_json(goal)
