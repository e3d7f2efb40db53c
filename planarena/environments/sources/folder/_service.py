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
_marks: dict[int, list[int]] = {}  # of each world: before the first call that changed it, and after each
_numbers = iter(range(1, 1 << 62))


def _environment() -> Any:
    from planarena.environments.folders import open_folder

    return open_folder(Path(os.environ["PLANARENA_FOLDER"]))


def _keep(world: Any) -> int:
    number = next(_numbers)
    _worlds[number], _marks[number] = world, [world.mark()]
    if len(_worlds) > _MOST_WORLDS:
        oldest = next(iter(_worlds))
        del _worlds[oldest], _marks[oldest]
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
    from planarena.environments.sources.folder.guarded import GuardedWorld

    seed = _environment().seed(Random(int(str(salt), 16)))
    world = GuardedWorld([_environment()], [seed])
    return {
        "world": _keep(world),
        "facts": world.facts,
        "title": seed.title,
        "description": seed.description,
        "digest": world.digest(),
    }


def restore(value: Any) -> dict[str, Any]:
    """Make a world of stored tables and facts."""
    from planarena.environments.sources.folder.guarded import GuardedWorld

    world = GuardedWorld.restore([_environment()], value[0], value[1])
    return {"world": _keep(world), "facts": world.facts, "digest": world.digest()}


def call(value: Any) -> list[Any]:
    """Call a tool: `[world, name, arguments]`."""
    number, name, arguments = value
    world = _world(number)
    before = world.digest()
    outcome = world.call(name, arguments)
    touched = world.footprint()
    digest = world.digest()
    if digest != before:
        _marks[number].append(world.mark())
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


def dump(number: Any) -> Any:
    """Return a world's tables."""
    return _world(number).store.dump()


def recompute(number: Any) -> str:
    """Return the hash of a world's state, computed from its records."""
    return str(_world(number).store.recompute_digest())


_QUESTIONS = {"call": call, "propose": propose, "dump": dump, "recompute": recompute}


def ask(value: Any) -> list[Any]:
    """Bring a world to a state, then do one thing: `[world, changes to keep, calls to make, method, its values]`.

    Returns:
        The hashes of the states after the calls, and `[answer]` or `{"error": [kind, message]}`.
    """
    number, keep, calls, method, values = value
    world, marks = _world(number), _marks[number]
    world.rollback(marks[keep])
    del marks[keep + 1 :]
    digests = []
    for name, arguments in calls:
        world.call(name, arguments)
        marks.append(world.mark())
        digests.append(world.digest())
    try:
        answer = _QUESTIONS[method]([number, *values] if values else number)
    except Exception as error:
        return [digests, {"error": [type(error).__name__, str(error)[:2000]]}]
    return [digests, [answer]]


METHODS = {"describe": describe, "start": start, "restore": restore, "ask": ask}
