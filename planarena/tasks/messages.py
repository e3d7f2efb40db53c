"""How a task is told: which message asks for which step, and which steps are not asked for because they only serve.

A message asks for the steps between two cuts through the task's generations. Within a message a look-up whose result only
feeds a later step of the same message is implied ("freeze the card of my Everyday account"); everything else is
asked for, and told. A step that changes something is never implied: what takes up its result stands in a later message.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from random import Random
from typing import NamedTuple

__all__ = ["Arrangement", "arrange"]

# Shares [ours]: of the tasks that several messages could tell where one would do; of the look-ups that serve and are
# asked for all the same.
_SEVERAL, _SERVING_ASKED = 0.26, 0.1
# A reference may describe a value by one look-up: what that look-up is about has a name, or was told before.
_DEEPEST = 1
# More requests in one message are too many to read.
_MOST_REQUESTS = 3
_MOST_MESSAGES = 4


class Arrangement(NamedTuple):
    """The messages of a task.

    Attributes:
        turn_of: By step, its message, from 0 and never falling.
        asked: By step, whether the message asks for it.
    """

    turn_of: tuple[int, ...]
    asked: tuple[bool, ...]


def arrange(
    sources: Sequence[Collection[int]],
    groups: Sequence[int],
    reads: Sequence[bool],
    tellable: Sequence[bool],
    implied: Sequence[bool],
    rng: Random,
    untold: Sequence[Collection[int]] = (),
) -> Arrangement:
    """Choose the messages of a task.

    Args:
        sources: By step, the steps whose results it takes up.
        groups: By step, its generation; never falling.
        reads: By step, whether it changes nothing.
        tellable: By step, whether an answer can tell its result.
        implied: By step, whether a reference to its result says all that the look-up needs to be told.
        rng: Chooses where more than one way is right.
        untold: By step, the steps whose results it takes up in words that only an answer makes clear.
    """
    cuts = _drawn_cuts(groups[-1] if groups else 0, rng)
    while True:
        turn_of = tuple(sum(cut <= group for cut in cuts) for group in groups)
        feeding = _feeding(sources, turn_of)
        cut = _needed_cut(sources, groups, reads, turn_of, untold)
        if cut is None:
            cut = _relieving_cut(groups, turn_of, feeding)
        if cut is None:
            break
        cuts.add(cut)
    asked = tuple(
        step not in feeding or not implied[step] or (rng.random() < _SERVING_ASKED and tellable[step])
        for step in range(len(groups))
    )
    return Arrangement(turn_of, asked)


def _drawn_cuts(last: int, rng: Random) -> set[int]:
    """Draw before which generations a new message begins."""
    if last == 0 or rng.random() >= _SEVERAL:
        return set()
    wanted = 1 + (rng.random() < 0.4) + (rng.random() < 0.2)
    return set(rng.sample(range(1, last + 1), min(wanted, last, _MOST_MESSAGES - 1)))


def _feeding(sources: Sequence[Collection[int]], turn_of: Sequence[int]) -> set[int]:
    """Return the steps whose results a step of the same message takes up."""
    return {
        source for step, found in enumerate(sources) for source in found if turn_of[source] == turn_of[step]
    }


def _needed_cut(
    sources: Sequence[Collection[int]],
    groups: Sequence[int],
    reads: Sequence[bool],
    turn_of: Sequence[int],
    untold: Sequence[Collection[int]],
) -> int | None:
    """Return a generation before which a message must end, since its steps name what only an answer can tell."""
    depth: list[int] = []  # how many look-ups deep a reference to the step's result goes
    for step, found in enumerate(sources):
        inside = [source for source in found if turn_of[source] == turn_of[step]]
        if any(not reads[source] or depth[source] > _DEEPEST for source in inside):
            return groups[step]
        if untold and any(turn_of[source] == turn_of[step] for source in untold[step]):
            return groups[step]
        depth.append(1 + max((depth[source] for source in inside), default=0))
    return None


def _relieving_cut(groups: Sequence[int], turn_of: Sequence[int], feeding: set[int]) -> int | None:
    """Return the generation that splits a message with too many requests about in half, if one does."""
    for turn in range(turn_of[-1] + 1 if turn_of else 0):
        steps = [step for step in range(len(groups)) if turn_of[step] == turn]
        requests = [groups[step] for step in steps if step not in feeding]
        first, last = groups[steps[0]], groups[steps[-1]]
        if len(requests) <= _MOST_REQUESTS or first == last:
            continue
        return min(
            range(first + 1, last + 1),
            key=lambda cut: abs(2 * sum(g < cut for g in requests) - len(requests)),
        )
    return None
