"""What `planarena build` prints at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from planarena.cli import plain

if TYPE_CHECKING:
    from planarena.records import Run

__all__ = ["print_build"]


def _shortfalls(run: Run, gold: int) -> list[str]:
    """Say what a reader of the tables would not see: why there are fewer than wanted, what was set aside or replaced."""
    from planarena.llm.models import tell_served

    info, counts = run.info, run.info["counts"]
    lines = []
    if info["stop_reason"] == "no_new_trajectories":
        discards = sorted(counts.get("discard", {}).items(), key=lambda one: (-one[1], one[0]))
        why = ", ".join(f"{name} {number}" for name, number in discards[:3])
        lines.append(
            f"  spent         the tools give no {'further ' if gold else ''}trajectory"
            + (f"; most discards: {why} (planarena inspect {run.path} --discarded all)" if why else "")
        )
    if info.get("quarantined"):
        first = str(info["quarantined"][0]["error"]).strip().splitlines() or [""]
        lines.append(
            f"  quarantine    {len(info['quarantined'])} scenarios failed, the first with: {first[-1][:200]} "
            f"(planarena inspect {run.path} --discarded quarantine)"
        )
    if failures := counts.get("llm_failures"):
        listed = ", ".join(
            f"{name} {number}" for name, number in sorted(failures.items(), key=lambda one: -one[1])[:4]
        )
        lines.append(f"  without use   {listed} (planarena inspect {run.path} --discarded models)")
    lines += [f"  servers       {note}" for note in tell_served(info["cost"].get("served_by") or {})]
    return lines


def print_build(run: Run, seconds: float, as_json: bool) -> None:
    """Print what a build became, what it lacks, and what may be done next.

    Args:
        run: The build.
        seconds: What this command took.
        as_json: Print one JSON object instead.
    """
    info = run.info
    counts = info["counts"]
    if as_json:
        import json

        said = {"run": str(run.path), "stop_reason": info["stop_reason"], "counts": counts}
        if "descriptions" in info:
            said["descriptions"] = info["descriptions"]
        typer.echo(json.dumps(said))
        return
    gold = counts.get("gold", 0)
    kinds = ", ".join(f"{number} {kind}" for kind, number in counts.get("executions", {}).items())

    def share(name: str) -> str:
        return f"{100 * counts.get(name, 0) / gold:.0f} %" if gold else "-"

    lengths = "  ".join(f"{length}: {number}" for length, number in counts.get("gold_length", {}).items())
    domains = ", ".join(counts.get("gold_domain", {}))
    typer.echo(
        f"{gold} gold trajectories over {domains} in {seconds:.1f} s (stopped by: {info['stop_reason']})"
    )
    typer.echo(f"  actions       {lengths}")
    typer.echo(
        f"  parallel      {share('gold_parallel')}   data edges {share('gold_data_edge')}   order edges {share('gold_order_edge')}"
    )
    extra = f"{counts.get('contrastive', 0)} trajectories, {counts.get('decision_points', 0)} decision points"
    typer.echo(f"  contrast      {extra}, {counts.get('no_call', 0)} requests without a call")
    typer.echo(f"  executions    {kinds}")
    for found in info.get("descriptions", {}).values():
        left = found["operations"] - found["asked_for"]
        reasons = sorted(found["left_out"].items(), key=lambda pair: (-pair[1], pair[0]))
        why = "".join(f"; {reason} {number}" for reason, number in reasons[:2])
        typer.echo(
            f"  left out      {left} of {found['operations']} operations that nobody would ask for{why}"
        )
    if asked := counts.get("llm_requests"):
        failed = sum(counts.get("llm_failures", {}).values())
        usd = info["cost"]["usd"]
        cost = f"{info['cost']['tokens']:,} tokens, {'cost unknown' if usd is None else f'{usd:.2f} USD'}"
        typer.echo(f"  models        {asked} requests, {failed} without use; {cost}")
    for line in _shortfalls(run, gold):
        typer.echo(plain(line))
    typer.echo(f"  tables        {run.path}/tables/")
    typer.echo(f"  card          {run.path}/README.md")
    typer.echo(f"  report        {run.path}/report.html")
    typer.echo(f"next: planarena inspect {run.path}")
