"""Semantic types: what a string or number means, beyond its JSON type.

They travel inside JSON Schemas as annotation keywords (`x-semantic`, `x-hidden`, `x-surface`), which
validators ignore and exports strip. Composition binds an output to an argument of the same semantic
type; the language part renders a value by its surface.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = ["SURFACES", "Semantic", "strip_annotations"]

Surface = Literal[
    "plain",
    "name",
    "date",
    "time",
    "datetime",
    "money",
    "number",
    "percent",
    "temperature",
    "minutes",
    "word",
]
SURFACES: tuple[str, ...] = (
    "plain", "name", "date", "time", "datetime", "money", "number", "percent", "temperature", "minutes", "word",
)  # fmt: skip


class Semantic(msgspec.Struct, frozen=True):
    """Marks a type in a signature: `FlightId = Annotated[str, Semantic("flight_id", hidden=True)]`.

    Attributes:
        type: The meaning's name; equal names may be bound to each other.
        hidden: A user cannot know such a value (an id made by the environment), so it must come from
            an earlier observation and never appears in a query.
        surface: How people write the value: see `SURFACES`.
        pattern: A regular expression that strings must match, or None.
        minimum: The least number, or None.
        maximum: The greatest number, or None.
    """

    type: str
    hidden: bool = False
    surface: Surface = "plain"
    pattern: str | None = None
    minimum: float | None = None
    maximum: float | None = None

    def annotations(self) -> dict[str, Any]:
        """Return the schema keywords that carry this type."""
        words: dict[str, Any] = {"x-semantic": self.type}
        if self.hidden:
            words["x-hidden"] = True
        if self.surface != "plain":
            words["x-surface"] = self.surface
        if self.pattern is not None:
            words["pattern"] = self.pattern
        if self.minimum is not None:
            words["minimum"] = self.minimum
        if self.maximum is not None:
            words["maximum"] = self.maximum
        return words


def strip_annotations(schema: Any) -> Any:
    """Return a copy of a schema without our `x-semantic`, `x-hidden` and `x-surface` keywords."""
    if isinstance(schema, dict):
        return {
            key: strip_annotations(value)
            for key, value in schema.items()
            if key not in {"x-semantic", "x-hidden", "x-surface"}
        }
    if isinstance(schema, list):
        return [strip_annotations(item) for item in schema]
    return schema
