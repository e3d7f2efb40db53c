"""Every file that planarena wrote is damaged: reading and going on end in a result or one message, and --fresh mends all."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from mutate import DAMAGES
from seeds import drawn
from written import WRITTEN, kinds_of
from zygote import Ended, Zygote

# What `make test` tries of these: one damage always, how a file's name begins and how, and one that every version draws.
SHORT = {
    "build": ("tables/tasks", "truncated"),
    "eval": ("scores.json", "truncated"),
    "import": ("tables/trajectories", "emptied"),
}


def _bytes(folder: Path, patterns: tuple[str, ...]) -> dict[str, str]:
    files = {path for pattern in patterns for path in folder.glob(pattern)}
    return {str(path.relative_to(folder)): blake2b(path.read_bytes()).hexdigest() for path in sorted(files)}


def _other_version(path: Path) -> bool:
    """Turn a file of JSON into one of another version; False where it says no version."""
    try:
        value = json.loads(path.read_bytes())
    except ValueError:
        return False
    if not isinstance(value, dict):
        return False
    value |= {"format_version": 999, "version": 999}
    value["versions"] = (
        {**value.get("versions", {}), "planarena": "99.0"} if isinstance(value.get("versions"), dict) else {}
    )
    path.write_text(json.dumps(value))
    return True


def _damage(path: Path, how: str) -> None:
    if how == "text" and _other_version(path):
        return
    changed = DAMAGES[how](path.read_bytes())
    if changed is None:
        path.unlink()
    else:
        path.write_bytes(changed)


@pytest.mark.parametrize(
    ("kind", "share"),
    [
        *(pytest.param(kind, "few") for kind in SHORT),
        *(pytest.param(kind, "all", marks=pytest.mark.full) for kind in WRITTEN),
    ],
)
def test_damaged_files(
    kind: str, share: str, request: pytest.FixtureRequest, tmp_path: Path, figures: Callable[..., None]
) -> None:
    written = WRITTEN[kind]
    zygote: Zygote = request.getfixturevalue("training_zygote" if written.trains else "zygote")
    beside, good, out = tmp_path / "beside", tmp_path / "good", tmp_path / "out"
    beside.mkdir()
    env = {"PLANARENA_CACHE": str(tmp_path / "cache")}

    def run(words: list[str]) -> Ended:
        return zygote.run(words, cwd=tmp_path, env=env, timeout=120)

    made = run(written.write(out, beside))
    assert made.code == 0, made
    shutil.copytree(out, good)
    before = _bytes(good, written.same)
    longer: dict[str, str] = {}
    if written.longer is not None and share != "few":
        lengthened = run(written.longer(out, beside))
        assert lengthened.code == 0, lengthened
        longer = _bytes(out, written.ends)
        assert longer
    kinds = [name for name in kinds_of(good) if name.startswith(written.only or "")]
    pairs = [(name, how) for name in kinds for how in DAMAGES]
    chosen = drawn(f"damages of {kind}", pairs, 1)
    wrong: list[str] = []
    for name, how in pairs:
        if (
            share == "few"
            and (name, how) not in chosen
            and (how != SHORT[kind][1] or not name.startswith(SHORT[kind][0]))
        ):
            continue
        shutil.rmtree(out)
        shutil.copytree(good, out)
        _damage(out / name, how)
        found = [run(words(out, beside)) for first, words in written.readers if name.startswith(first)]
        for ended in found:
            # A file that is read, and has another bit, is found or makes no difference to what is said.
            if how == "flipped" and ended.code == 0 and name.endswith(".safetensors"):
                wrong.append(f"{name} {how}: read as if it were well\n{ended}")
        again = run(written.write(out, beside))
        found.append(again)
        lost = False
        if (
            again.code == 0
            and (how != "flipped" or written.trains)
            and before
            and _bytes(out, written.same) != before
        ):
            # Of tables sizes are compared, not contents: a flipped bit is found by who reads one.
            lost = True
            wrong.append(f"{name} {how}: the command says that all is well, and it is not")
        if again.code != 0 and name.startswith(written.mends) and how in ("truncated", "emptied", "removed"):
            lost = True
            wrong.append(f"{name} {how}: the same command does not mend it\n{again}")
        if longer:
            shutil.rmtree(out)
            shutil.copytree(good, out)
            _damage(out / name, how)
            assert written.longer is not None
            ended = run(written.longer(out, beside))
            found.append(ended)
            if ended.code == 0 and _bytes(out, written.ends) != longer:
                lost = True
                wrong.append(f"{name} {how}: it goes on to another end\n{ended}")
        # What is thrown away is thrown away whatever it held: a training's one damage of each file shows it.
        if written.again and (not written.trains or how == "garbage"):
            fresh = run([*written.write(out, beside), written.again])
            found.append(fresh)
            if name in written.names and fresh.code == 2:
                pass  # a folder that may be anybody's is left as it is
            elif fresh.code != 0 or _bytes(out, written.same) != before:
                lost = True
                wrong.append(f"{name} {how}: {written.again} does not mend it\n{fresh}")
        bad = [
            one for one in found if one.timed_out or one.traceback or one.code not in (0, 1, 2) or one.left
        ]
        wrong += [f"{name} {how}: {one}" for one in bad]
        figures(
            "own files", case=f"{kind}: {name} {how}", ended=not any(one.timed_out for one in found), lost=lost,
            contained=not any(one.left for one in found), traceback=any(one.traceback for one in found),
            cases=len(found), seconds=max(one.seconds for one in found),
        )  # fmt: skip
    logs = sorted((tmp_path / "cache").glob("faults/*"))
    assert not wrong, f"{len(wrong)} wrong of {len(pairs)} damages\n" + "\n".join(
        [*wrong[:20], *(one.read_text()[-900:] for one in logs[:6])]
    )


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_note_of_the_audit_server_ends_no_process(how: str, tmp_path: Path) -> None:
    """Whoever holds the folder is found by its lock; a note that is wrong names nobody."""
    import fcntl
    import os
    import subprocess

    from planarena.annotation import server_state, stop_server
    from planarena.errors import PlanArenaError

    other = subprocess.Popen(["sleep", "60"])
    try:
        note = json.dumps({"pid": other.pid, "host": "127.0.0.1", "port": 1}).encode()
        changed = DAMAGES[how](note)
        if changed is not None:
            (tmp_path / "server.json").write_bytes(changed)
        with (tmp_path / "server.lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for text in (
                changed,
                note,
                b'{"pid": -1, "host": "", "port": 1}',
                b'{"pid": 1, "host": "", "port": 1}',
            ):
                if text is not None:
                    (tmp_path / "server.json").write_bytes(text)
                assert server_state(tmp_path).pid == 0
                with pytest.raises(PlanArenaError, match="end it by hand"):
                    stop_server(tmp_path, seconds=0.1)
        assert other.poll() is None
        assert os.getpgid(other.pid) == os.getpgid(0)
    finally:
        other.kill()
        other.wait()
