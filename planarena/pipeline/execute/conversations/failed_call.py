"""A call fails: by a passing fault, by a stale version, since a service is down, or since the world has changed meanwhile.

What goes wrong is seeded in the state of a scenario of its own (`planarena.environments.faults`), or the environment's own
error once somebody else was quicker. The gold tries again, reads again, or says that it did not work; then the user may
want the next best. The failed call is needed: without it the fault stays, or what is told was never seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from planarena.environments.catalog import goals_of
from planarena.environments.faults import fault_record
from planarena.environments.state import Record
from planarena.environments.wording import parse_pointer
from planarena.pipeline.execute.aims import AimDraw, Misfit, draw_again, prove_aims
from planarena.pipeline.execute.conversations.change_of_mind import other_values
from planarena.pipeline.execute.drafting import (
    lines_of,
    moved,
    placed,
    serves_its_message,
    settled_with,
    twin,
)
from planarena.pipeline.execute.ordering import Line
from planarena.pipeline.execute.workshop import Made, Workshop
from planarena.pipeline.products import Act, Executed, Step, Talk
from planarena.tasks.atoms import resolve

__all__ = ["let_a_call_fail"]

_PASSING = (
    ("timeout", "The request timed out; nothing was changed."),
    ("timeout", "No answer within 30 seconds; the request was not carried out."),
    ("rate_limited", "Too many requests at the moment; try again shortly."),
    ("rate_limited", "The limit of requests per minute is reached; please repeat the request."),
    ("service_unavailable", "The service is briefly unavailable; please try again."),
    ("connection_lost", "The connection was lost before the request was accepted."),
    ("temporarily_locked", "Another process holds the record; try again in a moment."),
)
_DOWN = (
    (
        "maintenance",
        "This function is down for maintenance until tomorrow morning.",
    ),
    (
        "not_permitted",
        "Your access does not include this function at present; an administrator has to enable it.",
    ),
    ("service_disabled", "This function has been switched off until further notice."),
)
_STALE = (
    ("stale_version", "The record was changed since it was read; read it again before you change it."),
    ("version_conflict", "There is a newer version of this record; look it up again first."),
)
# By field of a record that a call reads: what happens to it meanwhile, so that the call cannot be done.
_MEANWHILE: Mapping[str, Callable[[Any], Any]] = {
    "travel.flights.seats_left": lambda _: 0,
    "travel.hotels.rooms": lambda _: 0,
    "clinic.slots.taken": lambda _: True,
    "clinic.prescriptions.refills_left": lambda _: 0,
    "files.account.quota_mb": lambda value: value // 50,
    "banking.goals.saved": lambda value: round(value % 5 + 0.5, 2),
    "banking.cards.status": lambda _: "cancelled",
    "shopping.products.stock": lambda _: 0,
    "vehicles.vehicles.level": lambda _: 3,
    "hr.requests.status": lambda value: "withdrawn" if value == "pending" else value,
    "inventory.stock.on_hand": lambda _: 1,
    "support.tickets.status": lambda _: "closed",
    "email.drafts.sent": lambda _: True,
}
# How often the user wants something else where the world has changed meanwhile [ours].
_INSTEAD = 0.6
# How often an aim is wanted that the world can spoil: few can be, and what passes by itself would take their place [ours].
_ONLY_MEANWHILE = 0.5
_ID = re.compile(r"\b[a-z]{1,6}_[0-9a-f]{6,}")
# Of these an aim that means "the first" or "the cheapest" would take the next: an answer that stops there helps nobody.
_OF_MANY = ("travel.flights", "travel.hotels", "clinic.slots", "shopping.products")
_INDEX = re.compile(r"/(\d+)/")


def let_a_call_fail(shop: Workshop, task: Executed) -> Made | None:
    """Return a task as a conversation in which a call fails; None where none of the ways fits."""
    if task.aims and shop.rng.random() < _ONLY_MEANWHILE:
        return _meanwhile(shop, task)
    ways = {_meanwhile: 0.42, _passing: 0.3, _stale: 0.12, _down: 0.16}
    order = sorted(ways, key=lambda way: shop.rng.random() ** (1 / ways[way]), reverse=True)
    for way in order:
        made = way(shop, task)
        if made is not None:
            return made
    return None


class _Edit(NamedTuple):
    """A conversation with a failed call before it is proven.

    Attributes:
        lines: Its calls.
        acts: What its messages do; steps are lines.
        turns: Its number of messages.
        faults: What is seeded.
        task: What it is made of; its steps are the first lines, where it follows aims.
    """

    lines: list[Line]
    acts: tuple[Act, ...]
    turns: int
    faults: dict[str, Record]
    task: Executed


def _finished(shop: Workshop, edit: _Edit) -> Made | None:
    with shop.staged(edit.faults):
        settled = settled_with(shop, edit.task, edit.lines, edit.turns)
        if settled is None:
            return None
        state, digest = shop.state()
    acts = tuple(placed(act, settled) for act in edit.acts)
    task = replace(settled.task, talk=Talk("failed_call", acts, edit.turns))
    return Made(task, seed_state=state, atoms=settled.atoms, digest=digest)


def _firsts(shop: Workshop, task: Executed) -> Iterator[int]:
    """Yield the steps that are the first of their tool, none of it beside them, in a drawn order."""
    tools = [step.tool for step in task.steps]
    found = [
        number
        for number, step in enumerate(task.steps)
        if tools.index(step.tool) == number
        and sum(one.tool == step.tool and one.group == step.group for one in task.steps) == 1
    ]
    shop.rng.shuffle(found)
    # What changes something is tried first: there an error costs most.
    yield from sorted(found, key=lambda number: shop.reads(task.steps[number].tool))


# -- passing faults ------------------------------------------------------------------------------------------------


def _passing(shop: Workshop, task: Executed) -> Made | None:
    """A call fails once or twice and then works."""
    number = next(_firsts(shop, task), None)
    if number is None:
        return None
    code, message = shop.rng.choice(_PASSING)
    times = 2 if shop.rng.random() < 0.2 else 1
    lines = lines_of(shop, task)
    line = lines[number]
    # The gold's call becomes the last try; what takes from it goes on doing so.
    tries: list[int] = []
    for number_of in range(times):
        tries.append(len(lines))
        after = line.after | frozenset(tries[:-1])
        lines.append(line._replace(atom=twin(line.atom, number_of), told=False, after=after, fails=True))
    lines[number] = line._replace(after=line.after | frozenset(tries))
    acts = (Act(line.turn, "fails", tries[0], "passing"), *(
        Act(line.turn, "again", later, "", tries[0]) for later in (*tries[1:], number)
    ))  # fmt: skip
    fault = fault_record(code, message, left=times)
    return _finished(shop, _Edit(lines, acts, task.turns, {line.atom.tool: fault}, task))


def _stale(shop: Workshop, task: Executed) -> Made | None:
    """A write meets a newer version: what it is about is looked up again, then it works."""
    for number in _firsts(shop, task):
        step = task.steps[number]
        sources = {
            source
            for argument, source, _ in step.bound
            if shop.world.operations[step.tool].tool.parameters[argument].get("x-hidden")
        }
        if shop.reads(step.tool) or len(sources) != 1:
            continue
        (source,) = sources
        if not shop.reads(task.steps[source].tool):
            continue
        code, message = shop.rng.choice(_STALE)
        lines = lines_of(shop, task)
        line, look = lines[number], lines[source]
        first, again = len(lines), len(lines) + 1
        lines.append(line._replace(atom=twin(line.atom), told=False, fails=True))
        lines.append(
            look._replace(atom=twin(look.atom), turn=line.turn, told=False, after=look.after | {first})
        )
        retried = tuple((name, again if one == source else one, pointer) for name, one, pointer in line.bound)
        lines[number] = line._replace(bound=retried, after=line.after | {first, again})
        acts = (
            Act(line.turn, "fails", first, "stale"),
            Act(line.turn, "again", again, "", source),
            Act(line.turn, "again", number, "", first),
        )
        fault = fault_record(code, message, until=task.steps[source].tool)
        made = _finished(shop, _Edit(lines, acts, task.turns, {line.atom.tool: fault}, task))
        if made is not None:
            return made
    return None


# -- what does not work ----------------------------------------------------------------------------------------------


def _without(lines: list[Line], gone: int) -> tuple[list[Line], dict[int, int]] | None:
    """Drop what takes from a line, and what only served that; None where another message would be left with nothing."""
    dropped: set[int] = set()
    for number, line in enumerate(lines):
        if number != gone and any(source == gone or source in dropped for _, source, _ in line.bound):
            dropped.add(number)
    used = {
        source for number, line in enumerate(lines) if number not in dropped for _, source, _ in line.bound
    }
    changed = True
    while changed:
        changed = False
        for number, line in enumerate(lines):
            if number not in dropped and number not in used and number != gone and not line.told:
                dropped.add(number)
                changed = True
        used = {s for n, line in enumerate(lines) if n not in dropped for _, s, _ in line.bound}
    kept = [number for number in range(len(lines)) if number not in dropped]
    place = {number: where for where, number in enumerate(kept)}
    turns = {turn: where for where, turn in enumerate(sorted({lines[number].turn for number in kept}))}
    if lines[gone].turn not in turns:
        return None
    found = [
        lines[number]._replace(
            bound=tuple((name, place[source], pointer) for name, source, pointer in lines[number].bound),
            after=frozenset(place[one] for one in lines[number].after if one in place),
            turn=turns[lines[number].turn],
        )
        for number in kept
    ]
    return found, place


def _unserved(shop: Workshop, task: Executed, number: int, faults: dict[str, Record]) -> Made | None:
    """A call fails for good: what needs it is left, the rest is done, and the answer says so."""
    lines = lines_of(shop, task)
    if number not in task.reported or serves_its_message(lines, number):
        return None
    if any(one.branch for one in task.aims if one.turn == task.turn_of[number]):
        return None  # its answer would say that the one or the other was done
    lines[number] = lines[number]._replace(fails=True)
    found = _without(lines, number)
    # Who says an aim says all of it.
    if found is None or (task.aims and len(found[0]) < len(lines)):
        return None
    lines, place = found
    turns = 1 + max(line.turn for line in lines)
    failed = place[number]
    seen = _showed_otherwise(shop, task, number, faults)
    acts = (Act(lines[failed].turn, "fails", failed, "for good", seen),)
    return _finished(shop, _Edit(lines, acts, turns, faults, task))


def _down(shop: Workshop, task: Executed) -> Made | None:
    """A function is out of order, and says so."""
    for number in _firsts(shop, task):
        if sum(step.tool == task.steps[number].tool for step in task.steps) > 1:
            continue
        if task.aims and shop.reads(task.steps[number].tool) and task.steps[number].bound:
            continue  # what was looked up before may answer part of it
        code, message = shop.rng.choice(_DOWN)
        faults = {task.steps[number].tool: fault_record(code, message, left=0)}
        made = _unserved(shop, task, number, faults)
        if made is not None:
            return made
    return None


def _meanwhile(shop: Workshop, task: Executed) -> Made | None:
    """Somebody else was quicker: the environment refuses the call; the user may want the next best then."""
    for number in _firsts(shop, task):
        tool = task.steps[number].tool
        if shop.reads(tool):
            continue
        changes = _spoilt(shop, task, number)
        if changes is None or (task.aims and changes[0][0] in _OF_MANY):
            continue
        faults = {tool: fault_record(changes=changes)}
        ways = [_another, _next_best, _unserved] if shop.rng.random() < _INSTEAD else [_unserved]
        for way in ways:
            made = way(shop, task, number, faults)
            if made is not None:
                return made
    return None


def _spoilt(shop: Workshop, task: Executed, number: int) -> list[list[Any]] | None:
    """Return a change after which a step is refused, with an error that people understand."""
    world, store = shop.world, shop.world.store
    for one in task.steps[:number]:
        world.call(one.tool, one.arguments)
    here = world.mark()
    step = task.steps[number]
    remembered = world.remember(False)
    try:
        world.call(step.tool, step.arguments)
        footprint = world.footprint()
        world.rollback(here)
        places = sorted((table, key) for table, key in footprint.reads | footprint.writes if key is not None)
        dump = store.dump()
        for table, key in places:
            record = dump.get(table, {}).get(key)
            for field in record or ():
                change = _MEANWHILE.get(f"{table}.{field}")
                if change is None or record is None or change(record[field]) == record[field]:
                    continue
                space, _, name = table.partition(".")
                store.view(space).patch(name, key, **{field: change(record[field])})
                outcome = world.call(step.tool, step.arguments)
                world.rollback(here)
                if outcome.status == "tool_error" and not _ID.search(str(outcome.error)):
                    return [[table, key, {field: change(record[field])}]]
        return None
    finally:
        world.rollback(shop.start)
        world.remember(remembered)


def _showed_otherwise(shop: Workshop, task: Executed, number: int, faults: dict[str, Record]) -> bool:
    """Say whether a look-up before a call that fails showed what has changed since: its answer says that it has."""
    if not faults[task.steps[number].tool].get("changes"):
        return False
    looks = [one for one in task.steps[:number] if shop.reads(one.tool)]

    def shown(calls: Sequence[Step]) -> list[Any]:
        for one in calls:
            shop.world.call(one.tool, one.arguments)
        found = [shop.world.call(one.tool, one.arguments).result for one in looks]
        shop.world.rollback(shop.start)
        return found

    before = shown(task.steps[:number])
    with shop.staged(faults):
        return shown(task.steps[: number + 1]) != before


def _another(shop: Workshop, task: Executed, number: int, faults: dict[str, Record]) -> Made | None:
    """After the answer that it did not work, the user takes another value, with which it does."""
    owner = next((one for one in task.aims if any(step == number for step, _, _ in one.calls)), None)
    if owner is None or number not in task.reported:
        return None
    call = next((name, which) for step, name, which in owner.calls if step == number)
    try:
        before: list[AimDraw] = []
        for one in task.aims:
            if one.turn < owner.turn:
                before.append(draw_again(shop, one, before))
        first = draw_again(shop, owner, before)
    except Misfit:
        return None
    line = next(at for at, one in enumerate(first.made) if (one.name, one.number) == call)
    if line != len(first.made) - 1:
        return None
    sayable = goals_of(owner.domain)[owner.name].otherwise
    for said in owner.said:
        for place, name in said.places[:1] if said.name in sayable else ():
            for other in other_values(shop, task, place, name):
                with shop.staged(faults):
                    draws = [*before, first]
                    try:
                        draws.append(draw_again(shop, owner, draws, {said.name: other}))
                        settled = prove_aims(draws, failing=[(len(before), line)])
                    except Misfit:
                        continue
                    state, digest = shop.state()
                turn = len(before)
                failed = max(step for step, at in enumerate(settled.task.turn_of) if at == turn)
                again = next(one for one in settled.task.aims[-1].said if one.name == said.name).places[0]
                acts = (
                    Act(turn, "fails", failed, "for good", _showed_otherwise(shop, task, number, faults)),
                    Act(turn + 1, "instead", *again, shop.atoms[task.steps[place].atom].arguments[name]),
                )
                made = replace(settled.task, talk=Talk("failed_call", acts, turn + 2))
                return Made(made, seed_state=state, atoms=settled.atoms, digest=digest)
    return None


def _is_still_next(
    shop: Workshop, task: Executed, number: int, source: int, pointer: str, faults: dict[str, Record]
) -> bool:
    """Say whether the look-up, made again after the call failed, shows the same in this place: else it means another."""
    look, path = task.steps[source], parse_pointer(pointer)
    with shop.staged(faults):
        for one in task.steps[: number + 1]:
            shop.world.call(one.tool, one.arguments)
        again = shop.world.call(look.tool, look.arguments)
    return again.status == "ok" and bool(resolve(again.result, path) == resolve(look.result, path))


def _next_best(shop: Workshop, task: Executed, number: int, faults: dict[str, Record]) -> Made | None:
    """After the answer that it did not work, the user takes the next one of the same list."""
    lines = lines_of(shop, task)
    line = lines[number]
    if task.aims or number not in task.reported or serves_its_message(lines, number):
        return None
    for argument, source, pointer in line.bound:
        index = _INDEX.search(pointer)
        if index is None:
            continue
        following = f"{pointer[: index.start(1)]}{int(index.group(1)) + 1}{pointer[index.end(1) :]}"
        offered = shop.wording[task.steps[source].tool].refer
        others = [one for one in line.bound if one[1] == source and one[0] != argument]
        if following not in offered or others:
            continue
        if not _is_still_next(shop, task, number, source, following, faults):
            continue
        turn = line.turn
        # What the user wants instead comes with a message of its own; all that came later comes after it.
        later = [one._replace(turn=one.turn + (one.turn > turn)) for one in lines]
        second = len(later)
        bound = tuple(
            (name, one, following if name == argument else place) for name, one, place in line.bound
        )
        instead = line._replace(atom=twin(line.atom), bound=bound, turn=turn + 1, after=line.after | {number})
        later = moved(later, number, second)
        later[number] = line._replace(fails=True)
        later.append(instead)
        acts = (
            Act(turn, "fails", number, "for good", _showed_otherwise(shop, task, number, faults)),
            Act(turn + 1, "instead", second, argument, number),
        )
        made = _finished(shop, _Edit(later, acts, task.turns + 1, faults, task))
        if made is not None:
            return made
    return None
