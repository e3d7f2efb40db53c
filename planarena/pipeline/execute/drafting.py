"""A conversation whose calls are not those of the task that it is made from: put together, executed and proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from msgspec.structs import replace

from planarena.environments.state import Footprint
from planarena.environments.wording import parse_pointer
from planarena.episodes import Episode, ExecutedCall, Goal, RequiredOutput, reached
from planarena.pipeline.aimed import Aimed
from planarena.pipeline.execute.beginnings import ends_of, shape_of
from planarena.pipeline.execute.carried import carried, outputs_by_step
from planarena.pipeline.execute.ordering import Drawn, Line, ordered, task_of
from planarena.pipeline.execute.proving import Path, told_values
from planarena.pipeline.execute.staleness import stale_answer
from planarena.pipeline.execute.workshop import Workshop
from planarena.pipeline.products import Act, Executed, Talk
from planarena.proofs import Done, find_reference_fault, find_superfluous, known_values, prove_orders
from planarena.records.canonical import canonical_json, content_id
from planarena.tasks.algebra import (
    parse,
    relabel,
    render,
)
from planarena.tasks.atoms import Atom, Call

__all__ = [
    "Settled",
    "later",
    "lines_of",
    "moved",
    "owned",
    "placed",
    "serves_its_message",
    "settle",
    "settled_again",
    "twin",
]

_MOST_STEPS = 24


class Settled(NamedTuple):
    """A conversation that passed its proofs.

    Attributes:
        task: The task; its atoms are numbered by step.
        atoms: Them.
        place: By line its step.
    """

    task: Executed
    atoms: tuple[Atom, ...]
    place: dict[int, int]


def lines_of(shop: Workshop, task: Executed) -> list[Line]:
    """Return a task's steps as lines, each after what the task's order has before it."""
    before = task.before
    return [
        Line(
            shop.atoms[step.atom],
            step.bound,
            task.turn_of[number],
            number in task.reported,
            frozenset(other for other in range(len(task.steps)) if before[number] >> other & 1),
        )
        for number, step in enumerate(task.steps)
    ]


def settled_again(shop: Workshop, task: Executed) -> Settled | None:
    """Settle a task as it is, in another state or beside other tools; its aims go with it."""
    return settled_with(shop, task, lines_of(shop, task), task.turns, aimed=bool(task.aims))


def settled_with(
    shop: Workshop,
    task: Executed,
    lines: Sequence[Line],
    turns: int,
    *,
    aimed: bool = False,
    undone: bool = False,
) -> Settled | None:
    """Settle a task's lines after a change that keeps their places; its aims go with it."""
    settled = settle(
        shop,
        lines,
        turns,
        undone=undone,
        aimed=aimed,
        designed=len(task.aims) == 1,
        outputs=outputs_by_step(task.aims),
    )
    if settled is None:
        return None
    return settled._replace(task=replace(settled.task, aims=carried(task.aims, settled.place)))


def placed(act: Act, settled: Settled) -> Act:
    """Return what a message does about a line as what it does about that line's step."""
    value = settled.place[act.value] if act.what in _OF_TWO else act.value
    return replace(act, step=settled.place[act.step], value=value)


# What is done about two steps: the value is the other one.
_OF_TWO = ("again", "instead", "takes_back")


def twin(atom: Atom, number: int = 0, **changed: Any) -> Atom:
    """Return an atom once more, as the one of another call, with some of its literals changed."""
    arguments = {**atom.arguments, **changed}
    return Atom(content_id("atom", atom.atom_id, "twin", number, changed), atom.tool, arguments, atom.needs)


def later(aims: Sequence[Aimed], turn: int, by: int = 1) -> tuple[Aimed, ...]:
    """Return aims with room for more messages: those of this message and behind it come later."""
    return tuple(replace(one, turn=one.turn + by) if one.turn >= turn else one for one in aims)


def moved(lines: list[Line], source: int, to: int) -> list[Line]:
    """Have what took from a line take from another one, and what came after it come after that one too."""
    return [
        line._replace(
            bound=tuple((name, to if one == source else one, pointer) for name, one, pointer in line.bound),
            after=line.after | {to} if source in line.after else line.after,
        )
        for line in lines
    ]


def serves_its_message(lines: list[Line], gone: int) -> bool:
    """Say whether something of the same message takes from a line: then one cannot say what the message still wants."""
    return any(
        line.turn == lines[gone].turn and any(source == gone for _, source, _ in line.bound) for line in lines
    )


