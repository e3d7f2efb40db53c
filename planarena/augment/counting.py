"""The counts of an augmented run, under the names that a build uses, and the kinds beside them."""

from __future__ import annotations

from collections import Counter

import msgspec

from planarena.augment.cases import Case
from planarena.augment.making import Outcome
from planarena.environments.catalog import group_of

__all__ = ["count"]


def count(counts: Counter[str], case: Case, outcome: Outcome) -> None:
    """Add what became of a variant."""
    counts["augment_tried"] += 1
    for discard in outcome.discards:
        counts[f"discard:{discard.stage}:{discard.reason}"] += 1
    rows = outcome.rows
    if rows is None:
        counts["augment_without_variant"] += 1
        return
    environment = case.scene.environment
    kind = (
        rows.executions[0].execution_kind
        if rows.executions
        else str(environment.get("execution_kind", "real"))
    )
    domain = group_of(rows.scenario.domain)
    kinds = msgspec.json.decode(rows.augmentation.kinds)
    counts.update(f"augmented:{one}" for one in kinds)
    counts["augmented_proven" if case.is_proven else "augmented_unproven"] += 1
    counts["augmented_kinds:" + " + ".join(kinds)] += 1
    counts["scenarios"] += 1
    counts[f"scenario_split:{rows.scenario.split}"] += 1
    counts[f"domain_scenarios:{domain}"] += 1
    counts[f"scenario_kind:{kind}"] += 1
    if environment.get("state_observable", True):
        counts[f"scenario_observable:{kind}"] += 1
    counts[f"stop:{rows.task.stop_reason}"] += 1
    counts["state_bytes"] += len(rows.scenario.seed_state)
    if rows.task.category != "call":
        counts["no_call"] += 1
        counts[f"no_call_category:{rows.task.category}"] += 1
        return
    counts[f"executions:{kind}"] += len(rows.executions)
    _count_gold(counts, case, outcome, kind, domain)


def _count_gold(counts: Counter[str], case: Case, outcome: Outcome, kind: str, domain: str) -> None:
    rows = outcome.rows
    assert rows is not None
    bindings = msgspec.json.decode(rows.task.bindings)
    groups = Counter((step.turn, step.group) for step in rows.steps)
    counts["gold"] += 1
    counts[f"gold_kind:{kind}"] += 1
    counts[f"gold_domain:{domain}"] += 1
    counts[f"gold_length:{len(rows.steps)}"] += 1
    counts[f"gold_level:{rows.task.level}"] += 1
    counts[f"gold_register:{rows.query.register}"] += 1
    counts[f"gold_turns:{len(case.turns)}"] += 1
    counts[f"gold_conversation:{rows.task.conversation}"] += 1
    counts["gold_parallel"] += any(size > 1 for size in groups.values())
    counts["gold_data_edge"] += any(one["kind"] == "data" for one in bindings)
    counts["gold_order_edge"] += any(one["kind"] == "order" for one in bindings)
    counts["gold_over_serialised"] += rows.task.over_serialised
    counts[f"gold_chain:{1 + max(step.group for step in rows.steps)}"] += 1
    counts["steps"] += len(rows.steps)
    if not case.is_proven:
        counts["gold_unproven"] += 1
    for step in rows.steps:
        counts[f"tool_steps:{step.tool}"] += 1
