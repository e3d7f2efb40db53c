"""`planarena augment`: variants of a run's gold trajectories, proven like the run."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from planarena.cli import plain

if TYPE_CHECKING:
    from planarena.records import Run

__all__ = ["augment"]


def augment(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run whose gold trajectories are varied.")],
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="The folder of the new run.")],
    kinds: Annotated[
        str,
        typer.Option(
            "--kinds",
            metavar="A,B",
            help="Some of missing, injected, distractors, renamed, reworded, noisy, reordered; all by default.",
        ),
    ] = "",
    per: Annotated[int, typer.Option("--per", metavar="N", help="Variants of each trajectory.")] = 1,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="Most variants; 0 for no limit.")] = 0,
    distractors: Annotated[
        int, typer.Option("--most-distractors", metavar="N", help="Most tools that are added.")
    ] = 6,
    splits: Annotated[
        str,
        typer.Option("--splits", metavar="A,B", help="Only trajectories of these splits; all by default."),
    ] = "",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of every draw.")] = 0,
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", help="Worker processes; 0: one per core.")
    ] = 0,
    fresh: Annotated[bool, typer.Option("--fresh", help="Throw away what DIR holds.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Make harder variants of a run's gold trajectories: other names and words, more tools, noise, orders, gaps."""
    from planarena.augment import AugmentConfig
    from planarena.augment import augment as make

    config = AugmentConfig(
        run=run,
        out=out,
        kinds=_names(kinds),
        per=per,
        limit=limit,
        most_distractors=distractors,
        splits=_names(splits),
        seed=seed,
        workers=workers,
        fresh=fresh,
    )
    started = time.perf_counter()
    made = make(config, _silent if as_json else _tell)
    _print(made, time.perf_counter() - started, as_json)


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


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
