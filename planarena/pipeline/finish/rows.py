"""Phase 3, quality: the rows of the items that are kept, in every table.

Deciding is the parent's part and goes in chunk order (`planarena.quality.choice`); writing the rows is a worker's
(`rows_of_chunk`) and depends on nothing but the chunk's products and the decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from planarena.config import BuildConfig
from planarena.generate.model_records import IMPLAUSIBLE
from planarena.pipeline.execute.origins import origin_of
from planarena.pipeline.finish.contrast_rows import write_contrast, write_no_call
from planarena.pipeline.finish.proposal_rows import count_written, write_proposals
from planarena.pipeline.finish.scenario_rows import ScenarioRows
from planarena.pipeline.products import (
    Discard,
    Executed,
    ExecutedChunk,
    ExecutedScenario,
    Language,
    LanguageChunk,
    Origin,
)
from planarena.quality.choice import BALANCE, DROP, DUPLICATE, KEEP
from planarena.quality.fingerprints import fingerprint
from planarena.records.tables import TableRow, ToolRow

__all__ = ["rows_of_chunk"]


_REFUSED = {
    DROP: ("duplicate", "same_tools"),
    DUPLICATE: ("duplicate", "same_query_and_shape"),
    BALANCE: ("balance", "beyond_the_mix"),
}


def rows_of_chunk(
    config: BuildConfig,
    executed: ExecutedChunk,
    language: LanguageChunk,
    decisions: bytes,
    new_tools: Collection[int] = (),
) -> tuple[dict[str, list[TableRow]], dict[str, Any]]:
    """Return the rows of every table that a chunk contributes to, and its counts.

    Args:
        config: The build.
        executed: Phase 1.
        language: Phase 2.
        decisions: One byte per item, in order (see `planarena.quality.choice`); it may end early:
            later items of the chunk are not part of the run.
        new_tools: Under quotas: fingerprints of the tools whose rows this chunk writes.

    Returns:
        Rows by table, and counts that add up over chunks.
    """
    rows: dict[str, list[TableRow]] = {
        name: []
        for name in (
            "decision_points",
            "edges",
            "scenarios",
            "atomic_tasks",
            "tasks",
            "queries",
            "trajectories",
            "steps",
            "executions",
            "discards",
            *(("proposals",) if config.models.active else ()),
        )
    }
    if config.quotas.enabled:
        rows["tools"] = []
    wanted = set(new_tools)
    counts: Counter[str] = Counter()
    executions: set[str] = set()
    place = 0
    for index, (scenario, words) in enumerate(zip(executed.scenarios, language.items, strict=True)):
        if place >= len(decisions):
            break
        origin = origin_of(config, scenario, executed.origins)
        if wanted:
            rows["tools"] += _taken(scenario, origin, wanted)
        writer = ScenarioRows(
            config.split,
            scenario,
            origin,
            rows,
            counts,
            executions=executions,
            vendors=config.quotas.enabled,
        )
        if config.quotas.enabled and KEEP not in decisions[place : place + len(scenario.items)]:
            # Without a trajectory of its own tool set it is no scenario of the run; why is kept.
            for item, said in zip(scenario.items, words, strict=True):
                if place < len(decisions):
                    _add(writer, item, said, decisions[place])
                    place += 1
            continue
        writer.open()
        for item, said in zip(scenario.items, words, strict=True):
            if place >= len(decisions):
                break
            _add(writer, item, said, decisions[place])
            place += 1
        else:
            for number, refused in enumerate(language.no_calls[index]):
                write_no_call(writer, number, refused)
    for entry in executed.quarantine:
        counts[f"quarantined:{entry.error}"] += 1
    return rows, dict(sorted(counts.items()))


def _add(rows: ScenarioRows, item: Executed | Discard, said: Language | Discard, decision: int) -> None:
    """Write one item: a gold trajectory with all that belongs to it, or a discard."""
    if isinstance(item, Discard):
        rows.discard(item)
    elif isinstance(said, Discard):
        rows.discard(said)
    elif said.written is not None and said.written.refused:
        # Paid for and counted, but no trajectory: nobody would ask for it.
        tools = ", ".join(rows.scenario.atoms[step.atom].tool for step in item.steps)
        why = next(one.detail for one in said.written.proposals if one.part == "plausible")
        rows.discard(Discard(tools, "models", f"{IMPLAUSIBLE}_{said.written.refused}", why))
        count_written(rows.counts, said.written)
    elif decision != KEEP:
        tools = ", ".join(rows.scenario.atoms[step.atom].tool for step in item.steps)
        rows.discard(Discard(tools, *_REFUSED[decision], said.turns[0]))
    else:
        gold, execution_ids = rows.gold(item, said)
        proposed: dict[str, str] = {}
        if said.contrast is not None:
            proposed = write_contrast(rows, gold, item, said, said.contrast, execution_ids)
        if said.written is not None:
            write_proposals(rows, gold, said.written, proposed)


def _taken(scenario: ExecutedScenario, origin: Origin, wanted: set[int]) -> Iterator[ToolRow]:
    """Yield the rows of a scenario's tools that are wanted, and want them no more."""
    for name in scenario.tools:
        tool = origin.tools[name]
        mark = fingerprint(tool.tool_id)
        if mark in wanted and tool.row is not None:
            wanted.discard(mark)
            yield tool.row
