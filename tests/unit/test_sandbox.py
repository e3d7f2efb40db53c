"""The sandbox: hostile workers are contained, and without a sandbox nothing runs."""

from __future__ import annotations

import errno
import os
import platform
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from planarena.environments import sandbox
from planarena.environments.sandbox import (
    Limits,
    ReplyError,
    Sandbox,
    Worker,
    WorkerDiedError,
    WorkerTimeoutError,
)
from planarena.errors import EnvironmentUnavailableError

needs_sandbox = pytest.mark.skipif(
    sandbox.missing() is not None, reason=f"no sandbox here: {sandbox.missing()}"
)

SERVICE = """
import os, socket, sys, time
def echo(value): return value
def noisy(value):
    print("this is no answer", flush=True)
    os.write(2, b"x" * 1_000_000)
    return "quiet"
def fail(value): raise ValueError("no " + value)
def spin(value):
    while True: pass
def read(path): return open(path).read()
def write(path):
    with open(path, "w") as file: file.write("escaped")
def connect(address):
    socket.create_connection(tuple(address), timeout=2).close()
    return "connected"
def environment(value): return dict(os.environ)
def identity(value):
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return {"uid": os.getuid(), "capabilities": status["CapEff"].strip(), "bounding": status["CapBnd"].strip(),
            "processes": len([name for name in os.listdir("/proc") if name.isdigit()])}
def fork_bomb(value):
    started = 0
    try:
        while started < 5000:
            if os.fork() == 0:
                time.sleep(300)
            started += 1
    except OSError:
        pass
    return started
def eat(size): return len(bytearray(size))
def fill(size):
    written = 0
    try:
        for number in range(1000):
            with open(f"/tmp/{number}", "wb") as file:
                written += file.write(b"x" * size)
    except OSError:
        pass
    return written
def write_long(size):
    with open("/tmp/long", "wb") as file: file.write(b"x" * size)
def shout(size): return "x" * size
def hashed(value): return [hash("a text"), [path for path in sys.path if "planarena" in path]]
def escalate(value):
    import ctypes, subprocess, threading
    libc = ctypes.CDLL(None, use_errno=True)
    found = {}
    for name, call in (
        ("unshare", lambda: libc.unshare(0x10000000)),
        ("mount", lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)),
        ("clone", lambda: libc.syscall(56 if os.uname().machine == "x86_64" else 220, 0x10000000 | 17, 0, 0, 0, 0)),
        ("ptrace", lambda: libc.ptrace(0, 0, 0, 0)),
    ):
        result = call()
        if name == "clone" and result == 0: os._exit(0)
        found[name] = [result, ctypes.get_errno()]
    done = []
    thread = threading.Thread(target=lambda: done.append(1)); thread.start(); thread.join()
    found["thread"] = done
    found["process"] = subprocess.run(["/bin/echo", "hello"], capture_output=True, text=True).stdout
    return found
def leave(value): os._exit(7)
def forge(value):
    for descriptor in range(3, 20):
        try: os.write(descriptor, b"not json\\n")
        except OSError: pass
    return 1
METHODS = {name: thing for name, thing in list(globals().items()) if callable(thing)}
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("service") / "hostile.py"
    path.write_text(SERVICE)
    for folder in (path.parent, path.parent.parent):  # readable for the worker's user id
        folder.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def worker(service: Path) -> Iterator[Worker]:
    limits = Limits(
        memory_bytes=1 << 30, scratch_bytes=8 << 20, file_bytes=2 << 20, processes=32, reply_bytes=4 << 20
    )
    with Worker(service, limits=limits) as started:
        yield started


@needs_sandbox
def test_calls_are_answered_in_order_and_large_values_do_not_block(worker: Worker) -> None:
    large = ["é" * 100] * 5000
    assert worker.call("echo", large) == large
    assert [worker.call("echo", number) for number in range(50)] == list(range(50))
    assert worker.call("noisy") == "quiet"


@needs_sandbox
def test_an_exception_is_an_answer(worker: Worker) -> None:
    starts = worker.starts
    with pytest.raises(ReplyError, match="ValueError: no luck") as caught:
        worker.call("fail", "luck")
    assert (caught.value.kind, caught.value.message) == ("ValueError", "no luck")
    with pytest.raises(ReplyError, match="KeyError"):
        worker.call("no such method")
    assert worker.starts == starts


@needs_sandbox
def test_an_endless_loop_is_killed_and_the_next_call_works(worker: Worker) -> None:
    starts = worker.starts
    # Its own limit is longer; without any the loop would not end.
    with pytest.raises(WorkerTimeoutError, match=r"within 0\.3 s"):
        worker.call("spin", seconds=0.3)
    assert worker.call("echo", "alive") == "alive"
    assert worker.starts == starts + 1


@needs_sandbox
def test_files_outside_are_neither_read_nor_written(worker: Worker, tmp_path: Path) -> None:
    witness = tmp_path / "witness.txt"
    witness.write_text("secret")
    witness.chmod(0o666)
    tmp_path.chmod(0o777)
    for path in (witness, Path("/etc/passwd"), Path("/etc/shadow"), Path.home() / ".bashrc"):
        with pytest.raises(ReplyError, match=r"FileNotFoundError|PermissionError"):
            worker.call("read", str(path))
    for path in (
        witness,
        tmp_path / "new.txt",
        Path("/usr/lib/escaped"),
        Path("/escaped"),
        Path("/dev/shm/escaped"),
    ):
        with pytest.raises(ReplyError, match=r"FileNotFoundError|PermissionError|Read-only"):
            worker.call("write", str(path))
    assert witness.read_text() == "secret"
    assert [entry.name for entry in tmp_path.iterdir()] == ["witness.txt"]


@needs_sandbox
def test_there_is_no_network_not_even_loopback(worker: Worker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = list(server.getsockname())
        socket.create_connection(tuple(address), timeout=2).close()  # it is there for us
        with pytest.raises(ReplyError, match="Error"):
            worker.call("connect", address)


@needs_sandbox
def test_it_holds_no_variable_of_ours_and_no_privilege(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANARENA_TEST_SECRET", "hunter2")
    with pytest.raises(WorkerDiedError):
        worker.call("leave")  # so that the next call starts one under the new variable
    names = set(worker.call("environment"))
    assert names <= {"PATH", "HOME", "LANG", "PWD", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "LC_CTYPE"}
    seen = worker.call("identity")
    assert int(seen["capabilities"], 16) == 0
    assert int(seen["bounding"], 16) == 0 or os.geteuid() != 0
    assert seen["processes"] <= 3  # its own and bubblewrap's: none of this machine's
    assert seen["uid"] != 0 or os.geteuid() != 0


@needs_sandbox
def test_a_fork_bomb_is_bounded_and_ends_with_the_worker(worker: Worker) -> None:
    before = _sleepers()
    assert worker.call("fork_bomb", seconds=30) <= 32
    worker.close()
    deadline = time.monotonic() + 30
    while _sleepers() > before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert _sleepers() <= before


def _sleepers() -> int:
    """Processes that run the worker's main file, on the whole machine."""
    count = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                count += b"_worker_main.py" in (entry / "cmdline").read_bytes()
            except OSError:
                continue
    return count


