"""The embedded search engine: answers from Argilla's own SQL tables, so there is no second copy to fall behind.

Every hook that tells a search engine of a change does nothing: only full text has an index of its own, and that
one catches up by itself (see `textindex`).
"""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from argilla_server.database import AsyncSessionLocal
from argilla_server.enums import MetadataPropertyType, SimilarityOrder
from argilla_server.errors.future import UnprocessableEntityError
from argilla_server.models import MetadataProperty, Record, Response, User, Vector
from argilla_server.search_engine.base import (
    FloatMetadataMetrics,
    IntegerMetadataMetrics,
    SearchEngine,
    SearchResponseItem,
    SearchResponses,
    TermsMetrics,
    TextQuery,
)
from argilla_server.settings import settings
from sqlalchemy import String, cast, func, literal, select, true, type_coerce
from sqlalchemy.engine import make_url

from .conditions import condition, metadata_names, ordering, values_at
from .textindex import TextIndex

__all__ = ["EmbeddedSearchEngine"]

# Thousands of ids are read for a page of a few: as text, 32 hexadecimal digits, they cost a tenth.
_HEX = type_coerce(Record.id, String)


@SearchEngine.register("embedded")
class EmbeddedSearchEngine(SearchEngine):  # type: ignore[misc]  # the base is of the managed environment
    """Searches records in the server's own database."""

    def __init__(self) -> None:
        home = Path(settings.home_path)
        self._texts = TextIndex(Path(make_url(settings.database_url).database), home / "text-index.db")

    @classmethod
    async def new_instance(cls) -> EmbeddedSearchEngine:
        """Return an engine; it holds no connection."""
        return cls()

    async def close(self) -> None:
        """Close nothing."""

    async def ping(self) -> bool:
        """Say whether the database answers."""
        async with AsyncSessionLocal() as db:
            return bool(await db.scalar(select(literal(1))) == 1)

    async def info(self) -> dict[str, Any]:
        """Return name and version, for the status page."""
        return {
            "name": "embedded",
            "version": {"distribution": "sqlite", "number": sqlite3.sqlite_version},
        }

    async def create_index(self, dataset: Any) -> None:
        """Do nothing: the tables are the index. So do the other hooks below."""

    async def configure_metadata_property(self, dataset: Any, metadata_property: Any) -> None:
        """Do nothing."""

    async def configure_index_vectors(self, vector_settings: Any) -> None:
        """Do nothing."""

    async def index_records(self, dataset: Any, records: Any) -> None:
        """Do nothing."""

    async def partial_record_update(self, record: Any, **update: Any) -> None:
        """Do nothing."""

    async def delete_records(self, dataset: Any, records: Any) -> None:
        """Do nothing."""

    async def update_record_response(self, response: Any) -> None:
        """Do nothing."""

    async def delete_record_response(self, response: Any) -> None:
        """Do nothing."""

    async def update_record_suggestion(self, suggestion: Any) -> None:
        """Do nothing."""

    async def delete_record_suggestion(self, suggestion: Any) -> None:
        """Do nothing."""

    async def delete_index(self, dataset: Any) -> None:
        """Forget the texts of a dataset."""
        await asyncio.to_thread(self._texts.drop, dataset.id.hex)

    async def get_dataset_progress(self, dataset: Any) -> dict[str, int]:
        """Count the records of a dataset by status."""
        if dataset.is_draft:
            return {}
        status = type_coerce(Record.status, String)
        return await _count(
            select(status, func.count()).where(Record.dataset_id == dataset.id).group_by(status)
        )

    async def get_dataset_user_progress(self, dataset: Any, user: Any) -> dict[str, int]:
        """Count a person's responses by status."""
        if dataset.is_draft:
            return {}
        status = type_coerce(Response.status, String)
        return await _count(
            select(status, func.count())
            .join(Record, Record.id == Response.record_id)
            .where(Record.dataset_id == dataset.id, Response.user_id == user.id)
            .group_by(status)
        )

    async def compute_metrics_for(self, metadata_property: Any) -> Any:
        """Return what the page's filter of a metadata property offers: its terms, or its range."""
        each = values_at(Record.metadata_, metadata_property.name)
        mine = (Record.dataset_id == metadata_property.dataset_id, each.c.value.is_not(None))
        async with AsyncSessionLocal() as db:
            if metadata_property.type == MetadataPropertyType.terms:
                term = cast(each.c.value, String)
                rows = await db.execute(
                    select(term, func.count())
                    .select_from(Record)
                    .join(each, true())
                    .where(*mine)
                    .group_by(term)
                    .order_by(func.count().desc(), term)
                )
                values = [TermsMetrics.TermCount(term=value, count=number) for value, number in rows.all()]
                return TermsMetrics(total=sum(value.count for value in values), values=values)
            bounds = select(func.min(each.c.value), func.max(each.c.value))
            rows = await db.execute(bounds.select_from(Record).join(each, true()).where(*mine))
            low, high = rows.one()
        whole = metadata_property.type == MetadataPropertyType.integer
        return (IntegerMetadataMetrics if whole else FloatMetadataMetrics)(min=low, max=high)

    async def search(
        self,
        dataset: Any,
        query: Any = None,
        filter: Any = None,
        sort: Any = None,
        offset: int = 0,
        limit: int = 100,
        user_id: Any = None,
    ) -> Any:
        """Return a page of record ids.

        Without a sort order a text query goes by relevance. An annotator's queue goes by how near a record is to
        its overlap target, and among equals in an order of the annotator's own.

        Raises:
            UnprocessableEntityError: An annotator asks for a property that is hidden from annotators.
        """
        conditions = [Record.dataset_id == dataset.id]
        if filter is not None:
            conditions.append(condition(filter))
        async with AsyncSessionLocal() as db:
            await _refuse_hidden(db, dataset, user_id, metadata_names(filter, sort or ()))
            scores = None if query is None else await self._scores(dataset, query)
            if sort:
                order = [key for item in sort for key in ordering(item)]
                chosen = select(_HEX).where(*conditions)
                chosen = chosen.order_by(*order, Record.inserted_at, Record.id)
                every = [one for one in await db.scalars(chosen) if scores is None or one in scores]
            else:
                every = await _in_queue_order(db, dataset, conditions, scores, user_id)
        found, total = every[offset : offset + limit], len(every)
        items = [
            SearchResponseItem(record_id=UUID(hex=one), score=scores[one] if scores else None)
            for one in found
        ]
        return SearchResponses(items=items, total=total)

    async def similarity_search(
        self,
        dataset: Any,
        vector_settings: Any,
        value: Any = None,
        record: Any = None,
        query: Any = None,
        filter: Any = None,
        max_results: int = 100,
        order: Any = SimilarityOrder.most_similar,
        threshold: float | None = None,
    ) -> Any:
        """Return the records whose vectors are nearest to (or farthest from) a vector, by (1 + cosine) / 2.

        Raises:
            ValueError: Both or neither of `value` and `record`, or a record without that vector.
        """
        if bool(value) == bool(record):
            raise ValueError("give either a vector or a record")
        target = value or record.vector_value_by_vector_settings(vector_settings)
        if not target:
            raise ValueError("the record has no such vector")
        conditions = [Record.dataset_id == dataset.id, Vector.vector_settings_id == vector_settings.id]
        if record is not None:
            conditions.append(Record.id != record.id)
        if filter is not None:
            conditions.append(condition(filter))
        scores = None if query is None else await self._scores(dataset, query)
        async with AsyncSessionLocal() as db:
            pairs = select(Record.id, Vector.value).join(Vector, Vector.record_id == Record.id)
            found = (await db.execute(pairs.where(*conditions))).all()
        rows = [pair for pair in found if scores is None or pair[0].hex in scores]
        if not rows:
            return SearchResponses(items=[], total=0)
        matrix, wanted = np.asarray([vector for _, vector in rows], float), np.asarray(target, float)
        norms = np.linalg.norm(matrix, axis=1) * np.linalg.norm(wanted)
        cosine = np.divide(matrix @ wanted, norms, out=np.zeros(len(rows)), where=norms > 0)
        scores = (1 + (-cosine if order == SimilarityOrder.least_similar else cosine)) / 2
        best = np.argsort(-scores, kind="stable")[:max_results]
        items = [
            SearchResponseItem(record_id=rows[place][0], score=float(scores[place]))
            for place in best
            if threshold is None or scores[place] >= threshold
        ]
        return SearchResponses(items=items, total=len(items))

    async def _scores(self, dataset: Any, query: Any) -> dict[str, float]:
        asked = TextQuery(q=query) if isinstance(query, str) else query
        fields = sorted(field.name for field in dataset.fields if not field.is_image)
        return await asyncio.to_thread(self._texts.search, dataset.id.hex, fields, asked.q, asked.field)


