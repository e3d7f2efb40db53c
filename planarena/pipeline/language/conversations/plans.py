"""Plans of conversations: the global one does not foresee what goes wrong; the line of a repeated call says why it is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from planarena.environments import Operation
from planarena.environments.wording import ToolWording
from planarena.generate.clauses import StepContext
from planarena.generate.offline import write_plan, write_step_plans
from planarena.generate.spelling import Style
from planarena.pipeline.language.conversations.failed_call import again_line
from planarena.pipeline.products import Executed

__all__ = ["plans_of", "unmade_of"]


def plans_of(
    task: Executed, steps: list[StepContext], rng: Random, style: Style
) -> tuple[str, tuple[str, ...]]:
    """Return the global plan of a conversation and one line per step."""
    again = {act.step: act.value for act in task.talk.acts if act.what == "again"}
    lines = list(write_step_plans(steps, rng, style))
    for step, first in again.items():
        read = steps[step].operation.tool.effects == "read" and task.steps[first].status == "ok"
        reread = any(other < step and task.steps[one].status == "ok" for other, one in again.items())
        lines[step] = again_line(look_up=read, after_look_up=reread, number=rng.randrange(1000))
    planned, groups = _planned(task, steps, again)
    return write_plan(planned, task.order_edges if not again else (), groups, rng, style), tuple(lines)


def unmade_of(
    task: Executed, operations: Mapping[str, Operation], wording: Mapping[str, ToolWording]
) -> list[StepContext]:
    """Return the calls that a message asks for and that are not made, as they are spoken of, behind the steps."""
    return [
        StepContext(
            len(task.steps) + number,
            operations[step.tool],
            wording[step.tool],
            step.arguments,
            {argument: (source, pointer) for argument, source, pointer in step.bound},
            step.result,
        )
        for number, step in enumerate(task.talk.unmade)
    ]


def _planned(
    task: Executed, steps: Sequence[StepContext], again: dict[int, int]
) -> tuple[list[StepContext], list[int]]:
    """Return the steps without those that are made again, numbered anew; what takes from those takes from the first."""

    def first_of(step: int) -> int:
        return first_of(again[step]) if step in again else step

    kept = [step.number for step in steps if step.number not in again]
    place = {number: where for where, number in enumerate(kept)}
    results = {step.number: step.result for step in steps}
    for step in steps:
        if results[first_of(step.number)] is None:
            results[first_of(step.number)] = step.result
    found = [
        steps[number]._replace(
            number=place[number],
            bound={name: (place[first_of(source)], at) for name, (source, at) in steps[number].bound.items()},
            result=results[number],
        )
        for number in kept
    ]
    return found, [task.steps[number].group for number in kept]