@needs_sandbox
def test_memory_files_and_answers_are_bounded(worker: Worker) -> None:
    with pytest.raises(ReplyError, match="MemoryError"):
        worker.call("eat", 2 << 30)
    with pytest.raises(ReplyError, match="File too large"):
        worker.call("write_long", 4 << 20)
    assert worker.call("fill", 1 << 20) <= 8 << 20
    with pytest.raises(WorkerDiedError, match="longer than"):
        worker.call("shout", 5 << 20)
    assert worker.call("echo", 1) == 1


@needs_sandbox
def test_a_forged_answer_ends_the_worker(worker: Worker) -> None:
    with pytest.raises(WorkerDiedError, match=r"not JSON|does not belong"):
        worker.call("forge")
    assert worker.call("echo", 2) == 2


@needs_sandbox
@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="no filter for this architecture")
def test_calls_that_make_namespaces_are_refused_and_threads_and_processes_work(worker: Worker) -> None:
    found = worker.call("escalate")
    for name in ("unshare", "mount", "clone", "ptrace"):
        assert found[name] == [-1, errno.EPERM], name
    assert found["thread"] == [1]
    assert found["process"] == "hello\n"


@needs_sandbox
def test_processor_time_is_bounded(service: Path) -> None:
    with (
        Worker(service, limits=Limits(cpu_seconds=1)) as worker,
        pytest.raises(WorkerDiedError, match="ended"),
    ):
        worker.call("spin", seconds=30)


@needs_sandbox
def test_hashes_are_the_same_in_every_worker_and_our_folders_are_not_imported_from(service: Path) -> None:
    with Worker(service) as first, Worker(service) as second:
        assert first.call("hashed") == second.call("hashed")
        assert first.call("hashed")[1] == []


@needs_sandbox
def test_a_worker_outlives_the_thread_that_started_it(service: Path) -> None:
    made: list[Worker] = []
    thread = threading.Thread(target=lambda: made.append(Worker(service)))
    thread.start()
    thread.join()
    with made[0] as worker:
        time.sleep(0.1)
        assert worker.call("echo", 1) == 1
        assert worker.starts == 1


@needs_sandbox
def test_a_service_that_does_not_start_says_why(service: Path) -> None:
    broken = service.with_name("broken.py")
    broken.write_text("raise RuntimeError('not today')")
    with pytest.raises(WorkerDiedError, match="not today"):
        Worker(broken)


def test_without_bubblewrap_nothing_runs_unless_asked(
    service: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    witness = tmp_path / "ran"
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox.missing.cache_clear()
    try:
        with pytest.raises(EnvironmentUnavailableError, match="needs a sandbox") as caught:
            Sandbox([sys.executable, "-c", f"open({str(witness)!r}, 'w')"])
        assert "bubblewrap" in caught.value.fix
        assert "--unsafe-no-sandbox" in caught.value.fix
        assert not witness.exists()
        with Worker(service, unsafe_no_sandbox=True) as worker:
            assert worker.kind == "none"
            assert worker.call("echo", 3) == 3
            with pytest.raises(WorkerTimeoutError):
                worker.call("spin", seconds=0.2)
    finally:
        monkeypatch.undo()
        sandbox.missing.cache_clear()
