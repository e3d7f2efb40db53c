"""`planarena train`: rows, an algorithm and a model -> a trained policy."""

from __future__ import annotations

import shutil
import time
from difflib import get_close_matches
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planarena.cli._options import AsJson, Given, Quiet, Setting, with_settings
from planarena.errors import UserError
from planarena.trainers.config import TrainConfig

if TYPE_CHECKING:
    from planarena.trainers.launch import TrainResult

__all__ = ["train"]


_SETTINGS = (
    Setting("algorithm", metavar="NAME", panel="What"),
    Setting("data.path", "--data", "RUN|FILE|FOLDER", "What"),
    Setting("out", metavar="DIR", panel="What"),
    Setting("model.path", "--model", "PATH|tiny", "What"),
    Setting("steps", metavar="N", panel="What"),
    Setting("reward.name", "--reward", "NAME", "How"),
    Setting("engine", metavar="local|verl", panel="How"),
    Setting("seed", metavar="N", panel="How"),
    Setting("judge_model", metavar="ID", panel="How"),
)


@with_settings(TrainConfig, _SETTINGS, "options.zeta=0.05 or rollout.group_size=4", "Settings")
def train(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="With --list: what this one takes.")
    ] = None,
    list_all: Annotated[
        bool, typer.Option("--list", help="List every algorithm and preset.", rich_help_panel="What")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Throw an earlier run in DIR away.", rich_help_panel="The run")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    *,
    given: Given,
) -> None:
    """Train a policy with any of the algorithms."""
    if list_all:
        _print_list(name or given.options.get("algorithm", ""), as_json)
        return
    if name is not None:
        raise UserError(
            f"{name!r} is no option",
            where="planarena train",
            fix=f"write --algorithm {name}, or --list {name}",
        )
    from planarena.cli._training import TrainingWatch

    if find_spec("torch") is None:  # said before anything else is
        raise ModuleNotFoundError("No module named 'torch'", name="torch")
    watch = TrainingWatch(quiet or as_json)
    # Importing torch takes seconds, in which nothing else could be shown.
    watch.say("loading torch and the data")
    from planarena.trainers import train as train_run

    read = given.load(TrainConfig)
    started = time.perf_counter()
    with watch:
        result = train_run(read, show=watch.show, say=watch.say, stage=watch.stage, fresh=fresh)
    _print_result(read, result, time.perf_counter() - started, quiet=quiet, as_json=as_json)


def _print_result(
    config: TrainConfig, result: TrainResult, seconds: float, *, quiet: bool, as_json: bool
) -> None:
    if not as_json:
        from planarena.cli._training import print_training

        print_training(config, result, seconds, quiet=quiet)
        return
    import json

    info = result.info
    typer.echo(
        json.dumps(
            {
                "out": result.out,
                "steps": result.steps,
                "checkpoint": result.checkpoint,
                "best": result.best,
                "metrics": result.metrics,
                "counts": info.get("counts", {}),
                "skipped_steps": info.get("skipped_steps", 0),
                "scoring": info.get("scoring", {}),
            }
        )
    )


def _print_list(name: str, as_json: bool) -> None:
    """Print a table of all algorithms and presets, or what one of them takes."""
    from planarena.trainers import list_algorithms

    entries = list_algorithms()
    if name:
        near = get_close_matches(name, [entry["name"] for entry in entries], n=1)
        entries = [entry for entry in entries if entry["name"] == name]
        if not entries:
            fix = f"did you mean {near[0]}?" if near else "`planarena train --list` names them"
            raise UserError(f"there is no algorithm {name!r}", where="--list", fix=fix)
    if as_json:
        import json

        typer.echo(json.dumps(entries))
    elif name:
        _print_options(entries[0])
    else:
        _print_table(entries)


def _print_table(entries: list[dict[str, Any]]) -> None:
    """One line for each, no wider than the terminal."""
    width = max(shutil.get_terminal_size((100, 24)).columns, 40)
    names = max(len(entry["name"]) for entry in entries)
    for entry in entries:
        line = f"{entry['name']:<{names}}  {_title(entry)}"
        typer.echo(line if len(line) <= width else f"{line[: width - 3].rstrip()}...")
    typer.echo("`planarena train --list NAME` says what one needs, its reward, format and options")


def _title(entry: dict[str, Any]) -> str:
    mark = " (approximate)" if entry["approximate"] and "approximate" not in entry["title"] else ""
    preset = f", preset of {entry['preset_of']}" if entry["preset_of"] else ""
    return f"{entry['title']}{mark}{preset} [{entry['paper']}]"


def _print_options(entry: dict[str, Any]) -> None:
    typer.echo(f"{entry['name']}: {_title(entry)}")
    typer.echo(f"  needs: {', '.join(entry['needs']) or 'nothing'}")
    if entry["reward"]:
        typer.echo(f"  reward: {entry['reward']}  format: {entry['format']}")
    for option in entry["options"]:
        typer.echo(f"  {option['name']} = {option['default']}  {option['about']}  [{option['source']}]")
