"""Rows beyond gold: decision points, contrastive trajectories, and requests without a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planarena.generate.relevance import METHOD
from planarena.pipeline.products import Candidate, Contrast, Contrastive, Executed, Language, NoCall
from planarena.records.canonical import canonical_json, content_id
from planarena.records.tables import DecisionPointRow, QueryRow, StepRow, TaskRow, TrajectoryRow

if TYPE_CHECKING:
    from planarena.pipeline.finish.scenario_rows import ScenarioRows

__all__ = ["write_contrast", "write_no_call"]


def write_contrast(
    rows: ScenarioRows,
    gold: TrajectoryRow,
    task: Executed,
    said: Language,
    contrast: Contrast,
    execution_ids: Sequence[str],
) -> dict[str, str]:
    """Write the decision points of a gold trajectory and the trajectories that depart from it.

    Returns:
        By call of the model that proposed it, the id of a trajectory.
    """
    _write_decision_points(rows, gold.trajectory_id, contrast, execution_ids)
    proposed: dict[str, str] = {}
    for wrong in contrast.trajectories:
        trajectory_id = _write_contrastive(rows, gold, task, said, wrong, execution_ids)
        if wrong.call_id:
            proposed[wrong.call_id] = trajectory_id
    return proposed


def _write_decision_points(
    rows: ScenarioRows, trajectory_id: str, contrast: Contrast, execution_ids: Sequence[str]
) -> None:
    for step, candidates in enumerate(contrast.points):
        prefix = content_id("prefix", rows.scenario.scenario_id, execution_ids[:step])
        rows.rows["decision_points"].append(
            DecisionPointRow(
                decision_point_id=content_id("decision_point", trajectory_id, step),
                trajectory_id=trajectory_id,
                step=step,
                prefix_hash=prefix,
                candidates=canonical_json([_entry(rows, one, execution_ids) for one in candidates]),
            )
        )
        rows.counts["decision_points"] += 1
    for turn, step, candidates in contrast.answers:
        rows.rows["decision_points"].append(
            DecisionPointRow(
                decision_point_id=content_id("decision_point", trajectory_id, step, turn),
                trajectory_id=trajectory_id,
                step=step,
                prefix_hash=content_id("prefix", rows.scenario.scenario_id, execution_ids[:step]),
                candidates=canonical_json([_entry(rows, one, execution_ids) for one in candidates]),
                turn=turn,
            )
        )
        rows.counts["decision_points"] += 1


def _write_contrastive(
    rows: ScenarioRows,
    gold: TrajectoryRow,
    task: Executed,
    said: Language,
    wrong: Contrastive,
    execution_ids: Sequence[str],
) -> str:
    ids = [
        *execution_ids[: wrong.diverge_step],
        *(rows.executed(one, proven=False) for one in wrong.attempts),
    ]
    trajectory_id = content_id("trajectory", gold.task_id, gold.query_id, "contrastive", ids, wrong.response)
    rows.rows["trajectories"].append(
        TrajectoryRow(
            trajectory_id=trajectory_id,
            task_id=gold.task_id,
            query_id=gold.query_id,
            kind="contrastive",
            source="llm" if wrong.call_id else "mutation",
            parent_id=gold.trajectory_id,
            diverge_step=wrong.diverge_step,
            mutation=wrong.mutation,
            plan=gold.plan,
            turn_responses=gold.turn_responses,
            response=wrong.response,
            n_actions=len(ids),
            minimal=False,
            reaches_goal=False,
        )
    )
    steps = list(task.steps[: wrong.diverge_step])
    for number, (step, plan) in enumerate(zip(steps, said.step_plans, strict=False)):
        asked = rows.asked(task, number, said.turn_of)
        rows.step(trajectory_id, number, step, plan, ids[number], said.turn_of[number], asked=asked)
    last_group = steps[-1].group if steps else -1
    # A proposal may do all that the gold does, and more.
    last_turn = said.turn_of[min(wrong.diverge_step, len(task.steps) - 1)]
    for offset, (attempt, plan) in enumerate(zip(wrong.attempts, wrong.step_plans, strict=True)):
        number = wrong.diverge_step + offset
        tool = rows.tools.get(attempt.tool)
        rows.rows["steps"].append(
            StepRow(
                trajectory_id=trajectory_id,
                step=number,
                group=last_group + 1 + offset,
                turn=last_turn,
                tool=attempt.tool,
                tool_id=tool.tool_id if tool is not None else "",
                plan=plan,
                arguments=canonical_json(attempt.arguments),
                bound_from="{}",
                execution_id=ids[number],
                rationale="",
                asked=False,
            )
        )
    rows.counts["contrastive"] += 1
    rows.counts[f"contrastive_kind:{rows.execution_kind}"] += 1
    rows.counts[f"contrastive_mutation:{wrong.mutation}"] += 1
    return trajectory_id


def _entry(rows: ScenarioRows, candidate: Candidate, gold: Sequence[str] = ()) -> dict[str, Any]:
    tool = rows.tools.get(candidate.tool)
    if candidate.gold >= 0:
        execution_id = gold[candidate.gold]
    else:
        execution_id = rows.executed(candidate.attempt, proven=False) if candidate.attempt else ""
    entry: dict[str, Any] = {
        "tool": candidate.tool,
        "tool_id": tool.tool_id if tool is not None else "",
        "arguments": candidate.arguments,
        "outcome": candidate.outcome,
        "relevance": candidate.relevance,
        "relevance_method": candidate.scorer or METHOD,
        "mutation": candidate.mutation,
        "execution_id": execution_id,
    }
    if not candidate.tool:
        entry["response"] = candidate.response
    if candidate.beside is not None:
        second = rows.executed(candidate.second, proven=False) if candidate.second else ""
        entry["beside"] = {
            "tool": candidate.beside[0],
            "arguments": candidate.beside[1],
            "execution_id": second,
        }
    if candidate.model:
        entry["model"] = candidate.model
    rows.counts[f"candidates:{candidate.outcome}"] += 1
    if candidate.mutation:
        rows.counts[f"mutations:{candidate.mutation}"] += 1
    return entry


def write_no_call(rows: ScenarioRows, number: int, item: NoCall) -> None:
    """Write a request without a call: a task of no actions whose gold trajectory only answers."""
    scenario = rows.scenario
    withheld = [rows.tools[name].tool_id for name in item.withheld]
    task_id = content_id("no_call", scenario.scenario_id, item.category, number, item.query, withheld)
    query_id = content_id("query", task_id, [item.query], [])
    trajectory_id = content_id("trajectory", task_id, query_id, "gold", [], "", item.response)
    rows.rows["tasks"].append(
        TaskRow(
            task_id=task_id,
            scenario_id=scenario.scenario_id,
            expression="",
            canonical="",
            shape="",
            level=0,
            n_actions=0,
            n_parallel_groups=0,
            bindings="[]",
            goal=canonical_json({"final_state_hash": scenario.seed_state_hash, "required_outputs": []}),
            stop_reason=scenario.stop_reason,
            over_serialised=False,
            category=item.category,
            withheld_tool_ids=canonical_json(withheld),
        )
    )
    rows.rows["queries"].append(
        QueryRow(
            query_id=query_id,
            task_id=task_id,
            turns=canonical_json([item.query]),
            context="[]",
            register="plain",
            llm_call_id="",
            checks=canonical_json({"grounded": {}}),
        )
    )
    rows.rows["trajectories"].append(
        TrajectoryRow(
            trajectory_id=trajectory_id,
            task_id=task_id,
            query_id=query_id,
            kind="gold",
            source="offline",
            parent_id="",
            diverge_step=-1,
            mutation="",
            plan="",
            turn_responses="[]",
            response=item.response,
            n_actions=0,
            minimal=True,
            reaches_goal=True,
        )
    )
    rows.counts["no_call"] += 1
    rows.counts[f"no_call_category:{item.category}"] += 1
    if item.choices:
        rows.rows["decision_points"].append(
            DecisionPointRow(
                decision_point_id=content_id("decision_point", trajectory_id, 0),
                trajectory_id=trajectory_id,
                step=0,
                prefix_hash=content_id("prefix", scenario.scenario_id, []),
                candidates=canonical_json([_entry(rows, one) for one in item.choices]),
            )
        )
        rows.counts["decision_points"] += 1
