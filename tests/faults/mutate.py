"""Mutants of files: bytes changed without knowledge of them, and values of JSON changed with it."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

__all__ = ["DAMAGES", "mutant"]

_ODD_VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 10**30, -(10**18), 1e308, 0.1, "", " ", "a", "9" * 40, "\x00", "\ud800", "\u202e", "x" * 2000),
    *([], {}, [[]], [None], {"a": None}, {"": ""}, [1, "a", {}], {"$ref": "#/nowhere"}, {"$ref": "file:///etc/passwd"}),
    *({"type": "string", "pattern": "(a+)+$"}, "../../../etc/passwd", "2024-13-45T99:99", "aaaa" * 9, "{{x}}", "<b>", "NaN"),
)  # fmt: skip


def mutant(data: bytes, rng: Random) -> bytes:
    """Return a mutant of a file; half of them are still JSON where the file is."""
    if rng.random() < 0.6:
        changed = _changed_json(data, rng)
        if changed is not None:
            return changed
    return _changed_bytes(data, rng)


def _changed_json(data: bytes, rng: Random) -> bytes | None:
    """Change one to three values, keys or lines."""
    lines = data.splitlines()
    whole = data
    at = None
    try:
        value = json.loads(data)
    except ValueError:
        if not lines:
            return None
        at = rng.randrange(len(lines))
        try:
            value = json.loads(lines[at])
        except ValueError:
            return None
    for _ in range(rng.randint(1, 3)):
        value = _change(value, rng)
    # Halves of surrogate pairs stand escaped, as careless writers leave them.
    text = json.dumps(value).encode()
    if rng.random() < 0.1:
        text = text.replace(b"null", b"NaN").replace(b"-1", b"Infinity")
    if at is None:
        return text
    lines[at] = text
    del whole
    return b"\n".join(lines) + b"\n"


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found, left = [], [(path, value)]
    while left and len(found) < 5000:
        path, value = left.pop()
        found.append(path)
        if isinstance(value, dict):
            left += [((*path, key), item) for key, item in value.items()]
        elif isinstance(value, list):
            left += [((*path, place), item) for place, item in enumerate(value)]
    return found


def _change(value: Any, rng: Random) -> Any:
    path = rng.choice(_places(value))
    odd = deepcopy(rng.choice(_ODD_VALUES))
    if not path:
        return odd if rng.random() < 0.2 else value
    outer = value
    for step in path[:-1]:
        outer = outer[step]
    last = path[-1]
    kind = rng.random()
    if kind < 0.6:
        outer[last] = odd
    elif kind < 0.75:
        del outer[last]
    elif kind < 0.85 and isinstance(outer, dict):
        outer[rng.choice(("", "x", "__class__", "type", "$ref", "a/b", "\ud800"))] = outer.pop(last)
    elif kind < 0.95 and isinstance(outer, list):
        outer.extend(deepcopy(outer[last]) for _ in range(rng.choice((1, 3, 200))))
    else:
        inner = outer[last]
        for _ in range(rng.choice((3, 110, 250))):
            inner = [inner]
        outer[last] = inner
    return value


def _changed_bytes(data: bytes, rng: Random) -> bytes:
    changed = bytearray(data or b"x")
    for _ in range(rng.choice((1, 1, 2, 8, 40))):
        at = rng.randrange(len(changed) + 1)
        kind = rng.randrange(6)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            changed[at:at] = rng.randbytes(rng.choice((1, 4, 64)))
        elif kind == 2:
            del changed[at : at + rng.choice((1, 3, 50, 1000))]
        elif kind == 3:
            changed[at:at] = changed[: rng.choice((5, 100))]
        elif kind == 4:
            changed[at:at] = rng.choice(
                (
                    b"[" * 3000,
                    b'{"a":' * 2000,
                    b"\x00",
                    b"\xff\xfe",
                    b"\r\n",
                    b'"',
                    b"\\",
                    b"}" * 9,
                    b"- " * 500,
                    b"&a *a",
                )
            )
        elif rng.random() < 0.3:
            del changed[at:]
        if not changed:
            changed = bytearray(b"\n")
    return bytes(changed)


def _flip(data: bytes) -> bytes:
    changed = bytearray(data)
    for at in (len(data) // 3, len(data) // 2):
        if data:
            changed[at] ^= 0x20
    return bytes(changed)


# Name -> what it does to a file's bytes; None removes the file. "other_version" is made where the files are known.
DAMAGES = {
    "truncated": lambda data: data[: len(data) * 2 // 3],
    "flipped": _flip,
    "emptied": lambda data: b"",
    "removed": lambda data: None,
    "garbage": lambda data: Random(1).randbytes(max(64, min(len(data), 4096))),
    "text": lambda data: b'{"format_version": 99999, "version": 99999, "kind": "other"}\n',
}