def owned(shop: Workshop, settled: Settled) -> Executed:
    """Return a conversation that happens in the scenario as it is: its atoms become atoms of that."""
    known = {atom.atom_id: number for number, atom in enumerate(shop.atoms)}
    numbers: list[int] = []
    for step, atom in enumerate(settled.atoms):
        # An atom that a conversation brought in has an id of its own in every scenario.
        key = atom.atom_id if atom.atom_id in known else shop.own_id(atom)
        if known.get(key) in numbers:
            # With other bindings it is another call, and expressions name each call once.
            key = shop.own_id(twin(atom, step))
        if key not in known:
            known[key] = shop.add(replace(atom, atom_id=key))
        numbers.append(known[key])
    task = settled.task
    names = {str(step): str(number) for step, number in enumerate(numbers)}
    return replace(
        task,
        steps=tuple(replace(step, atom=numbers[step.atom]) for step in task.steps),
        expression=render(relabel(parse(task.expression), names)),
    )


def settle(
    shop: Workshop,
    lines: Sequence[Line],
    turns: int,
    *,
    undone: bool = False,
    aimed: bool = False,
    designed: bool = False,
    outputs: Mapping[int, Sequence[str]] = {},
    faults: list[str] | None = None,
) -> Settled | None:
    """Order, execute and prove a conversation; None where a proof fails.

    Proven: every reference means one thing, by name or by place; it runs as it says, twice and in every order that its
    expression allows; no call is superfluous, a failed one included: what it shows is needed, be it told or what the next
    call depends on.

    Args:
        shop: The scenario, staged as the conversation needs it.
        lines: The calls.
        turns: The number of messages.
        undone: A later message takes back what an earlier one asked for: then each call is needed for its own message.
        aimed: What is asked for is known: nothing else may have to be told.
        designed: Somebody has thought of the whole; what only calls that chance brings together would mean is allowed.
        outputs: By line, the pointers of what its answer tells, where that is not what the words of its tool say.
        faults: Where the proof that fails is noted.
    """
    faults = [] if faults is None else faults
    if not 0 < len(lines) <= _MOST_STEPS:
        faults.append("there are too many calls")
        return None
    drawn = ordered(lines)
    order, place, program, masks = drawn.order, drawn.place, drawn.program, drawn.masks
    if any(lines[a].turn > lines[b].turn for a, b in pairwise(order)):
        faults.append("the order of the messages cannot be kept")
        return None
    told = [step for step, line in enumerate(order) if lines[line].told]
    turn_of = tuple(lines[line].turn for line in order)
    shown = [
        tuple(map(parse_pointer, outputs[line])) if line in outputs else shop.outputs[lines[line].atom.tool]
        for line in order
    ]
    flags = [(lines[line].turn, lines[line].told, lines[line].fails) for line in order]
    shape = shape_of(program, masks, flags, shown)
    begun = shop.beginnings.longest(shop.world, shape, ends_of(turn_of))
    made, touched = shop.run_anew(program, begun.made)
    failing = any(line.fails for line in lines)
    fault = _made_otherwise(lines, drawn, made)
    if not fault and not undone and not failing:
        fault = _senseless(shop, program, made, touched, designed)
    if not fault and find_reference_fault(shop.world, program, made, shop.reads, shop.orders) is not None:
        fault = "a reference means two things"
    if fault:
        faults.append(fault)
        return None
    asked = list(told)
    goals = _proven(shop, program, made, masks, told, turn_of, shown, faults, begun.goals)
    if goals is None:
        return None
    if told == asked:
        shop.beginnings.note(shop.world, shape, ends_of(turn_of), made, goals)
    # Where nothing is taken back, the whole needs every call, not only the message that asked for it. The goal of the last
    # message is that of the whole: what it asked for has been shown to be needed.
    latest = turn_of.index(turn_of[-1])
    goal: Goal | None = goals[-1] if undone else _needed(shop, program, made, told, 0, shown, faults, latest)
    if goal is None:
        return None
    if undone and not goal.required_outputs and goal.final_state_hash == made[0].state_before:
        faults.append("in the end everything is as it was")
        return None
    if not undone and not failing and not designed and _is_stale(shop, made, told, turn_of, shown):
        faults.append("an answer is out of date when it is given")
        return None
    if aimed and told != asked:
        tools = ", ".join(sorted(made[step].tool for step in set(told) - set(asked)))
        faults.append(f"nothing needs {tools}, and it is not told")
        return None
    task = task_of(lines, drawn, made, goal, told, Talk(turns=turns, goals=goals if undone else ()))
    return Settled(task, tuple(lines[line].atom for line in order), place)


