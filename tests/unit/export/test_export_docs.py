"""docs/dataset.md names every table, key and column there is, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planarena.export.hugging_face import COLUMNS
from planarena.records.tables import TABLES, arrow_schema, json_columns


@pytest.fixture(scope="module")
def sections(root: Path) -> dict[str, str]:
    parts = re.split(r"^### (\w+)$", (root / "docs/dataset.md").read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _rows(section: str) -> list[tuple[list[str], str]]:
    """(columns, explanation) of each row of the section's table."""
    rows = re.findall(r"^\| (`.*?`) \| (.*?) ?\|$", section, re.MULTILINE)
    return [(re.findall(r"`(\w+)`", names), text) for names, text in rows]


def test_tables_are_all_there(sections: dict[str, str]) -> None:
    assert set(sections) == {*TABLES, "hf", "openai"}


@pytest.mark.parametrize("table", list(TABLES))
def test_columns_and_keys(sections: dict[str, str], table: str) -> None:
    row, key = TABLES[table]
    named = [name for names, _ in _rows(sections[table]) for name in names]
    assert sorted(named) == sorted(arrow_schema(table).names)
    stated = re.search(r"^Key: ([^.:]*)", sections[table], re.MULTILINE)
    assert stated is not None
    assert tuple(re.findall(r"`(\w+)`", stated[1])) == key
    marked = {name for names, text in _rows(sections[table]) if "**JSON**" in text for name in names}
    assert marked == set(json_columns(row))


def test_columns_of_the_export(sections: dict[str, str]) -> None:
    named = [name for names, _ in _rows(sections["hf"]) for name in names]
    assert sorted(named) == sorted(COLUMNS)
