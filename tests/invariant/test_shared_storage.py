"""Builds whose workers see no common folder: the storage in between changes no byte, and loses nothing to kills."""

from __future__ import annotations

import sys
from hashlib import blake2b
from pathlib import Path

import fsspec
import pytest

import planarena
from planarena.config import BuildConfig, ExecutionConfig
from planarena.errors import UserError

sys.path.append(str(Path(__file__).resolve().parents[1]))
from builds import contents, kill_when, shards

N = 150


def config_of(out, trajectories=N, **execution):
    return BuildConfig(
        out=str(out),
        sources=("builtin:banking", "builtin:calendar"),
        trajectories=trajectories,
        chunk_scenarios=2,
        execution=ExecutionConfig(**{"workers": 1, **execution}),
    )


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    root = tmp_path_factory.mktemp("reference") / "run"
    planarena.build(config_of(root))
    return contents(root)


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Where workers make their folders."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


def test_workers_without_a_common_folder_give_the_same_bytes_here_and_there(reference, tmp_path, scratch):
    there = tmp_path / "there"
    planarena.build(config_of(tmp_path / "run", workers=2, storage=f"file://{there}"))
    assert contents(tmp_path / "run") == reference
    assert contents(there) == reference
    # Workers put products there and nowhere else.
    assert list(there.glob("work/execute-*/*.bin"))
    assert not list((tmp_path / "run").glob("work/execute-*/*.bin"))
    assert not list(there.rglob("*.tmp"))
    assert not list(scratch.iterdir())


def test_a_storage_that_is_no_folder_at_all(reference, tmp_path, scratch):
    url = "memory://shared/run"
    planarena.build(config_of(tmp_path / "run", storage=url))
    assert contents(tmp_path / "run") == reference
    system, place = fsspec.core.url_to_fs(url)
    try:
        stored = {name: blake2b(system.cat_file(f"{place}/{name}")).hexdigest() for name in reference}
        assert stored == reference
    finally:
        system.rm("/shared", recursive=True)


def test_what_is_in_the_storage_is_executed_no_more(reference, tmp_path, scratch):
    there = f"file://{tmp_path / 'there'}"
    planarena.build(config_of(tmp_path / "first", storage=there))
    second = planarena.build(config_of(tmp_path / "second", storage=there))
    assert contents(second.path) == reference
    import sqlite3

    with sqlite3.connect(tmp_path / "second/ledger.sqlite") as db:
        (executed,) = db.execute("SELECT SUM(executed) FROM attempts").fetchone()
    assert executed == 0


def test_a_damaged_product_there_is_made_anew(reference, tmp_path, scratch):
    there = tmp_path / "there"
    planarena.build(config_of(tmp_path / "first", storage=f"file://{there}"))
    for product in there.glob("work/*/*.bin"):
        product.write_bytes(product.read_bytes()[:40])
    planarena.build(config_of(tmp_path / "second", storage=f"file://{there}"))
    assert contents(tmp_path / "second") == reference


def test_a_smaller_run_extends_and_drops_what_it_replaces(reference, tmp_path, scratch):
    there = tmp_path / "there"
    planarena.build(config_of(tmp_path / "run", 40, storage=f"file://{there}"))
    planarena.build(config_of(tmp_path / "run", storage=f"file://{there}", extend=True))
    assert contents(tmp_path / "run") == reference
    assert contents(there) == reference


def test_killed_and_resumed_with_a_storage(reference, tmp_path, scratch):
    root, there = tmp_path / "run", tmp_path / "there"
    config = config_of(root, workers=2, storage=f"file://{there}")
    half = sum(name.startswith("tables/scenarios/") for name in reference) // 2
    kill_when(config, lambda: shards(root) >= half)
    assert not (there / "run.json").exists()
    planarena.build(config)
    assert contents(root) == reference
    assert contents(there) == reference


@pytest.mark.parametrize(
    ("url", "said"),
    [("nosuch://a/b", "[Pp]rotocol not known"), ("s3://bucket/run", "not installed")],
)
def test_a_storage_that_cannot_be_reached_is_said_before_anything_is_done(tmp_path, url, said, monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)  # whether it is installed here or not
    with pytest.raises(UserError, match=said):
        planarena.build(config_of(tmp_path / "run", storage=url))
    assert not (tmp_path / "run").exists()
