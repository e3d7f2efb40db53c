"""`planarena export --push-to-hub` against a server on loopback, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from planarena import Run

sys.path.append(str(Path(__file__).resolve().parents[1]))
from hub_server import TOKEN, Hub, serve_hub


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serve_hub() as served:
        yield served


def _export(hub: Hub, run: Run, *words: str, **changed: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": TOKEN,
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1",
        **changed,
    }
    return subprocess.run(
        [sys.executable, "-m", "planarena", "export", str(run.path), *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_a_dataset_is_made_filled_and_replaced(hub: Hub, built_run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    push = ["--out", str(out), "--push-to-hub", "me/data"]
    done = _export(hub, built_run, "--format", "hf", *push)
    assert done.returncode == 0, done.stderr
    assert f"uploaded to {hub.url}/datasets/me/data" in done.stdout
    assert hub.private == {"me/data": True}
    # To the byte, what was written; and no file that lies in the folder beside it.
    assert hub.files["me/data"] == {**_files(out), ".gitattributes": b""}
    assert hub.commits == ["planarena export, format hf"]
    assert TOKEN not in "".join([done.stdout, done.stderr, (out / "export.json").read_text()])

    (out / "notes.md").write_text("mine")
    hub.files["me/data"]["LICENSE"] = b"theirs"
    refused = _export(hub, built_run, "--format", "hf", *push)
    assert refused.returncode == 2
    assert "the repository holds an export" in refused.stderr
    done = _export(hub, built_run, "--format", "openai", *push, "--replace", "--public")
    assert done.returncode == 0, done.stderr
    expected = _files(out) | {".gitattributes": b"", "LICENSE": b"theirs"}
    assert expected.pop("notes.md") == b"mine"
    assert hub.files["me/data"] == expected  # card and data of the earlier export are gone, the rest stays
    assert hub.private == {"me/data": True}  # what is there is not opened


@pytest.mark.parametrize(
    ("name", "changed", "code", "said"),
    [
        ("data", {}, 2, "is not OWNER/NAME"),
        ("me/..", {}, 2, "--push-to-hub"),
        ("me/data", {"HF_TOKEN": "hf_wrong"}, 2, "the hub refuses (status 401)"),
        ("me/data", {"HF_HUB_OFFLINE": "1"}, 2, "HF_HUB_OFFLINE is set"),
        ("me/data", {"HF_ENDPOINT": "http://127.0.0.1:9"}, 1, "cannot be reached"),
        ("me/theirs", {}, 2, "holds files that no export wrote"),
    ],
)
def test_what_cannot_be_pushed_is_said_before_anything_is_written(
    hub: Hub, built_run: Run, tmp_path: Path, name: str, changed: dict[str, str], code: int, said: str
) -> None:
    hub.files["me/theirs"] = {"data/train-00000.parquet": b"theirs", ".gitattributes": b""}
    words = ["--format", "openai", "--out", str(tmp_path / "out"), "--push-to-hub", name]
    done = _export(hub, built_run, *words, **changed)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "hf_wrong" not in done.stderr
    assert not (tmp_path / "out").exists()
    assert list(hub.files) == ["me/theirs"]
    assert len(hub.files["me/theirs"]) == 2


def test_a_failing_hub_is_one_line(hub: Hub, built_run: Run, tmp_path: Path) -> None:
    hub.status = 500
    words = ["--format", "openai", "--out", str(tmp_path / "out"), "--push-to-hub", "me/data"]
    done = _export(hub, built_run, *words)
    assert done.returncode == 1
    assert "status 500" in done.stderr
    assert "Traceback" not in done.stderr
