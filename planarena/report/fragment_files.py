"""Fragments on disk: a short index, then each part by itself, so that a page is put together part by part."""

from __future__ import annotations

from array import array
from hashlib import blake2b
from pathlib import Path

import msgspec

from planarena.errors import RunError
from planarena.records.shards import write_durably
from planarena.report.fragments import PARTS, Fragment, FragmentPart

__all__ = ["FragmentFile", "write_fragment"]

# scenarios, families, trajectories; then for each part: size, families, trajectories
_INDEX = 3 + 3 * PARTS
_DIGEST = 16
_WIDTH = _DIGEST + 8 * _INDEX


def write_fragment(path: Path, fragment: Fragment) -> None:
    """Write a fragment durably.

    Raises:
        OSError: No space, no permission.
    """
    parts = [msgspec.msgpack.encode(part) for part in fragment.parts]
    index = [fragment.scenarios, fragment.families, fragment.trajectories]
    for part, data in zip(fragment.parts, parts, strict=True):
        index += [len(data), len(part.lines), part.trajectories]
    head = b"".join(number.to_bytes(8, "little") for number in index)
    data = b"".join((head, *parts))
    write_durably(path, blake2b(data, digest_size=_DIGEST).digest() + data)


class FragmentFile:
    """A fragment's index, and its parts when they are asked for.

    Args:
        path: As `write_fragment` left it.

    Raises:
        RunError: It is something else.
    """

    __slots__ = ("_index", "_path")

    def __init__(self, path: Path) -> None:
        self._path = path
        data = path.read_bytes()
        if blake2b(memoryview(data)[_DIGEST:], digest_size=_DIGEST).digest() != data[:_DIGEST]:
            raise RunError("is no fragment of a report", where=str(path), fix="delete it and build again")
        places = range(_DIGEST, _WIDTH, 8)
        self._index = array("q", (int.from_bytes(data[at : at + 8], "little") for at in places))

    @property
    def scenarios(self) -> int:
        """Scenarios of the shard."""
        return self._index[0]

    @property
    def families(self) -> int:
        """Families of the shard."""
        return self._index[1]

    @property
    def trajectories(self) -> int:
        """Trajectories of the shard."""
        return self._index[2]

    def families_of(self, part: int) -> int:
        """Return the families of a part."""
        return self._index[4 + 3 * part]

    def trajectories_of(self, part: int) -> int:
        """Return the trajectories of a part."""
        return self._index[5 + 3 * part]

    def characters_of(self, part: int) -> int:
        """Return about how many characters of a page a part takes."""
        return self._index[3 + 3 * part] * 4 // 3

    def read(self, part: int) -> FragmentPart:
        """Return a part."""
        start = _WIDTH + sum(self._index[3 + 3 * before] for before in range(part))
        with self._path.open("rb") as handle:
            handle.seek(start)
            return msgspec.msgpack.decode(handle.read(self._index[3 + 3 * part]), type=FragmentPart)
