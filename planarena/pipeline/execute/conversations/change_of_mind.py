"""Change of mind: the user corrects a value or drops a part, before or after it was carried out.

`slips`: a message says a value and corrects it at once. `corrects`: what was done is done once more with another value;
of what changes something the state in the end is that of the second time alone. `takes_back`: what was done is undone, and
the state is as before it, or the environment says that the thing is cancelled. Each call is needed for its own message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from planarena.environments.wording import parse_pointer
from planarena.generate.semantic_values import semantic_values
from planarena.pipeline.execute.aims import AimDraw, Misfit, draw_again, prove_aims
from planarena.pipeline.execute.drafting import (
    later,
    lines_of,
    owned,
    placed,
    serves_its_message,
    settle,
    settled_with,
    twin,
)
from planarena.pipeline.execute.ordering import Line
from planarena.pipeline.execute.workshop import Made, Workshop
from planarena.pipeline.products import Act, Executed, Talk
from planarena.records.canonical import content_id
from planarena.tasks.atoms import Atom, Call, resolve

__all__ = ["change_the_mind", "is_short", "other_values"]

_MOST_VALUES = 4
# "5, not 2" could mean anything in a message; nobody says a long text twice.
_SHORTEST, _LONGEST = 2, 40
# Values that people mix up or think better of; an address or a text that is quoted is copied from somewhere.
_CHANGEABLE = frozenset(
    {"date", "datetime", "time", "money", "word", "name", "plain", "percent", "duration", "number"}
)
# What is dictated or copied, by a word of its semantic type: nobody says "X, not Y" of it.
_COPIED = frozenset({"iban", "address"})
_DICTATED = _COPIED | {
    "comment", "complaint", "description", "item", "keyword", "message", "note", "question", "reason", "reference", "subject",
    "task", "text", "title", "word",
}  # fmt: skip
# Inside a message only what is short is corrected, and seldom: so often [ours].
_SHORT_WORDS, _SHORT_LETTERS = 2, 24
_SLIPS = 0.2


def change_the_mind(shop: Workshop, task: Executed) -> Made | None:
    """Return a task as a conversation in which the user thinks better of something; None where none of the ways fits."""
    if shop.rng.random() < _SLIPS:
        made = _slip(shop, task)
        if made is not None:
            return made
    ways = {_correct: 0.65, _take_back: 0.35}
    order = sorted(ways, key=lambda way: shop.rng.random() ** (1 / ways[way]), reverse=True)
    for way in order:
        made = way(shop, task)
        if made is not None:
            return made
    return None


def other_values(shop: Workshop, task: Executed, number: int, name: str) -> list[Any]:
    """Return values that could stand in the place of an argument, as ones that the user might have said first."""
    step = task.steps[number]
    schema = shop.world.operations[step.tool].tool.parameters[name]
    value = shop.atoms[step.atom].arguments[name]
    if schema.get("x-hidden") or isinstance(value, bool) or not _is_sayable(value):
        return []
    if schema.get("x-surface", "plain") not in _CHANGEABLE or _COPIED & _parts(schema):
        return []
    found = [*schema.get("enum", ()), *shop.literals_of(schema.get("x-semantic", ""))]
    used = {repr(one) for given in shop.told_until(task, len(task.steps)) for one in given.values()}
    fitting = [
        one
        for one in dict.fromkeys(found)
        if one != value
        and type(one) is type(value)
        and _is_sayable(one)
        and repr(one) not in used
        and one not in shop.facts.values()
    ]
    shop.rng.shuffle(fitting)
    return fitting[:_MOST_VALUES]


def _is_sayable(value: Any) -> bool:
    return _SHORTEST <= len(str(value)) <= _LONGEST


def _parts(schema: Mapping[str, Any]) -> set[str]:
    return set(str(schema.get("x-semantic", "")).split("_"))


def is_short(value: Any, schema: Mapping[str, Any]) -> bool:
    """Say whether people correct a value in the middle of a message: a name of one or two words, a number, a day."""
    if _DICTATED & _parts(schema):
        return False
    if not isinstance(value, str) or schema.get("x-surface") in {"date", "time"}:
        return schema.get("x-surface") != "datetime"
    letters = value.replace(" ", "").replace("-", "").replace("'", "").isalpha()
    return letters and len(value) <= _SHORT_LETTERS and len(value.split()) <= _SHORT_WORDS


def _places(shop: Workshop, task: Executed) -> list[tuple[int, str]]:
    """Return the values that messages tell and that could be others, in a drawn order."""
    if task.aims:
        found = [one.places[0] for aimed in task.aims for one in aimed.said if len(one.places) == 1]
    else:
        found = [
            (number, name)
            for number in task.reported
            for name in shop.atoms[task.steps[number].atom].arguments
        ]
    shop.rng.shuffle(found)
    return found


def _slip(shop: Workshop, task: Executed) -> Made | None:
    """A message says a value and corrects it: the calls are those of the last word."""
    program = shop.program(task)
    for number, name in _places(shop, task):
        step = task.steps[number]
        schema = shop.world.operations[step.tool].tool.parameters[name]
        if not is_short(shop.atoms[step.atom].arguments[name], schema):
            continue
        for other in other_values(shop, task, number, name):
            if not is_short(other, schema):
                continue
            call = program[number]
            wrong = Call(call.tool, {**call.literals, name: other}, call.bound)
            # Where the value that was taken back does as well, nothing shows that it was.
            if shop.reaches([*program[:number], wrong, *program[number + 1 :]], task.goal):
                continue
            acts = (Act(task.turn_of[number], "slips", number, name, other),)
            return Made(replace(task, talk=Talk("change_of_mind", acts)))
    return None


def _room(lines: Sequence[Line], turn: int) -> list[Line]:
    """Make room for a message after one."""
    return [line._replace(turn=line.turn + (line.turn > turn)) for line in lines]


def _correct(shop: Workshop, task: Executed) -> Made | None:
    """What was carried out is carried out once more with another value."""
    if task.aims:
        return _correct_an_aim(shop, task)
    base = lines_of(shop, task)
    for number, name in _places(shop, task):
        line = base[number]
        if serves_its_message(base, number):
            continue
        for other in other_values(shop, task, number, name):
            lines = _room(base, line.turn)
            first = len(lines)
            lines[number] = line._replace(turn=line.turn + 1, after=line.after | {first})
            lines.append(line._replace(atom=twin(line.atom, **{name: other})))
            settled = settle(shop, lines, task.turns + 1, undone=True)
            if settled is None or settled.task.goal.final_state_hash != task.goal.final_state_hash:
                continue
            if not _differs(settled.task, settled.place[first], settled.place[number]):
                continue
            act = placed(Act(line.turn + 1, "corrects", number, name, other), settled)
            talk = Talk("change_of_mind", (act,), task.turns + 1, settled.task.talk.goals)
            return Made(replace(owned(shop, settled), talk=talk))
    return None


def _correct_an_aim(shop: Workshop, task: Executed) -> Made | None:
    """An aim is carried out with another value first, and then as it is."""
    found = [(aimed, said) for aimed in task.aims for said in aimed.said if said.places]
    shop.rng.shuffle(found)
    for aimed, said in found:
        number, name = said.places[0]
        for other in other_values(shop, task, number, name) if task.turn_of[number] == aimed.turn else ():
            draws: list[AimDraw] = []
            try:
                for one in task.aims:
                    if one is aimed:
                        draws.append(draw_again(shop, one, draws, {said.name: other}))
                    draws.append(draw_again(shop, one, draws))
                settled = prove_aims(draws, undone=True)
            except Misfit:
                continue
            if settled.task.goal.final_state_hash != task.goal.final_state_hash:
                continue
            turn = aimed.turn + 1
            [right] = [one for one in settled.task.aims if one.turn == turn]
            place = next(one.places[0][0] for one in right.said if one.name == said.name)
            act = Act(turn, "corrects", place, name, other)
            talk = Talk("change_of_mind", (act,), task.turns + 1, settled.task.talk.goals)
            return Made(replace(owned(shop, settled), talk=talk))
    return None


def _differs(task: Executed, first: int, second: int) -> bool:
    """Say whether two calls show or do different things."""
    one, two = task.steps[first], task.steps[second]
    return bool(one.result != two.result)


def _take_back(shop: Workshop, task: Executed) -> Made | None:
    """What was carried out is undone by a call of its own."""
    base = lines_of(shop, task)
    numbers = [number for number in task.reported if not shop.reads(task.steps[number].tool)]
    shop.rng.shuffle(numbers)
    for number in numbers:
        line = base[number]
        if any(source == number for one in base for _, source, _ in one.bound):
            continue  # what came of it is used
        changes = shop.world.operations[task.steps[number].tool].tool.effects == "update"
        for undoing in _undoing(shop, task, number):
            if changes and shop.wording[undoing.atom.tool].ends:
                continue  # what was moved is moved back; to end it is another wish
            lines = _room(base, line.turn)
            lines.append(undoing._replace(turn=line.turn + 1, told=True, after=frozenset({number})))
            moved = replace(task, aims=later(task.aims, line.turn + 1))
            settled = settled_with(shop, moved, lines, task.turns + 1, undone=True)
            if settled is None:
                continue
            back = settled.place[len(lines) - 1]
            if not _is_back(shop, settled.task, settled.place[number], back):
                continue
            act = placed(Act(line.turn + 1, "takes_back", len(lines) - 1, "", number), settled)
            talk = Talk("change_of_mind", (act,), task.turns + 1, settled.task.talk.goals)
            return Made(replace(owned(shop, settled), talk=talk))
    return None


def _is_back(shop: Workshop, task: Executed, done: int, back: int) -> bool:
    """Say whether a call undoes another: the state is as if neither was made, or the environment calls it cancelled."""
    words = shop.wording[task.steps[back].tool]
    if words.ends and task.steps[done].tool in words.undoes:
        return True
    return _without(shop, task, {done, back}) == task.steps[-1].state_after


def _without(shop: Workshop, task: Executed, left_out: set[int]) -> str:
    """Return the state in the end where some steps are not made."""
    world = shop.world
    try:
        for number, step in enumerate(task.steps):
            if number not in left_out and world.call(step.tool, step.arguments).status != step.status:
                return ""
        return world.digest()
    finally:
        world.rollback(shop.start)


def _undoing(shop: Workshop, task: Executed, number: int) -> Iterator[Line]:
    """Yield calls that might undo a step: by its own tool with the value of before, or by one that undoes it."""
    done = task.steps[number]
    for tool in shop.tools:
        if shop.reads(tool) or done.tool not in shop.wording[tool].undoes:
            continue
        operation = shop.world.operations[tool].tool
        bound: list[tuple[str, int, str]] = []
        choices: dict[str, list[Any]] = {}
        for name in operation.required:
            schema = operation.parameters[name]
            source = _source(shop, task, number, schema.get("x-semantic", ""), name)
            if schema.get("x-hidden"):
                if source is None:
                    break
                bound.append((name, *source))
            elif tool != done.tool and name in done.arguments:
                choices[name] = [done.arguments[name]]
            else:
                given = shop.atoms[done.atom].arguments
                own = [given[name]] if tool == done.tool and name in given else []
                choices[name] = [*own, *_values_before(shop, task, number, schema, done.arguments.get(name))]
        else:
            yield from _calls(tool, bound, choices)


def _calls(tool: str, bound: list[tuple[str, int, str]], choices: dict[str, list[Any]]) -> Iterator[Line]:
    """Yield the calls of a tool that differ in one value from the first choice of every argument, and that one."""
    if any(not values for values in choices.values()):
        return
    first = {name: values[0] for name, values in choices.items()}
    needs = tuple((name, "") for name, _, _ in bound)
    for name in choices or {"": []}:
        for value in choices.get(name, [None])[:6]:
            literals = {**first, name: value} if name else dict(first)
            atom = Atom(content_id("atom", "back", tool, literals, bound), tool, literals, needs)
            yield Line(atom, tuple(bound), 0, True)


def _source(shop: Workshop, task: Executed, number: int, semantic: str, name: str) -> tuple[int, str] | None:
    """Return where a hidden value comes from: the step's own result, or what the step itself took."""
    done = task.steps[number]
    for argument, source, pointer in done.bound:
        kind = shop.world.operations[done.tool].tool.parameters[argument].get("x-semantic")
        if kind == semantic and argument == name:
            return source, pointer
    for pointer in shop.wording[done.tool].refer:
        path = parse_pointer(pointer)
        if isinstance(resolve(done.result, path), str) and pointer.rsplit("/", 1)[-1] == name:
            return number, pointer
    return None


def _values_before(
    shop: Workshop, task: Executed, number: int, schema: dict[str, Any], now: Any
) -> list[Any]:
    """Return what an argument may have been before: what earlier look-ups showed, or another word of a list."""
    found: list[Any] = []
    for step in task.steps[:number]:
        output = shop.world.operations[step.tool].tool.output_schema
        found += [
            value for kind, value in semantic_values(output, step.result) if kind == schema.get("x-semantic")
        ]
    found += schema.get("enum", ())
    return [one for one in dict.fromkeys(found) if one != now]
