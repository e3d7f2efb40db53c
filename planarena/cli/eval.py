"""`planarena eval`: a model, or outputs that exist already, on the benchmarks."""

from __future__ import annotations

from typing import Annotated

import typer

from planarena.cli._options import AsJson, Given, Quiet, Setting, with_settings
from planarena.errors import UserError
from planarena.eval import EvalConfig

__all__ = ["ASKING", "evaluate"]

# How a model is asked: options of every command that has one play.
ASKING = (
    Setting("generation.base_url", panel="The model"),
    Setting("generation.key_env", panel="The model"),
    Setting("generation.concurrency", metavar="N", panel="The model"),
    Setting("generation.temperature", metavar="X", panel="The model"),
    Setting("generation.max_tokens", metavar="N", panel="The model"),
    Setting("generation.budget_usd", metavar="X", panel="Budget"),
    Setting("generation.budget_tokens", metavar="N", panel="Budget"),
    Setting("generation.budget_calls", metavar="N", panel="Budget"),
)
_SETTINGS = (
    Setting("out", metavar="DIR", panel="Outputs"),
    Setting("responses", metavar="PATH|gold", panel="Outputs"),
    Setting("data", metavar="SUITE=PATH", panel="Outputs"),
    Setting("data_dir", metavar="DIR", panel="Outputs"),
    Setting("samples", metavar="K", panel="Outputs"),
    Setting("guess", panel="Outputs"),
    Setting("limit", metavar="N", panel="Outputs"),
    Setting("base", metavar="DIR", panel="Outputs"),
    Setting("model", metavar="ID|PATH", panel="The model"),
    Setting("format", metavar="NAME", panel="The model"),
    *ASKING,
    Setting("unsafe_no_sandbox", panel="Settings"),
    Setting("fresh", panel="Settings"),
)


@with_settings(EvalConfig, _SETTINGS, "extraction=boxed or generation.top_p=0.9", "Settings")
def evaluate(
    suites: Annotated[
        list[str],
        typer.Argument(
            help="bfcl-v3, bfcl-v4, api-bank, mmlu-pro, math, workbench, acebench, tau2, nestful, planarena, "
            "suite:PATH; or: new PATH, which writes a suite to begin with.",
            metavar="SUITE...",
        ),
    ],
    fetch: Annotated[
        bool,
        typer.Option(
            "--fetch",
            help="Get the benchmarks' data first, checked against the known revision; alone, only that.",
            rich_help_panel="Outputs",
        ),
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    *,
    given: Given,
) -> None:
    """Score a model, or outputs that exist already, on the benchmarks.

    The folder gets responses.jsonl as answers come, then scores.json (every verdict with its reason), report.html
    and run.json. The same command goes on where it was interrupted; nothing is asked twice.
    """
    from planarena.cli._evaluation import begin_suite, fetch_data, run_evaluation

    if suites[0] == "new":
        begin_suite(suites[1:])
        return
    options = given.options
    if fetch:
        fetch_data(suites, options.get("data_dir", ""), given.settings)
        if "responses" not in options and "model" not in options:
            return
    if "out" not in options:
        raise UserError("no folder to write is named", where="--out", fix="give --out FOLDER")
    run_evaluation(given, suites, quiet=quiet, as_json=as_json)
