"""Builds on Ray: the same bytes as the local runner, also after killed actors, a killed head and a killed build.

Each build runs in a process of its own, as a user's does: a Ray driver whose head is killed does not outlive it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import planarena
from planarena.config import BuildConfig, ExecutionConfig

sys.path.append(str(Path(__file__).resolve().parents[1]))
from builds import contents, shards

pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = pytest.mark.full

N = 220
# A loaded machine of two cores starts Ray in a minute.
PATIENCE = 400.0


def options(out):
    fields = ["builtin:banking", "builtin:calendar", "--out", str(out), "--trajectories", str(N)]
    return [*fields, "--workers", "2", "--set", "chunk_scenarios=1"]


def start(out, *more):
    command = [sys.executable, "-m", "planarena", "build", *options(out), "--engine", "ray", *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def head_of(process):
    """Return the `ray start` process of a build, once it is there."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        for child in psutil.Process(process.pid).children():
            if "ray.scripts.scripts" in " ".join(child.cmdline()):
                return child
        time.sleep(0.05)
    raise AssertionError(f"no head: {process.communicate()[1][-2000:] if process.poll() is not None else ''}")


def parts_of(head):
    """Return every process of a head: its own and, below the node, the workers, which leave its process group."""
    return [head, *head.children(recursive=True)]


def await_chunks(root, number, process):
    deadline = time.monotonic() + PATIENCE
    while shards(root) < number:
        assert time.monotonic() < deadline, "no progress"
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def await_end_of(parts):
    """Return the processes that are left a while after the end."""
    _, left = psutil.wait_procs(parts, timeout=60)
    return [one for one in left if one.status() != psutil.STATUS_ZOMBIE]


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    root = tmp_path_factory.mktemp("local") / "run"
    config = BuildConfig(
        out=str(root),
        sources=("builtin:banking", "builtin:calendar"),
        trajectories=N,
        chunk_scenarios=1,
        execution=ExecutionConfig(workers=1),
    )
    planarena.build(config)
    return contents(root)


def test_ray_gives_the_bytes_of_the_local_runner_and_listens_on_loopback_alone(reference, tmp_path):
    process = start(tmp_path / "run")
    head = head_of(process)
    await_chunks(tmp_path / "run", 1, process)
    parts = parts_of(head)
    places = {
        connection.laddr.ip
        for one in parts
        for connection in one.net_connections()
        if connection.status == psutil.CONN_LISTEN
    }
    outputs = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, outputs
    assert contents(tmp_path / "run") == reference
    assert all(place.removeprefix("::ffff:").startswith("127.") or place == "::1" for place in places), places
    assert await_end_of(parts) == []


def test_actors_that_share_a_storage_alone_lose_nothing_when_killed(reference, tmp_path):
    there = tmp_path / "there"
    process = start(tmp_path / "run", "--set", f"execution.storage=file://{there}")
    head = head_of(process)
    await_chunks(tmp_path / "run", 3, process)
    actors = [one for one in parts_of(head) if "_ChunkWorker" in " ".join(one.cmdline())]
    actors[0].kill()
    outputs = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, outputs
    assert contents(tmp_path / "run") == reference
    assert contents(there) == reference
    assert not list((tmp_path / "run").glob("work/execute-*"))


def test_killed_actors_are_replaced_and_change_no_byte(reference, tmp_path):
    process = start(tmp_path / "run")
    head = head_of(process)
    killed = 0
    for chunks in (1, 3, 5):
        await_chunks(tmp_path / "run", chunks, process)
        actors = [one for one in parts_of(head) if "_ChunkWorker" in " ".join(one.cmdline())]
        for actor in actors[:1]:
            actor.kill()
            killed += 1
    outputs = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, outputs
    assert killed == 3
    assert contents(tmp_path / "run") == reference


def test_after_the_loss_of_the_head_the_same_command_goes_on(reference, tmp_path):
    process = start(tmp_path / "run")
    head = head_of(process)
    await_chunks(tmp_path / "run", 4, process)
    parts = parts_of(head)
    server = next(one for one in parts if "gcs_server" in one.name())
    server.kill()
    out, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, (out, error)
    assert "the Ray head is gone" in error
    assert await_end_of(parts) == []
    done = shards(tmp_path / "run")
    assert 4 <= done < len([name for name in reference if "/scenarios/" in name])
    again = start(tmp_path / "run")
    outputs = again.communicate(timeout=PATIENCE)
    assert again.returncode == 0, outputs
    assert contents(tmp_path / "run") == reference


def test_a_killed_build_takes_its_ray_with_it_and_the_local_runner_goes_on(reference, tmp_path):
    process = start(tmp_path / "run")
    head = head_of(process)
    await_chunks(tmp_path / "run", 3, process)
    parts = parts_of(head)
    (folder,) = [part.partition("=")[2] for part in head.cmdline() if part.startswith("--temp-dir=")]
    assert Path(folder).is_dir()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert await_end_of(parts) == []
    deadline = time.monotonic() + 60
    while Path(folder).exists():
        assert time.monotonic() < deadline, "its folder is still there"
        time.sleep(0.1)
    finished = subprocess.run(
        [sys.executable, "-m", "planarena", "build", *options(tmp_path / "run"), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(finished.stdout)["counts"]["gold"] == N
    assert contents(tmp_path / "run") == reference
