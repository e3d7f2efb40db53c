"""Something is missing: a message leaves a required value out, the assistant asks for it, the user gives it, then the calls.

The question is gold only where nothing else helps. Executed to see: the value is neither told nor in the context nor
shown by what happened before; no look-up that could be made determines it; and with every other value that an agent might
take for it the goal is missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from planarena.environments.catalog import goals_of
from planarena.pipeline.execute.drafting import later
from planarena.pipeline.execute.workshop import Made, Workshop
from planarena.pipeline.products import Act, Executed, Talk
from planarena.proofs import scalars_of
from planarena.tasks.atoms import Call

__all__ = ["leave_out_a_value", "may_leave_one_out"]

_MOST_GUESSES = 24
# What sounds complete without the value: nobody would be asked for it.
_COMPLETE_WITHOUT = frozenset({("list_note_tasks", "until")})


def may_leave_one_out(shop: Workshop, task: Executed) -> bool:  # noqa: ARG001
    """Say whether an aim has words that leave a value out; of a task without aims it is not known."""
    return not task.aims or any(goals_of(one.domain)[one.name].lacking for one in task.aims)


def leave_out_a_value(shop: Workshop, task: Executed) -> Made | None:
    """Return a task as a conversation in which a message leaves a value out; None where no value can be left out.

    A message that follows an aim leaves out what the aim has words for (`lacking`).
    """
    if task.aims:
        return _of_an_aim(shop, task)
    places = [
        (number, name)
        for number in task.reported
        for name in shop.wording[task.steps[number].tool].missing
        if _may_be_missing(shop, task, number, name)
    ]
    shop.rng.shuffle(places)
    for number, name in places:
        if _is_needed(shop, task, number, name):
            turn = task.turn_of[number]
            acts = (Act(turn, "lacks", number, name), Act(turn + 1, "gives", number, name))
            later = tuple(one + (one >= turn) for one in task.turn_of)
            return Made(replace(task, turn_of=later, talk=Talk("missing_value", acts)))
    return None


def _of_an_aim(shop: Workshop, task: Executed) -> Made | None:
    found = [
        (aimed, said)
        for aimed in task.aims
        for said in aimed.said
        if said.name in goals_of(aimed.domain)[aimed.name].lacking and len(said.places) == 1
    ]
    shop.rng.shuffle(found)
    for aimed, said in found:
        [(number, name)] = said.places
        turn = aimed.turn
        if task.turn_of[number] != turn or not _is_needed(shop, task, number, name):
            continue
        acts = (Act(turn, "lacks", number, name), Act(turn + 1, "gives", number, name))
        after = tuple(one + (one >= turn) for one in task.turn_of)
        return Made(
            replace(
                task,
                turn_of=after,
                aims=later(task.aims, turn),
                talk=Talk("missing_value", acts, task.turns + 1),
            )
        )
    return None


def _may_be_missing(shop: Workshop, task: Executed, number: int, name: str) -> bool:
    step = task.steps[number]
    given = shop.atoms[step.atom].arguments
    return (
        name in given
        and (step.tool, name) not in _COMPLETE_WITHOUT
        and name in shop.world.operations[step.tool].tool.required
        and not isinstance(given[name], bool | dict | list)
    )


def _is_needed(shop: Workshop, task: Executed, number: int, name: str) -> bool:
    """Say whether the goal is out of reach unless the user gives the value."""
    turn = task.turn_of[number]
    step = task.steps[number]
    value = shop.atoms[step.atom].arguments[name]
    # What the same message or an earlier one tells, and what later ones do not: they come after the question.
    known = scalars_of([shop.facts, *shop.told_until(task, turn, (number, name))])
    known |= scalars_of(list(shop.seen_before(task, turn)))
    if scalars_of(value) <= known:
        return False
    schema = shop.world.operations[step.tool].tool.parameters[name]
    semantic = schema.get("x-semantic", "")
    shown = shop.look_ups_with(known)
    shown += [
        (one.tool, one.result)
        for place, one in enumerate(task.steps)
        if task.turn_of[place] <= turn and one.status == "ok" and not _takes_from(task, place, number)
    ]
    open_to_all = shop.values_of(semantic, shown) if semantic else []
    if open_to_all == [value]:
        return False  # there is one to choose from: whoever looks knows
    program = shop.program(task)
    for guess in _guesses(shop, schema, value, open_to_all):
        call = program[number]
        other = Call(call.tool, {**call.literals, name: guess}, call.bound)
        if shop.reaches([*program[:number], other, *program[number + 1 :]], task.goal):
            return False
    return True


def _takes_from(task: Executed, place: int, number: int) -> bool:
    """Say whether a step is another one, or needs what it gives."""
    return place == number or any(
        _takes_from(task, source, number) for _, source, _ in task.steps[place].bound
    )


def _guesses(shop: Workshop, schema: dict[str, Any], value: Any, shown: list[Any]) -> Iterator[Any]:
    """Yield the values that an agent might take where nobody told one."""
    now = str(shop.facts.get("now", ""))
    found = [*schema.get("enum", ()), *shown, *shop.literals_of(schema.get("x-semantic", ""))]
    if isinstance(value, str) and schema.get("x-surface") in {"date", "datetime"} and now:
        found.insert(0, now[: len(value)])
    if isinstance(value, int | float):
        found.insert(0, type(value)(max(schema.get("minimum", 1), 1)))
    others = [one for one in dict.fromkeys(found) if one != value and type(one) is type(value)]
    yield from others[:_MOST_GUESSES]
