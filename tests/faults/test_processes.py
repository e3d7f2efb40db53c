"""Processes that are killed, disks that fill, folders that cannot be written, two commands on one folder, clocks that go back."""

from __future__ import annotations

import shutil
import signal
import sys
import threading
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from asking import ASKING, HURRY, Materials
from model_server import KEY, FaultyServer
from written import WRITTEN
from zygote import Ended, Zygote

# Moments at which each command is interrupted: in `make test`, and in `make test-faults`.
FEW, MANY = 1, 12
SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT}


def _bytes(folder: Path, patterns: tuple[str, ...]) -> dict[str, str]:
    files = {path for pattern in patterns for path in folder.glob(pattern) if ".tmp" not in path.name}
    return {str(path.relative_to(folder)): blake2b(path.read_bytes()).hexdigest() for path in sorted(files)}


def _shares(case: dict[str, tuple[str, ...]]) -> list[Any]:
    return [
        pytest.param(
            kind, how, share, id=f"{kind}-{how}-{share}", marks=(pytest.mark.full,) if share == "many" else ()
        )
        for kind, hows in case.items()
        for how in hows
        for share in ("few", "many")
        if share == "many" or (how == "kill" and kind == "build") or (how == "term" and kind == "eval")
    ]


@pytest.mark.parametrize(("kind", "how", "share"), _shares({kind: tuple(SIGNALS) for kind in WRITTEN}))
def test_stopped_at_random_moments(
    kind: str,
    how: str,
    share: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    figures: Callable[..., None],
) -> None:
    written = WRITTEN[kind]
    zygote: Zygote = request.getfixturevalue("training_zygote" if written.trains else "zygote")
    beside = tmp_path / "beside"
    beside.mkdir()
    env = {"PLANARENA_CACHE": str(tmp_path / "cache")}
    words = written.write(tmp_path / "whole", beside)
    whole = zygote.run(words, cwd=tmp_path, env=env)
    assert whole.code == 0, whole
    expected = _bytes(tmp_path / "whole", written.same)
    rng = Random(f"stopped/{kind}/{how}")
    for moment in range(FEW if share == "few" else MANY):
        out = tmp_path / f"out{moment}"
        words = written.write(out, beside)
        stops = []
        for _ in range(2):
            stopped = zygote.run(
                words,
                cwd=tmp_path,
                env=env,
                signal_after=rng.uniform(0.0, whole.seconds),
                number=SIGNALS[how],
            )
            stops.append(stopped)
            assert stopped.code in (0, 130, -SIGNALS[how]) or (not written.goes_on and stopped.code == 2), (
                stopped
            )
            assert not stopped.traceback, stopped
            assert not stopped.left, stopped.left
        if not written.goes_on and out.is_dir():
            shutil.rmtree(out)  # it is small, and a half one is refused
        again = zygote.run(words, cwd=tmp_path, env=env)
        figures(
            "processes", case=f"{kind} {how}", cases=3, ended=not again.timed_out, lost=again.code != 0,
            contained=not any(one.left for one in (*stops, again)), traceback=again.traceback, seconds=again.seconds,
        )  # fmt: skip
        assert again.code == 0, again
        assert _bytes(out, written.same) == expected
        shutil.rmtree(out)


