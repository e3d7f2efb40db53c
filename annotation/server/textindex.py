"""The text index: SQLite FTS5 tables in a side file, brought up to date from the records just before a query.

The side file is a cache: it is compared with the records' time stamps at each query and can be deleted at any
time, so a server that was killed has nothing to repair.
"""

from __future__ import annotations

import contextlib
import html
import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .query import Leaf, evaluate, parse, words

__all__ = ["TextIndex", "plain_text"]

_BATCH = 500  # records whose text is held in memory while the index catches up


def plain_text(value: Any) -> str:
    """Return what people can read of a field's value: its strings and numbers, entities resolved."""
    if isinstance(value, str):
        return html.unescape(value)
    if isinstance(value, dict):
        return "\n".join(plain_text(inner) for inner in value.values())
    if isinstance(value, list):
        return "\n".join(plain_text(inner) for inner in value)
    return "" if value is None or isinstance(value, bool) else str(value)


class TextIndex:
    """Finds the records of a dataset by their text.

    Args:
        database: Argilla's SQLite file; only read.
        side: The file of the index.
    """

    def __init__(self, database: Path, side: Path) -> None:
        self._database, self._side = database, side

    def search(
        self, dataset: str, fields: Sequence[str], query: str, field: str | None = None
    ) -> dict[str, float]:
        """Return the scores of the records that a query finds.

        Args:
            dataset: The dataset's id, 32 hexadecimal digits.
            fields: The names of its fields that hold text, in a fixed order.
            query: See `query`.
            field: Search this field alone.

        Returns:
            Score by record id (32 hexadecimal digits).

        Raises:
            ValueError: There is no such field.
        """
        if field is not None and field not in fields:
            raise ValueError(f"there is no text field {field!r}")
        if not fields:
            return {}
        column = f"{{c{list(fields).index(field)}}} : " if field is not None else ""
        with self._open() as db:
            self._catch_up(db, dataset, fields)
            names = dict(
                db.execute("SELECT doc, record FROM stamps WHERE dataset = ?", (dataset,)).fetchall()
            )

            def match(leaf: Leaf) -> dict[str, float]:
                phrase = column + '"' + " ".join(leaf.words) + '"' + ("*" if leaf.prefix else "")
                # Beginnings of words score 1, as in Lucene: relevance over all their words takes seconds. A join
                # with the stamps would let SQLite ask the index once per record.
                score = "1.0" if leaf.prefix else f"-bm25(t_{dataset})"
                asked = f"SELECT rowid, {score} FROM t_{dataset} WHERE t_{dataset} MATCH ?"  # noqa: S608  hexadecimal
                return {names[doc]: value for doc, value in db.execute(asked, (phrase,))}

            def every() -> set[str]:
                return set(names.values())

            return evaluate(parse(query), match, every)

    def drop(self, dataset: str) -> None:
        """Forget a dataset."""
        with self._open() as db:
            db.execute(f"DROP TABLE IF EXISTS t_{dataset}")
            db.execute("DELETE FROM stamps WHERE dataset = ?", (dataset,))

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        db = sqlite3.connect(self._side, timeout=30)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = OFF")
            db.execute("ATTACH DATABASE ? AS argilla", (str(self._database),))
            db.execute(
                "CREATE TABLE IF NOT EXISTS stamps (doc INTEGER PRIMARY KEY, dataset TEXT, record TEXT, stamp TEXT, "
                "UNIQUE (dataset, record))"
            )
            yield db
            db.commit()
        finally:
            db.close()

    def _catch_up(self, db: sqlite3.Connection, dataset: str, fields: Sequence[str]) -> None:
        columns = ", ".join(f"c{number}" for number in range(len(fields)))
        db.execute("BEGIN IMMEDIATE")  # two queries at once must not both add the same record
        db.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS t_{dataset} USING "
            f"fts5({columns}, tokenize = 'unicode61 remove_diacritics 0')"
        )
        gone = db.execute(
            "SELECT s.doc FROM stamps s LEFT JOIN argilla.records r ON r.id = s.record AND r.dataset_id = s.dataset "
            "WHERE s.dataset = ? AND (r.id IS NULL OR r.updated_at != s.stamp)",
            (dataset,),
        ).fetchall()
        db.executemany(f"DELETE FROM t_{dataset} WHERE rowid = ?", gone)  # noqa: S608
        db.executemany("DELETE FROM stamps WHERE doc = ?", gone)
        new = db.execute(
            "SELECT r.id, r.updated_at FROM argilla.records r LEFT JOIN stamps s ON s.record = r.id "
            "AND s.dataset = r.dataset_id WHERE r.dataset_id = ? AND s.doc IS NULL",
            (dataset,),
        ).fetchall()
        marks = ", ".join("?" * (len(fields) + 1))
        for start in range(0, len(new), _BATCH):
            for record, stamp in new[start : start + _BATCH]:
                (stored,) = db.execute(
                    "SELECT fields FROM argilla.records WHERE id = ?", (record,)
                ).fetchone()
                values = json.loads(stored or "{}")
                doc = db.execute(
                    "INSERT INTO stamps (dataset, record, stamp) VALUES (?, ?, ?)", (dataset, record, stamp)
                ).lastrowid
                # The index is fed with words of our own cutting, so that it and the query agree on what a word is.
                texts = [" ".join(words(plain_text(values.get(name)))) for name in fields]
                db.execute(f"INSERT INTO t_{dataset} (rowid, {columns}) VALUES ({marks})", (doc, *texts))  # noqa: S608
        db.commit()
