"""What a worker does again for every chunk does not grow with what it holds or with the chunks that are written."""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path

import pytest

from planarena.pipeline.run import jobs, memory
from planarena.records.run import Run


def test_tools_are_read_once_until_another_shard_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "tables" / "tools"
    folder.mkdir(parents=True)
    asked: list[Path] = []

    def read(run: Run) -> dict[str, object]:
        asked.append(run.path)
        return {}

    def listed(*_: object) -> list[Path]:
        raise AssertionError("the shards are looked at one by one")

    monkeypatch.setattr(jobs, "read_tools", read)
    monkeypatch.setattr(Run, "shards", listed)
    jobs._read_tools_once.cache_clear()
    for _ in range(3):
        jobs._tools_of(tmp_path)
    assert asked == [tmp_path]
    # A shard is moved to its place when it is whole.
    half = folder / ".00000.parquet.part"
    half.write_bytes(b"rows")
    os.utime(folder, ns=(0, 0))
    half.replace(folder / "00000.parquet")
    jobs._tools_of(tmp_path)
    assert asked == [tmp_path] * 2
    jobs._read_tools_once.cache_clear()


def test_memory_is_given_back_for_a_thirtieth_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, spent = [0.0], [0.0]

    def collect() -> int:
        # A worker that holds more and more.
        took = 0.02 + clock[0] / 1000
        clock[0] += took
        spent[0] += took
        return 0

    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(gc, "collect", collect)
    monkeypatch.setattr(memory, "_trim", lambda: None)
    due = 0.0
    while clock[0] < 500:
        clock[0] += 0.1  # a job
        due = memory.trim_memory(due)
    assert 0.02 < spent[0] / clock[0] < 1 / 30