@pytest.mark.full
@pytest.mark.parametrize(
    "command",
    [
        *("build", "eval math", "eval suite:PATH", "build --simulate", "build models.user"),
        *("env draft", "rate", "train --judge-model"),
    ],
)
def test_stopped_while_models_are_asked(
    command: str,
    request: pytest.FixtureRequest,
    materials: Materials,
    tmp_path: Path,
    figures: Callable[..., None],
) -> None:
    """Answers that were paid for are not paid for twice."""
    asking = ASKING[command]
    asking_zygote: Zygote = request.getfixturevalue(
        "training_zygote" if command.startswith("train") else "asking_zygote"
    )
    rng = Random(f"asking/{command}")
    # What asks late or works long is killed over as long a time.
    longest = {"env draft": 20.0, "train --judge-model": 5.0}.get(command, 1.5)
    env = {"THE_KEY": KEY, "PLANARENA_CACHE": str(tmp_path / "cache")}
    for moment in range(6 if longest < 2 else 3):
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        with FaultyServer("good", asking.good) as server:
            words = asking.words(materials, tmp_path / f"out{moment}", f"m@{server.url}#THE_KEY")
            for _ in range(2):
                stopped = asking_zygote.run(
                    words, cwd=tmp_path, env=env, wrap=HURRY, signal_after=rng.uniform(0.05, longest)
                )
                assert not stopped.traceback, stopped
            again = asking_zygote.run(words, cwd=tmp_path, env=env, wrap=HURRY)
            asked = server.asked["good"]
            shutil.rmtree(tmp_path / f"out{moment}")
            shutil.rmtree(tmp_path / "cache")
            plain = asking_zygote.run(words, cwd=tmp_path, env=env, wrap=HURRY)
            alone = server.asked["good"] - asked
        figures("processes", case=f"{command} kill, models", cases=4, ended=True, lost=again.code != 0, contained=True,
                traceback=again.traceback, seconds=again.seconds)  # fmt: skip
        assert again.code == plain.code == 0, again
        # Beyond what one undisturbed run asks: at most what was under way at two kills.
        assert asked <= alone + 2 * 32


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=() if n == 0 else (pytest.mark.full,)) for n in range(8)]
)
def test_a_worker_that_is_killed_is_replaced(
    number: int, zygote: Zygote, tmp_path: Path, figures: Callable[..., None]
) -> None:
    """One worker of a build is killed, again and again, at random moments: the bytes are those of one process."""
    whole = zygote.run(WRITTEN["build"].write(tmp_path / "whole", tmp_path), cwd=tmp_path)
    assert whole.code == 0, whole
    killer = (
        "import threading, time, os, signal, random\n"
        f"rng = random.Random({number})\n"
        "def kill():\n"
        "    for _ in range(2):\n"
        "        time.sleep(rng.uniform(0.3, 2.5))\n"
        "        for name in os.listdir('/proc'):\n"
        "            try:\n"
        "                line = open(f'/proc/{name}/cmdline').read() if name.isdigit() else ''\n"
        "                if 'planarena.pipeline.run.worker' in line and line.split(chr(0))[-2] == str(os.getpid()):\n"
        "                    os.kill(int(name), signal.SIGKILL); break\n"
        "            except OSError: pass\n"
        "threading.Thread(target=kill, daemon=True).start()\n"
    )
    words = WRITTEN["build"].write(tmp_path / "out", tmp_path)
    words[words.index("--workers") + 1] = "2"
    ended = zygote.run(words, cwd=tmp_path, wrap=killer, timeout=120)
    same = WRITTEN["build"].same
    figures("processes", case="worker killed", ended=not ended.timed_out, lost=ended.code != 0, contained=not ended.left,
            traceback=ended.traceback, seconds=ended.seconds)  # fmt: skip
    assert ended.code == 0, ended
    assert _bytes(tmp_path / "out", same) == _bytes(tmp_path / "whole", same)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "build" else (pytest.mark.full,)) for kind in WRITTEN]
)
def test_files_that_cannot_grow(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, figures: Callable[..., None]
) -> None:
    """A limit on the size of files, as a quota has: one message, and with space the same command ends well."""
    written = WRITTEN[kind]
    zygote: Zygote = request.getfixturevalue("training_zygote" if written.trains else "zygote")
    beside = tmp_path / "beside"
    beside.mkdir()
    whole = zygote.run(written.write(tmp_path / "whole", beside), cwd=tmp_path)
    assert whole.code == 0, whole
    for most in (0, 100, 5_000, 20_000, 60_000, 200_000) if kind != "build" else (100, 20_000):
        out = tmp_path / f"out{most}"
        words = written.write(out, beside)
        full = zygote.run(
            words,
            cwd=tmp_path,
            limits={"RLIMIT_FSIZE": max(most, 1)},
            env={"PLANARENA_CACHE": str(tmp_path / "c")},
        )
        if not written.goes_on:
            shutil.rmtree(out, ignore_errors=True)
        again = zygote.run(words, cwd=tmp_path)
        figures("processes", case=f"{kind} no space", cases=2, ended=not full.timed_out, lost=again.code != 0, contained=not full.left,
                traceback=full.traceback, seconds=full.seconds)  # fmt: skip
        assert full.code in (0, 1, 2), full
        assert "Traceback" not in full.err, full
        assert again.code == 0, again
        assert _bytes(out, written.same) == _bytes(tmp_path / "whole", written.same)


