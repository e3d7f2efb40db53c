"""The items of one evaluation or two: an index in memory, the rows read where they stand in items.jsonl."""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import msgspec

from planarena.errors import UserError
from planarena.records.foreign import fits

__all__ = ["VERDICTS", "Entry", "Found", "Items", "Joined", "Shelf"]

PAGE = 50
_MOST_OPEN = 4
# What stands on the two sides, where there are two.
VERDICTS = {
    1: ("right", "wrong"),
    2: ("both right", "both wrong", "first right alone", "second right alone", "in one alone"),
}


class _Head(msgspec.Struct):
    suite: str
    id: str
    sample: int = 0
    category: str = ""
    correct: bool = False
    reason: str = ""


class _Place(NamedTuple):
    head: _Head
    start: int
    length: int


class Items:
    """The rows of one items.jsonl.

    Args:
        path: The file.

    Raises:
        UserError: It is not there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unread = 0
        self.places: dict[tuple[str, str, int], _Place] = {}
        decoder, start = msgspec.json.Decoder(_Head), 0
        try:
            source = path.open("rb")
        except OSError as error:
            raise UserError(
                "holds no items.jsonl",
                where=str(path.parent),
                fix="run `planarena eval` again; it asks nothing anew",
            ) from error
        with source:
            for line in source:
                head = _head(decoder, line)
                if head is not None:
                    self.places[head.suite, head.id, head.sample] = _Place(head, start, len(line))
                else:
                    self.unread += bool(line.strip())
                start += len(line)

    def row(self, key: tuple[str, str, int]) -> dict[str, Any] | None:
        """Return a whole row, or None where there is none."""
        place = self.places.get(key)
        if place is None:
            return None
        with self.path.open("rb") as source:
            source.seek(place.start)
            text = source.read(place.length)
        try:
            found = json.loads(text) if fits(text) else None
        except (ValueError, RecursionError):
            return None
        return _sound(found) if isinstance(found, dict) else None

    def holding(self, words: Sequence[str]) -> set[tuple[str, str, int]]:
        """Return the keys of the rows that hold all words, whatever their case."""
        wanted = [json.dumps(word, ensure_ascii=False)[1:-1].encode("utf-8", "replace") for word in words]
        found = set()
        with self.path.open("rb") as source:
            for key, place in self.places.items():
                source.seek(place.start)
                text = source.read(place.length).lower()
                if all(word in text for word in wanted):
                    found.add(key)
        return found


class Entry(NamedTuple):
    """An item in the list.

    Attributes:
        name: Names it in addresses.
        key: Suite, id and sample.
        category: Its category.
        sides: (correct, reason) on each side, or None where a side has not this item.
    """

    name: str
    key: tuple[str, str, int]
    category: str
    sides: tuple[tuple[bool, str] | None, ...]

    @property
    def verdict(self) -> str:
        """The word of `VERDICTS` that fits."""
        if len(self.sides) == 1:
            return "right" if self.sides[0] and self.sides[0][0] else "wrong"
        first, second = self.sides
        if first is None or second is None:
            return "in one alone"
        words = {(True, True): "both right", (False, False): "both wrong", (True, False): "first right alone"}
        return words.get((first[0], second[0]), "second right alone")


class Found(NamedTuple):
    """A page of what fits, as `browse.Found`, and the numbers of what fits by verdict."""

    rows: list[Entry]
    total: int
    page: int
    pages: int
    verdicts: dict[str, int]


class Joined:
    """The items of one or two evaluations, side by side.

    Args:
        sides: Their items.
    """

    def __init__(self, sides: Sequence[Items]) -> None:
        self.sides = sides
        self.entries: list[Entry] = []
        for key in dict.fromkeys(key for side in sides for key in side.places):
            heads = [side.places[key].head if key in side.places else None for side in sides]
            first = next(head for head in heads if head is not None)
            verdicts = tuple(None if head is None else (head.correct, head.reason) for head in heads)
            self.entries.append(Entry(_name(key), key, first.category, verdicts))
        self.by_name = {entry.name: entry for entry in self.entries}
        self._searched: tuple[tuple[str, ...], set[tuple[str, str, int]]] | None = None

    def facets(self, state: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the filters with their values and numbers."""
        suites, categories, reasons = Counter[str](), Counter[str](), Counter[str]()
        verdicts = Counter[str]()
        for entry in self.entries:
            suites[entry.key[0]] += 1
            categories[entry.category] += 1
            verdicts[entry.verdict] += 1
            for reason in {side[1] for side in entry.sides if side and side[1]}:
                reasons[reason] += 1
        listed = {
            "verdict": [(word, verdicts[word]) for word in VERDICTS[len(self.sides)]],
            "suite": suites.most_common(60),
            "category": categories.most_common(120),
            "reason": reasons.most_common(80),
        }
        return [
            {"name": name, "label": name.title(), "values": values, "chosen": state.get(name, "")}
            for name, values in listed.items()
        ]

    def fitting(self, wanted: Mapping[str, str]) -> list[Entry]:
        """Return the items that fit `suite`, `category`, `verdict`, `reason` and the words `q`."""
        holding = self._holding(tuple(wanted.get("q", "").lower().split()[:12]))
        return [
            entry
            for entry in self.entries
            if wanted.get("suite", entry.key[0]) == entry.key[0]
            and wanted.get("category", entry.category) == entry.category
            and wanted.get("verdict", entry.verdict) == entry.verdict
            and ("reason" not in wanted or any(one and one[1] == wanted["reason"] for one in entry.sides))
            and (holding is None or entry.key in holding)
        ]

    def find(self, wanted: Mapping[str, str], page: int) -> Found:
        """Return a page of the items that fit."""
        fitting = self.fitting(wanted)
        pages = max(1, -(-len(fitting) // PAGE))
        page = min(max(page, 0), pages - 1)
        counted = Counter(entry.verdict for entry in fitting)
        return Found(fitting[page * PAGE : (page + 1) * PAGE], len(fitting), page, pages, dict(counted))

    def _holding(self, words: tuple[str, ...]) -> set[tuple[str, str, int]] | None:
        if not words:
            return None
        if self._searched is None or self._searched[0] != words:
            found = set().union(*(side.holding(words) for side in self.sides))
            self._searched = (words, found)
        return self._searched[1]


def _head(decoder: msgspec.json.Decoder[_Head], line: bytes) -> _Head | None:
    """Return what the index needs of a line; None for one that cannot be read."""
    try:
        return decoder.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:  # halves of surrogate pairs, which models write and msgspec refuses
        return msgspec.convert(json.loads(line), _Head) if fits(line) else None
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None


def _sound(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose fields are of the kinds that pages read; what is not is left out."""
    kinds: dict[str, Any] = {
        **dict.fromkeys(("prompt", "tools", "calls"), list),
        **dict.fromkeys(("reason", "detail", "written", "unread"), str),
        **dict.fromkeys(("tokens", "seconds"), (int, float)),
    }
    return {key: value for key, value in row.items() if isinstance(value, kinds.get(key, object))}


def _name(key: tuple[str, str, int]) -> str:
    return blake2b(json.dumps(key).encode(), digest_size=8).hexdigest()


class Shelf:
    """The evaluations that were looked at last."""

    def __init__(self) -> None:
        self._open: OrderedDict[Any, Joined] = OrderedDict()
        self._lock = Lock()

    def joined(self, paths: Sequence[Path]) -> Joined:
        """Return the items of one or two folders; a file that changed is read again.

        Raises:
            UserError: One holds no items.
        """
        with self._lock:
            key = tuple((str(path), _stamp(path / "items.jsonl")) for path in paths)
            if key not in self._open:
                while len(self._open) >= _MOST_OPEN:
                    self._open.popitem(last=False)
                self._open[key] = Joined([Items(path / "items.jsonl") for path in paths])
            self._open.move_to_end(key)
            return self._open[key]


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