def _made_otherwise(lines: Sequence[Line], drawn: Drawn, made: Sequence[ExecutedCall]) -> str:
    """Return why calls were not made as they were meant, if that is so."""
    calls = [(one.tool, canonical_json(one.arguments)) for one in made]
    if len(set(calls)) < len(calls) and not any(line.fails for line in lines):
        return "one call is made twice"
    if any((one.status != "ok") != lines[line].fails for one, line in zip(made, drawn.order, strict=True)):
        return "a call fails, or does not fail, where it should"
    return ""


# Faults of calls that chance brings together: who designs a task may mean them.
_BY_CHANCE = frozenset({"used_after_end", "undone_or_repeated", "mixed_records", "half_taken", "apart"})


def _senseless(
    shop: Workshop,
    program: Sequence[Call],
    made: Sequence[ExecutedCall],
    touched: Sequence[Footprint],
    designed: bool,
) -> str:
    """Return why nobody would ask for all of it, if that is so: see `planarena.proofs.sense`."""
    done = [
        Done(call, one.arguments, one.result, footprint)
        for call, one, footprint in zip(program, made, touched, strict=True)
    ]
    fault = shop.sense.fault(done)
    if fault is None or (designed and fault.reason in _BY_CHANCE):
        return ""
    return f"{fault.reason}: {fault.detail}"


def _is_stale(
    shop: Workshop,
    made: Sequence[ExecutedCall],
    told: Sequence[int],
    turn_of: Sequence[int],
    shown: Sequence[Sequence[Path]],
) -> bool:
    """Say whether an answer would tell what is so no more at the end of its message."""
    values = {step: told_values(shown[step], made[step].result) for step in told}
    return stale_answer(shop.world, made, values, told, turn_of, shop.wording) is not None


def _proven(
    shop: Workshop,
    program: Sequence[Call],
    made: Sequence[ExecutedCall],
    masks: Sequence[int],
    told: list[int],
    turn_of: Sequence[int],
    shown: Sequence[Sequence[Path]],
    faults: list[str],
    begun: Sequence[Goal],
) -> tuple[Goal, ...] | None:
    """Return the goals up to each message of a conversation that passes its proofs; the last one is that of the whole.

    What is told grows by look-ups that are needed for that alone. Of the messages that it begins with, the goals may be
    known: then they were proven.
    """
    episode = Episode(shop.world, program)
    payloads = [one.outcome.payload for one in made]
    ends = ends_of(turn_of)
    done = ends[len(begun) - 1] if begun else 0
    if prove_orders(episode, masks, payloads, [one.state_after for one in made], done) is not None:
        faults.append("another order gives something else")
        return None
    goals = list(begun)
    for until in ends[len(begun) :]:
        first = turn_of.index(turn_of[until - 1])
        goal = _needed(shop, program[:until], made[:until], told, first, shown, faults)
        if goal is None:
            return None
        goals.append(goal)
    return tuple(goals)


def _needed(
    shop: Workshop,
    program: Sequence[Call],
    made: Sequence[ExecutedCall],
    told: list[int],
    first: int,
    shown: Sequence[Sequence[Path]],
    faults: list[str],
    last: int | None = None,
) -> Goal | None:
    """Return the goal of the calls up to a message if none of those for this message is superfluous."""
    known, results = known_values(program, shop.facts), [one.result for one in made]
    episode = Episode(shop.world, program)
    final = made[-1].state_after
    while True:
        required = []
        for step in told:
            if step >= len(made):
                break
            one = made[step]
            if one.error is not None:
                required.append(RequiredOutput(one.tool, (), one.error["code"]))
                continue
            values = told_values(shown[step], one.result)
            if values is None:
                faults.append(f"{one.tool} lacks a value that its answer tells")
                return None
            if shop.reads(one.tool):
                required.append(RequiredOutput(one.tool, values))
        goal = Goal(final, tuple(required))
        assert reached(goal, final, [(one.tool, one.outcome) for one in made])
        episode.forget()
        superfluous = find_superfluous(episode, program, goal, known, results, first, last)
        if superfluous is None:
            return goal
        if (
            superfluous in told
            or made[superfluous].status != "ok"
            or not shop.reads(program[superfluous].tool)
        ):
            faults.append(f"the goal is reached without {program[superfluous].tool}")
            return None
        told.append(superfluous)
        told.sort()
