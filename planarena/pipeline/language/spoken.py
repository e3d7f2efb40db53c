"""What was said of a task, as its contrast reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = ["Spoken"]


class Spoken(NamedTuple):
    """What was said of a task.

    Attributes:
        turn_of: The user's message of each step.
        answers: To each message.
        reported: By message, the steps that its answer tells.
        failed: By step that failed for good, the sentence by which an answer tells it.
    """

    turn_of: Sequence[int]
    answers: Sequence[str]
    reported: Sequence[Sequence[int]]
    failed: Mapping[int, str] = {}
