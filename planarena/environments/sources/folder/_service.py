"""The inside of an environment folder's sandbox: open the folder, make worlds of it, and act in them.

The folder is named by the environment variable PLANARENA_FOLDER. Worlds are numbered; the oldest is given up where more
than a few are open, and its owner makes it again.
"""

import os
from pathlib import Path
from random import Random
from typing import Any

_MOST_WORLDS = 16
_worlds: dict[int, Any] = {}
_numbers = iter(range(1, 1 << 62))


def _environment() -> Any:
    from planarena.environments.folders import open_folder

    return open_folder(Path(os.environ["PLANARENA_FOLDER"]))


def _keep(world: Any) -> int:
    number = next(_numbers)
    _worlds[number] = world
    if len(_worlds) > _MOST_WORLDS:
        del _worlds[next(iter(_worlds))]
    return number


def _world(number: int) -> Any:
    if number not in _worlds:
        raise LookupError("world given up")
    _worlds[number] = _worlds.pop(number)
    return _worlds[number]


def describe(_value: Any) -> dict[str, Any]:
    """Return the environment's name and summary, and its tools."""
    import msgspec

    from planarena.environments.world import operations

    environment = _environment()
    found = operations(environment)
    return {
        "domain": environment.domain,
        "summary": environment.summary,
        "tools": [msgspec.to_builtins(one.tool) for one in found.values()],
        "proposing": [name for name, one in found.items() if one.propose is not None],
    }


def start(salt: Any) -> dict[str, Any]:
    """Make the world of a salt."""
    from planarena.environments.world import World

    seed = _environment().seed(Random(int(str(salt), 16)))
    world = World([_environment()], [seed])
    return {
        "world": _keep(world),
        "facts": world.facts,
        "title": seed.title,
        "description": seed.description,
        "digest": world.digest(),
    }


def restore(value: Any) -> dict[str, Any]:
    """Make a world of stored tables and facts."""
    from planarena.environments.world import World

    world = World.restore([_environment()], value[0], value[1])
    return {"world": _keep(world), "facts": world.facts, "digest": world.digest()}


def call(value: Any) -> list[Any]:
    """Call a tool: `[world, name, arguments]`."""
    number, name, arguments = value
    world = _world(number)
    before = world.digest()
    outcome = world.call(name, arguments)
    touched = world.footprint()
    digest = world.digest()
    return [
        [outcome.status, outcome.result, outcome.error],
        sorted([list(key) for key in touched.reads], key=repr),
        sorted([list(key) for key in touched.writes], key=repr),
        digest,
        digest != before,
    ]


def propose(value: Any) -> list[Any]:
    """Propose arguments: `[world, name, state of the random source]`; return them and the source's state after."""
    from planarena.environments.contract import BOUND

    number, name, state = value
    rng = Random()
    rng.setstate((state[0], tuple(state[1]), state[2]))
    found = [
        [{key: item for key, item in one.items() if item is not BOUND}, [k for k in one if one[k] is BOUND]]
        for one in _world(number).propose(name, rng)
    ]
    after = rng.getstate()
    return [found, [after[0], list(after[1]), after[2]]]


def mark(number: Any) -> int:
    """Return a point of a world to roll back to."""
    return int(_world(number).mark())


def rollback(value: Any) -> None:
    """Undo what was done in a world since a mark: `[world, mark]`."""
    _world(value[0]).rollback(value[1])


def dump(number: Any) -> Any:
    """Return a world's tables."""
    return _world(number).store.dump()


def recompute(number: Any) -> str:
    """Return the hash of a world's state, computed from its records."""
    return str(_world(number).store.recompute_digest())


METHODS = {
    "describe": describe,
    "start": start,
    "restore": restore,
    "call": call,
    "propose": propose,
    "mark": mark,
    "rollback": rollback,
    "dump": dump,
    "recompute": recompute,
}