_MOUNT = """
import ctypes, os, shutil
libc = ctypes.CDLL(None, use_errno=True)
def mount(kind, flags, data):
    return libc.mount(b"none", b"{disk}", kind, flags, data)
if libc.unshare(0x00020000) or libc.mount(b"none", b"/", None, 0x44000, None) or mount(b"tmpfs", 0, b"size=400m"):
    os._exit(99)
# What the command works upon lay there before the disk became small, and takes none of its space.
shutil.copytree({before!r}, "{disk}", dirs_exist_ok=True)
space = os.statvfs("{disk}")
used = (space.f_blocks - space.f_bfree) * space.f_frsize
assert not mount(None, 0x20 | {flags}, b"size=%d" % (used + {free})), os.strerror(ctypes.get_errno())
code = main({words!r})
assert not mount(None, 0x20, b"size=400m"), os.strerror(ctypes.get_errno())
if {anew}:
    shutil.rmtree({out!r}, ignore_errors=True)
again = main({words!r})
shutil.copytree("{disk}", {copy!r})
print("CODES", code, again, flush=True)
os._exit(0)
"""
READ_ONLY = 1  # MS_RDONLY; 0x20 above is MS_REMOUNT


def _on_a_disk(
    kind: str, zygote: Zygote, folder: Path, *, free: int, flags: int = 0
) -> tuple[Ended, list[str]]:
    """Run a command on a file system of its own, then with space that can be written; return how, and both exit codes.

    Args:
        kind: What is written.
        zygote: Whose fork it is.
        folder: The case's; what lay on the disk at last is in its folder `copy`.
        free: The bytes that are free.
        flags: Of the mount.
    """
    written = WRITTEN[kind]
    beside, disk, before = folder / "beside", folder / "disk", folder / "before"
    beside.mkdir(exist_ok=True)
    disk.mkdir()
    words = written.write(disk / "out", beside)
    shutil.copytree(disk, before)
    mounted = _MOUNT.format(
        before=str(before), disk=disk, flags=flags, free=free, words=words, anew=not written.goes_on,
        out=str(disk / "out"), copy=str(folder / "copy"),
    )  # fmt: skip
    ended = zygote.run(words, cwd=folder, wrap=mounted)
    if ended.code == 99:
        pytest.skip("this machine lets nobody mount a file system of their own")
    return ended, ended.out.rpartition("CODES")[2].split()


# What an audit adds to its run, an import and an export write is little: their disks are smaller.
FREE = {
    **dict.fromkeys(("build", "eval", "train", "augment"), (20, 300, 700, 1500)),
    **dict.fromkeys(("audit", "import", "export"), (4, 12, 20, 60)),
}


