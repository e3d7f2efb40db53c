"""`planarena env`: write, check, build, show and play, as the pages print it."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planarena.cli import main
from planarena.cli._play import Game
from planarena.environments import sandbox
from planarena.environments.sources import SourceOptions
from planarena.environments.sources.folder.source import open_folder_source

needs_sandbox = pytest.mark.skipif(
    sandbox.missing() is not None, reason=f"no sandbox here: {sandbox.missing()}"
)


@needs_sandbox
def test_a_new_environment_is_checked_and_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["env", "new", "shop"]) == 0
    assert capsys.readouterr().out.endswith("next: planarena env check shop\n")
    assert main(["env", "check", "shop"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("no findings; composed tasks by actions: ")
    assert shown.endswith("next: planarena env show shop\n")
    assert main(["build", "env:shop", "--trajectories", "10", "--out", "run"]) == 0
    assert "10 gold trajectories over env:shop" in capsys.readouterr().out
    assert main(["env", "new", "shop"]) == 2
    assert main(["env", "new", "My Shop"]) == 2
    assert main(["env", "show", "nowhere"]) == 2
    assert "planarena env new NAME" in capsys.readouterr().err


def test_a_session_at_a_terminal(tmp_path: Path) -> None:
    """Listed, tried, called, undone, saved and run again, with Tab, through a pseudo-terminal."""
    assert main(["env", "new", "shop", "--dir", str(tmp_path)]) == 0
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "planarena", "env", "play", "shop", "--trusted"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True
    ) as process:
        os.close(theirs)

        def read_until(wanted: str) -> str:
            text, deadline = "", time.monotonic() + 60
            while wanted not in text and time.monotonic() < deadline:
                if select.select([ours], [], [], 1.0)[0]:
                    text += os.read(ours, 65536).decode()
            assert wanted in text, text
            return text

        def say(line: str, wanted: str) -> str:
            os.write(ours, f"{line}\n".encode())
            return read_until(wanted)

        read_until("> ")
        say("tools", "restock_item(item_id, quantity)")
        name = re.search(r'look_up_item name="([^"]+)"', say("try look_up_item", '"\r\n'))
        assert name is not None
        item = re.search(r"itm_[0-9a-f]{10}", say(f'look_up_item name="{name[1]}"', "nothing changed"))
        assert item is not None
        # Tab completes the tool and the argument; the id was seen in the last result.
        say(f"rest\titem_id={item[0]} quantity=5", "changed shop.items/")
        say("undo", "took back restock_item")
        say("undo", "took back look_up_item")
        say("undo", "nothing was done yet")
        say(f"restock_item item_id={item[0]} quantity=7", "changed shop.items/")
        say("log", '"quantity": 7')
        say("save done.txt", "wrote 1 calls to done.txt")
        say("undo", "took back restock_item")
        say("run done.txt", "changed shop.items/")
        say("restock_itm", "did you mean restock_item?")
        os.write(ours, b"quit\n")
        assert process.wait(timeout=30) == 0
    os.close(ours)
    assert (tmp_path / "done.txt").read_text().startswith("# env:shop, world 1\nrestock_item {")


def test_what_can_be_completed(tmp_path: Path) -> None:
    assert main(["env", "new", "shop", "--dir", str(tmp_path)]) == 0
    unit = open_folder_source(str(tmp_path / "shop"), SourceOptions(trusted=True))
    game = Game(unit, "env:shop", f"{1:016x}")
    assert list(game.complete("rest", "rest")) == ["restock_item "]
    assert list(game.complete("try lo", "lo")) == ["look_up_item"]
    assert list(game.complete("restock_item ", "")) == ["item_id=", "quantity="]
    assert list(game.complete("restock_item item_id=", "item_id=")) == []
    (kind,) = {one.partition("=")[2] for one in list(game.complete("list_items kind=", "kind="))[:1]}
    game.act(f"list_items kind={kind}")
    found = list(game.complete("restock_item item_id=", "item_id="))
    assert found
    assert all(re.fullmatch(r"item_id=itm_[0-9a-f]{10}", one) for one in found)
