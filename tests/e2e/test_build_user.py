"""Builds whose users are played by a model: a good one words every kind, what a bad one does is discarded with its class."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import polars
import pytest

import planarena
from planarena import Run
from planarena.bench import load_tasks, play
from planarena.bench.policies import GoldPolicy
from planarena.config import (
    BuildConfig,
    CallsConfig,
    ContrastConfig,
    ConversationConfig,
    ExecutionConfig,
    ModelsConfig,
)
from planarena.config.conversations import CONVERSATION_KINDS

sys.path.append(str(Path(__file__).resolve().parents[1]))
from builds import contents
from llm_server import Script, ScriptedServer
from user_model import BadUser, GoodUser

SHARES = dict.fromkeys(CONVERSATION_KINDS, 0.14)


def configure(out: Path, user: str, **changes: Any) -> BuildConfig:
    return BuildConfig(
        out=str(out),
        sources=("builtin:banking", "builtin:travel", "builtin:calendar", "builtin:shopping"),
        trajectories=changes.pop("trajectories", 40),
        chunk_scenarios=4,
        seed=6,
        conversations=ConversationConfig(SHARES),
        contrast=ContrastConfig(candidates=2, trajectories=0, no_calls=0),
        models=ModelsConfig(user=user),
        execution=ExecutionConfig(workers=1, calls=CallsConfig(concurrency=8, timeout=20.0)),
        **changes,
    )


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "cache"))


def served(user: GoodUser) -> Script:
    return Script(reply=lambda body: json.dumps(user(body)))


def queries_of(run: Run) -> dict[str, dict[str, Any]]:
    gold = run.table("trajectories").filter(polars.col("kind") == "gold")
    rows = gold.join(run.table("tasks"), on="task_id").join(run.table("queries"), on="query_id").collect()
    return {row["task_id"]: row for row in rows.to_dicts()}


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return queries_of(planarena.build(configure(tmp_path_factory.mktemp("off") / "run", "")))


def test_a_good_model_words_every_kind_and_the_gold_still_reaches_every_goal(
    tmp_path: Path, offline: dict[str, dict[str, Any]]
) -> None:
    with ScriptedServer(served(GoodUser())) as server:
        run = planarena.build(configure(tmp_path / "run", f"person@{server.url}"))
        assert set(server.sent.values()) == {1}
        before, after = offline, queries_of(run)
        assert before.keys() == after.keys()
        worded: Counter[str] = Counter()
        refused = []
        for key, row in after.items():
            said, written = json.loads(row["turns"]), json.loads(before[key]["turns"])
            if row["source"] == "llm":
                worded[row["conversation"]] += 1
                assert said[0] == f"Well, then: {written[0]}"
                assert row["llm_call_id"]
                assert json.loads(row["checks"])["user_checked"]
            else:
                assert said == written
                refused.append(row["conversation"])
            assert row["turn_responses"] == before[key]["turn_responses"]
        assert set(worded) >= set(CONVERSATION_KINDS)
        assert len([kind for kind in refused if kind != "plain"]) <= 2, refused
        proposals = run.table("proposals").collect()
        assert set(proposals["part"]) == {"user"}
        tasks = load_tasks(run.path, splits=("train", "validation", "test", "unseen_tools"))
        assert all(one.success for one in play(GoldPolicy(tasks), tasks))
        # A second time nothing is asked.
        planarena.build(configure(tmp_path / "run", f"person@{server.url}"))
        assert set(server.sent.values()) == {1}


@pytest.mark.parametrize("fault", ["lied", "other_role", "never_ends", "ended_early"])
def test_what_a_bad_model_says_is_discarded_with_its_class_and_the_written_words_stay(
    tmp_path: Path, offline: dict[str, dict[str, Any]], fault: str
) -> None:
    with ScriptedServer(served(BadUser(fault))) as server:
        run = planarena.build(configure(tmp_path / "run", f"person@{server.url}", trajectories=12))
    verdicts = run.table("proposals").collect()["verdict"].to_list()
    counted = Counter(verdicts)
    assert counted[fault] > 2, counted
    assert set(counted) == {fault}
    after = queries_of(run)
    assert all(row["turns"] == offline[key]["turns"] for key, row in after.items())
    counts = msgspec.json.decode((run.path / "run.json").read_bytes())["counts"]
    assert counts["proposals_user"] == counted


_SCRIPT = """
import sys
sys.path[:0] = {path!r}
from test_build_user import configure
import planarena
from pathlib import Path
planarena.build(configure(Path(sys.argv[1]), sys.argv[2]))
"""


@pytest.mark.full
def test_kills_pay_for_nothing_twice_and_change_no_byte(tmp_path: Path) -> None:
    path = [str(Path(__file__).parent), str(Path(__file__).resolve().parents[1])]
    slow = Script(reply=lambda body: json.dumps(GoodUser()(body)), delay=0.05)
    with ScriptedServer(slow) as server:
        name = f"person@{server.url}"
        out = tmp_path / "killed"
        for wanted in (15, 60):
            started = subprocess.Popen(
                [sys.executable, "-c", _SCRIPT.format(path=path), str(out), name],
                env={**os.environ},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            ends = time.monotonic() + 60
            while sum(server.sent.values()) < wanted and started.poll() is None and time.monotonic() < ends:
                time.sleep(0.02)
            assert started.poll() is None
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
        killed = planarena.build(configure(out, name))
        # What was under way at a kill may have been answered unheard: at most the calls that ran at once.
        twice = sum(count - 1 for count in server.sent.values())
        assert twice <= 2 * 8
        whole = planarena.build(configure(tmp_path / "whole", name))
        assert contents(killed.path) == contents(whole.path)
