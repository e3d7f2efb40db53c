"""The rows of one scenario: itself, its gold trajectories and its discards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from planarena.config import PLAIN, SplitConfig
from planarena.environments.catalog import goals_of, group_of
from planarena.episodes import ExecutedCall, Goal
from planarena.pipeline.finish.keys import masked_shape
from planarena.pipeline.products import Discard, Executed, ExecutedScenario, Language, Origin, Step
from planarena.quality.splits import split_of
from planarena.records.canonical import canonical_json, content_id
from planarena.records.tables import (
    AtomicTaskRow,
    DiscardRow,
    EdgeRow,
    ExecutionRow,
    QueryRow,
    ScenarioRow,
    StepRow,
    TableRow,
    TaskRow,
    TrajectoryRow,
)
from planarena.tasks.algebra import parse, render

__all__ = ["ANSWER_CHECK", "ScenarioRows"]

# The execution kind of an answer: no tool was called, the goal and what the answer tells were checked.
ANSWER_CHECK = "answer_check"


class ScenarioRows:
    """Writes the rows of one scenario: itself, its gold trajectories and its discards.

    `planarena.pipeline.finish.contrast_rows` adds what goes beyond gold.
    """

    def __init__(
        self,
        split: SplitConfig,
        scenario: ExecutedScenario,
        origin: Origin,
        rows: dict[str, list[TableRow]],
        counts: Counter[str],
        *,
        executions: set[str],
        vendors: bool = False,
    ) -> None:
        self.split = split
        self.scenario, self.rows, self.counts = scenario, rows, counts
        self.environment = origin.environment
        self.tools = {name: origin.tools[name] for name in scenario.tools}
        # Thousands of units would make thousands of counts: under quotas vendors are counted in their place.
        self.group = self.tools[scenario.tools[0]].vendor if vendors else group_of(scenario.domain)
        self.by_tool = not vendors
        # Of the chunk: conversations in a scenario of their own share states with the one that they come from.
        self.executions = executions
        self.execution_kind = str(origin.environment.get("execution_kind", "real"))
        self.once = False  # what is written belongs to a trajectory that was executed once
        self.is_live = self.environment["safety"] == "live"

    def open(self) -> None:
        """Write the scenario, its atoms and edges."""
        scenario = self.scenario
        split = split_of(self.split, scenario.origin or scenario.scenario_id, scenario.domains)
        self.counts[f"scenario_split:{split}"] += 1
        self.rows["scenarios"].append(
            ScenarioRow(
                scenario_id=scenario.scenario_id,
                title=scenario.title,
                description=scenario.description,
                domain=scenario.domain,
                tool_ids=canonical_json([self.tools[name].tool_id for name in scenario.tools]),
                environment=canonical_json(self.environment),
                context=canonical_json(scenario.facts),
                seed_state=scenario.seed_state,
                seed_state_hash=scenario.seed_state_hash,
                split=split,
            )
        )
        for atom, result in zip(scenario.atoms, scenario.atom_results, strict=True):
            tool = self.tools[atom.tool]
            arguments = {**atom.arguments, **{name: {"$need": semantic} for name, semantic in atom.needs}}
            self.rows["atomic_tasks"].append(
                AtomicTaskRow(
                    atom_id=atom.atom_id,
                    scenario_id=scenario.scenario_id,
                    tool_id=tool.tool_id,
                    plan=tool.description.split(". ")[0].rstrip("."),
                    arguments=canonical_json(arguments),
                    result_hash=result,
                )
            )
        for edge in scenario.edges:
            if edge.accepted:
                self.rows["edges"].append(
                    EdgeRow(
                        scenario_id=scenario.scenario_id,
                        producer_tool_id=self.tools[edge.producer].tool_id,
                        output_pointer=edge.pointer,
                        consumer_tool_id=self.tools[edge.consumer].tool_id,
                        argument_pointer=f"/{edge.argument}",
                        evidence="execution",
                        confidence=round(edge.accepted / edge.tried, 4),
                    )
                )
        self.counts["scenarios"] += 1
        self.counts[f"domain_scenarios:{self.group}"] += 1
        self.counts[f"scenario_kind:{self.execution_kind}"] += 1
        if self.environment.get("state_observable", True):
            self.counts[f"scenario_observable:{self.execution_kind}"] += 1
        self.counts[f"stop:{scenario.stop_reason}"] += 1
        self.counts["candidates_tried"] += scenario.tried
        self.counts["state_bytes"] += len(scenario.seed_state)

    def discard(self, discard: Discard) -> None:
        """Write why a candidate is not part of the data."""
        scenario_id = self.scenario.scenario_id
        self.rows["discards"].append(
            DiscardRow(
                content_id(
                    "discard", scenario_id, discard.expression, discard.stage, discard.reason, discard.detail
                ),
                scenario_id,
                discard.expression,
                discard.stage,
                discard.reason,
                discard.detail[:2000],
            )
        )
        self.counts[f"discard:{discard.stage}:{discard.reason}"] += 1

    def gold(self, task: Executed, said: Language) -> tuple[TrajectoryRow, list[str]]:
        """Write a gold trajectory, its task and its query; return its row and the ids of its executions."""
        scenario = self.scenario
        self.once = task.unproven
        expression = parse(task.expression)
        names = {str(step.atom): scenario.atoms[step.atom].tool for step in task.steps}
        ids = {str(step.atom): scenario.atoms[step.atom].atom_id for step in task.steps}
        canonical = render(expression, ids.__getitem__)
        bindings = _bindings(task)
        groups = Counter(step.group for step in task.steps)
        task_id = content_id("task", scenario.scenario_id, canonical, bindings)
        query_id = content_id("query", task_id, said.turns, said.context)
        execution_ids = [self.executed(step, proven=not task.unproven) for step in task.steps]
        trajectory_id = content_id(
            "trajectory", task_id, query_id, "gold", execution_ids, said.plan, said.response
        )
        self.rows["tasks"].append(
            TaskRow(
                task_id=task_id,
                scenario_id=scenario.scenario_id,
                expression=render(expression, names.__getitem__),
                canonical=canonical,
                shape=masked_shape(scenario, task),
                level=task.level,
                n_actions=len(task.steps),
                n_parallel_groups=sum(size > 1 for size in groups.values()),
                bindings=canonical_json(bindings),
                goal=canonical_json(_goal(task)),
                stop_reason=scenario.stop_reason,
                over_serialised=task.over_serialised,
                category="call",
                withheld_tool_ids="[]",
                conversation=task.talk.kind or PLAIN,
            )
        )
        self.rows["queries"].append(
            QueryRow(
                query_id=query_id,
                task_id=task_id,
                turns=canonical_json(said.turns),
                context=canonical_json(said.context),
                register=said.register,
                llm_call_id=said.written.call_of("query", "user") if said.written is not None else "",
                checks=canonical_json(said.checks),
                brief=canonical_json(msgspec.to_builtins(said.brief)),
            )
        )
        gold = TrajectoryRow(
            trajectory_id=trajectory_id,
            task_id=task_id,
            query_id=query_id,
            kind="gold",
            source="llm" if said.written is not None and said.written.wrote else "offline",
            parent_id="",
            diverge_step=-1,
            mutation="",
            plan=said.plan,
            turn_responses=canonical_json(said.turn_responses),
            response=said.response,
            n_actions=len(task.steps),
            minimal=not task.unproven,
            reaches_goal=True,
        )
        self.rows["trajectories"].append(gold)
        self._steps(trajectory_id, task, said, execution_ids)
        self._count(task, said, groups)
        return gold, execution_ids

    def _steps(
        self, trajectory_id: str, task: Executed, said: Language, execution_ids: Sequence[str]
    ) -> None:
        """Write the steps of a gold trajectory."""
        rationales = (said.written.rationales if said.written is not None else ()) or ("",) * len(task.steps)
        failed = {act.step for act in task.talk.acts if act.what == "fails" and act.argument == "for good"}
        for number, (step, plan) in enumerate(zip(task.steps, said.step_plans, strict=True)):
            turn = said.turn_of[number]
            # What fails for good is asked for, and told, though there is nothing to report.
            asked = self.asked(task, number, said.turn_of) or number in failed
            self.step(
                trajectory_id,
                number,
                step,
                plan,
                execution_ids[number],
                turn,
                rationales[number],
                asked=asked,
            )

    def asked(self, task: Executed, number: int, turn_of: Sequence[int]) -> bool:
        """Tell whether a step is asked for by itself.

        A write that a later step of the same message goes on with (a draft to be sent, a hold on which a seat is
        chosen) is implied by that step, though the answer tells of both.
        """
        elsewhere = any(
            step == number and name in goals_of(one.domain)[one.name].told_by
            for one in task.aims
            for step, name, _ in one.calls
        )
        if number not in task.reported and not elsewhere:
            return False
        call = task.steps[number]
        if call.state_before == call.state_after:
            return True
        return all(
            source != number or turn_of[later] != turn_of[number]
            for later, step in enumerate(task.steps)
            for _, source, _ in step.bound
        )

    def executed(self, attempt: ExecutedCall, *, proven: bool) -> str:
        """Write an execution, unless it was written before, and return its id.

        That of an answer, which calls no tool, is the check of the goal at the end of its episode.
        """
        tool = self.tools.get(attempt.tool)
        name = tool.tool_id if tool is not None else attempt.tool
        identity: list[Any] = [attempt.state_before, name, attempt.arguments]
        if self.is_live:
            # Nobody sees the state of what is live: equal calls may give other results at another time.
            identity += [attempt.result, attempt.error, self.once]
        elif not attempt.tool:
            # What was observed before decides too, and the state does not hold it.
            identity.append(attempt.result)
        kind = self.execution_kind if attempt.tool else ANSWER_CHECK
        execution_id = content_id("execution", *identity)
        # The same call from the same state is one execution, however many trajectories make it.
        if execution_id not in self.executions:
            self.executions.add(execution_id)
            self.rows["executions"].append(
                ExecutionRow(
                    execution_id=execution_id,
                    status=attempt.status,
                    result=canonical_json(attempt.result),
                    error=canonical_json(attempt.error),
                    state_before=attempt.state_before,
                    state_after=attempt.state_after,
                    execution_kind=kind,
                    proven=proven,
                )
            )
            self.counts[f"executions:{kind}"] += 1
        return execution_id

    def step(
        self,
        trajectory_id: str,
        number: int,
        step: Step,
        plan: str,
        execution_id: str,
        turn: int,
        rationale: str = "",
        *,
        asked: bool,
    ) -> None:
        """Write one gold step of a trajectory."""
        bound = {
            f"/{argument}": {"step": source, "pointer": pointer} for argument, source, pointer in step.bound
        }
        self.rows["steps"].append(
            StepRow(
                trajectory_id=trajectory_id,
                step=number,
                group=step.group,
                turn=turn,
                tool=self.scenario.atoms[step.atom].tool,
                tool_id=self.tools[self.scenario.atoms[step.atom].tool].tool_id,
                plan=plan,
                arguments=canonical_json(step.arguments),
                bound_from=canonical_json(bound),
                execution_id=execution_id,
                rationale=rationale,
                asked=asked,
            )
        )

    def _count(self, task: Executed, said: Language, groups: Counter[int]) -> None:
        counts = self.counts
        counts["gold"] += 1
        counts[f"gold_kind:{self.execution_kind}"] += 1
        counts[f"gold_domain:{self.group}"] += 1
        counts[f"gold_length:{len(task.steps)}"] += 1
        counts[f"gold_level:{task.level}"] += 1
        counts[f"gold_register:{said.register}"] += 1
        counts[f"gold_turns:{len(said.turns)}"] += 1
        counts[f"gold_conversation:{task.talk.kind or PLAIN}"] += 1
        counts["gold_parallel"] += any(size > 1 for size in groups.values())
        counts.update({"gold_unproven": 1} if task.unproven else {})
        counts["gold_data_edge"] += any(step.bound for step in task.steps)
        counts["gold_order_edge"] += bool(task.order_edges)
        counts["gold_over_serialised"] += task.over_serialised
        counts[f"gold_chain:{_longest_chain(task)}"] += 1
        counts["steps"] += len(task.steps)
        for step in task.steps if self.by_tool else ():
            counts[f"tool_steps:{self.scenario.atoms[step.atom].tool}"] += 1


def _longest_chain(task: Executed) -> int:
    return 1 + max(step.group for step in task.steps)


def _goal(task: Executed) -> dict[str, Any]:
    stated = _stated(task.goal)
    if task.talk.goals:
        stated["messages"] = [_stated(goal) for goal in task.talk.goals]
    return stated | ({"unproven": True} if task.unproven else {})


def _stated(goal: Goal) -> dict[str, Any]:
    outputs = [
        {
            "tool": output.tool,
            "values": [{"pointer": _pointer(path), "value": value} for path, value in output.values],
            **({"error": output.error} if output.error else {}),
        }
        for output in goal.required_outputs
    ]
    return {"final_state_hash": goal.final_state_hash, "required_outputs": outputs}


def _bindings(task: Executed) -> list[dict[str, Any]]:
    data = [
        {"step": number, "argument": f"/{argument}", "from_step": source, "pointer": pointer, "kind": "data"}
        for number, step in enumerate(task.steps)
        for argument, source, pointer in step.bound
    ]
    order = [
        {"step": later, "from_step": earlier, "kind": "order", "evidence": change}
        for earlier, later, change in task.order_edges
    ]
    return data + order


def _pointer(path: Sequence[str | int]) -> str:
    return "".join("/" + str(word).replace("~", "~0").replace("/", "~1") for word in path)
