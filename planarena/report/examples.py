"""Example trajectories of a report: which ones, and how each is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from planarena.export.escaping import escape_html
from planarena.export.trajectories import Action, JoinedTrajectory, join_trajectories
from planarena.records import Run
from planarena.report.graphs import Edge, Node, draw_graph

__all__ = ["choose_examples", "draw_trajectory", "render_example"]

# Every domain and length shows up within this many shards; a run of any size is then read in constant time.
_SHARDS = 4
# Characters of one JSON value that a report shows.
_LONGEST_VALUE = 12_000


class _Candidate(NamedTuple):
    trajectory_id: str
    shard: str
    domain: str
    length: int
    parallel: int
    place: int


def choose_examples(run: Run, number: int) -> Iterator[JoinedTrajectory]:
    """Yield trajectories of different length and domain from the first shards, short ones first.

    Args:
        run: The run.
        number: How many; fewer where the run has fewer.
    """
    candidates = list(_candidates(run))
    lengths: Counter[int] = Counter()
    domains: Counter[str] = Counter()
    pairs: Counter[tuple[str, int]] = Counter()
    chosen: dict[str, int] = {}
    shards = set()
    while candidates and len(chosen) < number:
        best = min(
            candidates,
            key=lambda one: (
                pairs[one.domain, one.length],
                lengths[one.length] + domains[one.domain],
                lengths[one.length],
                -one.parallel,
                one.place,
            ),
        )
        candidates.remove(best)
        lengths[best.length] += 1
        domains[best.domain] += 1
        pairs[best.domain, best.length] += 1
        chosen[best.trajectory_id] = best.length
        shards.add(best.shard)
    found = list(join_trajectories(run, shards, lambda row: row.trajectory_id in chosen))
    yield from sorted(found, key=lambda one: one.row.n_actions)


def _candidates(run: Run) -> Iterator[_Candidate]:
    import pyarrow.parquet

    place = 0
    for path in run.shards("trajectories")[:_SHARDS]:
        tables = path.parent.parent

        def read(table: str, *names: str) -> list[dict[str, Any]]:
            beside = tables / table / path.name  # noqa: B023  called within this turn of the loop
            if not beside.is_file():
                return []
            rows: list[dict[str, Any]] = pyarrow.parquet.read_table(beside, columns=list(names)).to_pylist()
            return rows

        domains = {row["scenario_id"]: row["domain"] for row in read("scenarios", "scenario_id", "domain")}
        tasks = {row["task_id"]: row for row in read("tasks", "task_id", "scenario_id", "n_parallel_groups")}
        for row in read("trajectories", "trajectory_id", "task_id", "kind", "n_actions"):
            task = tasks.get(row["task_id"])
            if row["kind"] == "gold" and task is not None:
                yield _Candidate(
                    row["trajectory_id"],
                    path.stem,
                    domains.get(task["scenario_id"], ""),
                    row["n_actions"],
                    task["n_parallel_groups"],
                    place,
                )
            place += 1


def draw_trajectory(trajectory: JoinedTrajectory) -> str:
    """Return a trajectory as a graph in SVG: groups from top to bottom, data edges labelled, order edges dashed."""
    order = sorted({(action.turn, action.group) for action in trajectory.actions})
    nodes = [
        Node(
            action.number,
            order.index((action.turn, action.group)),
            action.tool.wire_name,
            action.tool.effects == "read",
        )
        for action in trajectory.actions
    ]
    edges = [
        Edge(source, action.number, argument.removeprefix("/"))
        for action in trajectory.actions
        for argument, source, _ in action.bound
    ]
    edges += [Edge(edge.earlier, edge.later, "") for edge in trajectory.order_edges]
    return draw_graph(nodes, edges, trajectory.task.expression)


def render_example(trajectory: JoinedTrajectory) -> str:
    """Return one trajectory as HTML: query, graph, plan, steps with what they returned, response."""
    row, task = trajectory.row, trajectory.task
    kinds = sorted({action.execution_kind for action in trajectory.actions})
    tags = [
        trajectory.scenario.domain,
        f"{row.n_actions} action{'s' if row.n_actions != 1 else ''}",
        *(f"{kind} execution" for kind in kinds),
        *([task.category] if task.category != "call" else []),
        *(["over-serialised"] if task.over_serialised else []),
        trajectory.scenario.split,
    ]
    shown = "".join(f"<span>{escape_html(tag)}</span>" for tag in tags)
    talk = "".join(
        f"<blockquote>{escape_html(said)}</blockquote>"
        + (f'<p class="plan">{escape_html(response)}</p>' if place + 1 < len(trajectory.turns) else "")
        for place, (said, response) in enumerate(zip(trajectory.turns, trajectory.responses, strict=False))
    )
    steps = "".join(_step(action, trajectory) for action in trajectory.actions)
    return (
        f'<article class="card example"><h3>{escape_html(trajectory.scenario.title)}</h3>'
        f'<div class="tags">{shown}<span><code>{escape_html(row.trajectory_id[:12])}</code></span></div>{talk}'
        f'<div class="scroll">{draw_trajectory(trajectory)}</div>'
        f'<div class="two"><div><p class="label">Plan</p><p class="plan">{escape_html(row.plan)}</p>'
        f'<p class="label">Answer</p><p class="plan">{escape_html(row.response)}</p>'
        f"<details><summary>Context and goal</summary>{_json({**trajectory.context, 'said_before': list(trajectory.said_before)})}{_json(trajectory.goal)}</details></div>"
        f'<div><p class="label">Steps</p><ol class="steps">{steps}</ol></div></div></article>'
    )


def _step(action: Action, trajectory: JoinedTrajectory) -> str:
    together = [
        str(other.number + 1)
        for other in trajectory.actions
        if other.group == action.group and other.number != action.number
    ]
    turn = f" · together with {', '.join(together)}" if together else ""
    origins = "".join(
        f'<div class="turn">{escape_html(argument.removeprefix("/"))} ← step {source + 1} '
        f"<code>{escape_html(pointer)}</code></div>"
        for argument, source, pointer in action.bound
    )
    outcome = "returned" if action.status == "ok" else f"failed: {action.status}"
    return (
        f"<li><b>{action.number + 1}. {escape_html(action.tool.wire_name)}</b>"
        f'<span class="turn">{turn}</span><div class="turn">{escape_html(action.plan)}</div>'
        f"{_json(action.arguments)}{origins}"
        f"<details><summary>{escape_html(outcome)}</summary>{_json(action.observation)}</details></li>"
    )


def _json(value: Any) -> str:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    rest = len(text) - _LONGEST_VALUE
    if rest > 0:
        text = f"{text[:_LONGEST_VALUE]}\n… {rest} more characters"
    return f"<pre>{escape_html(text)}</pre>"
