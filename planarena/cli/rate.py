"""`planarena rate`: how often a model does each task of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planarena.cli import plain
from planarena.cli._options import AsJson, Given, Setting, with_settings
from planarena.cli.eval import ASKING
from planarena.errors import UserError
from planarena.eval.rates import RateConfig

if TYPE_CHECKING:
    from planarena.eval.rates import Rated

__all__ = ["rate"]


_SETTINGS = (
    Setting("tries", metavar="K"),
    Setting("name"),
    Setting("splits", metavar="A,B", listed=True),
    Setting("limit", metavar="N"),
    Setting("format", metavar="NAME"),
    *ASKING,
    Setting("fresh"),
)


@with_settings(RateConfig, _SETTINGS, "generation.engine=vllm")
def rate(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run; its tasks are played.")],
    model: Annotated[
        str, typer.Option("--model", metavar="ID|CHECKPOINT", help="A folder, a LiteLLM id, or MODEL@URL.")
    ],
    trusted: Annotated[bool, typer.Option("--trusted", help="Run your own folders in process.")] = False,
    unsafe: Annotated[
        bool, typer.Option("--unsafe-no-sandbox", help="Run third-party code without a sandbox.")
    ] = False,
    as_json: AsJson = False,
    *,
    given: Given,
) -> None:
    """Measure how often a model does each task of a run, and keep it beside the run."""
    from planarena.cli._evaluation import show_progress
    from planarena.eval.rates import rate as measure
    from planarena.serving.sources import open_run

    config = given.load(RateConfig, also={"run": run, "model": model})
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
