"""Filters and sort orders of the search API as SQL over Argilla's own tables.

The meaning is that of the stock engine: a list matches if any of its values does; terms are compared as text; a
`pending` response is one that is not there; records without a value come last in either direction.
Deviation: a sort by a response that is not a number, which the stock engine refuses, goes by the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from argilla_server.models import Question, Record, Response, Suggestion
from argilla_server.search_engine.base import (
    AndFilter,
    MetadataFilterScope,
    RecordFilterScope,
    ResponseFilterScope,
    SuggestionFilterScope,
    TermsFilter,
)
from sqlalchemy import String, and_, case, cast, exists, false, func, literal, or_, select, true, type_coerce

__all__ = ["condition", "metadata_names", "ordering", "values_at"]

_DATES = ("inserted_at", "updated_at")


def values_at(column: Any, *path: str) -> Any:
    """Return a table with the values of a JSON column at a path: one row per element of a list."""
    place = "$" + "".join("." + json.dumps(name) for name in path)
    return func.json_each(column, place).table_valued("value", joins_implicitly=True)


def metadata_names(filters: Any, sort: Iterable[Any]) -> set[str]:
    """Return the metadata properties that a search looks at."""
    items = [*(filters.filters if isinstance(filters, AndFilter) else [filters] if filters else []), *sort]
    scopes = [item.scope for item in items]
    return {scope.metadata_property for scope in scopes if isinstance(scope, MetadataFilterScope)}


def condition(item: Any) -> Any:
    """Return a filter as an SQL condition on a record.

    Raises:
        ValueError: A scope that the search API does not have.
    """
    if isinstance(item, AndFilter):
        return and_(true(), *(condition(inner) for inner in item.filters))
    scope = item.scope
    if isinstance(scope, MetadataFilterScope):
        each = values_at(Record.metadata_, scope.metadata_property)
        return exists(select(1).select_from(each).where(_matches(each.c.value, item)))
    if isinstance(scope, SuggestionFilterScope):
        return _suggestion_condition(scope, item)
    if isinstance(scope, ResponseFilterScope):
        return _response_condition(scope, item)
    if isinstance(scope, RecordFilterScope):
        return _record_condition(scope, item)
    raise ValueError(f"cannot filter by {scope}")


def _matches(column: Any, item: Any) -> Any:
    if isinstance(item, TermsFilter):
        return cast(column, String).in_([str(value) for value in item.values])
    low, high = (None if bound is None else float(bound) for bound in (item.ge, item.le))
    bounds = [] if low is None else [column >= low]
    return and_(true(), *bounds, *([] if high is None else [column <= high]))


def _suggestion_condition(scope: Any, item: Any) -> Any:
    chosen = select(1).select_from(Suggestion).join(Question, Question.id == Suggestion.question_id)
    mine = (Suggestion.record_id == Record.id, Question.name == scope.question)
    if scope.property in {"value", "score"}:
        each = values_at(getattr(Suggestion, scope.property))
        return exists(chosen.join(each, true()).where(*mine, _matches(each.c.value, item)))
    return exists(chosen.where(*mine, _matches(_plain(Suggestion, scope.property), item)))


def _response_condition(scope: Any, item: Any) -> Any:
    mine = [Response.record_id == Record.id]
    if scope.user is not None:
        mine.append(Response.user_id == scope.user.id)
    if scope.question:
        each = values_at(Response.values, scope.question, "value")
        chosen = select(1).select_from(Response).join(each, true())
        return exists(chosen.where(*mine, _matches(each.c.value, item)))
    if scope.property != "status" or not isinstance(item, TermsFilter):
        raise ValueError(f"cannot filter by {scope}")
    wanted = {str(value) for value in item.values}
    present = wanted - {"pending"}
    return or_(
        ~exists(select(1).select_from(Response).where(*mine)) if "pending" in wanted else false(),
        exists(select(1).select_from(Response).where(*mine, _plain(Response, "status").in_(sorted(present))))
        if present
        else false(),
    )


def _record_condition(scope: Any, item: Any) -> Any:
    column = getattr(Record, scope.property)
    if scope.property == "id":
        return column.in_([found for value in item.values if (found := _uuid(value)) is not None])
    if scope.property in _DATES:
        if isinstance(item, TermsFilter):
            return column.in_([_moment(value) for value in item.values])
        bounds = [] if item.ge is None else [column >= _moment(item.ge)]
        return and_(true(), *bounds, *([] if item.le is None else [column <= _moment(item.le)]))
    return _matches(_plain(Record, scope.property), item)


def _plain(model: Any, name: str) -> Any:
    """Return a column without its enumeration type, which would refuse a word it does not know."""
    return type_coerce(getattr(model, name), String)


def _uuid(value: Any) -> UUID | None:
    try:
        return UUID(str(value))
    except ValueError:
        return None


def _moment(value: Any) -> datetime:
    if isinstance(value, int | float):  # milliseconds, as the page sends them
        return datetime.fromtimestamp(value / 1000, UTC).replace(tzinfo=None)
    read = datetime.fromisoformat(value)
    return read.astimezone(UTC).replace(tzinfo=None) if read.tzinfo else read


def ordering(order: Any) -> list[Any]:
    """Return one sort order as SQL expressions.

    Raises:
        ValueError: A scope that the search API does not have.
    """
    scope, down = order.scope, order.order == "desc"
    pick = func.max if down else func.min
    if isinstance(scope, RecordFilterScope):
        keys = [
            _plain(Record, scope.property) if scope.property == "status" else getattr(Record, scope.property)
        ]
    elif isinstance(scope, MetadataFilterScope):
        each = values_at(Record.metadata_, scope.metadata_property)
        keys = [select(pick(each.c.value)).select_from(each).correlate(Record).scalar_subquery()]
    elif isinstance(scope, SuggestionFilterScope):
        keys = [_suggestion_key(scope, pick)]
    elif isinstance(scope, ResponseFilterScope):
        keys = _response_keys(scope, pick)
    else:
        raise ValueError(f"cannot sort by {scope}")
    return [(key.desc() if down else key.asc()).nulls_last() for key in keys]


def _suggestion_key(scope: Any, pick: Any) -> Any:
    if scope.property in {"value", "score"}:
        each = values_at(getattr(Suggestion, scope.property))
        chosen = select(pick(each.c.value)).select_from(Suggestion).join(each, true())
    else:
        chosen = select(pick(_plain(Suggestion, scope.property))).select_from(Suggestion)
    chosen = chosen.join(Question, Question.id == Suggestion.question_id)
    mine = (Suggestion.record_id == Record.id, Question.name == scope.question)
    return chosen.where(*mine).correlate(Record).scalar_subquery()


def _response_keys(scope: Any, pick: Any) -> list[Any]:
    mine = [Response.record_id == Record.id]
    if scope.user is not None:
        mine.append(Response.user_id == scope.user.id)
    if not scope.question:
        key = select(pick(_plain(Response, scope.property or "status"))).select_from(Response)
        return [key.where(*mine).correlate(Record).scalar_subquery()]
    each = values_at(Response.values, scope.question, "value")
    number = case((func.typeof(each.c.value).in_(["integer", "real"]), each.c.value))
    word = case((func.typeof(each.c.value) == literal("text"), each.c.value))

    def key_of(what: Any) -> Any:
        chosen = select(what).select_from(Response).join(each, true())
        return chosen.where(*mine).correlate(Record).scalar_subquery()

    return [key_of(func.avg(number)), key_of(pick(word))]
