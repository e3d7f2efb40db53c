"""The report of a large build: its size, what writing it takes, and that it opens and filters."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from planarena import BuildConfig, Run, build
from planarena.config import ExecutionConfig

sys.path.append(str(Path(__file__).resolve().parents[1]))
from report_filters import FILTERS

if TYPE_CHECKING:
    from conftest import Browser

MOST_BYTES = 20_000_000


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(600, id="600"),
        # Some five minutes of building.
        pytest.param(20_000, id="20000", marks=[pytest.mark.full, pytest.mark.slow]),
    ],
)
def large_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return build(
        BuildConfig(
            out=str(tmp_path_factory.mktemp("large") / "run"),
            trajectories=request.param,
            execution=ExecutionConfig(workers=1),
        )
    )


def test_the_page_is_small_and_answers_every_filter(browser: Browser, large_run: Run) -> None:
    page = large_run.path / "report.html"
    assert page.stat().st_size < MOST_BYTES
    browser.complaints()
    browser.open(page)
    end = time.monotonic() + 60
    while not browser.run("return document.querySelector('#trajectories').classList.contains('ready')"):
        assert time.monotonic() < end
        time.sleep(0.01)
    total = large_run.info["counts"]["gold"] + large_run.info["counts"]["contrastive"]
    total += large_run.info["counts"]["no_call"]
    told = browser.run("return document.querySelector('#trajectories .count').textContent")
    assert told == f"1 to 50 of {total}"
    # How long each takes is printed by tests/bench/bench_report.py.
    assert len(browser.run(FILTERS)) > 20
    assert browser.complaints() == []


_WRITE = """
import resource, sys
import pyarrow.parquet
from planarena import Run
from planarena.report import render_report

run = Run.open(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
render_report(run).encode()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def test_writing_it_takes_little_memory(large_run: Run) -> None:
    command = [sys.executable, "-c", _WRITE, str(large_run.path)]
    megabytes = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert megabytes < 150  # beyond what the interpreter and Arrow take
