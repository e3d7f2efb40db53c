"""The dataset card: its header, counts by kind, what it admits, hostile text, equal bytes."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
import yaml

from planarena import Run
from planarena.export import render_card
from planarena.export.card import size_category


def _header(card: str) -> dict[str, object]:
    assert card.startswith("---\n")
    return yaml.safe_load(card.split("---\n")[1])


def _changed(run: Run, folder: Path, **changes: object) -> Run:
    """The run with other facts in run.json; its tables are linked."""
    folder.mkdir()
    (folder / "tables").symlink_to(run.path / "tables")
    (folder / "run.json").write_bytes(msgspec.json.encode(run.info | changes))
    return Run.open(folder)


def test_header_names_every_table_that_has_files(built_run: Run) -> None:
    header = _header(render_card(built_run))
    assert header["license"] == "apache-2.0"
    assert header["task_categories"] == ["text-generation"]
    assert header["size_categories"] == ["n<1K"]
    configs = {config["config_name"]: config["data_files"] for config in header["configs"]}
    assert set(configs) == set(built_run.tables)
    for pattern in configs.values():
        assert list(built_run.path.glob(pattern))


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "n<1K"), (999, "n<1K"), (1000, "1K<n<10K"), (20_000, "10K<n<100K"), (10**8, "n>10M")],
)
def test_size_categories(number: int, name: str) -> None:
    assert size_category(number) == name


def test_kinds_are_counted_apart_and_never_added_up(built_run: Run, tmp_path: Path) -> None:
    counts = built_run.info["counts"] | {
        "gold_kind": {"real": 41, "emulated": 19},
        "contrastive_kind": {"real": 40, "emulated": 5},
        "executions": {"real": 77, "emulated": 33},
    }
    card = render_card(_changed(built_run, tmp_path / "run", counts=counts))
    assert re.search(r"^\| real \| 41 \| 40 \| 77 \|", card, re.MULTILINE)
    assert re.search(r"^\| emulated \| 19 \| 5 \| 33 \|", card, re.MULTILINE)
    assert "19 emulated and 41 real gold" in card
    assert "110" not in card  # 77 + 33
    assert "Emulated executions prove arguments" in card


def test_counts_are_those_of_the_run(built_run: Run) -> None:
    card = render_card(built_run)
    counts = built_run.info["counts"]
    for length, number in counts["gold_length"].items():
        assert f"| {length} | {number} | {100 * number / counts['gold']:.1f} % |" in card
    for key, number in counts["discard"].items():
        stage, reason = key.split(":")
        assert f"| {stage} | {reason} | {number} |" in card.replace("\\_", "_")
    over = counts["gold_over_serialised"]
    assert f"{over} trajectories ({100 * over / counts['gold']:.1f} %) are over-serialised" in card


def test_contamination_is_said_to_be_unchecked_unless_it_was(built_run: Run, tmp_path: Path) -> None:
    assert "**not checked**" in render_card(built_run)
    checked = _changed(built_run, tmp_path / "run", contamination={"bfcl": "0 of 60 queries"})
    card = render_card(checked)
    assert "not checked" not in card
    assert "| bfcl | 0 of 60 queries |" in card


def test_offline_wording_and_quarantine_are_admitted(built_run: Run, tmp_path: Path) -> None:
    assert "no language model was called" in render_card(built_run)
    other = _changed(
        built_run,
        tmp_path / "run",
        cost={"usd": None, "llm_calls": 12, "tokens": 3400},
        quarantined=[{"scenario": 4, "error": "KeyError"}],
    )
    card = render_card(other)
    assert "12 calls to language models" in card
    assert "cost unknown" in card
    assert "KeyError (1)" in card


def test_same_run_same_bytes(built_run: Run) -> None:
    again = Run.open(built_run.path)
    assert render_card(again) == render_card(built_run)
    assert (built_run.path / "README.md").read_text() == render_card(built_run)


def test_hostile_text_stays_text(hostile_run: Run) -> None:
    card = render_card(hostile_run)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", card)
    assert set(_header(card)) == {
        "license",
        "license_name",
        "language",
        "pretty_name",
        "task_categories",
        "tags",
        "size_categories",
        "configs",
    }
    body = card.split("---\n", 2)[2]
    unescaped = re.findall(r"(?<!\\)<\w+", re.sub(r"```.*?```", "", body, flags=re.DOTALL))
    assert unescaped == []
    rows = [line for line in body.splitlines() if line.startswith("| ")]
    widths = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
    assert widths == {3, 4, 5, 6, 7, 8}  # no cell broke out of its row
