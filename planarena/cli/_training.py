"""What a training shows while it runs and when it ends: stages with bars, the curve of success, the next commands."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from planarena.cli import plain
from planarena.cli._curve import draw_curve

if TYPE_CHECKING:
    from planarena.trainers.config import TrainConfig
    from planarena.trainers.launch import TrainResult

__all__ = ["TrainingWatch", "print_training"]

_EVERY_SECONDS = 5.0
_SHOWN = {
    "reward/mean": "reward",
    "reward/success": "success",
    "loss/sft": "sft loss",
    "preference/accuracy": "accuracy",
    "length/mean": "length",
    "policy/entropy": "entropy",
    "validation/success": "held-out success",
    "bench/success": "bench",
}
_VALIDATED = {"validation/success", "bench/success"}


class TrainingWatch:
    """Shows progress: a bar for each stage on a terminal, a line every few seconds elsewhere, or nothing.

    Args:
        quiet: Show nothing.
    """

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}
        self._last = 0.0
        self._began: dict[str, tuple[float, int]] = {}

    def __enter__(self) -> TrainingWatch:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._bars = Progress(
                TextColumn("{task.fields[stage]:<11}", markup=False),
                BarColumn(bar_width=24),
                MofNCompleteColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                TextColumn("{task.description}", markup=False),
                console=Console(stderr=True),
            )
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def say(self, text: str) -> None:
        """Print a line beside the progress."""
        if self._quiet:
            return
        if self._bars is not None:
            self._bars.console.print(plain(text), markup=False, highlight=False)
        else:
            print(plain(text), file=sys.stderr, flush=True)

    def show(self, done: int, total: int, metrics: dict[str, Any]) -> None:
        """Show a step."""
        self.stage("training", done, total, _told(metrics), at_once=not _VALIDATED.isdisjoint(metrics))

    def stage(self, stage: str, done: int, total: int, told: str = "", *, at_once: bool = False) -> None:
        """Show how far a stage is, and about how long it will take.

        Args:
            stage: Its name.
            done: Parts done.
            total: Parts in all.
            told: What there is to say of it.
            at_once: Print a line however short ago the last one was.
        """
        if self._quiet:
            return
        if self._bars is not None:
            if stage not in self._tasks:
                self._tasks[stage] = self._bars.add_task("", total=total, completed=done, stage=stage)
            self._bars.update(self._tasks[stage], completed=done, total=total, description=plain(told))
            return
        now = time.monotonic()
        began, before = self._began.setdefault(stage, (now, done))
        if now - self._last < _EVERY_SECONDS and done < total and not at_once:
            return
        self._last = now
        left = ""
        if before < done < total:
            left = f"  about {_duration((now - began) / (done - before) * (total - done))} left"
        name = "step" if stage == "training" else f"{stage}:"
        print(plain(f"{name} {done} of {total}  {told}{left}".rstrip()), file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _told(metrics: dict[str, Any]) -> str:
    return "  ".join(f"{word} {metrics[key]:.3f}" for key, word in _SHOWN.items() if key in metrics)


def print_training(config: TrainConfig, result: TrainResult, seconds: float, *, quiet: bool) -> None:
    """Print what a training became, its curve, and what may be done next.

    Args:
        config: As the caller gave it.
        result: What it became.
        seconds: What this command took.
        quiet: Leave curve and next commands away.
    """
    from planarena.llm.models import tell_served

    info = result.info
    typer.echo(f"{config.algorithm}: {result.steps} steps in {seconds:.1f} s")
    if result.metrics:
        typer.echo(f"  last step     {_told(result.metrics)}")
    if info.get("skipped_steps"):
        typer.echo(f"  skipped       {info['skipped_steps']} updates whose loss or gradient was not finite")
    for what, number in sorted(info.get("scoring", {}).items()):
        # A judge that always falls back is no judge: it stands here, not only in run.json.
        typer.echo(f"  scoring       {number} {what}")
    for note in tell_served(info.get("served_by") or {}):
        typer.echo(plain(f"  judge         {note}"))
    typer.echo(f"  metrics       {result.out}/metrics.jsonl")
    typer.echo(f"  curves        {result.out}/plot.png")
    typer.echo(f"  page          {result.out}/report.html")
    typer.echo(f"  checkpoint    {result.checkpoint}")
    if result.best:
        typer.echo(f"  best          {result.best} ({_chosen_by(info)})")
    if quiet:
        return
    from planarena.trainers.loop.following import next_commands

    _print_curve(Path(result.out))
    typer.echo("next:")
    for command in next_commands(config, Path(result.out), result.steps):
        typer.echo(plain(f"  {command}"))


def _print_curve(out: Path) -> None:
    from planarena.records.step_lines import read_steps

    lines = read_steps(out / "metrics.jsonl", missing_ok=True)
    for key, what in (
        ("bench/success", "success on the bench"),
        ("validation/success", "held-out success"),
    ):
        points = [(int(line["step"]), float(line[key])) for line in lines if _is_share(line.get(key))]
        if len(points) > 1:
            (first, start), (last, end) = points[0], points[-1]
            typer.echo(f"{what}: {start:.1%} at step {first}, {end:.1%} at step {last}")
            blocks = "utf" in (sys.stdout.encoding or "").lower()
            typer.echo("\n".join(draw_curve(points, blocks=blocks)))
            return


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1


def _chosen_by(info: dict[str, Any]) -> str:
    best, select = info["best"], info["config"]["validation"]["select"]
    words = {
        "success": "success in validation",
        "reward": "reward in validation",
        "bench": "success on the bench",
    }
    return f"{words[select]} {best['value']:.3f}"
