"""Every record type: one frozen struct per table, its Parquet schema and its key.

Columns that hold JSON are strings of canonical JSON (`Json`): nested Arrow columns merge the schemas of
different tools and leak null keys. Ids are BLAKE2b-128 of the canonical JSON of the identity fields.
"""

from __future__ import annotations

import typing
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "FORMAT_VERSION",
    "TABLES",
    "AtomicTaskRow",
    "AuditRow",
    "AugmentationRow",
    "DecisionPointRow",
    "DiscardRow",
    "EdgeRow",
    "ExecutionRow",
    "Json",
    "LabelRow",
    "ProposalRow",
    "QueryRow",
    "RateRow",
    "ScenarioRow",
    "StepRow",
    "TableRow",
    "TaskRow",
    "ToolRow",
    "TrajectoryRow",
    "arrow_schema",
    "json_columns",
]

FORMAT_VERSION = 1

Json = Annotated[str, msgspec.Meta(extra={"json": True})]
Status = Literal["ok", "schema_error", "tool_error", "timeout", "nondeterministic"]


class TableRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all rows."""


class ToolRow(TableRow, frozen=True):
    """A tool (see `planarena.tools.Tool`)."""

    tool_id: str
    namespace: str
    name: str
    wire_name: str
    description: str
    input_schema: Json
    output_schema: Json
    effects: str
    execution_kind: str
    determinism: str
    source_kind: str
    source_ref: str
    source_version: str
    source_sha256: str
    licence: str
    schema_repairs: Json
    contamination: Json


class EdgeRow(TableRow, frozen=True):
    """A data edge between tools: this output was accepted as that argument.

    Attributes:
        evidence: `execution`: a call with the bound value succeeded.
        confidence: Share of the tried bindings that succeeded in this scenario.
    """

    scenario_id: str
    producer_tool_id: str
    output_pointer: str
    consumer_tool_id: str
    argument_pointer: str
    evidence: str
    confidence: float


class ScenarioRow(TableRow, frozen=True):
    """A scenario: tools, environment, initial state and what the user told before."""

    scenario_id: str
    title: str
    description: str
    domain: str
    tool_ids: Json
    environment: Json
    context: Json
    seed_state: Json
    seed_state_hash: str
    split: str


class AtomicTaskRow(TableRow, frozen=True):
    """One schema-valid call (DUPO Eq. 1).

    Attributes:
        plan: A line of plan.
        arguments: Literal arguments; `{"$need": TYPE}` marks one that composition binds.
        result_hash: Id of the result in the initial state; empty for an atom with needs, and for one that is not tried.
    """

    atom_id: str
    scenario_id: str
    tool_id: str
    plan: str
    arguments: Json
    result_hash: str


class TaskRow(TableRow, frozen=True):
    """A composed task (DUPO Eq. 2).

    Attributes:
        expression: With wire names, as `a, (b || c)`.
        canonical: With atom ids, flattened and with parallel children sorted.
        shape: The canonical expression with wire names and bindings but no argument values.
        level: Level of composition, 1 for atoms.
        bindings: `[{step, argument, from_step, pointer, kind}]`; kind `data`, or `order` for edges without a value.
        goal: `{final_state_hash, required_outputs}`, with `messages` where a later message takes back what an earlier one
            asked for: by message the goal of all up to it; and `unproven: true` where the gold trajectory was executed once,
            with live tools, and nothing was proven of it.
        stop_reason: What ended the composition of the scenario: `exhausted`, `budget` or `max_depth`.
        over_serialised: The true dependences are N-shaped and no expression says them exactly.
        category: `call`, or why no call is right: `tool_missing`, `trap` (a tool that looks right has another
            effect), `parameter_missing` or `no_tool_needed`.
        withheld_tool_ids: Tools of the scenario that this task does not offer, a JSON list.
        conversation: What happens in it (docs/conversations.md); runs of before know `plain` alone.
    """

    task_id: str
    scenario_id: str
    expression: str
    canonical: str
    shape: str
    level: int
    n_actions: int
    n_parallel_groups: int
    bindings: Json
    goal: Json
    stop_reason: str
    over_serialised: bool
    category: str
    withheld_tool_ids: Json
    conversation: str = "plain"


class QueryRow(TableRow, frozen=True):
    """What the user says.

    Attributes:
        turns: The user's messages, a JSON list of strings; steps say to which turn they belong.
        context: What the user had said before, beyond the scenario's context: a JSON list of strings.
        register: The manner of speaking, as `terse`.
        llm_call_id: The model call that wrote it; empty for the offline generator.
        checks: `{name: true}` for every check it passed, and where each value is grounded.
        brief: What the user knows and says when: see `planarena.users`; runs of before have none.
    """

    query_id: str
    task_id: str
    turns: Json
    context: Json
    register: str
    llm_call_id: str
    checks: Json
    brief: Json = "{}"


class TrajectoryRow(TableRow, frozen=True):
    """An ordered action trajectory (DUPO Eq. 3-4).

    Attributes:
        parent_id: Of a contrastive trajectory: the gold one that it departs from; else empty.
        diverge_step: The first step that differs from the parent; -1 for gold.
        mutation: What kind of fault was made there; empty for gold.
        turn_responses: The assistant's answers to all user turns but the last, a JSON list of strings.
        response: The answer to the last user turn.
    """

    trajectory_id: str
    task_id: str
    query_id: str
    kind: Literal["gold", "contrastive"]
    source: Literal["offline", "llm", "mutation", "import", "correction", "augmented"]
    parent_id: str
    diverge_step: int
    mutation: str
    plan: str
    turn_responses: Json
    response: str
    n_actions: int
    minimal: bool
    reaches_goal: bool


class StepRow(TableRow, frozen=True):
    """One action of a trajectory.

    Attributes:
        step: From 0.
        group: Steps of one group may be called together.
        turn: The user's turn that asks for it, from 0.
        tool: Wire name; a contrastive step may name a tool that does not exist, then `tool_id` is empty.
        bound_from: `{argument pointer: {step, pointer}}`.
        rationale: A reference rationale; empty where no model wrote one.
        asked: Whether the user's message asks for it, so that the answer tells it; runs of before know no other.
    """

    trajectory_id: str
    step: int
    group: int
    turn: int
    tool: str
    tool_id: str
    plan: str
    arguments: Json
    bound_from: Json
    execution_id: str
    rationale: str
    asked: bool = True


class ExecutionRow(TableRow, frozen=True):
    """One executed call, keyed by the state before, the tool and the arguments; or an answer that was checked.

    Attributes:
        execution_kind: Of the environment; `answer_check` for an answer, whose result is `{goal_reached, steps_left,
            untold}`: no tool was called, the goal was evaluated and the answer compared with what is to be told.
        proven: Executed again from the same state with the same observation and state after.
    """

    execution_id: str
    status: Status
    result: Json
    error: Json
    state_before: str
    state_after: str
    execution_kind: str
    proven: bool


class DecisionPointRow(TableRow, frozen=True):
    """Candidates at one step, all executed from the same state.

    Attributes:
        step: The step of the gold trajectory; its number of steps where only the answer is left.
        prefix_hash: Id of the executions before it.
        turn: Where the choice is made before the end: the message that a question or an answer ends; else -1.
        candidates: `[{tool, tool_id, arguments, outcome, relevance, relevance_method, mutation, execution_id}]`, and
            `model` where a model proposed it, `response` with the text of an answer, `beside` `{tool, arguments,
            execution_id}` with a second call of the same turn. `tool` is empty for an answer, whose execution is the
            check of the goal and of what it tells, `tool_id` for a tool that does not exist, `execution_id` where a live
            tool may not be called. Outcomes: `frontier`, `equivalent`, `harmless` are right; `useless`, `diverges`,
            `ungrounded`, `error` are wrong. Runs of earlier versions have `inefficient` for harmless and useless.
    """

    decision_point_id: str
    trajectory_id: str
    step: int
    prefix_hash: str
    candidates: Json
    turn: int = -1


class ProposalRow(TableRow, frozen=True):
    """What a model proposed for a task; the table is written where models took part.

    Attributes:
        trajectory_id: The gold trajectory that it is for, or the contrastive one that it became.
        step: Of a candidate: the decision point; else -1.
        part: `plausible`, `query`, `actions`, `round_trip`, `plan`, `response`, `rationale`, `trajectory`, `candidate`
            or `user`.
        model: Its name, as given.
        prompt: Name, version and digest of the prompt file.
        llm_call_id: The model call that gave it.
        content: The proposal.
        verdict: `kept`, `not_best`, `failed`, why it was refused, or what its execution showed.
        detail: The evidence, for people.
    """

    proposal_id: str
    task_id: str
    trajectory_id: str
    step: int
    part: str
    model: str
    prompt: str
    llm_call_id: str
    content: Json
    verdict: str
    detail: str


class AuditRow(TableRow, frozen=True):
    """A person's judgement of a trajectory."""

    audit_id: str
    trajectory_id: str
    annotator: str
    query_ok: bool
    goal_ok: bool
    issues: Json
    first_wrong_step: int
    correction: Json
    comment: str
    submitted_at: str
    guideline_version: str
    blind: bool


