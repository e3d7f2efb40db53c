"""Traces into a run: the tables of the pipeline as far as they apply, and the counts of ToolUPT Table 6."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from planarena.errors import UserError
from planarena.records import canonical_json, content_id, write_shard
from planarena.records.shards import write_durably
from planarena.records.tables import (
    FORMAT_VERSION,
    DiscardRow,
    ExecutionRow,
    QueryRow,
    ScenarioRow,
    StepRow,
    TableRow,
    TaskRow,
    ToolRow,
    TrajectoryRow,
)
from planarena.rows.dialogue import Decision, Dialogue, Observation
from planarena.rows.importers.files import Record, data_files, read_records
from planarena.rows.importers.sources import source as find_source
from planarena.rows.importers.trace import ImportOptions, TraceError, as_dialogue
from planarena.rows.run_reading import Marks

__all__ = ["Imported", "import_traces"]

_SHARD = 1000
_TABLES = ("tools", "scenarios", "tasks", "queries", "trajectories", "steps", "executions", "discards")


class Imported(NamedTuple):
    """What an import made: the folder, and its counts as they stand in run.json."""

    path: Path
    counts: dict[str, Any]


def import_traces(
    path: Path,
    name: str,
    out: Path,
    options: ImportOptions | None = None,
    *,
    split_of: Callable[[str], str] = lambda _: "train",
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Imported:
    """Make a run of a data set's files.

    Nothing is executed: observations are what the source says, with execution kind `none`, and no trajectory counts
    as minimal or as proven to reach a goal. A record that cannot be used is listed in the table `discards`.

    Args:
        path: A file, or a folder of files.
        name: The importer.
        out: A new or empty folder.
        options: The sample and what single importers may choose.
        split_of: The split of a scenario by its id, where the source states none.
        progress: Called with the records read and their number.

    Returns:
        Where the run is, and its counts: `original` records, `sampled` of them, `processed` step-wise decisions.

    Raises:
        UserError: No such source or file, nothing usable in it, or a folder that is not empty.
        OSError: No space, no permission.
    """
    options = options or ImportOptions()
    source = find_source(name)
    files = data_files(path)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError("is not an empty folder", where=str(out), fix="give a new folder as --out")
    original = sum(1 for file in files for _ in read_records(file))
    if not original:
        raise UserError("holds no record", where=str(path), fix="give a file with records")
    chosen = _choose(original, options)
    writer = _Writer(out, name)
    number = -1
    for file in files:
        for record in read_records(file):
            number += 1
            if chosen is not None and number not in chosen:
                continue
            progress(number + 1, original)
            try:
                trace = source.read(record.value, options, number)
                dialogue = as_dialogue(
                    trace, name, licence=options.licence or source.licence, source=file.name
                )
                if not trace.split:
                    split = split_of(dialogue.scenario_id)
                    dialogue = msgspec.structs.replace(dialogue, split=split)
                writer.add(dialogue, trace.ours)
            except TraceError as error:
                writer.refuse(record, number, error)
            except _NOT_OF_THE_FORMAT as error:
                # A value of another type than the format has at that place: it costs its own record.
                fault = TraceError("not of the format", f"{type(error).__name__}: {error}"[:300])
                writer.refuse(record, number, fault)
    if not writer.counts["gold"]:
        reason, times = writer.refused.most_common(1)[0]
        raise UserError(
            f"holds no usable record of the format {name}; {times} of {writer.counts['rejected']} because: {reason}",
            where=str(path),
            fix="give the format that the files have",
        )
    writer.flush()
    counts = writer.grouped(original, len(chosen) if chosen is not None else original)
    _write_info(out, name, path, options, counts)
    return Imported(out, counts)


def _choose(original: int, options: ImportOptions) -> frozenset[int] | None:
    if not options.sample or options.sample >= original:
        return None
    return frozenset(random.Random(f"import/{options.seed}").sample(range(original), options.sample))


_NOT_OF_THE_FORMAT = (TypeError, ValueError, KeyError, AttributeError, IndexError, RecursionError)


class _Writer:
    """Collects rows and writes a shard of every table for each thousand dialogues."""

    def __init__(self, root: Path, name: str) -> None:
        self._root, self._name = root, name
        self._rows: dict[str, list[TableRow]] = {table: [] for table in _TABLES}
        self._known: set[str] = set()
        self._tools: set[str] = set()
        self._shard = 0
        self.counts: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self._lengths: Counter[str] = Counter()

    def add(self, dialogue: Dialogue, ours: dict[str, str]) -> None:
        if dialogue.trajectory_id in self._known:
            raise TraceError("the same as an earlier record")
        self._known.add(dialogue.trajectory_id)
        self._add_rows(dialogue, ours)
        decisions = sum(1 for _ in dialogue.decisions()) - dialogue.first_decision
        self.counts["gold"] += 1
        self.counts["scenarios"] += 1
        self.counts["processed"] += decisions
        self.counts["turns"] += len(dialogue.turns)
        if len(self._rows["trajectories"]) == _SHARD:
            self.flush()

    def refuse(self, record: Record, number: int, error: TraceError) -> None:
        self.counts["rejected"] += 1
        self.refused[error.reason] += 1
        where = f"{record.path.name}, record {record.number}"
        self._rows["discards"].append(
            DiscardRow(
                content_id("discard", self._name, number, error.reason),
                "",
                "",
                "import",
                error.reason,
                f"{where}: {error.detail}" if error.detail else where,
            )
        )

    def flush(self) -> None:
        name = f"{self._shard:05d}"
        for table, rows in self._rows.items():
            if rows:
                write_shard(self._root, table, name, rows)
                rows.clear()
        self._shard += 1

    def grouped(self, original: int, sampled: int) -> dict[str, Any]:
        gold = self.counts["gold"]
        return {
            "original": original,
            "sampled": sampled,
            "processed": self.counts["processed"],
            "gold": gold,
            "scenarios": self.counts["scenarios"],
            "turns": self.counts["turns"],
            "steps": self.counts["steps"],
            "tools": len(self._tools),
            "rejected": self.counts["rejected"],
            "discard": {f"import:{reason}": times for reason, times in sorted(self.refused.items())},
            "gold_kind": {"none": gold},
            "gold_domain": {self._name: gold},
            "gold_length": dict(sorted(self._lengths.items(), key=lambda pair: int(pair[0]))),
            "gold_parallel": self.counts["parallel"],
            "executions": {"none": self.counts["steps"]},
        }

    def _add_rows(self, dialogue: Dialogue, ours: dict[str, str]) -> None:
        by_name: dict[str, ToolRow] = {tool.wire_name: tool for tool in dialogue.tools}
        for tool in dialogue.tools:
            if tool.tool_id not in self._tools:
                self._tools.add(tool.tool_id)
                self._rows["tools"].append(tool)
        trajectory, query = dialogue.trajectory_id, content_id("import", "query", dialogue.trajectory_id)
        state = content_id("import", "no state")
        self._rows["scenarios"].append(
            ScenarioRow(
                scenario_id=dialogue.scenario_id,
                title="",
                description="",
                domain=dialogue.domain,
                tool_ids=canonical_json([tool.tool_id for tool in dialogue.tools]),
                environment=canonical_json({"kind": "none", "source": dialogue.domain}),
                context=canonical_json(dialogue.context),
                seed_state="{}",
                seed_state_hash=state,
                split=dialogue.split,
            )
        )
        marks, groups, answers = self._steps(dialogue, by_name, state)
        actions = sum(len(group) for group in groups)
        self.counts["steps"] += actions
        self.counts["parallel"] += any(len(group) > 1 for group in groups)
        self._lengths[str(actions)] += 1
        written = ["(" + " || ".join(group) + ")" if len(group) > 1 else group[0] for group in groups]
        expression = ", ".join(written)
        self._rows["tasks"].append(
            TaskRow(
                task_id=dialogue.task_id,
                scenario_id=dialogue.scenario_id,
                expression=expression,
                canonical=expression,
                shape=expression,
                level=len(groups),
                n_actions=actions,
                n_parallel_groups=sum(len(group) > 1 for group in groups),
                bindings="[]",
                goal=canonical_json({"final_state_hash": "", "required_outputs": []}),
                stop_reason="import",
                over_serialised=False,
                category=dialogue.category,
                withheld_tool_ids="[]",
            )
        )
        checks: dict[str, Any] = {"dialogue": msgspec.to_builtins(marks)}
        if ours:
            checks["written_by_import"] = ours
        self._rows["queries"].append(
            QueryRow(
                query_id=query,
                task_id=dialogue.task_id,
                turns=canonical_json([turn.user for turn in dialogue.turns]),
                context="[]",
                register="",
                llm_call_id="",
                checks=canonical_json(checks),
            )
        )
        self._rows["trajectories"].append(
            TrajectoryRow(
                trajectory_id=trajectory,
                task_id=dialogue.task_id,
                query_id=query,
                kind="gold",
                source="import",
                parent_id="",
                diverge_step=-1,
                mutation="",
                plan=dialogue.plan,
                turn_responses=canonical_json(answers[:-1]),
                response=answers[-1],
                n_actions=actions,
                minimal=False,
                reaches_goal=False,
            )
        )

    def _steps(
        self, dialogue: Dialogue, tools: dict[str, ToolRow], state: str
    ) -> tuple[Marks, list[list[str]], list[str]]:
        """Write the steps; return the marks, the tools of each group, and the answer of each turn."""
        groups: list[list[str]] = []
        answers: list[str] = []
        thoughts: list[str] = []
        said: dict[str, str] = {}
        unobserved: list[int] = []
        step = 0
        for number, turn in enumerate(dialogue.turns):
            answer, thought = "", ""
            for decision in turn.decisions:
                if not decision.calls:
                    answer, thought = decision.text or "", decision.rationale
                    continue
                if decision.text is not None:
                    said[str(len(groups))] = decision.text
                for index, call in enumerate(decision.calls):
                    observation = decision.observations[index]
                    if observation is None:
                        unobserved.append(step)
                    execution = content_id("import", "execution", dialogue.trajectory_id, step)
                    self._rows["executions"].append(_execution(execution, observation, state))
                    self._rows["steps"].append(
                        StepRow(
                            trajectory_id=dialogue.trajectory_id,
                            step=step,
                            group=len(groups),
                            turn=number,
                            tool=call.name,
                            tool_id=tools[call.name].tool_id,
                            plan=_line(decision, index),
                            arguments=canonical_json(call.arguments),
                            bound_from="{}",
                            execution_id=execution,
                            rationale="" if index else decision.rationale,
                        )
                    )
                    step += 1
                groups.append([call.name for call in decision.calls])
            answers.append(answer)
            thoughts.append(thought)
        marks = Marks(
            thoughts=tuple(thoughts) if any(thoughts) else (),
            said=said,
            unobserved=tuple(unobserved),
            first_decision=dialogue.first_decision,
        )
        return marks, groups, answers


def _line(decision: Decision, index: int) -> str:
    lines = decision.plan.split("\n")
    return lines[index] if len(lines) == len(decision.calls) else ("" if index else decision.plan)


def _execution(execution_id: str, observation: Observation | None, state: str) -> ExecutionRow:
    return ExecutionRow(
        execution_id=execution_id,
        status="ok",
        result=canonical_json(None if observation is None else observation.value),
        error="null",
        state_before=state,
        state_after=state,
        execution_kind="none",
        proven=False,
    )


def _write_info(out: Path, name: str, path: Path, options: ImportOptions, counts: dict[str, Any]) -> None:
    from planarena.version import __version__

    info = {
        "format_version": FORMAT_VERSION,
        "kind": "import",
        "versions": {"planarena": __version__},
        "config": {"format": name, "source": path.name, **msgspec.to_builtins(options)},
        "seed": options.seed,
        "stop_reason": "import",
        "counts": counts,
        "quarantined": [],
        "cost": {"usd": 0.0, "llm_calls": 0, "tokens": 0},
    }
    text = msgspec.json.format(msgspec.json.encode(info, order="deterministic"), indent=2) + b"\n"
    write_durably(out / "README.md", _readme(name, counts).encode())
    write_durably(out / "run.json", text)  # last: a folder without it is no run


def _readme(name: str, counts: dict[str, Any]) -> str:
    reasons = "\n".join(f"- {key.partition(':')[2]}: {times}" for key, times in counts["discard"].items())
    return f"""# Traces imported from {name}

Dialogues of an existing data set, in the tables of planarena. Nothing was executed here: observations are the
source's, every execution is of the kind `none`, and no trajectory was proven to reach its goal.

| stage | number |
|---|---|
| original records | {counts["original"]} |
| sampled | {counts["sampled"]} |
| usable dialogues | {counts["gold"]} |
| processed: step-wise decisions | {counts["processed"]} |

{counts["rejected"]} records were not used; the table `discards` names each.

{reasons}
"""
