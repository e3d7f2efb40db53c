"""Corrected calls, executed again: the corrections that run become new gold candidates, a run of their own.

The correction takes the place of the step that was named wrong. What follows is the rest of the trajectory, or,
where it departed from a gold one, the rest of that; values that were bound to earlier outputs are bound anew. A
correction is accepted if every call succeeds and the task's goal is reached; or, where the gold trajectory itself
was corrected, if what its answer reports is still what was observed: the goal then becomes the state that the
corrected steps reach. The result is a folder `RUN/audit/corrections` that can be audited and exported as any run.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from planarena.annotation.answers import audit_folder
from planarena.annotation.forms import Answer
from planarena.annotation.labels import Correction, read_correction
from planarena.environments.wording import parse_pointer
from planarena.environments.world import World
from planarena.episodes import Episode, reached
from planarena.episodes.episode import ExecutedCall
from planarena.proofs import open_scenario, read_goal
from planarena.records import FORMAT_VERSION, Run, read_rows, write_shard
from planarena.records.canonical import canonical_json, content_id
from planarena.records.shards import write_durably
from planarena.records.tables import (
    ExecutionRow,
    QueryRow,
    ScenarioRow,
    StepRow,
    TaskRow,
    ToolRow,
    TrajectoryRow,
)
from planarena.tasks.atoms import resolve

__all__ = ["Outcome", "correct_run", "offered_schemas"]


class Outcome(NamedTuple):
    """What became of one correction.

    Attributes:
        trajectory_id: What was corrected.
        annotator: By whom.
        new_id: The new trajectory; empty where it was refused.
        reason: Why it was refused.
    """

    trajectory_id: str
    annotator: str
    new_id: str
    reason: str


class _Shard(NamedTuple):
    trajectories: dict[str, TrajectoryRow]
    parents: dict[str, TrajectoryRow]
    tasks: dict[str, TaskRow]
    queries: dict[str, QueryRow]
    scenarios: dict[str, ScenarioRow]
    executions: dict[str, ExecutionRow]
    steps: dict[str, list[StepRow]]


class _Planned(NamedTuple):
    """A call to make: fixed arguments, and those that come from outputs: (argument, step, pointer).

    `fails` is the status that the gold trajectory met here where it went on after a failed call; else it is empty.
    """

    tool: str
    step: StepRow
    arguments: dict[str, Any]
    bound: dict[str, dict[str, Any]]
    fails: str


def offered_schemas(run: Run, wanted: Iterable[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return, by trajectory, the input schemas of the tools of its scenario.

    Args:
        run: The run.
        wanted: Ids of trajectories.
    """
    names = set(wanted)
    tools = _tools(run)
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for path in run.shards("trajectories") if names else ():
        shard = _read_shard(run, path.stem, names)
        for name, row in shard.trajectories.items():
            scenario = shard.scenarios[shard.tasks[row.task_id].scenario_id]
            offered = [tools[one] for one in msgspec.json.decode(scenario.tool_ids, type=list[str])]
            found[name] = {tool.wire_name: msgspec.json.decode(tool.input_schema) for tool in offered}
    return found


def correct_run(run: Run, answers: Sequence[Answer]) -> list[Outcome]:
    """Execute all corrected calls of a run and write the accepted ones as the run `RUN/audit/corrections`.

    Args:
        run: The run.
        answers: Checked; an adjudicator's correction of a trajectory stands before the annotators'.

    Returns:
        What became of each, in the order of their trajectories.
    """
    wished: dict[str, list[Answer]] = {}
    for one in answers:
        if one.values.get("corrected_call") and one.form != "decisions":
            wished.setdefault(one.item_id, []).append(one)
    target = Run(audit_folder(run) / "corrections")
    shutil.rmtree(target.path, ignore_errors=True)
    tools = _tools(run)
    outcomes: list[Outcome] = []
    accepted = 0
    for path in run.shards("trajectories") if wished else ():
        shard = _read_shard(run, path.stem, set(wished))
        made = _Made(tools)
        for name in sorted(shard.trajectories.keys() & wished.keys()):
            changed = [one for one in wished[name] if not _is_as_it_was(shard, one)]
            outcomes += [_correct(shard, made, one) for one in sorted(changed, key=_first)]
        made.write(target, path.stem)
        accepted += len(made.trajectories)
    if accepted:
        write_shard(target.path, "tools", "tools", list(tools.values()))
        _write_info(run, target, accepted)
    else:
        shutil.rmtree(target.path, ignore_errors=True)
    return outcomes


