"""The store: undo, incremental hash and scan order against a plain dictionary."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from planarena.environments.state import Footprint, Store

KEYS = st.sampled_from(["a", "b", "c", "d"])
TABLES = st.sampled_from(["x", "y"])
VALUES = st.dictionaries(st.sampled_from(["p", "q"]), st.integers(-3, 3) | st.text(max_size=2), max_size=2)


class StoreMachine(RuleBasedStateMachine):
    """Every history of puts, patches, deletes and rollbacks agrees with copies of a dictionary."""

    def __init__(self):
        super().__init__()
        self.store = Store.load({"n.x": {"a": {"p": 1}}, "n.y": {}})
        self.view = self.store.view("n")
        self.model = {"x": {"a": {"p": 1}}, "y": {}}
        self.saved = []

    def copy(self):
        return {table: dict(rows) for table, rows in self.model.items()}

    @rule(table=TABLES, key=KEYS, record=VALUES)
    def put(self, table, key, record):
        self.view.put(table, key, record)
        self.model[table][key] = record

    @rule(table=TABLES, key=KEYS, value=st.integers())
    def patch(self, table, key, value):
        if key in self.model[table]:
            self.view.patch(table, key, p=value % 1000)
            self.model[table][key] = {**self.model[table][key], "p": value % 1000}

    @rule(table=TABLES, key=KEYS)
    def delete(self, table, key):
        if key in self.model[table]:
            self.view.delete(table, key)
            del self.model[table][key]

    @rule()
    def mark(self):
        self.saved.append((self.store.mark(), self.copy(), self.store.digest()))

    @rule()
    def rollback(self):
        if self.saved:
            mark, model, digest = self.saved.pop()
            self.store.rollback(mark)
            self.model = model
            assert self.store.digest() == digest

    @invariant()
    def agrees(self):
        for table, rows in self.model.items():
            assert list(self.view.scan(table)) == [rows[key] for key in sorted(rows)]
            for key in "abcd":
                assert self.view.get(table, key) == rows.get(key)
        assert self.store.digest() == self.store.recompute_digest()
        fresh = Store.load({f"n.{table}": rows for table, rows in self.model.items()})
        assert fresh.digest() == self.store.digest()


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


def test_a_record_changed_in_place_is_noticed():
    store = Store.load({"n.x": {"a": {"p": 1}}})
    store.digest()
    store.view("n").get("x", "a")["p"] = 2
    assert store.digest() != store.recompute_digest()


def test_tables_and_ids_do_not_run_into_each_other():
    one = Store.load({"n.x": {"ab": {}}})
    two = Store.load({"n.xa": {"b": {}}})
    assert one.digest() != two.digest()


def test_footprints_conflict_exactly_on_shared_writes():
    def footprint(reads=(), writes=()):
        return Footprint(frozenset(reads), frozenset(writes))

    read_a, read_all = footprint(reads=[("x", "a")]), footprint(reads=[("x", None)])
    write_a, write_b = footprint(writes=[("x", "a")]), footprint(writes=[("x", "b")])
    assert read_a.conflicts(write_a)
    assert write_a.conflicts(read_a)
    assert not read_a.conflicts(write_b)
    assert read_all.conflicts(write_b)
    assert write_b.conflicts(read_all)
    assert not write_a.conflicts(write_b)
    assert write_a.conflicts(write_a)
    assert not read_all.conflicts(read_a)