@pytest.mark.parametrize(
    ("kind", "free"),
    [
        pytest.param(
            kind,
            free,
            id=f"{kind}-{free}k",
            marks=() if (kind, free) == ("build", 300) else (pytest.mark.full,),
        )
        for kind, sizes in FREE.items()
        for free in sizes
    ],
)
def test_a_full_disk(
    kind: str, free: int, request: pytest.FixtureRequest, tmp_path: Path, figures: Callable[..., None]
) -> None:
    """A small file system of its own: one message when it is full; with more space the same command ends well."""
    written = WRITTEN[kind]
    zygote: Zygote = request.getfixturevalue("training_zygote" if written.trains else "zygote")
    (tmp_path / "beside").mkdir()
    whole = zygote.run(written.write(tmp_path / "whole", tmp_path / "beside"), cwd=tmp_path)
    assert whole.code == 0, whole
    ended, codes = _on_a_disk(kind, zygote, tmp_path, free=free << 10)
    figures("processes", case=f"{kind} full disk", cases=2, ended=not ended.timed_out, lost=codes[1:] != ["0"], contained=True,
            traceback=ended.traceback, seconds=ended.seconds)  # fmt: skip
    assert not ended.traceback, ended
    assert codes[0] in {"0", "1", "2"}, ended
    # The smallest disk holds nothing of what is written, so that a full one was seen.
    assert codes[0] != "0" or free != FREE[kind][0], ended
    assert codes[1] == "0", ended
    assert _bytes(tmp_path / "copy/out", written.same) == _bytes(tmp_path / "whole", written.same)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "build" else (pytest.mark.full,)) for kind in WRITTEN]
)
def test_a_folder_that_cannot_be_written(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, figures: Callable[..., None]
) -> None:
    written = WRITTEN[kind]
    zygote: Zygote = request.getfixturevalue("training_zygote" if written.trains else "zygote")
    ended, codes = _on_a_disk(kind, zygote, tmp_path, free=1 << 20, flags=READ_ONLY)
    figures("processes", case=f"{kind} read-only", ended=not ended.timed_out, lost=codes[1:] != ["0"], contained=True,
            traceback=ended.traceback, seconds=ended.seconds)  # fmt: skip
    assert not ended.traceback, ended
    assert codes[0] in {"1", "2"}, ended
    # It failed over the disk, not for want of what it works upon.
    assert "ead-only" in ended.err or "cannot be written" in ended.err, ended
    assert codes[1] == "0", ended


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "build" else (pytest.mark.full,)) for kind in WRITTEN]
)
def test_two_commands_on_one_folder(kind: str, tmp_path: Path, figures: Callable[..., None]) -> None:
    """One of them is refused, or both end well: what lies there afterwards is what one alone writes."""
    written = WRITTEN[kind]
    beside = tmp_path / "beside"
    beside.mkdir()
    preload = ("litellm", "torch", "planarena.trainers") if written.trains else ()
    with Zygote(*preload) as one, Zygote(*preload) as other:
        whole = one.run(written.write(tmp_path / "whole", beside), cwd=tmp_path)
        assert whole.code == 0, whole
        refused = False
        for round_ in range(3):
            # A build that another one is at work on is refused; on a loaded machine they may miss each other once.
            if kind == "build" and refused:
                break
            out = tmp_path / f"out{round_}"
            words = written.write(out, beside)
            ended: dict[int, Ended] = {}

            def go(
                number: int, zygote: Zygote, words: list[str] = words, ended: dict[int, Ended] = ended
            ) -> None:
                ended[number] = zygote.run(words, cwd=_own(tmp_path, number))

            threads = [threading.Thread(target=go, args=pair) for pair in enumerate((one, other))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            codes = sorted(one_.code for one_ in ended.values())
            traceback = any(one_.traceback for one_ in ended.values())
            same = _bytes(out, written.same) == _bytes(tmp_path / "whole", written.same)
            figures("processes", case=f"{kind} twice at once", ended=not any(one_.timed_out for one_ in ended.values()),
                    lost=not same or codes[0] != 0, contained=True, traceback=traceback, seconds=max(one_.seconds for one_ in ended.values()))  # fmt: skip
            assert not traceback, ended
            assert codes[0] == 0, ended
            assert codes[1] in (0, 1, 2), ended
            assert same, ended
            refused = refused or codes[1] == 2
        assert refused or kind != "build", "two builds were at work in one folder"


def _own(folder: Path, number: int) -> Path:
    own = folder / f"cwd{number}"
    own.mkdir(exist_ok=True)
    return own


_BACK = """
import time
_real, _started = time.time, time.time()
# The clock is set back by ten years in the middle of the command.
time.time = lambda: _real() - (3e8 if _real() - _started > 0.4 else 0.0)
"""


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "build" else (pytest.mark.full,)) for kind in WRITTEN]
)
def test_a_clock_that_is_set_back(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, figures: Callable[..., None]
) -> None:
    import os
    import time

    written = WRITTEN[kind]
    zygote: Zygote = request.getfixturevalue("training_zygote" if written.trains else "zygote")
    beside = tmp_path / "beside"
    beside.mkdir()
    whole = zygote.run(written.write(tmp_path / "whole", beside), cwd=tmp_path)
    assert whole.code == 0, whole
    words = written.write(tmp_path / "out", beside)
    back = zygote.run(words, cwd=tmp_path, wrap=_BACK)
    assert back.code == 0, back
    # Files that seem to be written in the future, as after a clock that ran ahead.
    ahead = time.time() + 3e8
    for path in (tmp_path / "out").rglob("*"):
        os.utime(path, (ahead, ahead))
    again = back if not written.goes_on else zygote.run(words, cwd=tmp_path, wrap=_BACK)
    figures("processes", case=f"{kind} clock", cases=2, ended=True, lost=again.code != 0, contained=True,
            traceback=back.traceback or again.traceback, seconds=back.seconds)  # fmt: skip
    assert again.code == 0, again
    assert not again.traceback
    assert _bytes(tmp_path / "out", written.same) == _bytes(tmp_path / "whole", written.same)


