"""`planarena import`: existing traces and data sets as a run."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from planarena.cli import plain
from planarena.cli._options import AsJson, Quiet

__all__ = ["import_"]

_NAMES = "openai, sharegpt, toolace, xlam, hammer, hermes, apigen-mt, funreason-mt, toolrl, openr1-math"


def import_(
    source: Annotated[
        Path,
        typer.Argument(metavar="FILE_OR_FOLDER", help="JSON lines, JSON lists or Parquet, on this machine."),
    ],
    format: Annotated[
        str, typer.Option("--format", metavar="NAME", help=f"The shape of the files: {_NAMES}.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="RUN", help="A new or empty folder.")],
    sample: Annotated[
        int, typer.Option("--sample", metavar="N", min=0, help="Take N records at random; 0 takes all.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of the sample and of masked names.")] = 0,
    mask: Annotated[
        float,
        typer.Option("--mask", metavar="SHARE", min=0, max=1, help="hammer: records whose names are masked."),
    ] = 1.0,
    integer_answers: Annotated[
        bool, typer.Option("--integer-answers", help="openr1-math: problems with an integer as answer only.")
    ] = False,
    drop_errors: Annotated[
        bool, typer.Option("--drop-errors", help="funreason-mt: leave out dialogues marked as erroneous.")
    ] = False,
    licence: Annotated[
        str,
        typer.Option("--licence", metavar="ID", help="An SPDX id in place of what the set's card states."),
    ] = "",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Turn existing traces and datasets into a run; nothing is executed."""
    from planarena.config import SplitConfig
    from planarena.quality import split_of
    from planarena.rows.importers import ImportOptions, import_traces

    options = ImportOptions(
        sample=sample,
        seed=seed,
        mask=mask,
        integer_answers=integer_answers,
        keep_errors=not drop_errors,
        licence=licence,
    )
    shares = SplitConfig()

    def choose_split(scenario_id: str) -> str:
        return split_of(shares, scenario_id, ())

    watch = _Watch(quiet=quiet or as_json)
    made = import_traces(source, format, out, options, split_of=choose_split, progress=watch.show)
    counts = made.counts
    if as_json:
        import json

        typer.echo(json.dumps({"out": str(made.path), "format": format, "counts": counts}))
        return
    typer.echo(
        plain(
            f"{counts['original']} original, {counts['sampled']} sampled, {counts['gold']} usable dialogues, "
            f"{counts['processed']} processed decisions in {made.path}"
        )
    )
    for key, times in sorted(counts["discard"].items(), key=lambda pair: -pair[1]):
        typer.echo(plain(f"  left out {times}: {key.partition(':')[2]}"))
    typer.echo(plain(f"next: planarena inspect {made.path}"))


class _Watch:
    """Says every few seconds how far the import is: over itself on a terminal, line by line otherwise."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._last = time.monotonic()

    def show(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._quiet and now - self._last >= 2:
            self._last = now
            over = sys.stderr.isatty()
            print(f"{done} of {total} records", end="\r" if over else "\n", file=sys.stderr, flush=True)
