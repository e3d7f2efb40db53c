"""What an aim's answer tells of a call's result, and aims that go over into another conversation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from planarena.environments.catalog import goals_of
from planarena.environments.goals import Aim
from planarena.pipeline.aimed import Aimed

__all__ = ["carried", "outputs_by_step", "outputs_of", "pointer_in"]


def pointer_in(aim: Aim, value: str, index: int) -> str:
    """Return the pointer of a value that is told: `PICK.FIELD` of the record at a place, or a pointer as it stands."""
    if value.startswith("/"):
        return value
    pick, _, field = value.partition(".")
    return f"{aim.picks[pick][1].rows}/{index}/{field}"


def outputs_of(aim: Aim, call: str, places: Sequence[tuple[str, int]]) -> tuple[str, ...] | None:
    """Return the pointers of what is told of a call, or None where the words of its tool say it.

    Args:
        aim: The aim.
        call: The call's name.
        places: (pick, place) of the records of its result that are meant.
    """
    telling = aim.telling(call)
    if telling is None:
        return None
    found: dict[str, None] = {}
    for value in telling.values:
        if value.startswith("/"):
            found[value] = None
        for pick, place in places:
            if value.startswith(f"{pick}."):
                found[pointer_in(aim, value, place)] = None
    return tuple(found)


def outputs_by_step(aims: Iterable[Aimed]) -> dict[int, tuple[str, ...]]:
    """Return by step the pointers of what is told of it, where its aim says that."""
    found: dict[int, tuple[str, ...]] = {}
    for aimed in aims:
        aim = goals_of(aimed.domain)[aimed.name]
        for step, call, _ in aimed.calls:
            own = [(one.name, one.index) for one in aimed.picked if one.step == step]
            outputs = outputs_of(aim, call, own)
            if outputs is not None:
                found[step] = outputs
    return found


def carried(aims: Iterable[Aimed], place: Mapping[int, int], turns: int = 0) -> tuple[Aimed, ...]:
    """Return aims as they stand in another conversation.

    Args:
        aims: As they stand in theirs.
        place: By their steps, the steps there.
        turns: How many messages come before theirs.
    """
    return tuple(
        replace(
            aimed,
            turn=aimed.turn + turns,
            calls=tuple(sorted((place[step], call, number) for step, call, number in aimed.calls)),
            said=tuple(
                replace(one, places=tuple((place[step], argument) for step, argument in one.places))
                for one in aimed.said
            ),
            picked=tuple(replace(one, step=place[one.step]) for one in aimed.picked),
        )
        for aimed in aims
    )
