"""The inside of `planarena inspect RUN ID`: one trajectory as data, or as a tree."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from planarena.cli import plain

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from planarena.export.trajectories import Action, JoinedTrajectory

__all__ = ["as_data", "as_tree"]

# Characters of a JSON value that the tree shows; --json gives all.
_LONGEST_VALUE = 600


def as_data(trajectory: JoinedTrajectory) -> dict[str, Any]:
    """Return a trajectory as --json prints it."""
    row, scenario = trajectory.row, trajectory.scenario
    return {
        "trajectory_id": row.trajectory_id,
        "kind": row.kind,
        "source": row.source,
        "parent_id": row.parent_id,
        "diverge_step": row.diverge_step,
        "mutation": row.mutation,
        "reaches_goal": row.reaches_goal,
        "domain": scenario.domain,
        "scenario_id": scenario.scenario_id,
        "title": scenario.title,
        "split": scenario.split,
        "category": trajectory.task.category,
        "context": trajectory.context,
        "said_before": list(trajectory.said_before),
        "turns": list(trajectory.turns),
        "expression": trajectory.task.expression,
        "over_serialised": trajectory.task.over_serialised,
        "plan": row.plan,
        "steps": [action.as_data() for action in trajectory.actions],
        "order_edges": [edge._asdict() for edge in trajectory.order_edges],
        "responses": list(trajectory.responses),
        "goal": trajectory.goal,
    }


def as_tree(trajectory: JoinedTrajectory) -> Tree:
    """Return a trajectory for the terminal: scenario, plan, queries, calls with what they returned."""
    from rich.text import Text
    from rich.tree import Tree

    row, scenario, task = trajectory.row, trajectory.scenario, trajectory.task
    facts = [scenario.domain, f"{row.n_actions} action{'s' if row.n_actions != 1 else ''}", row.kind]
    facts += [
        f"{kind} execution" for kind in sorted({action.execution_kind for action in trajectory.actions})
    ]
    facts += [task.category] if task.category != "call" else []
    facts += ["executed once, unproven"] if trajectory.goal.get("unproven") else []
    facts += [scenario.split, *(["over-serialised"] if task.over_serialised else [])]
    root = Tree(Text(plain(f"{row.trajectory_id}  {' · '.join(facts)}"), "bold"))
    if row.parent_id:
        root.add(_labelled("departs from", f"{row.parent_id} at step {row.diverge_step + 1}: {row.mutation}"))
    root.add(_labelled("scenario", f"{scenario.title}: {scenario.description}"))
    root.add(
        _labelled("context", "; ".join(f"{k}: {_short(v)}" for k, v in sorted(trajectory.context.items())))
    )
    for said in trajectory.said_before:
        root.add(_labelled("said before", said))
    root.add(_labelled("expression", task.expression))
    plan = root.add(_labelled("plan", ""))
    for line in row.plan.splitlines():
        plan.add(Text(plain(line)))
    for place, said in enumerate(trajectory.turns):
        root.add(_labelled("query", said))
        asked = [action for action in trajectory.actions if action.turn == place]
        for number, members in groupby(asked, key=lambda action: action.group):
            calls = list(members)
            together = f", {len(calls)} calls in parallel" if len(calls) > 1 else ""
            branch = root.add(Text(f"group {number + 1}{together}", "bold"))
            for action in calls:
                _add_step(branch, action, trajectory)
        if place < len(trajectory.responses):
            root.add(_labelled("response", trajectory.responses[place]))
    return root


def _add_step(branch: Tree, action: Action, trajectory: JoinedTrajectory) -> None:
    from rich.text import Text

    title = Text(f"{action.number + 1}. ")
    title.append(plain(action.tool.wire_name), "bold cyan")
    if not action.asked:
        title.append(" (implied)", "dim")
    if action.plan:
        title.append(f"  {plain(action.plan)}", "dim")
    step = branch.add(title)
    bound = {argument.removeprefix("/"): (source, pointer) for argument, source, pointer in action.bound}
    for name, value in action.arguments.items():
        line = Text(plain(f"{name} = {_short(value)}"))
        if name in bound:
            source, pointer = bound[name]
            line.append(plain(f"  <- step {source + 1} {pointer}"), "green")
        elif (origin := trajectory.grounded.get(f"{action.number}/{name}")) is not None:
            line.append(plain(f"  <- {origin}"), "dim")
        step.add(line)
    for edge in trajectory.order_edges:
        if edge.later == action.number:
            step.add(Text(plain(f"after step {edge.earlier + 1} ({edge.evidence})"), "yellow"))
    outcome = "returned" if action.status == "ok" else f"failed ({action.status})"
    step.add(_labelled(outcome, _short(action.observation)))


def _labelled(label: str, text: str) -> Text:
    from rich.text import Text

    line = Text(plain(label), "dim")
    if text:
        line.append(" ")
        line.append(plain(text), "not dim")
    return line


def _short(value: Any) -> str:
    from planarena.records import canonical_json

    text = canonical_json(value)
    rest = len(text) - _LONGEST_VALUE
    return text if rest <= 0 else f"{text[:_LONGEST_VALUE]} ... {rest} more characters, --json shows them"
