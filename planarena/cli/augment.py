"""`planarena augment`: variants of a run's gold trajectories, proven like the run."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from planarena.augment import AugmentConfig
from planarena.cli import plain
from planarena.cli._options import AsJson, Given, Setting, with_settings

if TYPE_CHECKING:
    from planarena.records import Run

__all__ = ["augment"]


_SETTINGS = (
    Setting("kinds", metavar="A,B", listed=True),
    Setting("per", metavar="N"),
    Setting("limit", metavar="N"),
    Setting("most_distractors", metavar="N"),
    Setting("splits", metavar="A,B", listed=True),
    Setting("seed", metavar="N"),
    Setting("workers", metavar="N"),
    Setting("fresh"),
)


@with_settings(AugmentConfig, _SETTINGS, "per=2")
def augment(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run whose gold trajectories are varied.")],
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="The folder of the new run.")],
    as_json: AsJson = False,
    *,
    given: Given,
) -> None:
    """Make harder variants of a run's gold trajectories: other names and words, more tools, noise, orders, gaps."""
    from planarena.augment import augment as make

    config = given.load(AugmentConfig, also={"run": run, "out": out})
    started = time.perf_counter()
    made = make(config, _silent if as_json else _tell)
    _print(made, time.perf_counter() - started, as_json)


def _silent(done: int, total: int) -> None:
    """Show nothing."""


def _tell(done: int, total: int) -> None:
    if total > 1:
        print(f"{done} of {total} shards", file=sys.stderr, flush=True)


def _print(made: Run, seconds: float, as_json: bool) -> None:
    counts = made.info["counts"]
    if as_json:
        import json

        typer.echo(json.dumps({"run": str(made.path), "counts": counts}))
        return
    kinds = ", ".join(f"{name} {number}" for name, number in counts.get("augmented", {}).items())
    refused = sum(counts.get("discard", {}).values())
    typer.echo(
        f"{counts.get('gold', 0)} variants with calls and {counts.get('no_call', 0)} without in {seconds:.1f} s"
    )
    typer.echo(f"  kinds         {kinds}")
    proven, unproven = counts.get("augmented_proven", 0), counts.get("augmented_unproven", 0)
    typer.echo(
        f"  proven        {proven} executed and proven again" + (f", {unproven} not" if unproven else "")
    )
    typer.echo(
        f"  refused       {refused} draws, {counts.get('augment_without_variant', 0)} trajectories without"
    )
    typer.echo(plain(f"  tables        {made.path}/tables/"))
    typer.echo(plain(f"next: planarena inspect {made.path}"))