@pytest.mark.parametrize(
    "moment", [pytest.param(m, marks=() if m == 1 else (pytest.mark.full,)) for m in range(1, 7)]
)
def test_no_worker_outlives_its_parent(
    moment: int, zygote: Zygote, tmp_path: Path, figures: Callable[..., None]
) -> None:
    """The parent alone is killed, so that nobody tells its workers."""
    words = WRITTEN["build"].write(tmp_path / "out", tmp_path)
    words[words.index("--workers") + 1] = "2"
    words[words.index("--trajectories") + 1] = "5000"
    ended = zygote.run(words, cwd=tmp_path, signal_after=0.8 * moment, group=False)
    figures(
        "processes",
        case="parent killed",
        ended=True,
        lost=False,
        contained=not ended.left,
        traceback=ended.traceback,
        seconds=ended.seconds,
    )
    assert ended.code == -signal.SIGKILL, ended
    assert not ended.left, ended.left


_SYNCED = """
import os
synced, fsync, replace = set(), os.fsync, os.replace
def sync(handle):
    synced.add(os.fstat(handle).st_ino)
    fsync(handle)
def rename(source, target, **more):
    if os.stat(source).st_ino not in synced:
        print("NOT ON DISK", target, flush=True)
    replace(source, target, **more)
os.fsync, os.replace = sync, rename
"""


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=() if kind == "build" else (pytest.mark.full,))
        for kind in ("build", "eval", "train")
    ],
)
def test_what_is_renamed_is_on_disk(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, figures: Callable[..., None]
) -> None:
    """A kill shows nothing of a lost fsync, a power cut would: every file is synced before it gets its name."""
    written = WRITTEN[kind]
    zygote: Zygote = request.getfixturevalue("training_zygote" if written.trains else "zygote")
    beside = tmp_path / "beside"
    beside.mkdir()
    ended = zygote.run(written.write(tmp_path / "out", beside), cwd=tmp_path, wrap=_SYNCED)
    assert ended.code == 0, ended
    lost = [line for line in ended.out.splitlines() if line.startswith("NOT ON DISK")]
    figures(
        "processes",
        case=f"{kind} fsync",
        ended=True,
        lost=bool(lost),
        contained=True,
        traceback=False,
        seconds=ended.seconds,
    )
    assert not lost


def test_the_harness_sees_a_process_that_stays(zygote: Zygote, tmp_path: Path) -> None:
    """What outlives a command is found, and a command that hangs is: else the tests above would show nothing."""
    stays = "import subprocess; subprocess.Popen(['sleep', '30'])"
    ended = zygote.run(["--version"], cwd=tmp_path, wrap=stays)
    assert any("sleep" in one for one in ended.left)
    hangs = zygote.run(["--version"], cwd=tmp_path, wrap="import time; time.sleep(60)", timeout=0.5)
    assert hangs.timed_out
    fails = zygote.run(["--version"], cwd=tmp_path, wrap="raise ValueError('x')")
    assert fails.traceback
