"""`planarena rate`: how often a model does each task of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planarena.cli import plain

if TYPE_CHECKING:
    from planarena.eval.rates import Rated

__all__ = ["rate"]


def rate(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run; its tasks are played.")],
    model: Annotated[
        str, typer.Option("--model", metavar="ID|CHECKPOINT", help="A folder, a LiteLLM id, or MODEL@URL.")
    ],
    tries: Annotated[int, typer.Option("--tries", metavar="K", help="Episodes of each task.")] = 4,
    name: Annotated[
        str, typer.Option("--name", help="How the rates are called; by default as the model.")
    ] = "",
    splits: Annotated[
        str, typer.Option("--splits", metavar="A,B", help="Only tasks of these splits; all by default.")
    ] = "",
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="Most tasks of each kind.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="What the model speaks; by default as it was trained.")
    ] = "",
    base_url: Annotated[
        str | None, typer.Option(help="An OpenAI-compatible server, up to and with /v1.")
    ] = None,
    key_env: Annotated[str | None, typer.Option(help="The environment variable that holds its key.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Most requests in flight (32).")] = None,
    temperature: Annotated[float | None, typer.Option(help="Of sampling; 1 by default.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Most tokens of one reply.")] = None,
    budget_usd: Annotated[float | None, typer.Option(help="Most US dollars to spend.")] = None,
    budget_tokens: Annotated[float | None, typer.Option(help="Most tokens to spend.")] = None,
    budget_calls: Annotated[float | None, typer.Option(help="Most answers to pay for.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="K=V", help="Further settings of asking, as generation.engine=vllm."),
    ] = None,
    trusted: Annotated[bool, typer.Option("--trusted", help="Run your own folders in process.")] = False,
    unsafe: Annotated[
        bool, typer.Option("--unsafe-no-sandbox", help="Run third-party code without a sandbox.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask everything anew.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rates as JSON.")] = False,
) -> None:
    """Measure how often a model does each task of a run, and keep it beside the run."""
    from planarena.cli._evaluation import show_progress
    from planarena.config import load_config, parse_settings
    from planarena.errors import UserError
    from planarena.eval.rates import RateConfig
    from planarena.eval.rates import rate as measure
    from planarena.serving.sources import open_run

    asking: dict[str, Any] = {
        "base_url": base_url,
        "key_env": key_env,
        "concurrency": concurrency,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "budget_usd": budget_usd,
        "budget_tokens": budget_tokens,
        "budget_calls": budget_calls,
    }
    stated = parse_settings(settings or [])
    given = {key: value for key, value in asking.items() if value is not None}
    values: dict[str, Any] = {
        "run": run,
        "model": model,
        "tries": tries,
        "name": name,
        "splits": tuple(part.strip() for part in splits.split(",") if part.strip()),
        "limit": limit,
        "format": form,
        "fresh": fresh,
        **stated,
        "generation": {**given, **stated.get("generation", {})},
    }
    config = load_config(RateConfig, values=values)
    if not Path(run).is_dir():
        raise UserError(
            "is no run on this disk", where=run, fix="build one first: the rates are kept beside it"
        )
    with open_run(run, trusted=trusted, unsafe=unsafe):
        rated = measure(config, None if as_json else show_progress())
    _print(rated, run, as_json)


def _print(rated: Rated, run: str, as_json: bool) -> None:
    if as_json:
        import json

        typer.echo(json.dumps({"model": rated.model, "rates": rated.rates, "folder": str(rated.folder)}))
        return
    from planarena.quality.difficulty import difficulty_of
    from planarena.records import Run

    for model, tasks, tries, mean, bands in difficulty_of(Run.open(run)):
        if model == rated.model:
            typer.echo(plain(f"{model}: {tasks} tasks, up to {tries} tries each, mean pass rate {mean:.3f}"))
            typer.echo("  " + "  ".join(f"{band}: {number}" for band, number in bands.items()))
    typer.echo(plain(f"replies: {rated.folder}"))
    typer.echo(plain(f"next: planarena export {run} --difficulty 0.2:0.8 --format openai --out DIR"))
