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

    __slots__ = (
        "_dirty",
        "_hashed",
        "_log",
        "_numbers",
        "_order",
        "_reads",
        "_recalled",
        "_sum",
        "_tables",
        "_totals",
        "_writes",
    )

    def __init__(self) -> None:
        self._tables: dict[str, dict[str, Record]] = {}
        self._order: dict[str, list[Record] | None] = {}
        self._log: list[tuple[str, str, Record | None]] = []
        # By length of the log: the hash of the state then, or None where nobody asked for it.
        self._totals: list[int | None] = [None]
        # What `_sum` is the sum of: (table, id) -> the record object and its hash.
        self._hashed: dict[tuple[str, str], tuple[Record, int]] = {}
        # Hashes by the identity of a record that this keeps alive: what is undone and put back is not hashed again.
        self._numbers: dict[int, tuple[Record, int]] = {}
        self._recalled: Footprint | None = None
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
        return f"{self.total():032x}"

    def total(self) -> int:
        """Return the hash of the state as a number below 2^128."""
        found = self._totals[-1]
        if found is not None:
            return found
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
                    known = self._numbers.get(id(record))
                    if known is None:
                        known = self._numbers[id(record)] = record, _hash_record(table, key, record)
                    hashed[place] = known
                    total += known[1]
            self._sum = total & _MASK
            self._dirty.clear()
        self._totals[-1] = self._sum
        return self._sum

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
        if len(log) <= mark:
            return
        while len(log) > mark:
            table, key, record = log.pop()
            if record is None:
                del self._tables[table][key]
            else:
                self._tables[table][key] = record
            self._order[table] = None
            self._dirty.add((table, key))
        del self._totals[mark + 1 :]

    def has(self, table: str) -> bool:
        """Say whether there is a record in a table, without a trace in the footprint."""
        return bool(self._tables.get(table))

    def commit(self) -> None:
        """Forget the undo log: the present state becomes the initial one."""
        self._log.clear()
        self._totals = self._totals[-1:]
        self._reads.clear()
        self._writes.clear()

    def take_footprint(self) -> Footprint:
        """Return what was read and written since the last call of this method."""
        footprint = self._recalled
        if footprint is None:
            footprint = Footprint(frozenset(self._reads), frozenset(self._writes))
        self.clear_footprint()
        return footprint

    def clear_footprint(self) -> None:
        """Forget what was read and written, without the cost of a `Footprint`."""
        self._reads.clear()
        self._writes.clear()
        self._recalled = None

    def changes_since(self, mark: int) -> tuple[tuple[str, str, Record | None], ...]:
        """Return what was written since `mark` as (table, id, record now or None)."""
        before: dict[tuple[str, str], Record | None] = {}
        for table, key, record in self._log[mark:]:
            before.setdefault((table, key), record)
        found = (
            (table, key, record, self._tables[table].get(key)) for (table, key), record in before.items()
        )
        # What was put there and taken away again is not there to be taken away.
        return tuple(
            (table, key, now) for table, key, then, now in found if then is not None or now is not None
        )

    def replay(
        self, changes: tuple[tuple[str, str, Record | None], ...], footprint: Footprint, total: int
    ) -> None:
        """Write what `changes_since` returned in an equal state.

        Args:
            changes: The writes.
            footprint: Of the call that made them; given as this one's.
            total: The hash of the state after it.
        """
        for table, key, record in changes:
            if record is None:
                self._delete(table, key)
            else:
                self._put(table, key, record)
        self._totals[-1] = total
        self._recalled = footprint

    def _add_table(self, table: str) -> None:
        self._tables.setdefault(table, {})
        self._order.setdefault(table, None)

    def _put(self, table: str, key: str, record: Record) -> None:
        rows = self._tables[table]
        self._log.append((table, key, rows.get(key)))
        rows[key] = record
        self._totals.append(None)
        self._order[table] = None
        place = (table, key)
        self._dirty.add(place)
        self._writes.append(place)

    def _delete(self, table: str, key: str) -> None:
        old = self._tables[table].pop(key)
        self._log.append((table, key, old))
        self._totals.append(None)
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


class _FullNames(dict[str, str]):
    """Table name -> name with its namespace; a table comes into being when it is first named."""

    def __init__(self, store: Store, namespace: str) -> None:
        super().__init__()
        self._store = store
        self._namespace = namespace

    def __missing__(self, table: str) -> str:
        name = self[table] = f"{self._namespace}.{table}"
        self._store._add_table(name)
        return name


class View:
    """One environment's tables. Records that it hands out must never be changed in place."""

    __slots__ = ("_names", "_store")

    def __init__(self, store: Store, namespace: str) -> None:
        self._store = store
        self._names = _FullNames(store, namespace)

    def get(self, table: str, key: str) -> Record | None:
        """Return the record, or None."""
        store, name = self._store, self._names[table]
        store._reads.append((name, key))
        return store._tables[name].get(key)

    def scan(self, table: str) -> Iterator[Record]:
        """Yield every record of the table, in order of id."""
        return iter(self._store._scan(self._names[table]))

    def put(self, table: str, key: str, record: Record) -> Record:
        """Insert or replace a record and return it."""
        self._store._put(self._names[table], key, record)
        return record

    def patch(self, table: str, key: str, **changes: Any) -> Record:
        """Replace a record by a copy with some fields changed and return the copy.

        Raises:
            KeyError: There is no such record.
        """
        name = self._names[table]
        record = {**self._store._tables[name][key], **changes}
        self._store._put(name, key, record)
        return record

    def delete(self, table: str, key: str) -> None:
        """Remove a record.

        Raises:
            KeyError: There is no such record.
        """
        self._store._delete(self._names[table], key)