def _first(answer: Answer) -> tuple[bool, str]:
    return answer.form != "adjudication", answer.annotator


def _is_as_it_was(shard: _Shard, answer: Answer) -> bool:
    """Say whether a corrected call is the one that the page filled in: a failed one, left as it was."""
    try:
        written = msgspec.json.decode(answer.values["corrected_call"])
    except msgspec.DecodeError:
        return False
    return any(
        written == {"name": step.tool, "arguments": msgspec.json.decode(step.arguments)}
        for step in shard.steps.get(answer.item_id, [])
        if shard.executions[step.execution_id].status != "ok"
    )


def _tools(run: Run) -> dict[str, ToolRow]:
    return {row.tool_id: row for path in run.shards("tools") for row in read_rows(path, "tools")}


def _read_shard(run: Run, name: str, wanted: set[str]) -> _Shard:
    def read(table: str) -> list[Any]:
        path = run.path / "tables" / table / f"{name}.parquet"
        return read_rows(path, table) if path.is_file() else []

    every = {row.trajectory_id: row for row in read("trajectories")}
    mine = {key: row for key, row in every.items() if key in wanted}
    if not mine:
        return _Shard({}, {}, {}, {}, {}, {}, {})
    needed = mine.keys() | {row.parent_id for row in mine.values()}
    steps: dict[str, list[StepRow]] = {}
    for step in sorted(read("steps"), key=lambda step: (step.trajectory_id, step.step)):
        if step.trajectory_id in needed:
            steps.setdefault(step.trajectory_id, []).append(step)
    return _Shard(
        trajectories=mine,
        parents={key: row for key, row in every.items() if key in needed},
        tasks={row.task_id: row for row in read("tasks")},
        queries={row.query_id: row for row in read("queries")},
        scenarios={row.scenario_id: row for row in read("scenarios")},
        executions={row.execution_id: row for row in read("executions")},
        steps=steps,
    )


class _Made:
    """The rows of the new run's shard; a row that several trajectories share is written once."""

    def __init__(self, tools: Mapping[str, ToolRow]) -> None:
        self.names = {tool.tool_id: tool.wire_name for tool in tools.values()}
        self.tools = {tool.wire_name: tool for tool in tools.values()}
        self.trajectories: dict[str, TrajectoryRow] = {}
        self.tasks: dict[str, TaskRow] = {}
        self.queries: dict[str, QueryRow] = {}
        self.scenarios: dict[str, ScenarioRow] = {}
        self.executions: dict[str, ExecutionRow] = {}
        self.steps: list[StepRow] = []

    def write(self, target: Run, shard: str) -> None:
        if not self.trajectories:
            return
        for table in ("scenarios", "tasks", "queries", "executions", "trajectories"):
            rows: dict[str, Any] = getattr(self, table)
            write_shard(target.path, table, shard, list(rows.values()))
        write_shard(target.path, "steps", shard, self.steps)