class LabelRow(TableRow, frozen=True):
    """A label derived from audits; joined at export."""

    trajectory_id: str
    label: str
    method: str
    agreement: float


class AugmentationRow(TableRow, frozen=True):
    """Where a trajectory of an augmented run comes from (see `planarena.augment`).

    Attributes:
        augmented_from: The trajectory of the run that was augmented.
        kinds: What was done to it, a JSON list.
        proven: Executed and proven again in full; false where the run had nothing to execute.
        detail: Names before and after, what was put in or taken away.
    """

    trajectory_id: str
    augmented_from: str
    kinds: Json
    proven: bool
    detail: Json


class RateRow(TableRow, frozen=True):
    """How often a model does a task (see `planarena.eval.rates`).

    Attributes:
        model: Its name, or the name and the digest of a checkpoint.
        tries: How often it was tried.
        passed: Tries that reached the goal and ended with an answer.
        rate: Their share.
        settings: How it was played: format, temperature, seed, most turns.
    """

    task_id: str
    model: str
    tries: int
    passed: int
    rate: float
    settings: Json


class DiscardRow(TableRow, frozen=True):
    """A candidate that did not become a trajectory, and why.

    Attributes:
        stage: `execution`, `sense`, `reference`, `order`, `parallel`, `determinism`, `minimality`, `query` or `duplicate`.
        reason: A stable word within the stage.
        detail: The evidence, for people.
    """

    discard_id: str
    scenario_id: str
    expression: str
    stage: str
    reason: str
    detail: str


