"""Environments opened and acted in from many threads at once, in a process that has opened none yet.

verl's agent loops do so. A table that one thread was still filling was once taken for whole by another, which then
knew no such tool: one run in a few, and only for the first episodes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

# How often threads change: the default of 5 ms would let most of them come to an end undisturbed.
SCRIPT = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from planarena.rows import load_episodes, open_environment

def act(row):
    opened = open_environment(row.environment)
    offered = frozenset(tool["function"]["name"] for tool in row.tools)
    calls = [call for gold in row.gold for call in gold.calls]
    outcomes = [opened.episode.attempt(call.name, call.arguments, offered) for call in calls]
    return [[one.status, one.payload.decode()] for one in outcomes], opened.world.digest()

path, threads = sys.argv[1], int(sys.argv[2])
rows = [row for row in load_episodes(path) if row.environment is not None][:15] * 3
sys.setswitchinterval(1e-6)
with ThreadPoolExecutor(threads) as pool:
    json.dump(list(pool.map(act, rows)), sys.stdout)
"""


def _acted(root: Path, threads: int) -> str:
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(root / "data" / "sample"), str(threads)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_first_episodes_of_a_process_do_not_depend_on_threads(root: Path) -> None:
    alone = _acted(root, 1)
    calls = [status for acted, _ in json.loads(alone) for status, _ in acted]
    assert len(calls) > 50
    # Some of the sample's calls fail for a while.
    assert set(calls) <= {"ok", "tool_error"} and calls.count("ok") > 50
    for _ in range(3):
        assert _acted(root, 6) == alone
