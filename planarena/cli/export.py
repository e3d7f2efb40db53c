"""`planarena export`: a run in a format that others read."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from planarena.cli import plain

__all__ = ["export"]


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory of a finished build.")],
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="hf (Parquet for datasets), openai, sharegpt, preference (JSON lines) or verl (Parquet).",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new or empty folder.")],
    kind: Annotated[
        str, typer.Option("--kind", help="Which trajectories: gold, contrastive or all.")
    ] = "gold",
    one_call_per_turn: Annotated[
        bool, typer.Option("--one-call-per-turn", help="Write parallel calls one after the other.")
    ] = False,
    system: Annotated[
        str, typer.Option("--system", metavar="TEXT", help="Text that opens the system message.")
    ] = "",
    no_context: Annotated[
        bool, typer.Option("--no-context", help="Leave out what the user told before, as the date.")
    ] = False,
    policy_format: Annotated[
        str,
        typer.Option(
            "--policy-format",
            metavar="NAME",
            help="preference, verl: the format that the policy speaks, as planarena or toolupt.",
        ),
    ] = "planarena",
    plan: Annotated[
        str, typer.Option("--plan", help="preference, verl: plans in rows: global, step or none.")
    ] = "global",
    signatures: Annotated[
        str,
        typer.Option("--signatures", help="preference, verl: tools in prompts: json, compact or names."),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Write a run as rows for training, split into train, validation and test."""
    from planarena.errors import UserError
    from planarena.export import ExportOptions
    from planarena.export import export as write
    from planarena.records import Run

    kinds = {"gold": ("gold",), "contrastive": ("contrastive",), "all": ("gold", "contrastive")}
    if kind not in kinds:
        raise UserError(f"there is no kind {kind!r}", where="--kind", fix="write gold, contrastive or all")
    for name, value, known in (
        ("--plan", plan, ("global", "step", "none")),
        ("--signatures", signatures, ("", "json", "compact", "names")),
    ):
        if value not in known:
            raise UserError(
                f"{value!r} is not one of its values",
                where=name,
                fix=f"write {', '.join(filter(None, known))}",
            )
    options = ExportOptions(
        kinds[kind],  # type: ignore[arg-type]
        one_call_per_turn,
        system,
        not no_context,
        policy_format,
        plan,  # type: ignore[arg-type]
        signatures or None,  # type: ignore[arg-type]
    )
    written = write(Run.open(run), format, out, options, _Watch(quiet=as_json).show)
    if as_json:
        import json

        result = {"out": str(written.path), "format": written.format, "rows": written.rows}
        typer.echo(json.dumps(result))
        return
    rows = ", ".join(f"{number} {split}" for split, number in written.rows.items())
    typer.echo(plain(f"{rows} rows in {written.path}"))
    if format == "hf":
        typer.echo(plain(f"next: datasets.load_dataset({str(written.path)!r})"))


class _Watch:
    """Says every few seconds how far the export is: over itself on a terminal, line by line otherwise."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._last = time.monotonic()

    def show(self, rows: int) -> None:
        now = time.monotonic()
        if not self._quiet and now - self._last >= 2:
            self._last = now
            over = sys.stderr.isatty()
            print(f"{rows} rows", end="\r" if over else "\n", file=sys.stderr, flush=True)
