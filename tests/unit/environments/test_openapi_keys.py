"""Keys of a path as numbers, whatever way a description states their type."""

from __future__ import annotations

import pytest

from planarena.environments.sources.openapi.arguments import _typed


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("7", {"type": "integer"}, 7),
        ("7", {"type": ["integer", "null"]}, 7),
        ("7.5", {"type": "number"}, 7.5),
        ("7", {"type": ["string", "integer"]}, "7"),
        ("7", {"type": "string"}, "7"),
        ("seven", {"type": "integer"}, "seven"),
        ("7", {}, "7"),
        ("7", True, "7"),
    ],
)
def test_keys_are_read_by_type(text: str, schema: object, value: object) -> None:
    assert _typed(text, schema) == value
    assert type(_typed(text, schema)) is type(value)
