"""Phase 1, execute: the scenarios of a chunk, each composed, executed and proven; no language."""

from __future__ import annotations

import traceback

from planarena.config import BuildConfig
from planarena.errors import UserError
from planarena.pipeline.execute.assigned import MOST_NUMBERS, draws_of, has_more
from planarena.pipeline.execute.origins import origins_of
from planarena.pipeline.execute.scenario_run import execute_scenario
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
    if assignment is not None:
        return _execute_assigned(config, chunk, assignment)
    first = chunk * config.chunk_scenarios
    end = first + config.chunk_scenarios
    if last_scenario is not None:
        end = min(end, last_scenario)
    done: list[ExecutedScenario] = []
    quarantine: list[Quarantined] = []
    for number in range(first, end):
        try:
            done.append(execute_scenario(config, draw_scenario(config, number)))
        except (OSError, MemoryError):
            raise
        except Exception as error:
            _raise_if_all_fail(error)
            # Bugs in an environment must not cost the other scenarios: kept with their class, counted, retried on request.
            last = traceback.format_exc(limit=-3)
            quarantine.append(Quarantined(number, "execute", type(error).__name__, last))
    return ExecutedChunk(chunk, tuple(done), tuple(quarantine), origins=origins_of(config, done))


def _execute_assigned(config: BuildConfig, chunk: int, assignment: Assignment) -> ExecutedChunk:
    """Execute the scenarios that quotas assigned; a description that cannot be read is set aside as one scenario."""
    done: list[ExecutedScenario] = []
    quarantine: list[Quarantined] = []
    try:
        more = has_more(assignment)
        for drawn in draws_of(config, chunk, assignment):
            try:
                done.append(execute_scenario(drawn.config, drawn.draw()))
            except (OSError, MemoryError):
                raise
            except Exception as error:
                _raise_if_all_fail(error)
                last = traceback.format_exc(limit=-3)
                quarantine.append(Quarantined(drawn.number, "execute", type(error).__name__, last))
    except UserError as error:
        more = False
        quarantine.append(Quarantined(chunk * MOST_NUMBERS, "source", type(error).__name__, str(error)))
    return ExecutedChunk(chunk, tuple(done), tuple(quarantine), more, origins_of(config, done), assignment)


def _raise_if_all_fail(error: Exception) -> None:
    """Raise what every scenario would meet: a model that plays tools and refuses all further calls."""
    if getattr(error, "stops", False):
        raise error
