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
            help="bfcl-v3, bfcl-v4, api-bank, mmlu-pro, math, workbench, acebench, tau2, nestful, planarena, "
            "suite:PATH; or: new PATH, which writes a suite to begin with.",
            metavar="SUITE...",
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="The folder to write.", rich_help_panel="Outputs")] = None,
    responses: Annotated[
        str | None,
        typer.Option(
            help="Outputs to score: a file, a folder, or the word gold (the ground truth).",
            rich_help_panel="Outputs",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Who writes the outputs: a folder, a LiteLLM id, MODEL@URL or MODEL@URL#KEY_VARIABLE.",
            rich_help_panel="The model",
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="A benchmark's questions, SUITE=PATH; may be given several times.", rich_help_panel="Outputs"
        ),
    ] = None,
    fetch: Annotated[
        bool,
        typer.Option(
            "--fetch",
            help="Get the benchmarks' data first, checked against the known revision; alone, only that.",
            rich_help_panel="Outputs",
        ),
    ] = False,
    data_dir: Annotated[
        str | None,
        typer.Option(
            help="The folder of fetched data (PLANARENA_DATA, else the user's data folder).",
            rich_help_panel="Outputs",
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="What the model speaks: native, hermes, planarena, ...; of --responses how they are written: auto, "
            "llama, mistral, deepseek, harmony, ...",
            rich_help_panel="The model",
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="An OpenAI-compatible server, up to and with /v1.", rich_help_panel="The model"),
    ] = None,
    key_env: Annotated[
        str | None,
        typer.Option(help="The environment variable that holds its key.", rich_help_panel="The model"),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(help="Most requests in flight (32).", rich_help_panel="The model")
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            help="Of sampling; 0 for one sample and 1 for more by default.", rich_help_panel="The model"
        ),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Most tokens of one reply.", rich_help_panel="The model")
    ] = None,
    budget_usd: Annotated[
        float | None, typer.Option(help="Most US dollars to spend.", rich_help_panel="Budget")
    ] = None,
    budget_tokens: Annotated[
        float | None, typer.Option(help="Most tokens to spend.", rich_help_panel="Budget")
    ] = None,
    budget_calls: Annotated[
        float | None, typer.Option(help="Most answers to pay for.", rich_help_panel="Budget")
    ] = None,
    samples: Annotated[
        int, typer.Option(help="Outputs of one item, K of avg@K.", rich_help_panel="Outputs")
    ] = 1,
    guess: Annotated[
        bool,
        typer.Option(
            "--guess/--no-guess", help="Let MMLU-Pro guess where nothing is found.", rich_help_panel="Outputs"
        ),
    ] = True,
    limit: Annotated[
        int | None,
        typer.Option(help="Only the first so many items of each category.", rich_help_panel="Outputs"),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(help="An earlier evaluation to take the difference from.", rich_help_panel="Outputs"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Any further option as key=value, such as extraction=boxed.",
            rich_help_panel="Settings",
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A YAML file of options.", rich_help_panel="Settings")
    ] = None,
    unsafe_no_sandbox: Annotated[
        bool,
        typer.Option(
            "--unsafe-no-sandbox", help="Run BFCL's executors without a sandbox.", rich_help_panel="Settings"
        ),
    ] = False,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh",
            help="Remove what the folder holds and ask everything anew.",
            rich_help_panel="Settings",
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show no progress, print the result alone.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Score a model, or outputs that exist already, on the benchmarks.

    The folder gets responses.jsonl as answers come, then scores.json (every verdict with its reason), report.html
    and run.json. The same command goes on where it was interrupted; nothing is asked twice.
    """
    from planarena.cli._evaluation import begin_suite, fetch_data, run_evaluation
    from planarena.errors import UserError

    if suites[0] == "new":
        begin_suite(suites[1:])
        return
    if fetch:
        fetch_data(suites, data_dir or "", settings or [])
        if responses is None and model is None:
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
        "data_dir": data_dir,
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
    run_evaluation(given, data or [], settings or [], config, quiet=quiet, as_json=json)
