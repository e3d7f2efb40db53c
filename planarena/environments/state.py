"""The state of an environment: tables of records with an undo log, an incremental hash and footprints.

A record is a plain JSON object and is never changed in place: `put` replaces it. So a result may
share a record with the state, undo is the old reference put back, and the hash of the state is a sum
of the hashes of its records (an additive multiset hash, BLAKE2b-128 each, modulo 2^128): one write
costs the hash of one record at most, whatever the size of the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

from planarena.records.canonical import canonical_bytes

__all__ = ["Footprint", "Record", "Store", "View"]

Record = dict[str, Any]
Key = tuple[str, str | None]  # (table, record id); a scan of the whole table has no record id
_MASK = (1 << 128) - 1


def _hash_record(table: str, key: str, record: Mapping[str, Any]) -> int:
    data = canonical_bytes([table, key, record])
    return int.from_bytes(blake2b(data, digest_size=16).digest(), "big")


class Footprint:
    """What one call read and wrote.

    Attributes:
        reads: (table, id) of records read; (table, None) where the whole table was scanned.
        writes: (table, id) of records put or deleted.
    """

    __slots__ = ("reads", "writes")

    def __init__(self, reads: frozenset[Key], writes: frozenset[Key]) -> None:
        self.reads, self.writes = reads, writes

    def conflicts(self, other: Footprint) -> bool:
        """Say whether swapping the two calls could change anything (a superset: proofs decide)."""
        if not self.writes and not other.writes:
            return False
        return (
            not self.writes.isdisjoint(other.writes)
            or _touches(self.writes, other.reads)
            or _touches(other.writes, self.reads)
        )


def _touches(writes: frozenset[Key], reads: frozenset[Key]) -> bool:
    return any(key in reads or (key[0], None) in reads for key in writes)


class Store:
    """All tables of one scenario's world.

    Hashing is lazy: a write only marks its record, and `digest` hashes the records that differ from those
    hashed last. Writes that are undone before anybody asks for the hash cost none.
    """

    __slots__ = ("_dirty", "_hashed", "_log", "_order", "_reads", "_sum", "_tables", "_writes")

    def __init__(self) -> None:
        self._tables: dict[str, dict[str, Record]] = {}
        self._order: dict[str, list[Record] | None] = {}
        self._log: list[tuple[str, str, Record | None]] = []
        # What `_sum` is the sum of: (table, id) -> the record object and its hash.
        self._hashed: dict[tuple[str, str], tuple[Record, int]] = {}
        self._dirty: set[tuple[str, str]] = set()
        self._sum = 0
        self._reads: list[Key] = []
        self._writes: list[Key] = []

    @classmethod
    def load(cls, tables: Mapping[str, Mapping[str, Record]]) -> Store:
        """Make a store from `{table: {id: record}}`."""
        store = cls()
        for table, rows in tables.items():
            store._add_table(table)
            for key, record in rows.items():
                store._put(table, key, record)
        store.commit()
        return store

    def view(self, namespace: str) -> View:
        """Return the part of the store that one environment owns; its tables are `namespace.table`."""
        return View(self, namespace)

    def dump(self) -> dict[str, dict[str, Record]]:
        """Return all tables, sorted by name and id; the records are shared, not copied."""
        return {table: dict(sorted(self._tables[table].items())) for table in sorted(self._tables)}

    def digest(self) -> str:
        """Return the hash of the state: 32 hexadecimal digits."""
        if self._dirty:
            hashed, total = self._hashed, self._sum
            for place in self._dirty:
                table, key = place
                record = self._tables[table].get(key)
                before = hashed.get(place)
                if before is not None:
                    if before[0] is record:
                        continue
                    total -= before[1]
                if record is None:
                    hashed.pop(place, None)
                else:
                    number = _hash_record(table, key, record)
                    hashed[place] = record, number
                    total += number
            self._sum = total & _MASK
            self._dirty.clear()
        return f"{self._sum:032x}"

    def recompute_digest(self) -> str:
        """Return the hash made anew from every record: differs from `digest` if a record was changed in place."""
        total = 0
        for table, rows in self._tables.items():
            for key, record in rows.items():
                total += _hash_record(table, key, record)
        return f"{total & _MASK:032x}"

    def mark(self) -> int:
        """Return a point to roll back to."""
        return len(self._log)

    def rollback(self, mark: int) -> None:
        """Undo every write since `mark`."""
        log = self._log
        while len(log) > mark:
            table, key, record = log.pop()
            if record is None:
                del self._tables[table][key]
            else:
                self._tables[table][key] = record
            self._order[table] = None
            self._dirty.add((table, key))

    def commit(self) -> None:
        """Forget the undo log: the present state becomes the initial one."""
        self._log.clear()
        self._reads.clear()
        self._writes.clear()

    def take_footprint(self) -> Footprint:
        """Return what was read and written since the last call of this method."""
        footprint = Footprint(frozenset(self._reads), frozenset(self._writes))
        self._reads.clear()
        self._writes.clear()
        return footprint

    def clear_footprint(self) -> None:
        """Forget what was read and written, without the cost of a `Footprint`."""
        self._reads.clear()
        self._writes.clear()

    def _add_table(self, table: str) -> None:
        self._tables.setdefault(table, {})
        self._order.setdefault(table, None)

    def _put(self, table: str, key: str, record: Record) -> None:
        rows = self._tables[table]
        self._log.append((table, key, rows.get(key)))
        rows[key] = record
        self._order[table] = None
        place = (table, key)
        self._dirty.add(place)
        self._writes.append(place)

    def _delete(self, table: str, key: str) -> None:
        old = self._tables[table].pop(key)
        self._log.append((table, key, old))
        self._order[table] = None
        place = (table, key)
        self._dirty.add(place)
        self._writes.append(place)

    def _scan(self, table: str) -> list[Record]:
        self._reads.append((table, None))
        rows = self._order[table]
        if rows is None:
            # By id, not by age: an undone delete must not move a record to the end.
            source = self._tables[table]
            rows = self._order[table] = [source[key] for key in sorted(source)]
        return rows


class View:
    """One environment's tables. Records that it hands out must never be changed in place."""

    __slots__ = ("_names", "_namespace", "_store")

    def __init__(self, store: Store, namespace: str) -> None:
        self._store = store
        self._namespace = namespace
        self._names: dict[str, str] = {}

    def _full(self, table: str) -> str:
        name = self._names.get(table)
        if name is None:
            name = self._names[table] = f"{self._namespace}.{table}"
            self._store._add_table(name)
        return name

    def get(self, table: str, key: str) -> Record | None:
        """Return the record, or None."""
        store, name = self._store, self._full(table)
        store._reads.append((name, key))
        return store._tables[name].get(key)

    def scan(self, table: str) -> Iterator[Record]:
        """Yield every record of the table, in order of id."""
        return iter(self._store._scan(self._full(table)))

    def put(self, table: str, key: str, record: Record) -> Record:
        """Insert or replace a record and return it."""
        self._store._put(self._full(table), key, record)
        return record

    def patch(self, table: str, key: str, **changes: Any) -> Record:
        """Replace a record by a copy with some fields changed and return the copy.

        Raises:
            KeyError: There is no such record.
        """
        name = self._full(table)
        record = {**self._store._tables[name][key], **changes}
        self._store._put(name, key, record)
        return record

    def delete(self, table: str, key: str) -> None:
        """Remove a record.

        Raises:
            KeyError: There is no such record.
        """
        self._store._delete(self._full(table), key)