# Name of the table -> its row type and its key.
TABLES: dict[str, tuple[type[TableRow], tuple[str, ...]]] = {
    "tools": (ToolRow, ("tool_id",)),
    "edges": (
        EdgeRow,
        ("scenario_id", "producer_tool_id", "output_pointer", "consumer_tool_id", "argument_pointer"),
    ),
    "scenarios": (ScenarioRow, ("scenario_id",)),
    "atomic_tasks": (AtomicTaskRow, ("atom_id",)),
    "tasks": (TaskRow, ("task_id",)),
    "queries": (QueryRow, ("query_id",)),
    "trajectories": (TrajectoryRow, ("trajectory_id",)),
    "steps": (StepRow, ("trajectory_id", "step")),
    "executions": (ExecutionRow, ("execution_id",)),
    "decision_points": (DecisionPointRow, ("decision_point_id",)),
    "proposals": (ProposalRow, ("proposal_id",)),
    "audits": (AuditRow, ("audit_id",)),
    "labels": (LabelRow, ("trajectory_id",)),
    "discards": (DiscardRow, ("discard_id",)),
    "augmentations": (AugmentationRow, ("trajectory_id",)),
    "rates": (RateRow, ("task_id", "model")),
}


@cache
def json_columns(row: type[TableRow]) -> tuple[str, ...]:
    """Return the names of the columns that hold canonical JSON."""
    hints = typing.get_type_hints(row, include_extras=True)
    return tuple(name for name, hint in hints.items() if hint is Json)


@cache
def arrow_schema(table: str) -> pyarrow.Schema:
    """Return the Arrow schema of a table: all columns required, `format_version` in its metadata."""
    import pyarrow

    row, _ = TABLES[table]
    kinds: dict[Any, Any] = {
        str: pyarrow.string(),
        int: pyarrow.int64(),
        float: pyarrow.float64(),
        bool: pyarrow.bool_(),
    }
    fields = []
    for name, hint in typing.get_type_hints(row).items():
        kind = pyarrow.string() if typing.get_origin(hint) is Literal else kinds[hint]
        fields.append(pyarrow.field(name, kind, nullable=False))
    metadata = {"planarena": msgspec.json.encode({"table": table, "format_version": FORMAT_VERSION}).decode()}
    return pyarrow.schema(fields, metadata=metadata)
