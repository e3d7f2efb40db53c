"""What a tool returns, said once: the names of an environment's fields, and shapes made of them.

A domain declares each of its fields once, with its semantic type, and every result names the fields that it shows:

    record = Fields(card_id=CardId, last_digits=str, status=CardStatus, balance=Money)

    @tool("read", gives=record("name balance card", card=record("card_id status")))
    def get_account(self, name: AccountName) -> Result:
        ...
        return {**account, "card": card}

The method returns whole records; the shape picks what is shown. The tool's output schema comes from the same shape, so
no result is typed and then built again by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any

from planarena.environments.state import Record
from planarena.errors import SchemaError
from planarena.tools.signatures import schema_of

__all__ = ["Fields", "Result", "Shape", "between", "ordered"]

# What a tool's method returns: a record, or a mapping that has more than is shown.
Result = Mapping[str, Any]


class Shape:
    """The fields of an object, in order.

    Args:
        parts: Field -> its type, the shape of an object, or a list of one of these for a list.
        optional: Fields that may be absent.
    """

    __slots__ = ("_inner", "_optional", "_parts")

    def __init__(self, parts: Mapping[str, Any], optional: frozenset[str] = frozenset()) -> None:
        self._parts = dict(parts)
        self._optional = optional
        self._inner = {name: inner for name, part in parts.items() if (inner := _picker(part)) is not None}

    def pick(self, result: Result) -> dict[str, Any]:
        """Return the fields that are shown of a record or a larger mapping, in their order.

        Raises:
            KeyError: A field is absent that may not be.
        """
        if not self._inner and not self._optional:
            return {name: result[name] for name in self._parts}
        shown = {}
        for name in self._parts:
            if name in self._optional and name not in result:
                continue
            inner = self._inner.get(name)
            shown[name] = result[name] if inner is None else inner(result[name])
        return shown

    def schema(self, where: str) -> dict[str, Any]:
        """Return the JSON Schema of the object.

        Args:
            where: What is being described, for errors.

        Raises:
            SchemaError: A field's type has no schema.
        """
        return {
            "type": "object",
            "properties": {name: _part_schema(part, f"{where}.{name}") for name, part in self._parts.items()},
            "required": [name for name in self._parts if name not in self._optional],
        }


class Fields:
    """The fields of an environment, each declared once; calling it makes a shape.

    Args:
        types: Field -> type, as in signatures: `str`, `Annotated[float, Semantic("money", surface="money")]`.

    Example:
        >>> record = Fields(title=str, due=str)
        >>> record("count cards", count=int, cards=[record("title due")]).pick(
        ...     {"count": 1, "cards": [{"title": "Paint", "due": "2026-05-01", "column": "backlog"}]}
        ... )
        {'count': 1, 'cards': [{'title': 'Paint', 'due': '2026-05-01'}]}
    """

    def __init__(self, **types: Any) -> None:
        self._types = types

    def __call__(self, names: str, /, **others: Any) -> Shape:
        """Make a shape.

        Args:
            names: The fields in their order, parted by spaces; `note?` may be absent.
            others: Types of fields that are not declared or mean something else here; a shape for an object, a
                list of one shape or type for a list.

        Raises:
            SchemaError: A field has no type.
        """
        parts: dict[str, Any] = {}
        optional = set()
        for word in names.split():
            name = word.removesuffix("?")
            if name != word:
                optional.add(name)
            if name not in others and name not in self._types:
                raise SchemaError(
                    f"the field {name} is not declared",
                    where=names,
                    fix="declare it in Fields, or give its type here",
                )
            parts[name] = others.get(name, self._types.get(name))
        unnamed = sorted(others.keys() - parts.keys())
        if unnamed:
            raise SchemaError(
                f"{', '.join(unnamed)} has a type but no place",
                where=names,
                fix="name it among the fields, too",
            )
        return Shape(parts, frozenset(optional))


def between(rows: Iterable[Record], field: str, least: Any = None, most: Any = None) -> list[Record]:
    """Return the records whose value in a field is within limits that a caller may leave open.

    Args:
        rows: The records.
        field: A number, or a time or date as text.
        least: The lowest value that is returned; None for any.
        most: The highest value that is returned; None for any.
    """
    found = [row for row in rows if least is None or row[field] >= least]
    return [row for row in found if most is None or row[field] <= most]


def ordered(rows: Iterable[Record], *fields: str, last_first: bool = False) -> list[Record]:
    """Return records in the order in which results list them.

    Args:
        rows: The records.
        fields: The fields that decide, the most important first; an id at the end makes every order definite.
        last_first: Whether the highest comes first, not the lowest.
    """
    return sorted(rows, key=itemgetter(*fields), reverse=last_first)


def _picker(part: Any) -> Callable[[Any], Any] | None:
    """Return what picks from the value of a field, or None where it is shown as it is."""
    if isinstance(part, Shape):
        return part.pick
    if isinstance(part, list) and isinstance(part[0], Shape):
        pick = part[0].pick
        return lambda values: [pick(value) for value in values]
    return None


def _part_schema(part: Any, where: str) -> dict[str, Any]:
    if isinstance(part, Shape):
        return part.schema(where)
    if isinstance(part, list):
        return {"type": "array", "items": _part_schema(part[0], where)}
    return schema_of(part, where)
