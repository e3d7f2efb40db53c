"""Which aim a message follows, as phases hand it on: what the user says in it, and which calls are whose."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["Aimed", "Picked", "Said"]


class Said(msgspec.Struct, frozen=True, array_like=True):
    """A value that the user says.

    Attributes:
        name: The placeholder by which ways name it.
        value: The value.
        surface: How it is written, as `x-surface`.
        places: (step, argument) of the calls that take it.
    """

    name: str
    value: Any
    surface: str = "plain"
    places: tuple[tuple[int, str], ...] = ()


class Picked(msgspec.Struct, frozen=True, array_like=True):
    """A record that is meant.

    Attributes:
        name: Of the pick.
        step: Whose result it is in.
        index: Its place in the list.
        number: Its number among those that are meant.
        of: How many are meant.
    """

    name: str
    step: int
    index: int
    number: int = 0
    of: int = 1


class Aimed(msgspec.Struct, frozen=True, array_like=True):
    """The aim of a message.

    Attributes:
        domain: In whose `goals.yaml` it stands.
        name: Its name there.
        turn: The message.
        calls: (step, name of the call, number among the calls of that name).
        said: What the user says.
        picked: The records that are meant.
        branch: The outcome of its condition: `then`, `else` or empty.
        way: Which of its ways says it; -1 where that is drawn when it is said. Twins share one.
    """

    domain: str
    name: str
    turn: int
    calls: tuple[tuple[int, str, int], ...]
    said: tuple[Said, ...]
    picked: tuple[Picked, ...]
    branch: str = ""
    way: int = -1
