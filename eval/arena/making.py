"""Making the bench that ships with planarena: a build of its own seed, cut to a fixed mix of 500 tasks.

`python -m planarena.eval.arena.making OUT` makes such a bench; with the planarena that made the one that ships, to
the same bytes. Environments that change later need a bench of a new name.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from planarena.bench import BENCH
from planarena.config import (
    BuildConfig,
    CompositionConfig,
    ContrastConfig,
    ConversationConfig,
    ExecutionConfig,
    SplitConfig,
)
from planarena.environments.domains import DOMAINS
from planarena.records import Run, content_id, read_rows, write_shard
from planarena.records.tables import FORMAT_VERSION
from planarena.users import Brief

__all__ = ["BENCH_CONFIG", "TASKS", "make_bench"]

TASKS = 500
# Plain conversations of each number of actions; conversations of the other kinds; requests that no call answers.
_PLAIN = {1: 32, 2: 32, 3: 32, 4: 32, 5: 32, 6: 30, 7: 20}
_KINDS = {"missing_value": 40, "failed_call": 40, "change_of_mind": 35, "long": 40, "rule": 25, "noise": 30}
_NO_CALLS = {"tool_missing": 20, "trap": 20, "parameter_missing": 20, "no_tool_needed": 20}

# No build of a person has this seed unless it is asked for by number, and every split of it is held out: two of the
# namespaces form `unseen_tools`, for models that were trained with the same two held out.
BENCH_CONFIG = BuildConfig(
    sources=tuple(f"builtin:{name}" for name in sorted(DOMAINS)),
    trajectories=2600,
    seed=730_021,
    chunk_scenarios=32,
    # Enough composed tasks for the lengths that few aims have.
    composition=CompositionConfig(length_mix=(1.0,) * len(_PLAIN), per_scenario=7, aims=0.7),
    conversations=ConversationConfig(
        {
            "missing_value": 0.1,
            "failed_call": 0.1,
            "change_of_mind": 0.1,
            "long": 0.12,
            "rule": 0.09,
            "noise": 0.09,
        }
    ),
    contrast=ContrastConfig(candidates=0, trajectories=0, no_calls=3),
    split=SplitConfig(validation=0.0, test=1 - 1e-9, held_out=("smart_home", "support")),
    execution=ExecutionConfig(workers=1),
)


def make_bench(out: Path, config: BuildConfig = BENCH_CONFIG) -> dict[str, Any]:
    """Build, choose the tasks and write them as a run.

    20 to 32 plain tasks of each number of actions from 1 to 7, 25 to 40 conversations of each other kind and 20 of each kind of
    request without a call, each the first of its kind in the order of their ids within a scenario and of the scenarios
    as they were drawn.

    Args:
        out: A new folder.
        config: The build that they are chosen from.

    Returns:
        What run.json holds.
    """
    from planarena.pipeline import build

    with tempfile.TemporaryDirectory() as scratch:
        run = build(msgspec.structs.replace(config, out=str(Path(scratch) / "run")))
        tables = _choose(run)
        info = _describe(run, tables)
    shutil.rmtree(out, ignore_errors=True)
    for name, rows in tables.items():
        write_shard(out, name, "00000", rows)
    (out / "run.json").write_bytes(msgspec.json.format(msgspec.json.encode(info), indent=1) + b"\n")
    (out / "README.md").write_text(_readme(info))
    return info


def _rows(run: Run, table: str) -> list[Any]:
    return [row for shard in run.shards(table) for row in read_rows(shard, table)]


def _choose(run: Run) -> dict[str, list[Any]]:
    scenarios = _rows(run, "scenarios")
    place = {row.scenario_id: number for number, row in enumerate(scenarios)}
    tasks = {row.task_id: row for row in _rows(run, "tasks")}
    gold = [row for row in _rows(run, "trajectories") if row.kind == "gold"]
    gold.sort(key=lambda row: (place[tasks[row.task_id].scenario_id], row.task_id))
    room: Counter[Any] = Counter(_PLAIN)
    room.update(_KINDS)
    room.update(_NO_CALLS)
    briefs = {row.query_id: row.brief for row in _rows(run, "queries")}
    chosen = []
    seen: set[str] = set()
    for row in gold:
        task = tasks[row.task_id]
        talk = msgspec.json.decode(briefs[row.query_id] or "{}", type=Brief).kind
        kind = talk if talk in _KINDS else task.n_actions or task.category
        if room[kind] > 0 and task.task_id not in seen:
            room[kind] -= 1
            seen.add(task.task_id)
            chosen.append(row)
    if any(room.values()):
        raise ValueError(f"too few tasks of some kinds: {dict(+room)}")
    kept = {row.trajectory_id for row in chosen}
    steps = [row for row in _rows(run, "steps") if row.trajectory_id in kept]
    homes = {tasks[key].scenario_id for key in seen}
    held = [row for row in scenarios if row.scenario_id in homes]
    offered = {tool for row in held for tool in msgspec.json.decode(row.tool_ids, type=list[str])}
    executed = {row.execution_id for row in steps}
    queries = {row.query_id for row in chosen}
    return {
        "tools": [row for row in _rows(run, "tools") if row.tool_id in offered],
        "scenarios": held,
        "tasks": [tasks[row.task_id] for row in chosen],
        "queries": [row for row in _rows(run, "queries") if row.query_id in queries],
        "trajectories": chosen,
        "steps": steps,
        # What two chunks executed alike stands in both.
        "executions": list(
            {
                row.execution_id: row for row in _rows(run, "executions") if row.execution_id in executed
            }.values()
        ),
    }


def _describe(run: Run, tables: dict[str, list[Any]]) -> dict[str, Any]:
    lengths = Counter(row.n_actions for row in tables["tasks"])
    splits = {row.scenario_id: row.split for row in tables["scenarios"]}
    info: dict[str, Any] = {
        name: run.info[name] for name in ("config", "seed", "versions") if name in run.info
    }
    return {
        "format_version": FORMAT_VERSION,
        "bench": BENCH,
        **info,
        "counts": {
            "tasks": len(tables["tasks"]),
            "scenarios": len(tables["scenarios"]),
            "tools": len(tables["tools"]),
            "steps": len(tables["steps"]),
            "gold": len(tables["trajectories"]),
            "actions": {str(key): lengths[key] for key in sorted(lengths)},
            "no_call": dict(sorted(Counter(r.category for r in tables["tasks"] if not r.n_actions).items())),
            "split": dict(sorted(Counter(splits[row.scenario_id] for row in tables["tasks"]).items())),
        },
        # What the gold calls gave: another value means that the environments have changed.
        "executions": content_id("bench", sorted(row.execution_id for row in tables["executions"])),
    }


def _readme(info: dict[str, Any]) -> str:
    counts = info["counts"]
    return f"""# {info["bench"]}

The tasks of `planarena eval planarena`: {counts["tasks"]} tasks in {counts["scenarios"]} scenarios of the built-in
environments with {counts["tools"]} tools, made with planarena's own generator from seed {BENCH_CONFIG.seed}, which no
default build uses. {min(_PLAIN.values())} to {max(_PLAIN.values())} plain tasks of each number of actions from 1 to 7, {sum(_KINDS.values())} conversations of
other kinds ({", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in _KINDS.items())}), and
{sum(_NO_CALLS.values())} requests that no call answers. The user is scripted. Scenarios with a tool of {" or ".join(BENCH_CONFIG.split.held_out)}
are of the split `unseen_tools` ({counts["split"]["unseen_tools"]} tasks), the others of `test`.

A gold trajectory of every task was executed and proven minimal. Do not train on it. Apache-2.0, as planarena.
"""


if __name__ == "__main__":
    make_bench(Path(sys.argv[1]))
