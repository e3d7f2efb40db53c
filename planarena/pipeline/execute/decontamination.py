"""Benchmarks that a build is held against: their tools are on no offer.

The user points to the benchmarks' data (`contamination: {bfcl: FOLDER}`); nothing of it is copied into a run but the
benchmark's name beside what it struck out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import msgspec

from planarena.config import BuildConfig
from planarena.environments.world import Operation
from planarena.quality.contamination import Contamination, read_benchmark
from planarena.tools.tool import Tool

__all__ = ["benchmarks_digest", "guard_of", "marked", "permitted"]


def guard_of(config: BuildConfig) -> Contamination | None:
    """Return what a build is held against, or None without any benchmark."""
    return _read(tuple(sorted(config.contamination.items()))) if config.contamination else None


@lru_cache(maxsize=2)
def _read(entries: tuple[tuple[str, str], ...]) -> Contamination:
    return Contamination(read_benchmark(name, Path(path)) for name, path in entries)


def benchmarks_digest(config: BuildConfig) -> str:
    """Return a digest of what the benchmarks hold, or "" without any.

    Raises:
        SourceError: There is nothing at a path, or nothing of a benchmark in it.
    """
    guard = guard_of(config)
    if guard is None:
        return ""
    digest = blake2b(digest_size=16)
    for benchmark in guard.benchmarks:
        found = (benchmark.name, sorted(benchmark.names), sorted(benchmark.signatures), benchmark.queries)
        digest.update(repr(found).encode())
    return digest.hexdigest()


def permitted(config: BuildConfig, operations: Mapping[str, Operation]) -> dict[str, Operation]:
    """Return the operations that are no benchmark's by name and parameters."""
    guard = guard_of(config)
    if guard is None:
        return dict(operations)
    return {name: one for name, one in operations.items() if not guard.judge_tool(one.tool).drop}


def marked(config: BuildConfig, tool: Tool) -> Tool:
    """Return a tool with marks of the benchmarks that have a tool of its name."""
    guard = guard_of(config)
    marks = guard.judge_tool(tool).marks if guard is not None else ()
    if not marks:
        return tool
    return msgspec.structs.replace(tool, contamination=tuple(dict.fromkeys([*tool.contamination, *marks])))
