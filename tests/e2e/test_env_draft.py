"""Drafts for real: the sandbox, the judge, the command; what means harm is contained, what was killed goes on."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from planarena.drafting import DraftConfig, draft_all
from planarena.drafting.judging import judge
from planarena.drafting.parts import stub_words, stub_world, tools_in

sys.path.insert(0, str(Path(__file__).parents[1]))
from draft_model import DraftModel, template
from llm_server import Script, ScriptedServer


class Listener:
    """A port of this machine that nobody should reach."""

    def __enter__(self) -> Listener:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.settimeout(0.2)
        self.port = self.socket.getsockname()[1]
        self.reached = 0
        self.open = True
        self.thread = threading.Thread(target=self._listen)
        self.thread.start()
        return self

    def _listen(self) -> None:
        while self.open:
            try:
                self.socket.accept()[0].close()
                self.reached += 1
            except TimeoutError:
                continue

    def __exit__(self, *_: object) -> None:
        self.open = False
        self.thread.join()
        self.socket.close()


def hostile(kind: str, target: Path, port: int) -> str:
    """Return lines that do harm when they are imported."""
    return {
        "escape": f"import os, pathlib\nfor place in ({str(target)!r}, '/work/escaped', '../../escaped', '/etc/escaped'):\n"
        "    try:\n        pathlib.Path(place).write_text('out')\n    except OSError:\n        pass\n"
        "os.system('touch ' + " + repr(str(target)) + ")\n",
        "network": "import socket\ntry:\n"
        f"    socket.create_connection(('127.0.0.1', {port}), 2)\nexcept OSError:\n    pass\n",
        "fork": "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n",
        "endless": "while True:\n    pass\n",
    }[kind]


def spoiled(code: str, lines: str) -> str:
    """Put lines where they run at the import of a module."""
    return code.replace(
        "from __future__ import annotations\n", f"from __future__ import annotations\n{lines}", 1
    )


def left_over(folder: Path) -> list[str]:
    """Return the processes that still name a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if str(folder) in line:
                found.append(line)
    return found


@pytest.mark.parametrize("kind", ["escape", "network", "fork", "endless"])
def test_what_means_harm_is_contained(tmp_path, kind):
    folder = tmp_path / "judged" / "shop"
    folder.mkdir(parents=True)
    code = template("environment.py.txt", "shop")
    target = tmp_path / "escaped"
    with Listener() as listener:
        (folder / "environment.py").write_text(spoiled(code, hostile(kind, target, listener.port)))
        (folder / "world.py").write_text(stub_world())
        (folder / "seeds.yaml").write_text("{}\n")
        (folder / "words.yaml").write_text(stub_words("shop", tools_in(code)))
        started = time.monotonic()
        verdict = judge(folder, acts=False, start_seconds=4)
    assert time.monotonic() - started < 60
    assert {"escape": "code", "network": "code", "fork": "opens", "endless": "opens"}[kind] in {
        one.rule for one in verdict.findings
    }
    assert listener.reached == 0
    assert not list(tmp_path.rglob("escaped"))
    assert not any(Path(place).exists() for place in ("/work/escaped", "/etc/escaped"))
    assert left_over(folder) == []


GOOD, REPAIRED, GIVEN_UP, HOSTILE = "A corner shop", "A book store", "A lost cause", "A trap for judges"


def spoil_for(target: Path, port: int):
    def spoil(part: str, file: str, text: str, number: int) -> str:
        if "book_store" in text and part == "tools":
            # A record is changed in place: seen only once there is a world to act in.
            return text.replace(
                'return self.state.patch("items", item_id, price=float(price))',
                'item = self.require("items", item_id, "item")\n        item["price"] = float(price)\n        return item',
            )
        if "lost_cause" in text and file == "environment.py":
            return text + "\n\ndef broken(:\n"
        if "trap_judges" in text and file == "environment.py":
            kinds = ("escape", "network", "fork", "endless")
            return spoiled(text, hostile(kinds[number % 4], target, port))
        return text

    return spoil


@pytest.mark.full
def test_a_good_one_a_repaired_one_one_given_up_and_a_hostile_one(tmp_path):
    out = tmp_path / "out"
    with Listener() as listener:
        model = DraftModel(spoil_for(tmp_path / "escaped", listener.port))
        with ScriptedServer(Script(reply=model)) as server:
            config = DraftConfig(
                topics=(GOOD, REPAIRED, GIVEN_UP, HOSTILE),
                model=f"m@{server.url}",
                out=str(out),
                start_seconds=6,
            )
            reports, _ = draft_all(config)
            assert max(server.sent.values()) == 1
    assert [one.status for one in reports] == ["made", "made", "given_up", "given_up"]
    good, repaired, lost, trap = ({part.part: part for part in one.parts} for one in reports)
    assert all(part.answers <= 1 for part in good.values())
    assert repaired["world"].answers == 2
    assert {one.rule for one in repaired["world"].findings[0]} & {"undo", "effects"}
    assert lost["tools"].answers == trap["tools"].answers == 4
    assert all(any(one.rule in ("code", "opens") for one in found) for found in trap["tools"].findings)
    assert listener.reached == 0
    assert not list(tmp_path.rglob("escaped"))
    assert left_over(out) == []
    assert sorted(path.name for path in out.iterdir() if path.is_dir() and path.name != ".draft") == [
        "book_store", "corner_shop",
    ]  # fmt: skip


@pytest.mark.full
def test_a_killed_draft_goes_on_and_the_draft_is_built_served_and_trained_on(tmp_path):
    import planarena
    from planarena.cli import main
    from planarena.config import BuildConfig, ContrastConfig, ExecutionConfig

    out = tmp_path / "out"
    with ScriptedServer(Script(reply=DraftModel())) as server:
        words = ["env", "draft", GOOD, "--model", f"m@{server.url}", "--out", str(out)]
        process = subprocess.Popen([sys.executable, "-m", "planarena", *words], start_new_session=True)
        deadline = time.monotonic() + 240
        while sum(server.sent.values()) < 3:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert not (out / "corner_shop").exists()
        assert main(words) == 0
        assert set(server.sent.values()) == {1}
        assert len(server.sent) == 5
    folder = out / "corner_shop"
    assert main(["env", "check", str(folder), "--tasks", "3"]) == 0
    run = planarena.build(
        BuildConfig(
            sources=(f"env:{folder}",),
            out=str(tmp_path / "run"),
            trajectories=16,
            contrast=ContrastConfig(candidates=0, trajectories=0, no_calls=0),
            execution=ExecutionConfig(workers=1),
        )
    )
    assert run.info["counts"]["gold"] == 16
    trained = tmp_path / "trained"
    words = ["train", "--algorithm", "sft", "--model", "tiny", "--data", str(run.path), "--out", str(trained)]
    assert main([*words, "--steps", "1"]) == 0
    assert (trained / "metrics.jsonl").is_file()
    served = subprocess.run(
        [sys.executable, "-m", "planarena", "serve", "mcp", f"env:{folder}"],
        input="".join(
            json.dumps({"jsonrpc": "2.0", **message}) + "\n"
            for message in (
                {
                    "id": 1,
                    "method": "initialize",
                    "params": {
                        "protocolVersion": "2025-06-18",
                        "capabilities": {},
                        "clientInfo": {"name": "t", "version": "1"},
                    },
                },
                {"method": "notifications/initialized"},
                {"id": 2, "method": "tools/list"},
            )
        ),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert '"place_order"' in served.stdout
