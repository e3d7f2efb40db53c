"""`planarena train`: rows, an algorithm and a model -> a trained policy."""

from __future__ import annotations

import shutil
import time
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from planarena.trainers.config import TrainConfig
    from planarena.trainers.launch import TrainResult

__all__ = ["train"]


def train(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="With --list: what this one takes.")
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--algorithm", metavar="NAME", help="An algorithm or preset of --list.", rich_help_panel="What"
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data", metavar="RUN|FILE|FOLDER", help="Where the rows come from.", rich_help_panel="What"
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="The folder of the run.", rich_help_panel="What"),
    ] = None,
    reward: Annotated[
        str | None,
        typer.Option(
            "--reward", metavar="NAME", help="Another reward than the recipe's.", rich_help_panel="How"
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="PATH|tiny",
            help="A causal model with its tokenizer; tiny: a small new one.",
            rich_help_panel="What",
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine", metavar="local|verl", help="One process, or a cluster.", rich_help_panel="How"
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", metavar="N", help="Optimiser steps.", rich_help_panel="What")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Of everything random.", rich_help_panel="How")
    ] = None,
    judge_model: Annotated[
        str | None,
        typer.Option(
            "--judge-model",
            metavar="ID",
            help="A model that judges; none: offline scorers.",
            rich_help_panel="How",
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Throw an earlier run in DIR away.", rich_help_panel="The run")
    ] = False,
    list_all: Annotated[
        bool, typer.Option("--list", help="List every algorithm and preset.", rich_help_panel="What")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="A YAML file of settings.", rich_help_panel="Settings"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="K=V",
            help="One setting, as options.zeta=0.05 or rollout.group_size=4.",
            rich_help_panel="Settings",
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show no progress, print the result alone.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Train a policy with any of the algorithms."""
    if list_all:
        _print_list(name or algorithm or "", as_json)
        return
    if name is not None:
        from planarena.errors import UserError

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

    read = _read_config(
        config,
        settings or [],
        {
            "algorithm": algorithm,
            "data": {"path": data},
            "out": out,
            "reward": {"name": reward},
            "model": {"path": model},
            "engine": engine,
            "steps": steps,
            "seed": seed,
            "judge_model": judge_model,
        },
    )
    started = time.perf_counter()
    with watch:
        result = train_run(read, show=watch.show, say=watch.say, stage=watch.stage, fresh=fresh)
    _print_result(read, result, time.perf_counter() - started, quiet=quiet, as_json=as_json)


def _read_config(file: Path | None, settings: list[str], options: dict[str, Any]) -> TrainConfig:
    from planarena.config import load_config, parse_settings
    from planarena.trainers import TrainConfig

    given = _without_none(options)
    for key, value in parse_settings(settings).items():
        below = given.get(key)
        given[key] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return load_config(TrainConfig, file=file, values=given)


def _merged(base: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in top.items():
        below = merged.get(key)
        merged[key] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _without_none(options: dict[str, Any]) -> dict[str, Any]:
    kept = {key: _without_none(value) if isinstance(value, dict) else value for key, value in options.items()}
    return {key: value for key, value in kept.items() if value is not None and value != {}}


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
        from planarena.errors import UserError

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
