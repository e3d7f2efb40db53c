"""The rows of a variant: a scenario of its own, its task, its words, its steps and where it comes from."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from planarena.augment.executing import Made
from planarena.augment.variant import Draft
from planarena.environments.presented import ShownTool, as_shown
from planarena.pipeline.execute.origins import tool_row
from planarena.records.canonical import canonical_json, content_id
from planarena.records.tables import (
    AtomicTaskRow,
    AugmentationRow,
    ExecutionRow,
    QueryRow,
    ScenarioRow,
    StepRow,
    TableRow,
    TaskRow,
    ToolRow,
    TrajectoryRow,
)
from planarena.tasks.algebra import parse, relabel, render

__all__ = ["VariantRows", "write_variant"]

_replace = msgspec.structs.replace
_decode = msgspec.json.decode


class VariantRows(NamedTuple):
    """The rows of one variant."""

    tools: list[ToolRow]
    scenario: ScenarioRow
    atoms: list[AtomicTaskRow]
    task: TaskRow
    query: QueryRow
    trajectory: TrajectoryRow
    steps: list[StepRow]
    executions: list[ExecutionRow]
    augmentation: AugmentationRow

    def by_table(self) -> dict[str, list[TableRow]]:
        """Return them by table, but for the tools, which variants share."""
        return {
            "scenarios": [self.scenario],
            "atomic_tasks": list(self.atoms),
            "tasks": [self.task],
            "queries": [self.query],
            "trajectories": [self.trajectory],
            "steps": list(self.steps),
            "executions": list(self.executions),
            "augmentations": [self.augmentation],
        }


def write_variant(draft: Draft, made: Made, number: int) -> VariantRows:
    """Return the rows of a variant.

    Args:
        draft: What was changed.
        made: What its execution gave.
        number: Of the variant among those of its trajectory.
    """
    case, shown = draft.case, draft.presentation
    source = case.scene.row
    tools = _tools(draft)
    names = {own: row.tool_id for own, row in tools.items()}
    withheld = [names[name] for name in case.withheld]
    environment = dict(case.scene.environment)
    if case.is_proven and shown.tools:
        environment["presented"] = msgspec.to_builtins(shown)
    missing = draft.missing >= 0
    if missing:
        withheld = [*withheld, names[case.steps[draft.missing].tool]]
    offered = list(dict.fromkeys([*draft.offered, *(own for own in tools if names[own] in withheld)]))
    key = [case.trajectory.trajectory_id, number, draft.kinds, environment, made.digest]
    scenario = _replace(
        source,
        scenario_id=content_id("augmented", *key, [names[name] for name in offered]),
        tool_ids=canonical_json([names[name] for name in offered]),
        environment=canonical_json(environment),
        seed_state=made.seed_state,
        seed_state_hash=made.digest,
    )
    task, atoms = _task(draft, made, scenario, names, withheld)
    query = _query(draft, task)
    trajectory = _trajectory(draft, task, query)
    steps, executions = ([], []) if missing else _steps(draft, made, trajectory, names)
    augmentation = AugmentationRow(
        trajectory_id=trajectory.trajectory_id,
        augmented_from=case.trajectory.trajectory_id,
        kinds=canonical_json(draft.kinds),
        proven=case.is_proven,
        detail=canonical_json(_detail(draft)),
    )
    return VariantRows(
        list(tools.values()), scenario, atoms, task, query, trajectory, steps, executions, augmentation
    )


def _tools(draft: Draft) -> dict[str, ToolRow]:
    """Return the rows of all tools of the variant's scenario by their own name."""
    case, shown = draft.case, draft.presentation.tools
    wanted = [*draft.offered, *case.withheld]
    if draft.missing >= 0:
        wanted.append(case.steps[draft.missing].tool)
    rows = {}
    for own in dict.fromkeys(wanted):
        row = case.scene.tools.get(own)
        if own in shown or row is None:
            record = case.scene.records[own]
            row = tool_row(as_shown(record, shown[own]) if own in shown else record)
        rows[own] = row
    return rows


def _task(
    draft: Draft, made: Made, scenario: ScenarioRow, names: dict[str, str], withheld: list[str]
) -> tuple[TaskRow, list[AtomicTaskRow]]:
    case = draft.case
    if draft.missing >= 0:
        empty = {"final_state_hash": made.digest, "required_outputs": []}
        task = _replace(
            case.task,
            task_id=content_id("no_call", scenario.scenario_id, "tool_missing", case.query.turns, withheld),
            scenario_id=scenario.scenario_id,
            expression="",
            canonical="",
            shape="",
            level=0,
            n_actions=0,
            n_parallel_groups=0,
            bindings="[]",
            goal=canonical_json(empty),
            over_serialised=False,
            category="tool_missing",
            withheld_tool_ids=canonical_json(withheld),
        )
        return task, []
    shown = draft.presentation
    expression = parse(case.task.canonical)
    ids = {atom: content_id("atom", scenario.scenario_id, atom) for atom in case.atoms}
    own = dict(zip(case.atoms, (call.tool for call in case.program), strict=True))
    canonical = render(relabel(expression, ids))
    bindings = _decode(case.task.bindings)
    for one in bindings:
        if "argument" in one:
            one["argument"] = _pointer(shown, case.steps[one["step"]].tool, one["argument"])
    task = _replace(
        case.task,
        task_id=content_id("task", scenario.scenario_id, canonical, bindings),
        scenario_id=scenario.scenario_id,
        expression=render(expression, lambda atom: shown.name(own[atom])),
        canonical=canonical,
        shape=_shape(case.task.shape, shown.tools),
        bindings=canonical_json(bindings),
        goal=made.goal,
        withheld_tool_ids=canonical_json(withheld),
    )
    atoms = [
        AtomicTaskRow(
            atom_id=ids[atom],
            scenario_id=scenario.scenario_id,
            tool_id=names[case.program[step].tool],
            plan="",
            arguments=canonical_json(
                made.program[step].literals
                | {binding.argument: {"$need": ""} for binding in made.program[step].bound}
            ),
            result_hash="",
        )
        for step, atom in enumerate(case.atoms)
    ]
    return task, atoms


