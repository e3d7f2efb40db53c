"""The tutorials: their commands run as they stand on their pages, in the order that a reader takes them.

The short suite runs what takes seconds; what downloads, starts servers or trains is marked `full` on its page.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from planarena import Run, managed
from planarena.environments.sandbox import missing
from planarena.errors import EnvironmentUnavailableError

sys.path.append(str(Path(__file__).resolve().parents[1]))
from hub_server import TOKEN, Hub, serve_hub
from pages import blocks_of, run_blocks

pytestmark = pytest.mark.slow
PAGES = ("own-functions", "mcp-server", "audit", "train", "evaluate")
needs_sandbox = pytest.mark.skipif(bool(missing()), reason=f"no sandbox here: {missing()}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all pages: the build that three of them begin with is made once and found again."""
    return tmp_path_factory.mktemp("tutorials")


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with serve_hub() as served:
        yield served


def _run(root: Path, folder: Path, name: str, *, full: bool = False, **variables: str) -> list[str]:
    blocks = blocks_of(root / "docs/tutorials" / f"{name}.md")
    return run_blocks([one for one in blocks if full or not one.full], folder, **variables)


def _hub_variables(hub: Hub) -> dict[str, str]:
    return {
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": TOKEN,
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1",
    }


def test_every_page_has_commands_that_run(root: Path) -> None:
    assert {path.stem for path in (root / "docs/tutorials").glob("*.md")} == {"index", *PAGES}
    for name in PAGES:
        assert len(blocks_of(root / "docs/tutorials" / f"{name}.md")) >= 2, name


@needs_sandbox
def test_own_functions(root: Path, folder: Path) -> None:
    _run(root, folder, "own-functions")
    run = Run.open(folder / "runs/books")
    assert run.info["counts"]["gold"] == 12
    (probed,) = run.info["probe"].values()
    assert sorted(probed["used"]) == ["get_book", "order_book", "search_books"]
    assert list((folder / "books-hf").rglob("*.parquet"))


def test_audit_on_a_sheet(root: Path, folder: Path) -> None:
    _run(root, folder, "audit")
    labels = Run.open(folder / "runs/first").table("labels").collect()
    assert sorted(labels["label"].to_list()) == ["negative", *["positive"] * 5]
    assert (folder / "disputed/adjudication.html").is_file()


def test_evaluate_and_publish(root: Path, folder: Path, hub: Hub) -> None:
    _run(root, folder, "evaluate", **_hub_variables(hub))
    scores = json.loads((folder / "runs/gold/scores.json").read_text())
    assert scores["suites"]["planarena"]["overall"][0]["value"] == 1.0
    assert hub.private == {"me/first-steps": True}
    assert "README.md" in hub.files["me/first-steps"]


@pytest.mark.full
@needs_sandbox
def test_mcp_server(root: Path, folder: Path) -> None:
    try:
        managed.environment("mcp", progress=lambda *_: None)
    except EnvironmentUnavailableError as error:
        pytest.skip(f"the client cannot be installed here: {error.what}")
    _run(root, folder, "mcp-server", full=True)
    assert Run.open(folder / "runs/todo").info["counts"]["gold"] == 8


@pytest.mark.full
def test_train_and_what_follows_from_it(root: Path, folder: Path, hub: Hub) -> None:
    shutil.rmtree(folder / "published", ignore_errors=True)
    hub.files.clear()
    _run(root, folder, "train", full=True)
    for name in ("sft", "grpo", "dupo"):
        assert json.loads((folder / "runs" / name / "run.json").read_text())["status"] == "finished"
    _run(root, folder, "evaluate", full=True, **_hub_variables(hub))
    assert (folder / "scores.html").is_file()


@pytest.mark.full
def test_audit_with_the_page(root: Path, tmp_path: Path) -> None:
    """At the port that the page leaves unsaid, with a data folder of its own."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", 6900))
        except OSError:
            pytest.skip("something listens on port 6900")
    place = {"XDG_DATA_HOME": str(tmp_path / "share")}
    try:
        printed = _run(root, tmp_path, "audit", full=True, **place)
    finally:
        command = [sys.executable, "-m", "planarena", "audit", "down"]
        subprocess.run(command, env={**os.environ, **place}, capture_output=True, check=False)
    assert any("http://127.0.0.1:6900" in text for text in printed)
