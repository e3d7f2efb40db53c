"""Phase 2, language: queries, plans, answers and contrast for the tasks that phase 1 proved."""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from planarena.config import BuildConfig
from planarena.environments import World
from planarena.environments.domains import load_domain
from planarena.environments.wording import load_wording
from planarena.generate.checks import QueryFaultError, check_query
from planarena.generate.clauses import StepWords
from planarena.generate.offline import write_plan, write_query, write_response, write_step_plans
from planarena.pipeline.contrast import ScenarioContrast
from planarena.pipeline.products import (
    Discard,
    Executed,
    ExecutedChunk,
    ExecutedScenario,
    Language,
    LanguageChunk,
)
from planarena.pipeline.scenarios import rng_for
from planarena.tasks.algebra import parse, relabel

__all__ = ["ScenarioLanguage", "describe_chunk"]


def describe_chunk(config: BuildConfig, executed: ExecutedChunk) -> LanguageChunk:
    """Write the words of every task of a chunk; discards pass through as they are."""
    items = []
    for scenario in executed.scenarios:
        writer = ScenarioLanguage(config, scenario)
        items.append(
            tuple(item if isinstance(item, Discard) else writer.describe(item) for item in scenario.items)
        )
    return LanguageChunk(executed.chunk, tuple(items))


class ScenarioLanguage:
    """Writes for the tasks of one scenario.

    Args:
        config: The build.
        scenario: The scenario with its proven tasks.
    """

    def __init__(self, config: BuildConfig, scenario: ExecutedScenario) -> None:
        self.config, self.scenario = config, scenario
        domains = [load_domain(name) for name in scenario.domains]
        self.world = World.restore(domains, msgspec.json.decode(scenario.seed_state), scenario.facts)
        self.wording = {
            name: words for domain in scenario.domains for name, words in load_wording(domain).items()
        }
        contrast = config.contrast
        self.contrast = (
            ScenarioContrast(contrast, scenario, self.world, self.wording)
            if contrast.candidates or contrast.trajectories
            else None
        )

    def describe(self, task: Executed) -> Language | Discard:
        """Write one task's query, plans and answer with the offline generator, and make its contrast."""
        scenario = self.scenario
        steps = [
            StepWords(
                number,
                self.world.operations[scenario.atoms[step.atom].tool],
                self.wording[scenario.atoms[step.atom].tool],
                step.arguments,
                {argument: (source, pointer) for argument, source, pointer in step.bound},
                step.result,
            )
            for number, step in enumerate(task.steps)
        ]
        place = {str(step.atom): number for number, step in enumerate(task.steps)}
        expression = relabel(parse(task.expression), place)
        identity = blake2b(task.expression.encode(), digest_size=8).hexdigest()
        rng = rng_for(self.config.seed, "language", scenario.scenario_id, identity)
        query = write_query(expression, steps, rng)
        try:
            checks = check_query(query.text, steps, query.said, scenario.facts, scenario.tools)
        except QueryFaultError as fault:
            text = ", ".join(scenario.atoms[step.atom].tool for step in task.steps)
            return Discard(text, "query", fault.reason, fault.detail)
        consumed = {source for step in task.steps for _, source, _ in step.bound}
        reported = [number for number in range(len(steps)) if number not in consumed]
        return Language(
            (query.text,),
            write_plan(steps, task.order_edges, [step.group for step in task.steps], rng),
            write_step_plans(steps, rng),
            write_response(steps, reported, rng),
            checks,
            self.contrast.contrast(task, steps, rng) if self.contrast is not None else None,
            turn_of=(0,) * len(steps),
        )
