"""The cache of answers: what it keeps, for whom, through which mishaps."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from planarena.llm import AnswerCache, CacheError, default_cache
from planarena.llm.request import Stored, ToolCall

ANSWER = Stored("text", (ToolCall("call_1", "f", "{}"),), "thought", "tool_calls", "model-1", 12, 3, 0.25)


def test_an_answer_comes_back_as_it_was(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "a" / "answers.sqlite")
    assert cache.get(b"k" * 16) is None
    cache.put(b"k" * 16, ANSWER)
    cache.close()
    assert AnswerCache(tmp_path / "a" / "answers.sqlite").get(b"k" * 16) == ANSWER


def test_the_first_answer_of_a_key_stays(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "c.sqlite")
    cache.put(b"k", Stored("first"))
    cache.put(b"k", Stored("second"))
    assert cache.get(b"k") == Stored("first")
    assert len(cache) == 1


def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    AnswerCache(tmp_path / "c" / "c.sqlite").put(b"k", ANSWER)
    for path in (tmp_path / "c").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_it_lies_where_the_variable_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "elsewhere"))
    assert default_cache().parent == tmp_path / "elsewhere" / "llm"


def test_threads_and_processes_share_it(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    script = (
        "import sys; from pathlib import Path\n"
        "from planarena.llm.cache import AnswerCache\n"
        "from planarena.llm.request import Stored\n"
        "cache = AnswerCache(Path(sys.argv[1])); me = sys.argv[2]\n"
        "for i in range(300):\n"
        "    cache.put(f'shared {i}'.encode(), Stored(f'text {i}'))\n"
        "    cache.put(f'{me} {i}'.encode(), Stored(me))\n"
    )
    others = [subprocess.Popen([sys.executable, "-c", script, str(path), f"p{n}"]) for n in range(3)]
    cache = AnswerCache(path)
    faults: list[BaseException] = []

    def work(me: str) -> None:
        try:
            for i in range(300):
                cache.put(f"{me} {i}".encode(), Stored(me))
                assert cache.get(f"{me} {i}".encode()) == Stored(me)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [other.wait(60) for other in others] == [0, 0, 0]
    assert faults == []
    assert len(cache) == 300 * 7
    assert all(cache.get(f"shared {i}".encode()) == Stored(f"text {i}") for i in range(300))
    cache.close()


def test_a_put_survives_a_killed_process(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    script = (
        "import os, sys; from pathlib import Path\n"
        "from planarena.llm.cache import AnswerCache\n"
        "from planarena.llm.request import Stored\n"
        "cache = AnswerCache(Path(sys.argv[1]))\n"
        "for i in range(50): cache.put(str(i).encode(), Stored(str(i)))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == -9
    assert len(AnswerCache(path)) == 50


@pytest.mark.parametrize("damage", ["not sqlite", "foreign answer"])
def test_a_damaged_file_is_named_and_not_thrown_away(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "c.sqlite"
    if damage == "not sqlite":
        path.write_bytes(b"something else entirely" * 100)
    else:
        cache = AnswerCache(path)
        cache.close()
        with sqlite3.connect(path) as connection:
            connection.execute("INSERT INTO answers VALUES (?, ?)", (b"k", b"\xc1"))
        connection.close()
    with pytest.raises(CacheError, match="move it away") as caught:
        AnswerCache(path).get(b"k")
    assert str(path) in str(caught.value)
    assert caught.value.stops
    assert path.exists()


@pytest.mark.skipif(os.name != "posix", reason="rights")
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match="PLANARENA_CACHE"):
        AnswerCache(tmp_path / "file" / "c.sqlite")
