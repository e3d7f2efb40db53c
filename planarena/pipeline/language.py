"""Phase 2, language: queries, plans and answers for the tasks that phase 1 proved."""

from __future__ import annotations

from hashlib import blake2b

from planarena.config import BuildConfig
from planarena.environments import Operation, operations
from planarena.environments.domains import load_domain
from planarena.environments.wording import load_wording
from planarena.generate.checks import QueryFaultError, check_query
from planarena.generate.clauses import StepWords
from planarena.generate.offline import write_plan, write_query, write_response, write_step_plans
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

__all__ = ["describe_chunk", "describe_task"]


def describe_chunk(config: BuildConfig, executed: ExecutedChunk) -> LanguageChunk:
    """Write the words of every task of a chunk; discards pass through as they are."""
    return LanguageChunk(
        executed.chunk,
        tuple(
            tuple(
                item if isinstance(item, Discard) else describe_task(config, scenario, item)
                for item in scenario.items
            )
            for scenario in executed.scenarios
        ),
    )


def _operations_of(scenario: ExecutedScenario) -> dict[str, Operation]:
    return {
        name: found for domain in scenario.domains for name, found in operations(load_domain(domain)).items()
    }


def describe_task(config: BuildConfig, scenario: ExecutedScenario, task: Executed) -> Language | Discard:
    """Write query, plans and answer of one task with the offline generator."""
    available = _operations_of(scenario)
    wording = {name: words for domain in scenario.domains for name, words in load_wording(domain).items()}
    steps = [
        StepWords(
            number,
            available[scenario.atoms[step.atom].tool],
            wording[scenario.atoms[step.atom].tool],
            step.arguments,
            {argument: (source, pointer) for argument, source, pointer in step.bound},
            step.result,
        )
        for number, step in enumerate(task.steps)
    ]
    place = {str(step.atom): number for number, step in enumerate(task.steps)}
    expression = relabel(parse(task.expression), place)
    identity = blake2b(task.expression.encode(), digest_size=8).hexdigest()
    rng = rng_for(config.seed, "language", scenario.scenario_id, identity)
    query = write_query(expression, steps, rng)
    text = " , ".join(scenario.atoms[step.atom].tool for step in task.steps)
    try:
        checks = check_query(query.text, steps, query.said, scenario.facts, scenario.tools)
    except QueryFaultError as fault:
        return Discard(text, "query", fault.reason, fault.detail)
    consumed = {source for step in task.steps for _, source, _ in step.bound}
    reported = [number for number in range(len(steps)) if number not in consumed]
    return Language(
        (query.text,),
        write_plan(steps, task.order_edges, [step.group for step in task.steps], rng),
        write_step_plans(steps, rng),
        write_response(steps, reported, rng),
        checks,
    )