async def _count(statement: Any) -> dict[str, int]:
    async with AsyncSessionLocal() as db:
        counts = {str(status): number for status, number in (await db.execute(statement)).all()}
    return {"total": sum(counts.values()), **counts}


async def _in_queue_order(
    db: Any, dataset: Any, conditions: list[Any], scores: Mapping[str, float] | None, user_id: Any
) -> list[str]:
    chosen = select(_HEX).where(*conditions)
    if scores is not None or user_id is None:
        ids = (await db.scalars(chosen.order_by(Record.inserted_at, Record.id))).all()
        return (
            list(ids)
            if scores is None
            else sorted((one for one in ids if one in scores), key=lambda one: -scores[one])
        )
    owner = type_coerce(Response.record_id, String)
    answers = select(owner, func.count()).join(Record, Record.id == Response.record_id)
    answers = answers.where(
        Record.dataset_id == dataset.id, type_coerce(Response.status, String) == "submitted"
    )
    rows = (await db.execute(answers.group_by(owner))).all()
    counts = {record: number for record, number in rows}  # noqa: C416  a row is no pair to dict()
    own = str(user_id).encode()

    def place(record: str) -> tuple[int, bytes]:
        # The order of one person is a hash: different from that of others, the same each time.
        return -counts.get(record, 0), hashlib.blake2b(record.encode(), key=own, digest_size=8).digest()

    return sorted((await db.scalars(chosen)).all(), key=place)


async def _refuse_hidden(db: Any, dataset: Any, user_id: Any, names: set[str]) -> None:
    """Keep hidden properties from being read through filters: the stock server hides them in records only."""
    if user_id is None or not names:
        return
    user = await db.scalar(select(User).where(User.id == user_id))
    if user is None or not user.is_annotator:
        return
    mine = (MetadataProperty.dataset_id == dataset.id, MetadataProperty.name.in_(sorted(names)))
    for found in await db.scalars(select(MetadataProperty).where(*mine)):
        if not found.visible_for_annotators:
            raise UnprocessableEntityError(f"Metadata property `{found.name}` is not available")