def _correct(shard: _Shard, made: _Made, answer: Answer) -> Outcome:
    row = shard.trajectories[answer.item_id]
    task = shard.tasks[row.task_id]
    scenario = shard.scenarios[task.scenario_id]
    offered = msgspec.json.decode(scenario.tool_ids, type=list[str])
    schemas = {
        made.names[one]: msgspec.json.decode(made.tools[made.names[one]].input_schema) for one in offered
    }
    correction = read_correction(answer.values["corrected_call"], schemas)

    def refuse(reason: str) -> Outcome:
        return Outcome(answer.item_id, answer.annotator, "", reason)

    if correction.error or correction.arguments is None:
        return refuse(f"the corrected call {correction.error}")
    wrong = int(answer.values.get("first_wrong_step", 0)) - 1
    own = shard.steps.get(row.trajectory_id, [])
    if not 0 <= wrong < len(own):
        return refuse("the first wrong step is not named, or there is no such step")
    world = open_scenario(msgspec.structs.asdict(scenario))
    reason = ""
    for plan in _plans(shard, made, row, wrong, correction):
        mark = world.mark()
        taken, failure = _execute(world, plan)
        goal_reached = not failure and reached(
            read_goal(task.goal), world.digest(), [(one.tool, one.outcome) for one in taken]
        )
        final = world.digest()
        world.rollback(mark)
        if not failure and _execute(world, plan)[0] != taken:
            failure = "the steps give something else when they run again"
        world.rollback(mark)
        if failure:
            reason = reason or failure
            continue
        goal = task.goal if goal_reached else _new_goal(row, task, final, taken)
        if goal is None:
            reason = "the steps run, but the goal is not reached" + (
                ", and the final answer no longer says what they returned" if row.kind == "gold" else ""
            )
            continue
        return Outcome(answer.item_id, answer.annotator, _keep(shard, made, row, task, goal, plan, taken), "")
    return refuse(reason)


def _plans(
    shard: _Shard, made: _Made, row: TrajectoryRow, wrong: int, correction: Correction
) -> list[list[_Planned]]:
    """Return the sequences of calls to try: what follows the correction is what followed, or the gold rest."""
    own = shard.steps[row.trajectory_id]
    gold = shard.steps.get(row.parent_id, [])
    assert correction.arguments is not None
    # A right trajectory may go on after a call that failed for a while: the failures that it met are accepted here.
    right = gold or own
    failed = {
        step.execution_id: shard.executions[step.execution_id].status
        for step in right
        if shard.executions[step.execution_id].status != "ok"
    }

    def planned(step: StepRow, moved_from: int | None = None) -> _Planned:
        return _planned(made, step, failed.get(step.execution_id, ""), moved_from)

    instead = failed.get(right[wrong].execution_id, "") if wrong < len(right) else ""
    middle = _Planned(correction.name, own[wrong], correction.arguments, {}, instead)
    before = [planned(step) for step in own[:wrong]]
    if not gold:
        tails = [[planned(step) for step in own[wrong + 1 :]]]
    else:
        after = [planned(step) for step in gold[wrong + 1 :]]
        own_after = [planned(step) for step in own[wrong + 1 :]]
        # The correction may be a step that was missing: the whole gold rest then comes one place later.
        tails = [after, own_after, [planned(step, moved_from=wrong) for step in gold[wrong:]]]
    return [[*before, middle, *tail] for tail in tails]


def _planned(made: _Made, step: StepRow, fails: str, moved_from: int | None = None) -> _Planned:
    bound = msgspec.json.decode(step.bound_from, type=dict[str, dict[str, Any]])
    if moved_from is not None:
        bound = {
            pointer: source | {"step": source["step"] + (source["step"] >= moved_from)}
            for pointer, source in bound.items()
        }
    arguments = msgspec.json.decode(step.arguments, type=dict[str, Any])
    return _Planned(made.names.get(step.tool_id, ""), step, arguments, bound, fails)


