"""Contrast for the tasks that are kept: it is made after the choice, so that none is made for what is dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

import msgspec

from planarena.config import BuildConfig
from planarena.pipeline.language.describe import ScenarioLanguage
from planarena.pipeline.products import Executed, ExecutedChunk, Language, LanguageChunk

__all__ = ["contrast_all", "contrast_chosen"]


def contrast_chosen(
    config: BuildConfig, executed: ExecutedChunk, language: LanguageChunk, kept: Container[int]
) -> LanguageChunk:
    """Return the words of a chunk with the contrast of the items that are kept.

    It depends on nothing but its arguments: whichever worker does it, and after whatever interruption, the contrast
    is the same.

    Args:
        config: The build.
        executed: Phase 1.
        language: Phase 2, without contrast or with it; what has some is left as it is.
        kept: The places of the items that are kept, counted over all scenarios.
    """
    if not config.contrast.candidates and not config.contrast.trajectories:
        return language
    place = 0
    items = []
    for scenario, words in zip(executed.scenarios, language.items, strict=True):
        found = list(words)
        writer: ScenarioLanguage | None = None
        for number, (task, said) in enumerate(zip(scenario.items, words, strict=True), start=place):
            if number not in kept or not isinstance(task, Executed) or not isinstance(said, Language):
                continue
            if said.contrast is None:
                writer = writer or ScenarioLanguage(config, scenario, Counter())
                found[number - place] = msgspec.structs.replace(said, contrast=writer.contrast_of(task, said))
        place += len(words)
        items.append(tuple(found))
    return msgspec.structs.replace(language, items=tuple(items))


def contrast_all(config: BuildConfig, executed: ExecutedChunk, language: LanguageChunk) -> LanguageChunk:
    """Return the words of a chunk with the contrast of every task: see `contrast_chosen`."""
    return contrast_chosen(config, executed, language, range(sum(map(len, language.items))))
