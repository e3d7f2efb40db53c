"""Data edges between domains: which result of one domain's tool a tool of another asks for."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from planarena.environments.contract import BOUND, Environment
from planarena.environments.wording import offers
from planarena.environments.world import World, operations

__all__ = ["Bridge", "find_bridges"]

_DRAWS = 4  # proposals leave some arguments out at times


class Bridge(NamedTuple):
    """A result that a tool of another domain takes up.

    Attributes:
        producer: The tool that yields the value.
        pointer: Where in its result.
        consumer: The tool that takes it.
        argument: As which argument.
    """

    producer: str
    pointer: str
    consumer: str
    argument: str


def find_bridges(environments: Sequence[type[Environment]], world: World) -> tuple[Bridge, ...]:
    """Find what the proposals of each environment leave to be bound to results of the others.

    Args:
        environments: Those of the world.
        world: In its initial state.

    Returns:
        Every such edge, in order of the consumers, then of the producers.
    """
    found: dict[Bridge, None] = {}
    for taker in environments:
        for consumer, operation in operations(taker).items():
            asked: set[str] = set()
            for draw in range(_DRAWS):
                for proposal in world.propose(consumer, Random(draw)):
                    asked |= {name for name, value in proposal.items() if value is BOUND}
            for argument, schema in operation.tool.parameters.items():
                if argument not in asked:
                    continue
                for giver in environments:
                    if giver is taker:
                        continue
                    for producer, entries in offers(giver).items():
                        for entry in entries:
                            if entry.semantic == schema["x-semantic"]:
                                found[Bridge(producer, entry.pointer, consumer, argument)] = None
    return tuple(found)
