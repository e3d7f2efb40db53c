"""Managed environments: built once, whole or not at all, from hashed packages only."""

from __future__ import annotations

import base64
import hashlib
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from planarena import managed
from planarena.errors import EnvironmentUnavailableError, UserError

BUILD = """
import sys
from pathlib import Path
from planarena import managed
said = []
def report(sentence, done, total):
    said.append(sentence)
    print(sentence, flush=True)
found = managed.environment("tiny", lock=Path(sys.argv[1]), progress=report)
print("PATH", found.path, flush=True)
"""


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock of one wheel made here, and pip told to look nowhere else."""
    shop = tmp_path / "shop"
    shop.mkdir()
    wheel = shop / "tinytool-1.0-py3-none-any.whl"
    content = {
        "tinytool.py": b"def main():\n    print('hello from', __file__)\n",
        "tinytool-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: tinytool\nVersion: 1.0\n",
        "tinytool-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "tinytool-1.0.dist-info/entry_points.txt": b"[console_scripts]\ntinytool = tinytool:main\n",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        record = []
        for name, data in content.items():
            archive.writestr(name, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")
        archive.writestr(
            "tinytool-1.0.dist-info/RECORD", "\n".join([*record, "tinytool-1.0.dist-info/RECORD,,"])
        )
    path = tmp_path / "tiny.lock"
    path.write_text(
        f"# one package\ntinytool==1.0 \\\n    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
    )
    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shop))
    return path


def test_an_environment_is_built_once_and_works_where_it_was_moved_to(lock: Path) -> None:
    said: list[tuple[str, int, int]] = []
    found = managed.environment("tiny", lock=lock, progress=lambda *event: said.append(event))
    assert [(done, total) for _, done, total in said] == [(0, 1), (1, 1), (1, 1)]
    shown = subprocess.run([found.python, "-m", "tinytool"], capture_output=True, text=True, check=True)
    assert not shown.stderr
    # A console script names its interpreter by its full path, which the move changed.
    script = subprocess.run([found.path / "bin" / "tinytool"], capture_output=True, text=True, check=True)
    assert script.stdout == f"hello from {found.site_packages / 'tinytool.py'}\n"
    compiled = next(found.site_packages.rglob("tinytool.*.pyc"))
    assert b".build-" not in compiled.read_bytes()

    again: list[object] = []
    assert managed.environment("tiny", lock=lock, progress=lambda *event: again.append(event)) == found
    assert again == []
    assert [entry.name for entry in found.path.parent.iterdir() if ".build-" in entry.name] == []


def test_another_lock_is_another_environment(lock: Path) -> None:
    first = managed._place("tiny", lock.read_bytes())
    second = managed._place("tiny", lock.read_bytes() + b"# changed\n")
    assert first.key != second.key


def test_builders_at_the_same_time_make_one_build(lock: Path) -> None:
    command = [sys.executable, "-c", BUILD, str(lock)]
    builders = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [builder.communicate(timeout=120)[0] for builder in builders]
    assert [builder.returncode for builder in builders] == [0, 0, 0]
    assert sum("building a managed environment" in output for output in outputs) == 1
    assert len({output.split("PATH ")[1] for output in outputs}) == 1


def test_a_killed_build_is_not_used_and_the_next_caller_builds(lock: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BUILD, str(lock)], stdout=subprocess.PIPE, text=True
    ) as builder:
        assert builder.stdout is not None
        builder.stdout.readline()
        place = managed._place("tiny", lock.read_bytes())
        deadline = time.monotonic() + 30
        while not list(place.path.parent.glob(".*build-*/env/bin/python")) and time.monotonic() < deadline:
            time.sleep(0.005)
        os.kill(builder.pid, signal.SIGKILL)
    assert list(place.path.parent.glob(".*build-*")), "the kill came too late to show anything"
    assert not managed._is_usable(place)
    assert managed.environment("tiny", lock=lock, progress=lambda *_: None) == place
    assert list(place.path.parent.glob(".*build-*")) == []


def test_an_environment_without_its_interpreter_is_built_again(lock: Path) -> None:
    found = managed.environment("tiny", lock=lock, progress=lambda *_: None)
    found.python.unlink()
    (found.path / "bin" / "python").symlink_to("/nonexistent/python")
    assert managed.environment("tiny", lock=lock, progress=lambda *_: None) == found
    assert found.python.exists()


def test_offline_is_one_clear_error_and_leaves_nothing(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_FIND_LINKS")
    with pytest.raises(EnvironmentUnavailableError, match="cannot be installed") as caught:
        managed.environment("tiny", lock=lock, progress=lambda *_: None)
    assert "connect to a package index" in caught.value.fix
    assert list(managed.cache_directory().rglob("*build-*")) == []


def test_a_package_with_another_hash_is_refused(lock: Path) -> None:
    lock.write_text(f"tinytool==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(EnvironmentUnavailableError, match="does not have the hash"):
        managed.environment("tiny", lock=lock, progress=lambda *_: None)


@pytest.mark.parametrize(
    "line",
    [
        "tinytool==1.0",
        "tinytool --hash=sha256:" + "0" * 64,
        "--index-url https://example.invalid/simple",
        "-e .",
        "https://example.invalid/a.whl --hash=sha256:" + "0" * 64,
    ],
)
def test_a_lock_holds_pinned_and_hashed_packages_alone(lock: Path, line: str) -> None:
    lock.write_text(line + "\n")
    with pytest.raises(UserError, match="not a pinned and hashed package"):
        managed.environment("tiny", lock=lock)


def test_shipped_locks_are_sound() -> None:
    assert "bfcl" in managed.names()
    for name in managed.names():
        text = managed._read_lock(name)
        assert managed._check_lock(name, text) > 0
        assert b"://" not in text


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match="no such managed environment") as caught:
        managed.environment("../etc/passwd")
    assert "bfcl" in caught.value.fix


def test_a_cache_that_cannot_be_written_is_named(
    lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "file"))
    with pytest.raises(EnvironmentUnavailableError, match="cannot be written") as caught:
        managed.environment("tiny", lock=lock)
    assert "PLANARENA_CACHE" in caught.value.fix
