"""Whether a task that runs is one that somebody would ask for: writes that serve a purpose, answers that tell something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from planarena.environments import World
from planarena.environments.wording import ToolWording
from planarena.episodes import ExecutedCall
from planarena.proofs import Order, is_tied
from planarena.tasks.atoms import Call

__all__ = ["Path", "Telling", "idle_answer", "senseless_write"]

Path = tuple[str | int, ...]


class Telling(NamedTuple):
    """What decides how a task is asked for and told.

    Attributes:
        outputs: By tool, the paths of what an answer reports.
        orders: By tool, what decides which record of a list in its result comes first.
        implied: By step, whether references to its result say all that the look-up is told.
        groups: By step, its generation.
        rng: Chooses among ways of telling.
        wording: The tools' words, which say what may be spoken of before an answer told it; without them all may.
        known: What is known anyway, which joins no two requests; None where nobody knows what calls are about.
    """

    outputs: Mapping[str, Sequence[Path]]
    orders: Mapping[str, Mapping[Path, Order]]
    implied: Sequence[bool]
    groups: Sequence[int]
    rng: Random
    wording: Mapping[str, ToolWording] = {}
    known: frozenset[str] | None = None


def idle_answer(
    world: World,
    program: Sequence[Call],
    executed: Sequence[ExecutedCall],
    values: Mapping[int, tuple[tuple[Path, Any], ...] | None],
    reported: Sequence[int],
    telling: Telling,
) -> tuple[str, str] | None:
    """Return why an answer to a look-up would be no answer: it names a first among equals, or what was said already.

    Said is what the user asked to be written and what a write gave; all that a look-up tells, or all that it tells of
    the record which it names first ("who drove last" after that trip was entered).
    """
    own_names = _names_of_user(world)
    for step in reported:
        if own_names & {value for _, value in values[step] or ()}:
            return "about_the_user", f"step {step}: {program[step].tool} tells the user who they are"
        tool, result = program[step].tool, executed[step].result
        for path in telling.outputs[tool]:
            if is_tied(result, path, telling.orders.get(tool, {})):
                return "tied_answer", f"step {step}: {_pointer(path)} of {tool} ties"
        if executed[step].state_after != executed[step].state_before:
            continue
        if (own := _own_creation(program, executed, step, values[step] or ())) is not None:
            return (
                "own_creation",
                f"step {step}: {tool} shows what step {own} ({program[own].tool}) was told to make",
            )
        written: set[Any] = set()
        for earlier in range(step):
            one = executed[earlier]
            if one.state_after == one.state_before:
                continue
            said = _said_by(one)
            written |= said
            for told in _told_of_records(values[step] or ()):
                if told <= said:
                    return "told_already", f"step {step}: step {earlier} ({one.tool}) says what {tool} tells"
        found = {value for _, value in values[step] or ()}
        if len(found) > 1 and found <= written:
            return "told_already", f"step {step}: earlier steps say all that {tool} tells"
        if (known := _known_before(executed, step, values, reported)) is not None:
            return "told_already", f"step {step}: most of what {tool} tells, as {known!r}, was said before"
    return None


def _known_before(
    executed: Sequence[ExecutedCall],
    step: int,
    values: Mapping[int, tuple[tuple[Path, Any], ...] | None],
    reported: Sequence[int],
) -> str | None:
    """Return a text that a look-up tells and that was used or told before it, where that is true of most of them."""
    own = set(map(str, executed[step].arguments.values()))
    told = {value for _, value in values[step] or () if isinstance(value, str) and len(value) > 3} - own
    before: set[Any] = set()
    for earlier in range(step):
        before |= {value for value in executed[earlier].arguments.values() if isinstance(value, str)}
        if earlier in reported:
            before |= {value for _, value in values[earlier] or () if isinstance(value, str)}
    known = told & before
    return min(known) if len(told) > 1 and 2 * len(known) > len(told) else None


def _told_of_records(values: Sequence[tuple[Path, Any]]) -> list[set[Any]]:
    """Return what an answer tells of each record of a list that it names; all together where there is no list."""
    groups: dict[Path, set[Any]] = {}
    for path, value in values:
        place = next((number for number, word in enumerate(path) if isinstance(word, int)), None)
        groups.setdefault(path[: place + 1] if place is not None else (), set()).add(value)
    return [told for path, told in groups.items() if path or (len(groups) == 1 and len(told) > 1)]


def _own_creation(
    program: Sequence[Call], executed: Sequence[ExecutedCall], step: int, told: Sequence[tuple[Path, Any]]
) -> int | None:
    """Return the step that made what a look-up shows, where there is little to ask: the user gave it its title, or what
    it gave when it was made is half of what would be told.
    """
    shown = {value for _, value in told}
    titles = {value for path, value in told if path and path[-1] in _TITLES}
    for binding in program[step].bound:
        maker = executed[binding.source]
        if maker.state_after == maker.state_before:
            continue
        if len(shown) > 1 and 2 * len(shown & _said_by(maker)) >= len(shown):
            return binding.source
        if titles & _texts(program[binding.source]):
            return binding.source
    return None


def _texts(call: Call) -> set[Any]:
    return {value for value in call.literals.values() if isinstance(value, str)}


_TITLES = frozenset({"title", "subject", "name"})


def _said_by(one: ExecutedCall) -> set[Any]:
    """Return the single values that a call was told and showed."""
    shown = one.result.values() if isinstance(one.result, dict) else ()
    return {value for value in (*one.arguments.values(), *shown) if isinstance(value, str | int | float)}


def _pointer(path: Path) -> str:
    return "".join(f"/{word}" for word in path)


# What is known of the user by name.
_OWN = ("user_name", "user_address")


def _names_of_user(world: World) -> set[Any]:
    return {world.facts[name] for name in _OWN if isinstance(world.facts.get(name), str)}


def senseless_write(
    world: World, program: Sequence[Call], executed: Sequence[ExecutedCall]
) -> tuple[str, str] | None:
    """Return why nobody would ask for what a task does.

    The user is spoken of by name as anybody else (`about_the_user`); the same thing is made twice under two titles
    (`made_twice`); one look-up is made with two limits (`repeated_look_up`); one name is looked up in two places
    (`asked_elsewhere`); a setting of a thing is what it is set to (`own_setting`).
    """
    own = _names_of_user(world)
    for step, one in enumerate(executed):
        for argument, value in one.arguments.items():
            if isinstance(value, str) and value in own:
                return "about_the_user", f"step {step}: {argument} of {one.tool} is the user"
        if (setting := _own_setting(world, program[step])) is not None:
            return "own_setting", f"step {step}: {setting} of {one.tool} is read from what it is set on"
        for earlier in range(step):
            if _made_twice(world, program[earlier], executed[earlier], program[step], one):
                return "made_twice", f"steps {earlier} and {step} ({one.tool}) differ in their title alone"
            if _asked_elsewhere(world, executed[earlier], one):
                return "asked_elsewhere", f"steps {earlier} and {step} look up one name in two places"
            if _same_range(executed[earlier], one):
                return "repeated_look_up", f"steps {earlier} and {step} ({one.tool}) look back to two days"
    return None


def _asked_elsewhere(world: World, first: ExecutedCall, second: ExecutedCall) -> bool:
    """Say whether two domains are asked for the same person in the same words: a directory and an address book."""
    tools = [world.operations[one.tool].tool for one in (first, second)]
    if tools[0].namespace == tools[1].namespace or any(tool.effects != "read" for tool in tools):
        return False
    return bool(first.arguments) and first.arguments == second.arguments


# Arguments that only narrow what a look-up shows.
_RANGE = frozenset({"since", "until", "from_date", "max_price", "max_rate", "min_stars"})


def _same_range(first: ExecutedCall, second: ExecutedCall) -> bool:
    """Say whether two look-ups differ in how far they reach alone: the one shows what the other does."""
    if first.tool != second.tool:
        return False
    names = {*first.arguments, *second.arguments}
    apart = {name for name in names if first.arguments.get(name) != second.arguments.get(name)}
    return bool(apart) and apart <= _RANGE


def _made_twice(world: World, first: Call, one: ExecutedCall, second: Call, other: ExecutedCall) -> bool:
    tool = world.operations[first.tool].tool
    if first.tool != second.tool or tool.effects != "create" or not first.bound:
        return False
    apart = [name for name in tool.parameters if one.arguments.get(name) != other.arguments.get(name)]
    kind = tool.parameters[apart[0]].get("x-semantic", "") if len(apart) == 1 else ""
    return kind.endswith(("title", "name")) and apart[0] in first.literals


def _own_setting(world: World, call: Call) -> str | None:
    """Return the argument of a write that is a value of the very record which the write changes.

    A thermostat set to its own target, a parking space for a vehicle from the day on which that vehicle needs tyres.
    """
    tool = world.operations[call.tool].tool
    if tool.effects == "read":
        return None
    hidden = {
        (binding.source, binding.path[:-1])
        for binding in call.bound
        if tool.parameters[binding.argument].get("x-hidden")
    }
    for binding in call.bound:
        schema = tool.parameters[binding.argument]
        if not schema.get("x-hidden") and (binding.source, binding.path[:-1]) in hidden:
            return binding.argument
    return None
