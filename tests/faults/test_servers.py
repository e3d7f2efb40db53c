"""Servers and the viewer: wrong requests, many held connections, kills; the next good request is answered as before."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from asking import Materials
from mutate import mutant
from seeds import seeded
from serving import HELD, SERVERS, TOKEN, WIRE, Asked, Reply, Running
from written import WRITTEN
from zygote import Zygote

# Random requests of each server: in `make test`, and in `make test-faults`.
FEW, MANY = 25, 400
# Which servers `make test` starts: the others take a checkpoint, or OpenEnv.
SHORT = {"serve mcp --http"}
MOST_BYTES = 1 << 30
# 501 and 505 say which methods and versions there are; everything else from 500 on is a fault of the server.
_FAULTS = frozenset(range(500, 600)) - {501, 503, 505}
_ODD = (
    *("", "0", "-1", "9" * 30, "%00", "%ff", "..", "%2e%2e%2f", "<script>", "%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E", "a" * 5000),
    *("None", "null", "{}", "[]", "1e999", "%E2%80%AE", "%0d%0aX-Injected:%201", "'", "\\", "*", "?", "%F0%9F%98%80"),
)  # fmt: skip


@pytest.fixture(scope="session")
def more(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A folder with an evaluation and a training."""
    folder = tmp_path_factory.mktemp("more")
    beside = folder / "beside"
    beside.mkdir()
    zygote: Zygote = request.getfixturevalue("training_zygote")
    for kind, name in (("eval", "evaluated"), ("train", "trained")):
        made = zygote.run(WRITTEN[kind].write(folder / name, beside), cwd=folder, timeout=300)
        assert made.code == 0, made
    return folder


def _cases() -> Iterator[object]:
    for name in SERVERS:
        for share in ("few", "many"):
            short = share == "few" and name in SHORT
            yield pytest.param(name, share, id=f"{name}-{share}", marks=() if short else (pytest.mark.full,))


def _start(name: str, materials: Materials, request: pytest.FixtureRequest, folder: Path) -> Running:
    served = SERVERS[name]
    if name == "serve openenv":
        from planarena.errors import EnvironmentUnavailableError
        from planarena.managed import cache_directory, environment

        try:
            environment("openenv")
        except EnvironmentUnavailableError as error:
            pytest.skip(f"OpenEnv cannot be installed here: {error}")
        (folder / "cache").mkdir(exist_ok=True)
        with suppress(FileExistsError):
            (folder / "cache/environments").symlink_to(cache_directory() / "environments")
    there = request.getfixturevalue("more") if served.trains else folder
    return Running(served.words(materials, there), folder)


def _wrong(reply: Reply) -> str:
    if reply.status in _FAULTS:
        return f"status {reply.status}: {reply.body[:200]!r}"
    if b"Traceback" in reply.body or b"root:x:0" in reply.body or TOKEN.encode() in reply.body:
        return f"it shows what it must not: {reply.body[:200]!r}"
    if "x-injected" in reply.head.lower() or b"<script>alert" in reply.body or b"<img src=x" in reply.body:
        return "what was sent comes back as markup"
    return ""


def _changed(asked: Asked, rng: Random) -> bytes:
    """Return the bytes of a request that is nearly well."""
    path, _, query = asked.path.partition("?")
    parts, fields = path.split("/"), [field for field in query.split("&") if field]
    kind = rng.random()
    if kind < 0.25:
        parts[rng.randrange(len(parts))] = rng.choice(_ODD)
    elif kind < 0.6 and fields:
        at = rng.randrange(len(fields))
        fields[at] = f"{fields[at].partition('=')[0]}={rng.choice(_ODD)}"
    elif kind < 0.7:
        fields += [
            f"{rng.choice(('page', 'q', 'step', 'm', 'e', 't', 'events', 'tool', 'sort'))}={rng.choice(_ODD)}"
        ] * rng.choice((1, 2))
    method = asked.method if rng.random() < 0.9 else rng.choice(("GET", "POST", "PUT", "DELETE", "HEAD"))
    body = mutant(asked.body, rng) if asked.body and rng.random() < 0.9 else asked.body
    path = "/".join(parts).replace(" ", "%20") or "/"
    changed = Asked(method, f"{path}?{'&'.join(fields)}" if fields else path, body, asked.headers)
    headers = [
        f"{rng.choice(('Mcp-Session-Id', 'Accept', 'If-None-Match', 'Cookie', 'Range', 'Content-Type'))}: {rng.choice(_ODD)}"
    ]
    return changed.wire(*(headers if rng.random() < 0.3 else ()))


