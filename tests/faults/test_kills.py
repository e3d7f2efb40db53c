"""Kills of what stands beside builds, evaluations and trainings: of the server of a model, and of the short commands."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from asking import ASKING, HURRY, Materials
from model_server import KEY
from zygote import Zygote

_SERVE = """
import sys
sys.path.insert(0, sys.argv[1])
from asking import ASKING
from model_server import FaultyServer
with FaultyServer("good", ASKING[sys.argv[2]].good, int(sys.argv[3])) as server:
    print(server.port, flush=True)
    sys.stdin.read()
"""
# What a command that asks a model leaves, and must leave in the same bytes.
_LEFT = {
    "build": ("tables/*/*.parquet", "run.json"),
    "eval math": ("scores.json", "responses.jsonl"),
    "eval suite:PATH": ("scores.json", "responses.jsonl"),
}


def _bytes(path: Path, patterns: tuple[str, ...] = ("**/*",)) -> dict[str, str]:
    """The digest of each file; times stand in none that a command is to write again."""
    if path.is_file():
        return {"": blake2b(path.read_bytes()).hexdigest()}
    files = {one for pattern in patterns for one in path.glob(pattern) if one.is_file()}
    return {str(one.relative_to(path)): blake2b(one.read_bytes()).hexdigest() for one in sorted(files)}


class _Served:
    """A model's server in a process of its own, which can be killed and comes back at the same address."""

    def __init__(self, command: str) -> None:
        self.command, self.port = command, 0
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SERVE, str(Path(__file__).parent), self.command, str(self.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


@pytest.mark.full
@pytest.mark.parametrize("command", list(_LEFT))
def test_a_server_that_is_killed(
    command: str, asking_zygote: Zygote, materials: Materials, tmp_path: Path, figures: Callable[..., None]
) -> None:
    """The command ends with a message, or well where it had asked all; it goes on when the server is back."""
    asking, rng = ASKING[command], Random(f"server/{command}")
    served = _Served(command)
    try:
        for moment in range(6):
            env = {"THE_KEY": KEY, "PLANARENA_CACHE": str(tmp_path / f"cache{moment}")}
            out = tmp_path / f"out{moment}"
            words = asking.words(materials, out, f"m@http://127.0.0.1:{served.port}/v1#THE_KEY")
            killer = threading.Timer(rng.uniform(0.05, 1.5), served.kill)
            killer.start()
            cut = asking_zygote.run(words, cwd=tmp_path, env=env, wrap=HURRY, timeout=150)
            killer.join()
            served.start()
            again = asking_zygote.run(words, cwd=tmp_path, env=env, wrap=HURRY, timeout=150)
            left = _bytes(out, _LEFT[command])
            shutil.rmtree(out)
            plain = asking_zygote.run(words, cwd=tmp_path, env=env, wrap=HURRY, timeout=150)
            figures(
                "processes", case=f"{command} server killed", cases=2, ended=not cut.timed_out and not again.timed_out,
                lost=again.code != 0, contained=not cut.left, traceback=cut.traceback or again.traceback,
                seconds=max(cut.seconds, again.seconds),
            )  # fmt: skip
            assert not cut.timed_out, cut
            assert not cut.traceback, cut
            assert cut.code in (0, 1, 2), cut
            assert again.code == plain.code == 0, again
            if (
                command != "build"
            ):  # what was asked of a server that is gone is quarantined, until it is asked for
                assert left == _bytes(out, _LEFT[command])
    finally:
        served.kill()


def _export(form: str) -> Callable[[Path, Path], list[str]]:
    return lambda run, out: ["export", str(run), "--format", form, "--out", str(out)]


def _tools(run: Path, out: Path) -> list[str]:
    source = run.parent / "tools.json"
    properties = {"a": {"type": "string"}}
    source.write_text(
        json.dumps(
            [
                {"name": f"get_{n}", "parameters": {"type": "object", "properties": properties}}
                for n in range(400)
            ]
        )
    )
    return ["tools", "import", str(source), "--out", str(out)]


# Name -> the words that write `out` from a finished build, and what lets it write there again.
_COMMANDS: dict[str, tuple[Callable[[Path, Path], list[str]], tuple[str, ...]]] = {
    "export openai": (_export("openai"), ("--replace",)),
    "export hf": (_export("hf"), ("--replace",)),
    "report": (lambda run, out: ["report", str(run), "--out", str(out)], ()),
    "audit export": (lambda run, out: ["audit", "export", str(run), "--out", str(out)], ()),
    "tools import": (_tools, ()),
    "env new": (lambda _, out: ["env", "new", "library", "--dir", str(out)], ()),
}


@pytest.mark.parametrize(
    ("name", "moments"),
    [
        *(pytest.param("export openai", 1, id="export openai-few"),),
        *(pytest.param(name, 4, id=f"{name}-many", marks=pytest.mark.full) for name in _COMMANDS),
    ],
)
def test_short_commands_that_are_killed(
    name: str,
    moments: int,
    zygote: Zygote,
    materials: Materials,
    tmp_path: Path,
    figures: Callable[..., None],
) -> None:
    """The same command writes the same bytes, after --replace where it has that, or says what stands in its way."""
    make, replace = _COMMANDS[name]
    whole = zygote.run(make(materials.run, tmp_path / "whole"), cwd=tmp_path)
    assert whole.code == 0, whole
    expected = _bytes(tmp_path / "whole")
    assert expected
    rng = Random(f"short/{name}")
    for moment in range(moments):
        out = tmp_path / f"out{moment}"
        words = make(materials.run, out)
        begun = time.monotonic()
        cut = zygote.run(
            words, cwd=tmp_path, signal_after=rng.uniform(0.0, whole.seconds), number=signal.SIGKILL
        )
        again = zygote.run([*words, *replace], cwd=tmp_path)
        moved = False
        if again.code == 2 and out.exists():
            # A folder of which nothing says what it is: it is not written over, and the message says so.
            assert str(out) in again.err, again
            if out.is_file():
                # A file has its name when it is whole.
                assert _bytes(out) == expected
                out.unlink()
            else:
                shutil.rmtree(out)
            again, moved = zygote.run(words, cwd=tmp_path), True
        figures("processes", case=f"{name} kill{', by hand' if moved else ''}", cases=2, ended=not again.timed_out, lost=again.code != 0,
                contained=not cut.left, traceback=cut.traceback or again.traceback, seconds=time.monotonic() - begun)  # fmt: skip
        assert not cut.left, cut.left
        assert again.code == 0, again
        assert _bytes(out) == expected
