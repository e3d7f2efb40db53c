"""Whether an aim may follow others in one conversation: who has heard something does not ask for it again.

Each of these is a reason for which a draw is left out, and which the card counts:

`asks_what_was_told`: all that its answer would tell was told, or said, in messages before: the last booking on an
    account, which is the transfer that was just made.
`asks_of_nothing`: all that its answer would tell is that there is nothing, as of a cart that was just ordered.
`describes_what_is_known`: "the cheapest crew" is one that the conversation has dealt with, and would call by its name.
`done_before`: what it changes was changed in the same way before, or would be if its condition held.
`done_all_the_same`: it does what an earlier one wanted only under a condition that did not hold.
`undoes_what_was_done`: it takes back what was done a moment ago, or does again what was taken back.
`does_the_like_again`: it makes a call of the same tool for the same name, or for one after all that fitted.
`changes_it_again`: what it changes was changed, or put down somewhere for later, a moment ago.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from planarena.environments.wording import parse_pointer
from planarena.pipeline.execute.aims.drawing import AimDraw
from planarena.pipeline.execute.aims.values import MadeCall
from planarena.tasks.atoms import resolve

__all__ = ["why_not_after"]

# Ways of choosing a record that describe it by its place.
_RANKED = frozenset({"least", "most", "place"})
# A name has as many letters at least; a day as it is stored.
_SHORTEST_NAME, _ISO_DAY = 4, re.compile(r"\d{4}-\d\d-\d\d")
# What notes a time for something.
_PUTS_DOWN = frozenset({"create_calendar_event"})


def why_not_after(draws: Sequence[AimDraw], other: AimDraw) -> str:
    """Return why an aim must not follow others, or an empty text.

    Args:
        draws: The aims before it.
        other: The aim, carried out in the state that those leave.
    """
    if _asks_again(draws, other):
        return "asks_what_was_told"
    if all(value in (0, "") for _, value in _told(other)):
        return "asks_of_nothing"
    if set(_described(other)) & {one for draw in draws for one in _dealt_with(draw)}:
        return "describes_what_is_known"
    for draw in draws:
        if _does_all_the_same(draw, other):
            return "done_all_the_same"
        for one in draw.made:
            if draw.shop.reads(one.atom.tool):
                continue
            if _does_again(draw, one, other):
                return "done_before"
            if _undoes(draw, one, other) or _does_what_was_undone(draw, one, other):
                return "undoes_what_was_done"
            if _does_the_like(draw, one, other) or _was_done_for_all(draw, one, other):
                return "does_the_like_again"
            if not other.aim.again and _changes_again(draw, one, other):
                return "changes_it_again"
        if not other.aim.again and _is_put_down(draw, other):
            return "changes_it_again"
    return ""


def _told(draw: AimDraw) -> list[tuple[int, Any]]:
    """Return (call, value) of what the answer to an aim tells."""
    return draw.once(_find_told)


def _find_told(draw: AimDraw) -> list[tuple[int, Any]]:
    return list(_told_by(draw))


def _told_by(draw: AimDraw) -> Iterator[tuple[int, Any]]:
    told, own = draw.told(), draw.outputs()
    for number, one in enumerate(draw.made):
        if one.name in told:
            for pointer in own.get(number, draw.shop.wording[one.atom.tool].outputs):
                yield number, resolve(one.result, parse_pointer(pointer))


def _asks_again(draws: Sequence[AimDraw], other: AimDraw) -> bool:
    told = list(_told(other))
    if not all(other.shop.reads(one.atom.tool) for one in other.made):
        return False
    known = {repr(value) for draw in draws for _, value in _told(draw)}
    known |= {repr(value) for draw in draws for value in draw.said.values()}
    # What was looked up in the same way was told, whatever words it was told in.
    looked = {repr((one.atom.tool, one.arguments)) for draw in draws for one in _answered(draw)}
    left = [
        value
        for call, value in told
        if repr(value) not in known
        and repr((other.made[call].atom.tool, other.made[call].arguments)) not in looked
    ]
    return not left or _is_of_deed(draws, left)


def _is_of_deed(draws: Sequence[AimDraw], values: Sequence[Any]) -> bool:
    """Say whether values show what a deed has left behind: "Transfer to Kiran Hernandez" of today, for its sum.

    One of them speaks of the deed in longer words than it was told in, and all others are values of the deed.
    """
    for draw in draws:
        for one in draw.made:
            if draw.shop.reads(one.atom.tool):
                continue
            own = [*one.arguments.values(), *(one.result.values() if isinstance(one.result, dict) else ())]
            names = [value for value in own if isinstance(value, str) and len(value) >= _SHORTEST_NAME]
            speaks = [
                value for value in values if isinstance(value, str) and any(name in value for name in names)
            ]
            sums = {abs(value) for value in own if isinstance(value, int | float)}
            if speaks and all(
                value in speaks
                or value in own
                or (isinstance(value, int | float) and abs(value) in sums)
                or (isinstance(value, str) and _ISO_DAY.fullmatch(value) is not None)
                for value in values
            ):
                return True
    return False


def _answered(draw: AimDraw) -> Iterator[MadeCall]:
    told = draw.told()
    return (one for one in draw.made if one.name in told and draw.aim.telling(one.name) is None)


def _ids(draw: AimDraw, one: MadeCall) -> dict[str, Any]:
    """Return the ids that a call takes."""
    schemas = draw.world.operations[one.atom.tool].tool.parameters
    return {name: value for name, value in one.arguments.items() if schemas[name].get("x-hidden")}


def _dealt_with(draw: AimDraw) -> list[Any]:
    """Return the ids of what an aim acted on, made or spoke of."""
    return draw.once(_find_dealt_with)


def _find_dealt_with(draw: AimDraw) -> list[Any]:
    return list(_dealt_with_by(draw))


def _dealt_with_by(draw: AimDraw) -> Iterator[Any]:
    for one in draw.made:
        yield from _ids(draw, one).values()
        if not draw.shop.reads(one.atom.tool) and isinstance(one.result, dict):
            yield from (value for field, value in one.result.items() if field.endswith("_id"))
    for name, found in draw.picked.items():
        if name not in draw.many:
            for line, at in found:
                rows = resolve(draw.made[line].result, parse_pointer(draw.aim.picks[name][1].rows))
                yield from (value for field, value in rows[at].items() if field.endswith("_id"))


def _described(draw: AimDraw) -> Iterator[Any]:
    """Yield the ids of what an aim describes by its place in a list: "the latest", "the cheapest"."""
    for name, found in draw.picked.items():
        call, pick = draw.aim.picks[name]
        if pick.way in _RANKED and draw.aim.calls[call].picks.get(name) is not None:
            for line, at in found:
                rows = resolve(draw.made[line].result, parse_pointer(pick.rows))
                yield from (value for field, value in rows[at].items() if field.endswith("_id"))
    for one in draw.made:
        for argument, _, pointer in one.bound:
            path = parse_pointer(pointer)
            if len(path) > 1 and not any(isinstance(word, int) for word in path):
                yield one.arguments[argument]


def _does_again(draw: AimDraw, one: MadeCall, other: AimDraw) -> bool:
    """Say whether an aim does, or would do, what a call did before it."""
    own = _ids(draw, one)
    effects = draw.world.operations[one.atom.tool].tool.effects
    for again in other.made:
        if again.atom.tool != one.atom.tool or _ids(other, again) != own:
            continue
        rest = [name for name in one.arguments if name not in own]
        same = [name for name in rest if again.arguments.get(name) == one.arguments[name]]
        if (own and effects != "create") or 2 * len(same) >= len(rest):
            return True
    if effects == "create" and _chosen(draw, one) & {
        choice for again in other.made if again.atom.tool == one.atom.tool for choice in _chosen(other, again)
    }:
        return True  # the cheapest locker, and then the roomiest one there
    unmade = {call.tool for name, call in other.aim.calls.items() if name not in other.lines_of}
    known = set(map(repr, _dealt_with(other))) | {
        repr(value) for made in other.made for value in _shallow(made.result)
    }
    return one.atom.tool in unmade and any(repr(value) in known for value in own.values())


def _does_all_the_same(draw: AimDraw, other: AimDraw) -> bool:
    unmade = {call.tool for name, call in draw.aim.calls.items() if name not in draw.lines_of}
    known = {repr(value) for value in _dealt_with(draw)}
    known |= {repr(value) for made in draw.made for value in _shallow(made.result)}
    return any(
        one.atom.tool in unmade and any(repr(value) in known for value in _ids(other, one).values())
        for one in other.made
        if not other.shop.reads(one.atom.tool)
    )


def _chosen(draw: AimDraw, one: MadeCall) -> set[str]:
    """Return the look-ups from whose lists a call takes what it is made for, where that is described by its place."""
    ranked = {
        (line, f"{draw.aim.picks[name][1].rows}/{at}/")
        for name, found in draw.picked.items()
        if draw.aim.picks[name][1].way in _RANKED
        for line, at in found
    }
    found = set()
    for _, line, pointer in one.bound:
        source = draw.made[line]
        extreme = len(path := parse_pointer(pointer)) > 1 and not any(isinstance(word, int) for word in path)
        if extreme or any(line == at and pointer.startswith(rows) for at, rows in ranked):
            found.add(repr((source.atom.tool, source.arguments)))
    return found


def _shallow(result: Any) -> Iterator[Any]:
    if isinstance(result, dict):
        yield from (value for value in result.values() if isinstance(value, str))


def _does_the_like(draw: AimDraw, one: MadeCall, other: AimDraw) -> bool:
    """Say whether an aim makes a call of the same tool for a name or a day that the user said for one before.

    What is booked takes the values of its look-ups, too: a second hour with a coach of the same kind.
    """
    said = {value for value in draw.said.values() if isinstance(value, str)}
    deep = draw.world.operations[one.atom.tool].tool.effects == "create"
    own = {pair for pair in _taken(draw, one, deep=deep) if pair[1] in said}
    return any(
        own & _taken(other, again, deep=deep) for again in other.made if again.atom.tool == one.atom.tool
    )


def _taken(draw: AimDraw, one: MadeCall, *, deep: bool) -> set[tuple[str, str]]:
    """Return (argument, text) of what a call takes, and of what the look-ups take that it draws on."""
    schemas = draw.world.operations[one.atom.tool].tool.parameters
    found = {
        (name, value)
        for name, value in one.arguments.items()
        if isinstance(value, str) and not schemas[name].get("x-hidden")
    }
    for _, line, _ in one.bound if deep else ():
        found |= _taken(draw, draw.made[line], deep=True)
    return found


def _was_done_for_all(draw: AimDraw, one: MadeCall, other: AimDraw) -> bool:
    """Say whether an aim does for one what an earlier one did for all that fit: all dinners for Ada, the next for Bea."""
    lines = {line for name in draw.many for line, _ in draw.picked.get(name, ())}
    return any(source in lines for _, source, _ in one.bound) and any(
        again.atom.tool == one.atom.tool for again in other.made
    )


def _changes_again(draw: AimDraw, one: MadeCall, other: AimDraw) -> bool:
    """Say whether an aim changes a record that a call has changed: one that both take by the same argument."""
    own = _changed(draw, one)
    return any(own & _changed(other, again) for again in other.made if not other.shop.reads(again.atom.tool))


def _changed(draw: AimDraw, one: MadeCall) -> set[tuple[str, str]]:
    """Return the ids of what a call changes; what is created takes the ids of what it belongs to."""
    if draw.world.operations[one.atom.tool].tool.effects == "create":
        return set()
    return {(name, repr(value)) for name, value in _ids(draw, one).items()}


def _is_put_down(draw: AimDraw, other: AimDraw) -> bool:
    """Say whether an aim acts on what the one before has put into a calendar: it is to be done then, and not now."""
    entries = [one for one in draw.made if one.atom.tool in _PUTS_DOWN]
    if not entries or len({call.tool for call in draw.aim.calls.values()}) < len(_PUTS_DOWN) + 1:
        return False
    meant = {repr(value) for value in _dealt_with(draw)}
    meant -= {repr(value) for one in entries for value in _shallow(one.result)}
    return any(
        repr(value) in meant
        for one in other.made
        if not other.shop.reads(one.atom.tool) and one.atom.tool not in _PUTS_DOWN
        for value in _ids(other, one).values()
    )


def _does_what_was_undone(draw: AimDraw, one: MadeCall, other: AimDraw) -> bool:
    """Say whether an aim does again, for the same thing, what a call took back: water ordered for the day called off."""
    words = other.shop.wording[one.atom.tool]
    known = {*_dealt_with(draw), *draw.said.values(), *_shallow(one.result)}
    for again in other.made:
        kind = set(again.result) if isinstance(again.result, dict) else set()
        undone = again.atom.tool in words.undoes or bool(kind & set(words.ends))
        if undone and other.world.operations[again.atom.tool].tool.effects == "create":
            schemas = other.world.operations[again.atom.tool].tool.parameters
            if any(
                value in known
                for name, value in again.arguments.items()
                if isinstance(value, str) and "enum" not in schemas[name]
            ):
                return True
    return False


def _undoes(draw: AimDraw, one: MadeCall, other: AimDraw) -> bool:
    made = {*_ids(draw, one).values(), *(value for value in _shallow(one.result))}
    return any(
        one.atom.tool in other.shop.wording[back.atom.tool].undoes and made & set(_ids(other, back).values())
        for back in other.made
        if not other.shop.reads(back.atom.tool)
    )
