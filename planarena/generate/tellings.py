"""What is told: how a task is divided into messages, and the conversation that was written of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planarena.generate.clauses import Mention
from planarena.generate.spelling import Style

__all__ = ["Query", "Telling", "before_of"]


class Telling(NamedTuple):
    """How a task is told.

    Attributes:
        turn_of: By step, its message.
        asked: The steps that a message asks for, in order.
        before: By step, the steps that must come before it, as a bit mask.
        now: The present moment; empty where there is no clock.
        turns: The number of messages; 0 where the steps say it.
        known: What is known from the start, as one text.
    """

    turn_of: Sequence[int]
    asked: Sequence[int]
    before: Sequence[int]
    now: str = ""
    turns: int = 0
    known: str = ""


class Query(NamedTuple):
    """A conversation.

    Attributes:
        turns: The user's messages.
        answers: What each of them was answered.
        said: The literals that they state.
        register: The manner of speaking.
        style: How it is written.
    """

    turns: tuple[str, ...]
    answers: tuple[str, ...]
    said: tuple[Mention, ...]
    register: str
    style: Style


def before_of(
    count: int, bound: Sequence[Mapping[str, tuple[int, str]]], edges: Sequence[tuple[int, int, str]]
) -> list[int]:
    """Return by step what must come before it, as bit masks, closed under "before"."""
    before = [0] * count
    for step in range(count):
        for source, _ in bound[step].values():
            before[step] |= 1 << source | before[source]
        for earlier, later, _ in edges:
            if later == step:
                before[step] |= 1 << earlier | before[earlier]
    return before
