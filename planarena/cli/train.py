"""`planarena train`: rows, an algorithm and a model -> a trained policy."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from planarena.trainers.config import TrainConfig
    from planarena.trainers.launch import TrainResult

__all__ = ["train"]


def train(
    algorithm: Annotated[
        str | None,
        typer.Option("--algorithm", metavar="NAME", help="An algorithm or preset of --list."),
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", metavar="RUN|FILE|FOLDER", help="Where the rows come from.")
    ] = None,
    out: Annotated[str | None, typer.Option("--out", metavar="DIR", help="The folder of the run.")] = None,
    reward: Annotated[
        str | None, typer.Option("--reward", metavar="NAME", help="Another reward than the recipe's.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", metavar="PATH|tiny", help="A causal model with its tokenizer; tiny: a small new one."
        ),
    ] = None,
    engine: Annotated[
        str | None, typer.Option("--engine", metavar="local|verl", help="One process, or a cluster.")
    ] = None,
    steps: Annotated[int | None, typer.Option("--steps", metavar="N", help="Optimiser steps.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Of everything random.")] = None,
    judge_model: Annotated[
        str | None,
        typer.Option("--judge-model", metavar="ID", help="A model that judges; none: offline scorers."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Throw an earlier run in DIR away.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List every algorithm and preset.")] = False,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="A YAML file of settings.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="K=V", help="One setting, as options.zeta=0.05 or rollout.group_size=4."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Train a policy with any of the algorithms."""
    if list_all:
        _print_list(as_json)
        return
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
    with _Watch(as_json) as watch:
        result = train_run(read, show=watch.show, say=watch.say, fresh=fresh)
    _print_result(read, result, time.perf_counter() - started, as_json)


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


class _Watch:
    """Shows progress: a bar on a terminal, plain lines otherwise, nothing with --json."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Any = None
        self._task: Any = None
        self._last = 0.0

    def __enter__(self) -> _Watch:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("steps"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                TextColumn("{task.description}", markup=False),
                console=Console(stderr=True),
            )
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, text: str) -> None:
        """Print a line beside the progress."""
        from planarena.cli import plain

        if self._quiet:
            return
        if self._bar is not None:
            self._bar.console.print(plain(text), markup=False, highlight=False)
        else:
            print(plain(text), file=sys.stderr, flush=True)

    def show(self, done: int, total: int, metrics: dict[str, Any]) -> None:
        """Show a step."""
        told = _told(metrics)
        if self._quiet:
            return
        if self._bar is not None:
            if self._task is None:
                self._task = self._bar.add_task("", total=total, completed=done)
            self._bar.update(self._task, completed=done, description=told)
            return
        now = time.monotonic()
        if now - self._last >= 5 or done >= total or not _VALIDATED.isdisjoint(metrics):
            self._last = now
            print(f"step {done} of {total}  {told}", file=sys.stderr, flush=True)


_SHOWN = {
    "reward/mean": "reward",
    "reward/success": "success",
    "loss/sft": "sft loss",
    "preference/accuracy": "accuracy",
    "length/mean": "length",
    "policy/entropy": "entropy",
    "validation/success": "validation",
    "bench/success": "bench",
}


_VALIDATED = {"validation/success", "bench/success"}


def _told(metrics: dict[str, Any]) -> str:
    return "  ".join(f"{word} {metrics[key]:.3f}" for key, word in _SHOWN.items() if key in metrics)


def _print_result(config: TrainConfig, result: TrainResult, seconds: float, as_json: bool) -> None:
    info = result.info
    if as_json:
        import json

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
                }
            )
        )
        return
    typer.echo(f"{config.algorithm}: {result.steps} steps in {seconds:.1f} s")
    if result.metrics:
        typer.echo(f"  last step     {_told(result.metrics)}")
    if info.get("skipped_steps"):
        typer.echo(f"  skipped       {info['skipped_steps']} updates whose loss or gradient was not finite")
    typer.echo(f"  metrics       {result.out}/metrics.jsonl")
    typer.echo(f"  curves        {result.out}/plot.png")
    typer.echo(f"  checkpoint    {result.checkpoint}")
    if result.best:
        typer.echo(f"  best          {result.best} ({_chosen_by(info)})")


def _chosen_by(info: dict[str, Any]) -> str:
    best, select = info["best"], info["config"]["validation"]["select"]
    words = {
        "success": "success in validation",
        "reward": "reward in validation",
        "bench": "success on the bench",
    }
    return f"{words[select]} {best['value']:.3f}"


def _print_list(as_json: bool) -> None:
    from planarena.trainers import list_algorithms

    entries = list_algorithms()
    if as_json:
        import json

        typer.echo(json.dumps(entries))
        return
    for entry in entries:
        mark = " (approximate)" if entry["approximate"] and "approximate" not in entry["title"] else ""
        preset = f"  preset of {entry['preset_of']}" if entry["preset_of"] else ""
        typer.echo(f"{entry['name']}: {entry['title']}{mark}  [{entry['paper']}]{preset}")
        typer.echo(f"  needs: {', '.join(entry['needs']) or 'nothing'}")
        if entry["reward"]:
            typer.echo(f"  reward: {entry['reward']}  format: {entry['format']}")
        for option in entry["options"]:
            typer.echo(f"  {option['name']} = {option['default']}  {option['about']}  [{option['source']}]")
