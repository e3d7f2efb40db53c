"""What makes other people's Python repeatable: a clock that stands still, chance that follows from the call, a visible state.

It runs in the sandbox beside `_service.py` and imports nothing of planarena.
"""

import datetime
import hashlib
import json
import os
import random
import sys
import time
import types
from typing import Any

_DAYS = (datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo)

__all__ = ["begin_call", "see_state", "stop_clock"]

NOW = "2026-03-02T09:00:00"
_MOST_SEEN = 200_000
_DEEPEST = 40
_chance = random.Random(0)


def stop_clock() -> None:
    """Let the present be one moment, and chance come from `begin_call`: to be called before a module is imported."""
    moment = datetime.datetime.fromisoformat(NOW).replace(tzinfo=datetime.UTC)
    seconds = moment.timestamp()

    class Date(datetime.date):
        @classmethod
        def today(cls) -> Any:
            return cls(moment.year, moment.month, moment.day)

    class Datetime(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            there = moment.astimezone(tz) if tz is not None else moment.replace(tzinfo=None)
            return cls(*there.timetuple()[:6], tzinfo=there.tzinfo)

        @classmethod
        def utcnow(cls) -> Any:
            return cls.now()

        @classmethod
        def today(cls) -> Any:
            return cls.now()

    plain, shown, broken = time.strftime, time.gmtime, time.ctime
    datetime.date, datetime.datetime = Date, Datetime  # type: ignore[misc]
    time.time = lambda: seconds
    time.time_ns = lambda: int(seconds) * 10**9
    time.gmtime = lambda at=None: shown(seconds if at is None else at)
    time.localtime = lambda at=None: shown(seconds if at is None else at)
    time.ctime = lambda at=None: broken(seconds if at is None else at)
    time.strftime = lambda form, *at: plain(form, *at or (shown(seconds),))
    os.urandom = _chance.randbytes
    random._urandom = os.urandom  # type: ignore[attr-defined]


def begin_call(*about: Any) -> None:
    """Let all chance of a call follow from what it is: two of the same order give the same ids in either order."""
    number = int.from_bytes(hashlib.blake2b(repr(about).encode(), digest_size=8).digest(), "big")
    _chance.seed(number)
    random.seed(number)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(number % 2**32)


class _UnseenError(Exception):
    """A part of the state cannot be seen."""


def see_state(module: Any) -> Any:
    """Return what the variables of a module and of its package hold as JSON; a hash where that is long, None where it cannot be seen."""
    package = module.__name__.partition(".")[0]
    found: dict[str, Any] = {}
    seen: dict[int, int] = {}
    try:
        for name in sorted(sys.modules):
            if name == module.__name__ or name.partition(".")[0] == package:
                for key, value in sorted(vars(sys.modules[name]).items()):
                    if _is_data(key, value):
                        place = key if name == module.__name__ else f"{name}.{key}"
                        found[place] = _walk(value, seen, 0)
                    elif isinstance(value, type) and value.__module__ == name:
                        for own, inner in sorted(vars(value).items()):
                            if _is_data(own, inner) and isinstance(inner, list | dict | set):
                                found[f"{name}.{key}.{own}"] = _walk(inner, seen, 0)
        text = json.dumps(found, sort_keys=True)
    except (_UnseenError, TypeError, ValueError, RecursionError, RuntimeError):
        return None
    if len(text) > _MOST_SEEN:
        return {"digest": hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}
    return found


_CODE = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, types.MethodType)


def _is_data(name: str, value: Any) -> bool:
    if name.startswith("__") or isinstance(value, _CODE):
        return False
    # Decorated functions, type aliases, loggers, patterns: nothing that calls change.
    home = type(value).__module__
    return home not in {"typing", "logging", "re", "functools", "__future__", "_frozen_importlib"}


def _walk(value: Any, seen: dict[int, int], depth: int) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return repr(value)
    if depth > _DEEPEST:
        raise _UnseenError
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if type(value).__name__ == "Connection" and type(value).__module__ == "sqlite3":
        return list(value.iterdump())
    if id(value) in seen:
        return {"same as": seen[id(value)]}
    seen[id(value)] = len(seen)
    if isinstance(value, dict):
        return [[_walk(key, seen, depth + 1), _walk(one, seen, depth + 1)] for key, one in value.items()]
    if isinstance(value, list | tuple) or type(value).__name__ == "deque":
        return [_walk(one, seen, depth + 1) for one in value]
    if isinstance(value, set | frozenset):
        return sorted((_walk(one, seen, depth + 1) for one in value), key=repr)
    if isinstance(value, _DAYS):
        return str(value)
    if isinstance(value, types.GeneratorType | types.CoroutineType) or hasattr(value, "fileno"):
        raise _UnseenError
    if type(value).__module__ == "itertools":
        return repr(value)
    if isinstance(value, random.Random):
        return hashlib.blake2b(repr(value.getstate()).encode(), digest_size=8).hexdigest()
    if isinstance(value, _CODE) or type(value).__module__ in {
        "_thread",
        "threading",
        "functools",
        "asyncio.locks",
    }:
        return None
    parts = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            # What a library notes beside the data, as which fields were set, is nothing that a tool shows.
            if hasattr(value, name) and not name.startswith("__"):
                parts[name] = getattr(value, name)
    if not parts and type(value).__module__ not in {"builtins", "uuid", "decimal", "enum"}:
        reduced = repr(value)
        if " at 0x" in reduced:
            if type(value).__flags__ & (1 << 9):  # a class written in Python without any data
                return None
            raise _UnseenError
        return reduced
    return [[name, _walk(one, seen, depth + 1)] for name, one in sorted(parts.items())] or repr(value)
