"""`planarena eval`: a model, or outputs that exist already, on the benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["evaluate"]


def evaluate(
    suites: Annotated[
        list[str],
        typer.Argument(
            help="bfcl-v3, bfcl-v4, api-bank, mmlu-pro, math, planarena, suite:PATH; or: new PATH, which writes a "
            "suite to begin with.",
            metavar="SUITE...",
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="The folder to write.")] = None,
    responses: Annotated[
        str | None,
        typer.Option(help="Outputs to score: a file, a folder, or the word gold (the ground truth)."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Who writes the outputs: a folder, a LiteLLM id, MODEL@URL or MODEL@URL#KEY_VARIABLE."
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(help="A benchmark's questions, SUITE=PATH; may be given several times."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="What the model speaks: native, hermes, planarena, ...; of --responses how they are written: auto, "
            "llama, mistral, deepseek, harmony, ...",
        ),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="An OpenAI-compatible server, up to and with /v1.")
    ] = None,
    key_env: Annotated[str | None, typer.Option(help="The environment variable that holds its key.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Most requests in flight (32).")] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Of sampling; 0 for one sample and 1 for more by default.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Most tokens of one reply.")] = None,
    budget_usd: Annotated[float | None, typer.Option(help="Most US dollars to spend.")] = None,
    budget_tokens: Annotated[float | None, typer.Option(help="Most tokens to spend.")] = None,
    budget_calls: Annotated[float | None, typer.Option(help="Most answers to pay for.")] = None,
    samples: Annotated[int, typer.Option(help="Outputs of one item, K of avg@K.")] = 1,
    guess: Annotated[
        bool, typer.Option("--guess/--no-guess", help="Let MMLU-Pro guess where nothing is found.")
    ] = True,
    limit: Annotated[int | None, typer.Option(help="Only the first so many items of each category.")] = None,
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
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Remove what the folder holds and ask everything anew.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Score a model, or outputs that exist already, on the benchmarks.

    The folder gets responses.jsonl as answers come, then scores.json (every verdict with its reason), report.html
    and run.json. The same command goes on where it was interrupted; nothing is asked twice.
    """
    from planarena.cli._evaluation import begin_suite, run_evaluation
    from planarena.errors import UserError

    if suites[0] == "new":
        begin_suite(suites[1:])
        return
    if out is None:
        raise UserError("no folder to write is named", where="--out", fix="give --out FOLDER")
    given: dict[str, object] = {
        "suites": suites,
        "out": str(out),
        "responses": responses,
        "model": model,
        "samples": samples,
        "guess": guess,
        "limit": limit,
        "base": base,
        "unsafe_no_sandbox": unsafe_no_sandbox,
        "format": form,
        "fresh": fresh,
    }
    asking = {
        "base_url": base_url,
        "key_env": key_env,
        "concurrency": concurrency,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "budget_usd": budget_usd,
        "budget_tokens": budget_tokens,
        "budget_calls": budget_calls,
    }
    given["generation"] = {key: value for key, value in asking.items() if value is not None} or None
    run_evaluation(given, data or [], settings or [], config, as_json=json)
