"""`planarena env`: write, check, build, show and play, as the pages print it."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

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


def _play_script(monkeypatch: pytest.MonkeyPatch, lines: list[str], *options: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines) + "\n"))
    return main(["env", "play", "builtin:banking", "--seed", "3", *options])


def test_a_user_speaks_and_a_script_acts_and_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The gold, typed in, is a success; who does nothing hears no value that is held back and has none."""
    from planarena.cli import _play_user
    from planarena.session import SessionTask

    seen: list[SessionTask] = []
    plain = _play_user.Conversation.__init__

    def watched(self: Any, unit: Any, source: str, task: SessionTask, users: Any) -> None:
        seen.append(task)
        plain(self, unit, source, task, users)

    monkeypatch.setattr(_play_user.Conversation, "__init__", watched)
    # One whose first message leaves something out.
    for seed in range(3, 12):
        chosen = ("--user", "scripted", "--kind", "missing_value", "--seed", str(seed))
        assert _play_script(monkeypatch, ["say Done."] * 9, *chosen) == 0
        shown = capsys.readouterr().out
        if seen[-1].known.messages[1].when == "asked":
            break
    task = seen[-1]
    held = [text for text, one in zip(task.turns, task.known.messages, strict=True) if one.when == "asked"]
    assert f"user: {task.turns[0]}" in shown
    assert held[0] not in shown
    assert "no success: the goal is missed, 0 calls" in shown

    answers = iter(task.answers)
    lines = []
    for calls in task.gold:
        lines += [f"{one.name} {json.dumps(one.arguments)}" for one in calls] or [
            f"say {json.dumps(next(answers))}"
        ]
    (tmp_path / "script").write_text("\n".join(lines) + "\n", encoding="utf-8")
    # The user gives what was held back to the question that asks for it.
    question = task.answers[task.turns.index(held[0]) - 1]
    again = [f"say {json.dumps(question)}", "undo", f"run {tmp_path / 'script'}"]
    assert _play_script(monkeypatch, again, *chosen) == 0
    shown = capsys.readouterr().out
    assert seen[-1].id == task.id
    assert shown.count(f"user: {held[0]}") == 2
    assert f"success: the goal is reached, {task.actions} calls" in shown


def test_who_plays_and_which_kind_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env", "play", "builtin:banking", "--user", "somebody"]) == 2
    assert main(["env", "play", "builtin:banking", "--user", "scripted", "--kind", "odd"]) == 2
    assert "missing_value" in capsys.readouterr().err
