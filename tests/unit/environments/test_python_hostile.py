"""Python sources: hostile modules are contained and classified, and a witness outside the sandbox says so."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from planarena.environments import sandbox
from planarena.environments.sandbox import Limits
from planarena.environments.sources import SourceOptions
from planarena.environments.sources.python.source import open_python
from planarena.environments.sources.session_unit import SessionUnit
from planarena.environments.sources.session_world import SessionWorld
from planarena.errors import EnvironmentUnavailableError, SourceError

needs_sandbox = pytest.mark.skipif(
    sandbox.missing() is not None, reason=f"no sandbox here: {sandbox.missing()}"
)

HOSTILE = '''
"""Everything that a bad tool does."""
import os, sys, time, socket, glob
_count = [0]
EXAMPLES = {"add": [{"n": 1}, {"n": 2}]}

def _tool(body):
    return body

def add(n: int) -> int:
    """Add to the count.

    Args:
        n: How much.
    """
    _count[0] += n
    return _count[0]

def spin() -> int:
    """Never answer."""
    while True: pass

def fork_bomb() -> int:
    """Start processes without end."""
    started = 0
    try:
        while True:
            if os.fork() == 0: time.sleep(600)
            started += 1
    except OSError:
        return started

def eat() -> int:
    """Take ten gigabytes."""
    return len(bytearray(10 << 30))

def read(path: str) -> str:
    """Read a file.

    Args:
        path: Of the file.
    """
    return open(path).read()

def write(path: str) -> str:
    """Write a file.

    Args:
        path: Of the file.
    """
    with open(path, "w") as file: file.write("escaped")
    return "written"

def connect(port: int) -> str:
    """Open a socket.

    Args:
        port: On this machine.
    """
    socket.create_connection(("127.0.0.1", port), timeout=2)
    return "connected"

def shout() -> int:
    """Print a gigabyte."""
    text = "x" * (1 << 20)
    for _ in range(1024): sys.stdout.write(text)
    return 1

def remove_own_files() -> int:
    """Delete its own source."""
    removed = 0
    for name in glob.glob(os.path.dirname(__file__) + "/*"):
        os.unlink(name)
        removed += 1
    return removed

def nan() -> float:
    """Return no number."""
    return float("nan")

def long_text() -> str:
    """Return fifty megabytes."""
    return "x" * 50_000_000

def bad_text() -> str:
    """Return what is no Unicode."""
    return b"\\xff\\xfe".decode("utf-8", "surrogateescape")

def deep() -> list[int]:
    """Return lists in lists."""
    value: list = []
    for _ in range(10_000): value = [value]
    return value

def leave() -> int:
    """End the process."""
    os._exit(3)

def huge() -> int:
    """Return a number beyond 64 bits."""
    return 2 ** 200

def strange() -> int:
    """Return what is no JSON."""
    return object()

def fail() -> int:
    """Fail with a text that is no Unicode."""
    raise ValueError("\\ud800 <script>")

def snapshot() -> list[int]:
    return list(_count)

def restore(value: list[int]) -> None:
    _count[:] = value
'''


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("hostile") / "hostile_tools.py"
    file.write_text(HOSTILE)
    for folder in (file.parent, file.parent.parent):  # readable for the worker's user id
        folder.chmod(0o755)
    return file


@pytest.fixture(scope="module")
def unit(module: Path) -> Iterator[SessionUnit]:
    limits = Limits(
        memory_bytes=2 << 30,
        scratch_bytes=16 << 20,
        file_bytes=4 << 20,
        processes=24,
        cpu_seconds=60,
        reply_bytes=4 << 20,
        call_seconds=2,
    )
    made = open_python(str(module), SourceOptions(), limits)
    yield made
    made.session.close()  # type: ignore[attr-defined]


@pytest.fixture
def world(unit: SessionUnit) -> SessionWorld:
    operations = {name: unit._operation(tool) for name, tool in unit._given.items()}
    return unit._world(operations, "w")


@needs_sandbox
@pytest.mark.parametrize(
    ("tool", "status", "code"),
    [
        ("spin", "timeout", "timeout"), ("eat", "tool_error", "memory"), ("nan", "tool_error", "result_not_json"),
        ("long_text", "tool_error", "result_too_large"), ("bad_text", "tool_error", "result_not_json"), ("deep", "tool_error", ""),
        ("leave", "tool_error", "worker_died"), ("huge", "tool_error", "result_not_json"), ("strange", "tool_error", "type"),
        ("fail", "tool_error", "value"), ("remove_own_files", "tool_error", ""),
    ],
)  # fmt: skip
def test_each_is_contained_and_classified_and_the_world_goes_on(
    world: SessionWorld, module: Path, tool: str, status: str, code: str
) -> None:
    assert world.call("add", {"n": 5}).result == 5
    outcome = world.call(tool, {})
    assert (outcome.status, outcome.result) == (status, None)
    assert outcome.error is not None
    assert code in outcome.error["code"]
    assert outcome.payload.decode()  # it can be written down
    # The state is as before the bad call, even where the process went with it.
    assert world.call("add", {"n": 1}).result == 6
    assert module.read_text() == HOSTILE


@needs_sandbox
def test_files_of_this_machine_are_neither_read_nor_written(world: SessionWorld, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    witness.write_text("secret")
    witness.chmod(0o666)
    tmp_path.chmod(0o777)
    for path in ("/etc/passwd", "/etc/shadow", str(Path.home() / ".bashrc"), str(witness), "/proc/1/environ"):
        outcome = world.call("read", {"path": path})
        assert outcome.status == "tool_error" or "secret" not in str(outcome.result)
        assert "root:" not in str(outcome.result)
    for path in (witness, tmp_path / "new", Path("/usr/escaped"), Path("/escaped")):
        assert world.call("write", {"path": str(path)}).status == "tool_error"
    assert witness.read_text() == "secret"
    assert [entry.name for entry in tmp_path.iterdir()] == ["witness"]


@needs_sandbox
def test_no_socket_reaches_this_machine(world: SessionWorld) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port), timeout=2).close()  # it is there for us
        server.accept()[0].close()
        assert world.call("connect", {"port": port}).status == "tool_error"
        server.settimeout(0.05)
        with pytest.raises(TimeoutError):
            server.accept()


@needs_sandbox
def test_a_fork_bomb_is_bounded_and_a_gigabyte_of_print_is_no_answer(world: SessionWorld) -> None:
    before = _processes()
    outcome = world.call("fork_bomb", {})
    assert outcome.status != "ok" or outcome.result <= 24
    world.session.close()  # type: ignore[attr-defined]
    deadline = time.monotonic() + 30
    while _processes() > before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert _processes() <= before
    world._applied = -1
    outcome = world.call("shout", {})
    assert outcome.status in {"ok", "timeout"}  # on a slow machine it takes longer than the two seconds
    assert world.call("add", {"n": 1}).status == "ok"


def _processes() -> int:
    return sum(entry.name.isdigit() for entry in Path("/proc").iterdir())


@needs_sandbox
def test_code_at_import_time_runs_in_the_sandbox_alone(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    tmp_path.chmod(0o777)
    text = f"import os\ntry:\n    open({str(witness)!r}, 'w').write('ran outside')\nexcept OSError: pass\nPID = os.getpid()\n"
    file = tmp_path / "eager_tools.py"
    file.write_text(text + 'def pid() -> int:\n    """Tell the process."""\n    return PID\n')
    unit = open_python(str(file), SourceOptions())
    try:
        assert not witness.exists()
        assert "eager_tools" not in sys.modules
        assert unit._given["pid"].description == "Tell the process."
    finally:
        unit.session.close()  # type: ignore[attr-defined]
    for name, body in (
        ("loop", "while True: pass"),
        ("exit", "import os; os._exit(0)"),
        ("raise", "raise RuntimeError('no')"),
        ("empty", "x = 1"),
    ):
        broken = tmp_path / f"{name}_tools.py"
        broken.write_text(body)
        # Of the two limits the one of a call ends the loop; the others end by themselves.
        with pytest.raises(SourceError, match="within 2 s" if name == "loop" else broken.name):
            open_python(str(broken), SourceOptions(), Limits(start_seconds=10, call_seconds=2))
    with pytest.raises(SourceError, match="no module"):
        open_python("no.such.module", SourceOptions())


def test_without_bubblewrap_nothing_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    witness = tmp_path / "witness"
    file = tmp_path / "quiet_tools.py"
    file.write_text(
        f'open({str(witness)!r}, \'w\').write(\'ran\')\ndef one() -> int:\n    """One."""\n    return 1\n'
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox.missing.cache_clear()
    try:
        with pytest.raises(EnvironmentUnavailableError, match="needs a sandbox"):
            open_python(str(file), SourceOptions())
        assert not witness.exists()
        unit = open_python(str(file), SourceOptions(unsafe_no_sandbox=True))
        assert unit.session.kind == "none"  # type: ignore[attr-defined]
        unit.session.close()  # type: ignore[attr-defined]
        assert witness.exists()
    finally:
        monkeypatch.undo()
        sandbox.missing.cache_clear()


@needs_sandbox
def test_states_are_restored_and_replayed(world: SessionWorld, unit: SessionUnit) -> None:
    start, digest = world.mark(), world.digest()
    world.call("add", {"n": 2})
    middle, between = world.mark(), world.digest()
    world.call("add", {"n": 3})
    assert len({digest, between, world.digest()}) == 3
    world.rollback(middle)
    assert world.digest() == between == world.store.recompute_digest()
    assert world.call("add", {"n": 1}).result == 3
    world.rollback(start)
    other = unit._world(world.operations, "w")  # another world comes to the same session
    assert other.call("add", {"n": 9}).result == 9
    assert world.call("add", {"n": 1}).result == 1
    assert other.call("add", {"n": 1}).result == 10
    assert world.call("nothing", {}).status == "schema_error"
    assert world.call("add", {"n": "x"}).status == "schema_error"
