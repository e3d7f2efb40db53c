"""Samples of an environment's aims: each is drawn in several worlds with all tools, and told, so that an author sees it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from planarena.config import BuildConfig
from planarena.environments.catalog import goals_of
from planarena.pipeline.execute.scenario_run import execute_every_aim
from planarena.pipeline.execute.scenarios import domains_of, draw_scenario
from planarena.pipeline.language.describe import ScenarioLanguage
from planarena.pipeline.products import Discard

__all__ = ["AimSamples", "sample_aims"]


class AimSamples(NamedTuple):
    """What became of one aim.

    Attributes:
        name: Of the aim.
        told: Each time it could be drawn: its lines, as `user ...`, calls with results, `assistant ...`.
        misfits: Why it could not, with counts.
    """

    name: str
    told: list[list[str]]
    misfits: Counter[str]


def sample_aims(config: BuildConfig, numbers: Sequence[int], only: Collection[str] = ()) -> list[AimSamples]:
    """Draw every aim of a build's one source in several worlds.

    Args:
        config: With one source.
        numbers: Of the scenarios.
        only: The names of some aims; all of them where empty.
    """
    limits = replace(config.composition, tools=(1000, 1000), mixed_share=0.0)
    config = replace(config, composition=limits)
    [domain] = domains_of(config.sources)
    found = {name: AimSamples(name, [], Counter()) for name in goals_of(domain) if not only or name in only}
    used: Counter[str] = Counter()
    for number in numbers:
        scenario, every = execute_every_aim(config, draw_scenario(config, number), list(found))
        writer = ScenarioLanguage(config, scenario, used)
        for name, item in every:
            said = item if isinstance(item, Discard) else writer.describe(item, contrast=False)
            if isinstance(said, Discard):
                found[name].misfits[
                    f"{said.reason}: {said.detail}" if said.stage != "aim" else said.detail
                ] += 1
                continue
            assert not isinstance(item, Discard)
            lines = [f"user       {turn}" for turn in said.turns]
            for step in item.steps:
                shown = json.dumps(step.result, ensure_ascii=False)
                lines.append(
                    f"           {step.tool} {json.dumps(step.arguments, ensure_ascii=False)} -> {shown}"
                )
            found[name].told.append([*lines, f"assistant  {said.response}"])
    return list(found.values())