def _execute(world: World, plan: Sequence[_Planned]) -> tuple[list[ExecutedCall], str]:
    episode = Episode(world)
    taken: list[ExecutedCall] = []
    for number, planned in enumerate(plan, 1):
        arguments = dict(planned.arguments)
        for pointer, source in planned.bound.items():
            if source["step"] >= len(taken):
                return taken, f"step {number}: a value comes from a step that is no longer before it"
            value = resolve(taken[source["step"]].outcome.result, parse_pointer(source["pointer"]))
            try:
                canonical_json(value)
            except ValueError:
                return (
                    taken,
                    f"step {number}: step {source['step'] + 1} no longer returns {source['pointer']}",
                )
            arguments[pointer.removeprefix("/")] = value
        one = episode.act(planned.tool, arguments)
        taken.append(one)
        if one.outcome.status not in ("ok", planned.fails):
            message = (one.outcome.error or {}).get("message", "")
            return taken, f"step {number} ({planned.tool}): {one.outcome.status}: {message}"
    return taken, ""


def _new_goal(row: TrajectoryRow, task: TaskRow, final: str, taken: Sequence[ExecutedCall]) -> str | None:
    """Return the goal of a corrected gold trajectory, if its answer is still true."""
    if row.kind != "gold":
        return None
    old = read_goal(task.goal)
    moved = msgspec.structs.replace(old, final_state_hash=final)
    if not reached(moved, final, [(one.tool, one.outcome) for one in taken]):
        return None
    return canonical_json(msgspec.json.decode(task.goal, type=dict[str, Any]) | {"final_state_hash": final})


def _keep(
    shard: _Shard,
    made: _Made,
    row: TrajectoryRow,
    task: TaskRow,
    goal: str,
    plan: Sequence[_Planned],
    taken: Sequence[ExecutedCall],
) -> str:
    """Note the rows of an accepted correction and return the new trajectory's id."""
    scenario = shard.scenarios[task.scenario_id]
    ids = []
    for one in taken:
        name = content_id("execution", scenario.scenario_id, one.state_before, one.tool, one.arguments)
        ids.append(name)
        made.executions[name] = ExecutionRow(
            execution_id=name,
            status=one.outcome.status,
            result=canonical_json(one.outcome.result),
            error=canonical_json(one.outcome.error),
            state_before=one.state_before,
            state_after=one.state_after,
            execution_kind=made.tools[one.tool].execution_kind,
            proven=True,
        )
    task_id = task.task_id if goal == task.goal else content_id("corrected", task.task_id, ids)
    query = shard.queries[row.query_id]
    query_id = query.query_id if task_id == task.task_id else content_id("corrected", query.query_id, task_id)
    new_id = content_id("trajectory", task_id, query_id, "correction", ids)
    if new_id in made.trajectories:
        return new_id
    # A contrastive trajectory's own answer goes with its fault: the gold one's is what the goal was made for.
    spoken = shard.parents.get(row.parent_id, row) if row.kind == "contrastive" else row
    made.scenarios[scenario.scenario_id] = scenario
    made.tasks[task_id] = msgspec.structs.replace(task, task_id=task_id, goal=goal)
    made.queries[query_id] = msgspec.structs.replace(query, query_id=query_id, task_id=task_id)
    made.trajectories[new_id] = msgspec.structs.replace(
        spoken,
        trajectory_id=new_id,
        task_id=task_id,
        query_id=query_id,
        kind="gold",
        source="correction",
        parent_id=row.trajectory_id,
        diverge_step=-1,
        mutation="",
        n_actions=len(plan),
        minimal=False,
        reaches_goal=True,
    )
    for number, (planned, one, name) in enumerate(zip(plan, taken, ids, strict=True)):
        made.steps.append(
            msgspec.structs.replace(
                planned.step,
                trajectory_id=new_id,
                step=number,
                group=number,
                tool_id=made.tools[one.tool].tool_id,
                arguments=canonical_json(one.arguments),
                bound_from=canonical_json(planned.bound),
                execution_id=name,
            )
        )
    return new_id


def _write_info(run: Run, target: Run, accepted: int) -> None:
    info = run.info | {
        "format_version": FORMAT_VERSION,
        "counts": {"gold": accepted},
        "corrections_of": run.path.name,
    }
    write_durably(target.path / "run.json", msgspec.json.format(msgspec.json.encode(info), indent=2) + b"\n")
