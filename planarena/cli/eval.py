"""`planarena eval`: score outputs on the benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["evaluate"]


def evaluate(
    suites: Annotated[
        list[str],
        typer.Argument(help="bfcl-v3, bfcl-v4, api-bank, mmlu-pro, math, planarena.", metavar="SUITE..."),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    responses: Annotated[
        str | None,
        typer.Option(help="Outputs to score: a file, a folder, or the word gold (the ground truth)."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Not in this version: outputs are scored, not generated.")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(help="A benchmark's questions, SUITE=PATH; may be given several times."),
    ] = None,
    samples: Annotated[int, typer.Option(help="Outputs of one item that count as its samples.")] = 1,
    guess: Annotated[
        bool, typer.Option("--guess/--no-guess", help="Let MMLU-Pro guess where nothing is found.")
    ] = True,
    limit: Annotated[int | None, typer.Option(help="Score the first so many items of each category.")] = None,
    base: Annotated[
        str | None, typer.Option(help="An earlier evaluation to take the difference from.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any further option as key=value, such as extraction=boxed."),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A YAML file of options.")] = None,
    unsafe_no_sandbox: Annotated[
        bool, typer.Option("--unsafe-no-sandbox", help="Run BFCL's executors without a sandbox.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Score a model's outputs on the benchmarks.

    The folder gets scores.json (every verdict with its reason), report.html, responses.jsonl and run.json.
    """
    from planarena.cli._evaluation import run_evaluation

    given = {
        "suites": suites,
        "out": str(out),
        "responses": responses,
        "model": model,
        "samples": samples,
        "guess": guess,
        "limit": limit,
        "base": base,
        "unsafe_no_sandbox": unsafe_no_sandbox,
    }
    run_evaluation(given, data or [], settings or [], config, as_json=json)