@pytest.mark.parametrize(("name", "share"), list(_cases()))
def test_wrong_requests(
    name: str, share: str, materials: Materials, request: pytest.FixtureRequest, tmp_path: Path, figures: Callable[..., None]
) -> None:  # fmt: skip
    """Whatever is sent ends in an answer below 500 or a closed connection, and the next good request is answered as before."""
    server = _start(name, materials, request, tmp_path)
    wrong: list[str] = []
    held = []
    cases = 0
    try:
        asks = SERVERS[name].asks(server)
        good = asks[-1]
        for asked in asks:
            reply = server.ask(asked)
            assert reply.status in (200, 202, 303, 409), (asked, reply)
        before, handles = server.ask(good).status, server.handles
        # Held all the while: requests that never end, and connections that never begin.
        for make in HELD.values():
            for _ in range(20):
                held.append(server.connect())
                held[-1].sendall(make(good.path))
        rng = Random(f"servers/{name}/{share}/{seeded(share)}")
        wires = [(what, make(good.path)) for what, make in WIRE.items()]
        for number in range(FEW if share == "few" else MANY):
            wires.append((f"mutant {number}", _changed(rng.choice(asks), rng)))
        for what, data in wires:
            cases += 1
            try:
                reply = server.send(data)
            except TimeoutError:
                wrong.append(f"{what}: neither an answer nor an end: {data[:300]!r}")
                continue
            if found := _wrong(reply):
                wrong.append(f"{what}: {found}: {data[:300]!r}")
        for connection in held:
            connection.close()
        reply = server.ask(good)
        assert reply.status == before, reply
        assert server.peak < MOST_BYTES, f"{server.peak >> 20} MiB"
        assert server.handles <= handles + 20, "connections are kept"
        assert server.process.poll() is None
    finally:
        code = server.kill(signal.SIGTERM)
    said = server.said.read_text(errors="replace")
    figures("servers", case=f"{name} {share}", cases=cases, ended=not any("neither" in one for one in wrong), lost=False,
            contained=not wrong, traceback="Traceback" in said, seconds=0.0)  # fmt: skip
    assert not wrong, f"{len(wrong)} of {cases} requests:\n" + "\n".join(wrong[:12]) + said[-3000:]
    assert "Traceback" not in said, said[-3000:]
    assert "error:" not in said, said[-3000:]
    assert not set("\x1b\x9b\x07") & set(said), said[-3000:]
    assert code in (0, -signal.SIGTERM, 128 + signal.SIGTERM, 130), code


@pytest.mark.full
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_of_ours_that_is_killed(
    name: str,
    materials: Materials,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    figures: Callable[..., None],
) -> None:
    """Killed while it answers, it leaves no process and no port taken: the same command serves there again."""
    rng = Random(f"killed servers/{name}")
    port = 0
    for moment in range(3):
        words_port = str(port)
        server = _start(name, materials, request, tmp_path) if not port else None
        if server is None:
            served = SERVERS[name]
            there = request.getfixturevalue("more") if served.trains else tmp_path
            words = served.words(materials, there)
            words[words.index("--port") + 1] = words_port
            server = Running(words, tmp_path)
        port = server.port
        asks = SERVERS[name].asks(server)
        with server.connect() as half:
            half.sendall(asks[-1].wire()[: rng.randrange(1, 60)])
            group = server.process.pid
            server.kill(signal.SIGKILL)
        left = _of_session(group)
        figures(
            "processes",
            case=f"{name} kill",
            ended=True,
            lost=False,
            contained=not left,
            traceback=False,
            seconds=0.0,
        )
        assert not left, (moment, left)


def _of_session(session: int) -> list[str]:
    import time

    found: list[str] = []
    for _ in range(60):
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError, ValueError, IndexError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if entry.name.isdigit() and int(fields[3]) == session and fields[0] != "Z":
                    found.append(
                        (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    )
        if not found:
            return []
        time.sleep(0.05)
    return found


@pytest.mark.parametrize("share", ["few", pytest.param("many", marks=pytest.mark.full)])
def test_wrong_lines_of_mcp(
    share: str, materials: Materials, tmp_path: Path, figures: Callable[..., None]
) -> None:
    """Over standard input and output: a line is answered with a line of JSON or with none, up to the end."""
    from serving import _HELLO, _rpc

    rng = Random(f"lines/{share}/{seeded(share)}")
    good = [
        _HELLO,
        _rpc("tools/list"),
        _rpc("tools/call", name="list_emails", arguments={"folder": "inbox"}),
        _rpc("prompts/get", name="task"),
    ]
    lines = [_HELLO]
    for _ in range(100 if share == "few" else 3000):
        lines.append(mutant(rng.choice(good), rng).replace(b"\n", b" "))
    lines += [b"[" * 200_000, b"x" * (3 << 20), b"\xff\xfe", b"\x00", b"", _rpc("ping", 77)]
    ended = subprocess.run(
        [sys.executable, "-m", "planarena", "serve", "mcp", str(materials.run)], input=b"\n".join(lines) + b"\n",
        cwd=tmp_path, capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    figures("servers", case=f"serve mcp by lines, {share}", cases=len(lines), ended=True, lost=False, contained=True,
            traceback=b"Traceback" in ended.stderr, seconds=0.0)  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert not ended.stderr, ended.stderr[-2000:]
    assert answers[-1] == {"jsonrpc": "2.0", "id": 77, "result": {}}
    assert len(answers) <= len(lines)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["audit", "up", "--data-dir", "d", "--port", "0"], "0 is no port of a server"),
        (["audit", "up", "--data-dir", "d", "--port", "-1"], "-1 is no port of a server"),
        (["audit", "up", "--data-dir", "d", "--port", "70000"], "70000 is no port of a server"),
        (["serve", "mcp", "builtin:email", "--tasks", "2", "--http", "--port", "70000"], "70000 is no port"),
        (["serve", "openenv", "builtin:email", "--tasks", "2", "--port", "-5"], "-5 is no port"),
        (["view", ".", "--port", "70000"], "70000 is no port"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_port_that_is_none(words: list[str], said: str, zygote: Zygote, tmp_path: Path) -> None:
    """It is refused in one line, before anything is written."""
    ended = zygote.run(words, cwd=tmp_path)
    assert ended.code == 2, ended
    assert said in ended.err, ended
    assert not ended.traceback
    assert list(tmp_path.iterdir()) == []
