"""Mutation of the suite itself: faults put into a copy of the code on purpose, each of which it must find."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest


class Fault(NamedTuple):
    """A fault: in a file one text is replaced by another, and the tests that must fail then."""

    file: str
    old: str
    new: str
    tests: str


SERVERS = "tests/faults/test_model_servers.py::test_a_server_that_misbehaves"
PROCESSES = "tests/faults/test_processes.py"
FAULTS = {
    "a lost fsync": Fault(
        "planarena/records/shards.py", "            os.fsync(handle.fileno())\n", "", f"{PROCESSES}::test_what_is_renamed_is_on_disk[build]"
    ),
    "a missing lock": Fault(
        "planarena/pipeline/run/folder.py", "fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)", "handle.tell()",
        f"{PROCESSES}::test_two_commands_on_one_folder[build]",
    ),
    "an unescaped field": Fault(
        "planarena/cli/__init__.py", "    return visible(text)\n", "    return text\n",
        "tests/faults/test_command_line.py::test_random_command_lines",
    ),
    "a swallowed error": Fault(
        "planarena/cli/__init__.py", "        return error.exit_code\n    except typer.TyperException",
        "        return 0\n    except typer.TyperException", f"{PROCESSES}::test_a_folder_that_cannot_be_written[build]",
    ),
    "a limit that is not asked": Fault(
        "planarena/rows/importers/files.py", "        if not Marks(len(data)).take(data):\n", "        if len(data) < 0:\n",
        "tests/faults/test_large_files.py::test_large_files[dense\\ list-import]",
    ),
    "a wrong limit of expansion": Fault(
        "planarena/records/foreign.py", "MAX_RATIO = 100\n", "MAX_RATIO = 10**9\n", "tests/faults/test_large_files.py::test_large_files[gzip\\ bomb\\ of\\ rows-responses]"
    ),
    "a key that is kept": Fault(
        "planarena/llm/paying.py", "            return self.redactor.redact_known(whole)\n", "            return whole\n",
        f"{SERVERS}[eval\\ math-echo_key]",
    ),
    "a count that is believed": Fault(
        "planarena/llm/backend.py", "and 0 < counted <= _MOST_TOKENS", "and counted <= _MOST_TOKENS",
        "tests/faults/test_model_servers.py::test_a_budget_is_kept_to_one_call[eval\\ math-tokens-negative_usage]",
    ),
    "a time-out that begins anew with every byte": Fault(
        "planarena/llm/backend.py", "asyncio.timeout(model.timeout)", "asyncio.timeout(None)", f"{SERVERS}[eval\\ math-slow_body]"
    ),
    "a judge that is waited for as long as anybody": Fault(
        "trainers/loop/score.py", "timeout=how.timeout, ", "", f"{SERVERS}[train\\ --judge-model-hang]"
    ),
    "a note that is believed": Fault(
        "annotation/embedded.py", "noted.pid if _serves(noted.pid, data_dir) else 0", "noted.pid",
        "tests/faults/test_own_files.py::test_a_damaged_note_of_the_audit_server_ends_no_process",
    ),
    "a port that is not looked at": Fault(
        "planarena/serving/http.py", "    if not 0 <= port < 1 << 16:\n", "    if port is None:\n",
        "tests/faults/test_servers.py::test_a_port_that_is_none",
    ),
    "a body that is read without end": Fault(
        "planarena/llm/bodies.py", "        if self._left < 0:\n", "        if self._left is None:\n",
        "tests/faults/test_model_servers.py::test_no_more_is_read_than_an_answer_may_hold",
    ),
    "a shard that is not looked at": Fault(
        "planarena/pipeline/run/build.py", "                if (self.root / shard.path).stat().st_size != shard.size:\n",
        "                if (self.root / shard.path).stat().st_size < 0:\n", "tests/faults/test_own_files.py::test_damaged_files[build-few]",
    ),
    "workers that are orphans": Fault(
        "planarena/pipeline/run/worker.py", "    die_with(parent)\n", "    del parent\n",
        f"{PROCESSES}::test_no_worker_outlives_its_parent",
    ),
    "an unfinished chunk that counts": Fault(
        "planarena/records/shards.py", "        temporary.replace(path)\n", "        path.write_bytes(data[:99])\n",
        f"{PROCESSES}::test_stopped_at_random_moments[build-kill-few]",
    ),
}  # fmt: skip


def _words(tests: str) -> list[str]:
    return [part.replace("\0", " ") for part in tests.replace("\\ ", "\0").split(" ")]


def test_the_faults_are_of_this_code(root: Path) -> None:
    """Code and the names of tests change: a fault that can no longer be put in, or whose test is gone, finds nothing."""
    for name, fault in FAULTS.items():
        assert fault.old in (root / fault.file).read_text(), f"{name}: {fault.file} has changed"
    words = [word for fault in FAULTS.values() for word in _words(fault.tests)]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-p", "no:cacheprovider", *words],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]


@pytest.mark.full
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_is_put_in_is_found(
    name: str, root: Path, tmp_path: Path, figures: Callable[..., None]
) -> None:
    fault = FAULTS[name]
    copy = tmp_path / "copy"
    copy.mkdir()
    left_out = shutil.ignore_patterns("__pycache__", ".git", ".venv", "*.pyc")
    for part in ("planarena", "trainers", "eval", "annotation", "data", "tests"):
        shutil.copytree(root / part, copy / part, symlinks=True, ignore=left_out)
    shutil.copy(root / "pyproject.toml", copy)
    file = copy / fault.file
    text = file.read_text()
    assert fault.old in text, f"{fault.file} has changed: say anew what the fault is"
    file.write_text(text.replace(fault.old, fault.new, 1))
    words = _words(fault.tests)
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-n",
            "0",
            "-p",
            "no:cacheprovider",
            "--tb=line",
            *words,
        ],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy), "FAULTS_PATIENCE": "45", "FAULTS_FIGURES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    figures(
        "the suite itself",
        case=name,
        ended=True,
        lost=ended.returncode != 1,
        contained=True,
        traceback=False,
        seconds=0.0,
    )
    # 1: tests failed; anything else would mean that they did not run.
    assert ended.returncode == 1, ended.stdout[-3000:] + ended.stderr[-2000:]
    assert " failed" in ended.stdout
