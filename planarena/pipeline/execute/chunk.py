"""Phase 1, execute: the scenarios of a chunk, each composed, executed and proven; no language."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from functools import partial

from planarena.config import BuildConfig
from planarena.errors import UserError
from planarena.pipeline.execute.assigned import MOST_NUMBERS, Draw, draws_of, has_more
from planarena.pipeline.execute.origins import origins_of
from planarena.pipeline.execute.scenario_run import execute_with_variants
from planarena.pipeline.execute.scenarios import draw_scenario
from planarena.pipeline.products import Assignment, ExecutedChunk, ExecutedScenario, Quarantined

__all__ = ["execute_chunk"]


def execute_chunk(
    config: BuildConfig,
    chunk: int,
    last_scenario: int | None = None,
    assignment: Assignment | None = None,
) -> ExecutedChunk:
    """Execute every scenario of a chunk; an unexpected failure quarantines its scenario, not the chunk.

    Args:
        config: The build.
        chunk: The chunk's number.
        last_scenario: Scenarios from this number on do not exist; None for no limit.
        assignment: Where quotas have the chunk draw from; None without quotas.
    """
    done: list[ExecutedScenario] = []
    quarantine: list[Quarantined] = []
    more = True
    try:
        more = assignment is None or has_more(assignment)
        draws = (
            _draws(config, chunk, last_scenario)
            if assignment is None
            else draws_of(config, chunk, assignment)
        )
        for drawn in draws:
            try:
                done.extend(execute_with_variants(drawn.config, drawn.draw()))
            except (OSError, MemoryError):
                raise
            except Exception as error:
                if getattr(error, "stops", False):
                    raise  # every scenario would meet it: a model that plays tools and refuses all further calls
                # Bugs in an environment must not cost the other scenarios: kept with their class, counted, retried on request.
                last = traceback.format_exc(limit=-3)
                quarantine.append(Quarantined(drawn.number, "execute", type(error).__name__, last))
    except UserError as error:
        if assignment is None or getattr(error, "stops", False):
            raise
        # A description that cannot be read is set aside as one scenario.
        more = False
        quarantine.append(Quarantined(chunk * MOST_NUMBERS, "source", type(error).__name__, str(error)))
    return ExecutedChunk(chunk, tuple(done), tuple(quarantine), more, origins_of(config, done), assignment)


def _draws(config: BuildConfig, chunk: int, last_scenario: int | None) -> Iterator[Draw]:
    first = chunk * config.chunk_scenarios
    end = first + config.chunk_scenarios
    for number in range(first, end if last_scenario is None else min(end, last_scenario)):
        yield Draw(number, config, partial(draw_scenario, config, number))