def _shape(shape: str, shown: dict[str, ShownTool]) -> str:
    """Name tools and arguments of a shape as they are shown: `tool(argument, argument<-0/pointer)`."""

    def one(found: re.Match[str]) -> str:
        how = shown.get(found[1])
        if how is None:
            return found[0]
        parts = []
        for part in found[2].split(", ") if found[2] else []:
            name, sign, rest = part.partition("<-")
            parts.append(how.arguments.get(name, name) + sign + rest)
        return f"{how.name or found[1]}({', '.join(parts)})"

    return re.sub(r"([A-Za-z0-9_-]+)\(([^()]*)\)", one, shape)


def _pointer(shown: Any, tool: str, pointer: str) -> str:
    how = shown.tools.get(tool)
    name, slash, rest = pointer[1:].partition("/")
    return f"/{how.arguments.get(name, name) if how is not None else name}{slash}{rest}"


def _query(draft: Draft, task: TaskRow) -> QueryRow:
    query, shown = draft.case.query, draft.presentation
    query_id = content_id("query", task.task_id, _decode(query.turns), _decode(query.context))
    if draft.missing >= 0:
        checks = canonical_json({"grounded": {}})
        return _replace(query, query_id=query_id, task_id=task.task_id, checks=checks, brief="{}")
    checks = _decode(query.checks)
    grounded = {}
    for key, where in checks.get("grounded", {}).items():
        step, _, name = key.partition("/")
        number = int(step) if step.isdigit() and int(step) < len(draft.case.steps) else -1
        tool = draft.case.steps[number].tool if number >= 0 else ""
        grounded[f"{step}{_pointer(shown, tool, f'/{name}')}"] = where
    if "grounded" in checks:
        checks["grounded"] = grounded
    return _replace(query, query_id=query_id, task_id=task.task_id, checks=canonical_json(checks))


def _trajectory(draft: Draft, task: TaskRow, query: QueryRow) -> TrajectoryRow:
    before = draft.case.trajectory
    changed: dict[str, Any] = {"task_id": task.task_id, "query_id": query.query_id, "source": "augmented"}
    if draft.missing >= 0:
        changed |= {"plan": "", "response": draft.answer, "turn_responses": "[]", "n_actions": 0}
    row = _replace(before, **changed)
    key = [before.trajectory_id, row.plan, row.response]
    return _replace(row, trajectory_id=content_id("trajectory", row.task_id, row.query_id, "augmented", *key))


def _steps(
    draft: Draft, made: Made, trajectory: TrajectoryRow, names: dict[str, str]
) -> tuple[list[StepRow], list[ExecutionRow]]:
    case, shown = draft.case, draft.presentation
    steps, executions = [], []
    for number, (step, arguments) in enumerate(zip(case.steps, made.arguments, strict=True)):
        found = made.executions[number]
        tool_id = names.get(step.tool, step.tool_id)
        if case.is_proven:
            key = content_id("execution", found.state_before, tool_id, arguments)
        else:
            key = content_id("execution", trajectory.trajectory_id, found.execution_id)
        executions.append(_replace(found, execution_id=key))
        bound = {_pointer(shown, step.tool, to): source for to, source in _decode(step.bound_from).items()}
        steps.append(
            _replace(
                step,
                trajectory_id=trajectory.trajectory_id,
                tool=shown.name(step.tool),
                tool_id=tool_id,
                arguments=canonical_json(arguments),
                bound_from=canonical_json(bound),
                execution_id=key,
            )
        )
    return steps, executions


def _detail(draft: Draft) -> dict[str, Any]:
    """Return what people want to know of a variant: names before and after, what was put in or taken away."""
    shown = draft.presentation.tools
    found: dict[str, Any] = {}
    renamed = {own: one.name for own, one in shown.items() if one.name}
    if renamed:
        found["renamed"] = renamed
    if draft.order is not None:
        found["injected"] = {"step": draft.order[0], "text": draft.order[2], "tool": draft.order[3]}
    if draft.missing >= 0:
        found["missing"] = draft.case.steps[draft.missing].tool
    added = [name for name in draft.offered if name not in draft.case.scene.tools]
    if added:
        found["distractors"] = sorted(added)
    return found
