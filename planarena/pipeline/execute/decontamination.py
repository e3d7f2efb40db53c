"""Benchmarks that a build is held against: their tools are on no offer, what resembles their queries is discarded.

The user points to the benchmarks' data (`contamination: {bfcl: FOLDER}`); nothing of it is copied into a run but the
benchmark's name beside what it struck out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from planarena.config import BuildConfig
from planarena.environments.world import Operation
from planarena.pipeline.products import Discard, ExecutedChunk, ExecutedScenario, Language, LanguageChunk
from planarena.quality.contamination import Contamination, read_benchmark
from planarena.tools.tool import Tool

__all__ = ["benchmarks_digest", "findings", "marked", "permitted", "strike_queries"]


def _guard(config: BuildConfig) -> Contamination | None:
    return _read(tuple(sorted(config.contamination.items()))) if config.contamination else None


@lru_cache(maxsize=2)
def _read(entries: tuple[tuple[str, str], ...]) -> Contamination:
    return Contamination(read_benchmark(name, Path(path)) for name, path in entries)


def benchmarks_digest(config: BuildConfig) -> str:
    """Return a digest of what the benchmarks hold, or "" without any.

    Raises:
        SourceError: There is nothing at a path, or nothing of a benchmark in it.
    """
    guard = _guard(config)
    if guard is None:
        return ""
    digest = blake2b(digest_size=16)
    for benchmark in guard.benchmarks:
        found = (benchmark.name, sorted(benchmark.names), sorted(benchmark.signatures), benchmark.queries)
        digest.update(repr(found).encode())
    return digest.hexdigest()


def permitted(config: BuildConfig, operations: Mapping[str, Operation]) -> dict[str, Operation]:
    """Return the operations that are no benchmark's by name and parameters."""
    guard = _guard(config)
    if guard is None:
        return dict(operations)
    return {name: one for name, one in operations.items() if not guard.judge_tool(one.tool).drop}


def marked(config: BuildConfig, tool: Tool) -> Tool:
    """Return a tool with marks of the benchmarks that have a tool of its name."""
    guard = _guard(config)
    marks = guard.judge_tool(tool).marks if guard is not None else ()
    if not marks:
        return tool
    return msgspec.structs.replace(tool, contamination=tuple(dict.fromkeys([*tool.contamination, *marks])))


def strike_queries(config: BuildConfig, executed: ExecutedChunk, language: LanguageChunk) -> LanguageChunk:
    """Discard what resembles a benchmark's query, with the finding as its reason."""
    guard = _guard(config)
    if guard is None:
        return language

    def judge(scenario: ExecutedScenario, item: Any, said: Language | Discard) -> Language | Discard:
        if isinstance(said, Discard):
            return said
        marks = sorted({mark for turn in said.turns for mark in guard.judge_query(turn)})
        if not marks:
            return said
        tools = ", ".join(scenario.atoms[step.atom].tool for step in item.steps)
        return Discard(tools, "contamination", marks[0], "\n".join(said.turns))

    items = tuple(
        tuple(judge(scenario, item, said) for item, said in zip(scenario.items, words, strict=True))
        for scenario, words in zip(executed.scenarios, language.items, strict=True)
    )
    refusals = tuple(
        tuple(one for one in found if not guard.judge_query(one.query)) for found in language.no_calls
    )
    return LanguageChunk(language.chunk, items, refusals)


def findings(config: BuildConfig, counts: Mapping[str, Any]) -> dict[str, str]:
    """Return for the card what each benchmark was held against and what it struck out.

    Args:
        config: The build.
        counts: As summed up over the chunks, `discard:contamination:ngram:bfcl` among them.
    """
    guard = _guard(config)
    found: dict[str, str] = {}
    for benchmark in guard.benchmarks if guard is not None else ():
        struck = sum(
            number
            for key, number in counts.items()
            if key.startswith("discard:contamination:") and key.endswith(f":{benchmark.name}")
        )
        found[benchmark.name] = (
            f"held against {len(benchmark.signatures)} tools, which are on no offer, and {len(benchmark.queries)} texts; "
            f"{struck} queries discarded"
        )
    return found
