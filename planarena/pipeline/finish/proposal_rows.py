"""Rows of what models proposed, kept or not, and what they cost."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from planarena.generate.model_records import Written
from planarena.records.canonical import canonical_json, content_id
from planarena.records.tables import ProposalRow, TrajectoryRow

if TYPE_CHECKING:
    from planarena.pipeline.finish.scenario_rows import ScenarioRows

__all__ = ["count_written", "write_proposals"]


def write_proposals(
    rows: ScenarioRows, gold: TrajectoryRow, written: Written, proposed: dict[str, str]
) -> None:
    """Write what models proposed for a gold trajectory, and count it.

    Args:
        rows: Where.
        gold: The gold trajectory.
        written: What models gave.
        proposed: By model call, the contrastive trajectory that its proposal became.
    """
    counts = rows.counts
    for number, one in enumerate(written.proposals):
        own = proposed.get(one.call_id) if one.part == "trajectory" else None
        rows.rows["proposals"].append(
            ProposalRow(
                proposal_id=content_id("proposal", gold.trajectory_id, one.part, number, one.call_id),
                task_id=gold.task_id,
                trajectory_id=own or gold.trajectory_id,
                step=one.step,
                part=one.part,
                model=one.model,
                prompt=one.prompt,
                llm_call_id=one.call_id,
                content=canonical_json(one.content),
                verdict=one.verdict,
                detail=one.detail,
            )
        )
    count_written(counts, written)


def count_written(counts: Counter[str], written: Written) -> None:
    """Count what models gave for a task, used or not, and what it cost."""
    for one in written.proposals:
        counts[f"proposals_{one.part}:{one.verdict}"] += 1
    for failure in written.failures:
        counts[f"llm_failures:{failure.kind}"] += 1
    counts["llm_requests"] += written.requests
    counts["llm_answers"] += written.usage.calls
    counts["llm_tokens"] += written.usage.tokens
    counts["llm_unpriced"] += written.usage.unpriced
    for model, name, number in written.usage.served:
        counts[f"llm_served:{model}\t{name}"] += number
    # Whole millionths of a dollar: sums of fractions would depend on the order of chunks.
    counts["llm_micro_usd"] += round(written.usage.usd * 1e6)
