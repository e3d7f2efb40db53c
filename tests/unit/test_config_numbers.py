"""Numbers in settings and configuration files, as people write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from planarena.config import load_config, parse_settings


class Rates(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Some settings."""

    rate: float = 0.0
    name: str = ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("2E+2", 200.0),
        ("-3e4", -30000.0),
        ("1.5e-6", 1.5e-6),
        ("1.0e-3", 0.001),
        ("7", 7),
        ("1e", "1e"),
        ("e5", "e5"),
        ("1e-3x", "1e-3x"),
        ("[1e-1, 2]", [0.1, 2]),
        ("'1e-3'", "1e-3"),
    ],
)
def test_exponents_are_numbers_unless_quoted(text: str, value: Any) -> None:
    found = parse_settings([f"rate={text}"])["rate"]
    assert found == value
    assert type(found) is type(value)


def test_files_read_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("rate: 1e-3\nname: '1e-3'\n")
    assert load_config(Rates, file=tmp_path / "a.yaml", values={}) == Rates(rate=0.001, name="1e-3")
