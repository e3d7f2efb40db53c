"""Benchmarks that a build is held against: what resembles their queries is discarded."""

from __future__ import annotations

from typing import Any

from planarena.config import BuildConfig
from planarena.pipeline.execute.decontamination import guard_of
from planarena.pipeline.products import Discard, ExecutedChunk, ExecutedScenario, Language, LanguageChunk

__all__ = ["strike_queries"]


def strike_queries(config: BuildConfig, executed: ExecutedChunk, language: LanguageChunk) -> LanguageChunk:
    """Discard what resembles a benchmark's query, with the finding as its reason."""
    guard = guard_of(config)
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
