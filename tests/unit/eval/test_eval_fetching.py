"""Fetched data: whole or not at all, checked against git's own ids, gone on with, refused when they differ."""

from __future__ import annotations

import io
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from planarena.cli import main
from planarena.errors import EnvironmentUnavailableError
from planarena.eval import fetching
from planarena.eval.fetching import Source, fetch, find_fetched

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Mirror:
    """Serves files and an archive on loopback, and counts what was asked."""

    def __init__(self, contents: dict[str, bytes]) -> None:
        self.contents, self.asked, self.failing = contents, [], 0
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                mirror.asked.append(self.path)
                if mirror.failing:
                    mirror.failing -= 1
                    self.send_error(503)
                    return
                body = mirror.contents.get(self.path)
                if body is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Mirror, Source]]:
    """A repository of two files and a folder, with the ids that git itself gives them."""
    work = tmp_path / "work"
    (work / "many" / "deep").mkdir(parents=True)
    (work / "many.txt").write_text("beside the folder\n")
    (work / "many" / "a.py").write_text("A = 1\n")
    (work / "many" / "deep" / "b.py").write_text("B = 2\n")
    (work / "one.csv").write_text("x,y\n1,2\n")

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(work), *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-q")
    git("add", ".")
    tree = git("write-tree")
    source = Source(
        "someone/bench",
        COMMIT,
        "MIT",
        {"one.csv": git("hash-object", "one.csv"), "many.txt": git("hash-object", "many.txt")},
        {"many": git("rev-parse", f"{tree}:many")},
    )
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(work / "many", f"bench-{COMMIT}/many")
        climbing = tarfile.TarInfo(f"bench-{COMMIT}/many/../../out.txt")
        climbing.size = 3
        archive.addfile(climbing, io.BytesIO(b"out"))
    mirror = Mirror(
        {
            **{f"/someone/bench/{COMMIT}/{name}": (work / name).read_bytes() for name in source.files},
            f"/someone/bench/tar.gz/{COMMIT}": packed.getvalue(),
        }
    )
    monkeypatch.setattr(fetching, "read_source", lambda suite: source)
    yield mirror, source
    mirror.server.shutdown()
    mirror.server.server_close()


def test_data_come_whole_and_once(repository: tuple[Mirror, Source], tmp_path: Path) -> None:
    mirror, _ = repository
    path = fetch("workbench", tmp_path / "data", mirror=mirror.address)
    assert (path / "one.csv").read_text() == "x,y\n1,2\n"
    assert (path / "many" / "deep" / "b.py").read_text() == "B = 2\n"
    assert sorted(item.name for item in path.iterdir()) == [".complete", "many", "many.txt", "one.csv"]
    assert not list(tmp_path.rglob("out.txt"))
    assert find_fetched("workbench", str(tmp_path / "data")) == path
    count = len(mirror.asked)
    assert fetch("workbench", tmp_path / "data", mirror=mirror.address) == path
    assert len(mirror.asked) == count


def test_what_differs_from_the_revision_is_refused(
    repository: tuple[Mirror, Source], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror, source = repository
    good = mirror.contents[f"/someone/bench/{COMMIT}/one.csv"]
    mirror.contents[f"/someone/bench/{COMMIT}/one.csv"] = good + b" "
    with pytest.raises(EnvironmentUnavailableError, match=r"one\.csv has other content"):
        fetch("workbench", tmp_path / "data", mirror=mirror.address)
    assert find_fetched("workbench", str(tmp_path / "data")) is None
    mirror.contents[f"/someone/bench/{COMMIT}/one.csv"] = good
    other = msgspec.structs.replace(source, trees={"many": "0" * 40})
    monkeypatch.setattr(fetching, "read_source", lambda suite: other)
    with pytest.raises(EnvironmentUnavailableError, match="many has other content"):
        fetch("workbench", tmp_path / "data", mirror=mirror.address)
    assert not (tmp_path / "data" / f"workbench-{COMMIT[:12]}" / "many").exists()


def test_a_fetch_goes_on_where_it_was(repository: tuple[Mirror, Source], tmp_path: Path) -> None:
    mirror, _ = repository
    archive = mirror.contents.pop(f"/someone/bench/tar.gz/{COMMIT}")
    with pytest.raises(EnvironmentUnavailableError, match="answers 404"):
        fetch("workbench", tmp_path / "data", mirror=mirror.address)
    mirror.contents[f"/someone/bench/tar.gz/{COMMIT}"] = archive
    mirror.asked.clear()
    mirror.failing = 1  # a fault in between is tried again
    fetch("workbench", tmp_path / "data", mirror=mirror.address)
    assert [path.rpartition("/")[2] for path in mirror.asked] == [COMMIT, COMMIT]


def test_the_command_fetches(
    repository: tuple[Mirror, Source], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror, _ = repository
    words = ["eval", "workbench", "--fetch", "--data-dir", str(tmp_path / "data"), "--set"]
    assert main([*words, f"mirror={mirror.address}"]) == 0
    assert "someone/bench at 0123456789ab, MIT" in capsys.readouterr().out
    assert main([*words, "mirror=ftp://nowhere"]) == 2
    assert main(["eval", "math", "--fetch"]) == 2
