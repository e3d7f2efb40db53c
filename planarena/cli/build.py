"""`planarena build`: tools -> composed, executed, proven trajectories -> a dataset."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from planarena.config import BuildConfig
    from planarena.pipeline import DryRun, Progress

__all__ = ["build"]


def build(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE]...",
            help="Your tools: mytools.py, api.yaml, servers.json, a folder with environment.py; what it is is recognised, or written before it as python:, openapi:, mcp:, http: or env:. Or builtin, builtin:DOMAIN; builtin when left out. Or errands: a small set of tasks for a first training.",
        ),
    ] = None,
    out: Annotated[
        str, typer.Option("--out", metavar="RUN", help="The run directory.", rich_help_panel="The run")
    ] = "",
    preset: Annotated[
        str, typer.Option("--preset", help="Named settings: demo, paper.", rich_help_panel="Settings")
    ] = "",
    trajectories: Annotated[
        int | None,
        typer.Option(
            "--trajectories", metavar="N", help="Gold trajectories to accept.", rich_help_panel="Amount"
        ),
    ] = None,
    scenarios: Annotated[
        int | None,
        typer.Option("--scenarios", metavar="N", help="Most scenarios to draw.", rich_help_panel="Amount"),
    ] = None,
    max_actions: Annotated[
        int | None,
        typer.Option("--max-actions", metavar="N", help="Most actions of a task.", rich_help_panel="Amount"),
    ] = None,
    max_depth: Annotated[
        int | None,
        typer.Option(
            "--max-depth", metavar="N", help="Most levels of composition.", rich_help_panel="Amount"
        ),
    ] = None,
    negatives: Annotated[
        int | None,
        typer.Option(
            "--negatives",
            metavar="K",
            help="Candidates per decision point beside the right ones.",
            rich_help_panel="Amount",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", metavar="N", help="Worker processes; 0: one per core.", rich_help_panel="The run"
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="ID",
            help="A model that writes and proposes; several times for several.",
            rich_help_panel="Models",
        ),
    ] = None,
    judge: Annotated[
        str,
        typer.Option(
            "--judge-model", metavar="ID", help="The model that scores relevance.", rich_help_panel="Models"
        ),
    ] = "",
    budget_usd: Annotated[
        float | None,
        typer.Option(
            "--budget-usd", metavar="X", help="Most US dollars for models.", rich_help_panel="Models"
        ),
    ] = None,
    budget_tokens: Annotated[
        int | None,
        typer.Option(
            "--budget-tokens", metavar="N", help="Most tokens, prompts and answers.", rich_help_panel="Models"
        ),
    ] = None,
    budget_calls: Annotated[
        int | None,
        typer.Option("--budget-calls", metavar="N", help="Most calls to models.", rich_help_panel="Models"),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine", metavar="NAME", help="What runs the workers: local or ray.", rich_help_panel="The run"
        ),
    ] = None,
    unsafe: Annotated[
        bool,
        typer.Option(
            "--unsafe-no-sandbox",
            help="Run third-party code without a sandbox.",
            rich_help_panel="Third-party code",
        ),
    ] = False,
    trusted: Annotated[
        bool,
        typer.Option(
            "--trusted",
            help="Run your own environment folders in process: faster, no sandbox.",
            rich_help_panel="Third-party code",
        ),
    ] = False,
    effects: Annotated[
        bool,
        typer.Option(
            "--allow-effects",
            help="Execute gold trajectories once with live tools that cannot go back.",
            rich_help_panel="Third-party code",
        ),
    ] = False,
    simulate: Annotated[
        str,
        typer.Option(
            "--simulate",
            metavar="ID",
            help="A model that makes up results of JSON tool lists.",
            rich_help_panel="Models",
        ),
    ] = "",
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against",
            metavar="NAME=PATH",
            help="A benchmark whose data you have: its tools and queries stay out.",
            rich_help_panel="Settings",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", help="Of everything random.", rich_help_panel="Settings"),
    ] = None,
    extend: Annotated[
        bool,
        typer.Option(
            "--extend", help="Go on with a finished run up to more trajectories.", rich_help_panel="The run"
        ),
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Throw an earlier run in RUN away.", rich_help_panel="The run")
    ] = False,
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed",
            help="Try what failed again: scenarios, and requests to models.",
            rich_help_panel="The run",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be done, and do nothing.", rich_help_panel="The run"),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="A YAML file of settings.", rich_help_panel="Settings"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="K=V", help="One setting, as composition.budget=200.", rich_help_panel="Settings"
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show no progress, print the result alone.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Build executed, proven trajectories from tools."""
    if sources == ["errands"]:
        from planarena.cli._practice import build_practice

        build_practice(out, trajectories, seed, fresh=fresh, quiet=quiet, as_json=as_json)
        return
    from planarena import pipeline
    from planarena.cli._own_sources import announce_tools, with_kinds

    sources = with_kinds(sources or [], quiet=quiet or as_json)
    given = [*(settings or []), *_small_steps(sources, trajectories, config, settings or [])]
    read = _read_config(
        preset,
        config,
        given,
        {
            "sources": sources or None,
            "out": out or None,
            "trajectories": trajectories,
            "scenarios": scenarios,
            "seed": seed,
            "contamination": _benchmarks(against or []),
            "allowed": {
                "unsafe_no_sandbox": unsafe or None,
                "trusted": trusted or None,
                "simulate": simulate or None,
                "effects": effects or None,
            },
            "composition": {"max_actions": max_actions, "max_depth": max_depth},
            "contrast": {"candidates": negatives},
            "models": {"proposers": models or None, "judge": judge or None},
            "execution": {
                "workers": workers,
                "engine": engine,
                "extend": extend or None,
                "fresh": fresh or None,
                "retry_failed": retry_failed or None,
                "calls": {
                    "budget_usd": budget_usd,
                    "budget_tokens": budget_tokens,
                    "budget_calls": budget_calls,
                },
            },
        },
    )
    if not read.quotas.enabled:
        from planarena.pipeline.phases import allow_for

        allow_for(read)
        announce_tools(read.sources, quiet=quiet or as_json)
    if dry_run:
        _print_plan(pipeline.plan_build(read), as_json)
        return
    started = time.perf_counter()
    with _Watch(quiet or as_json) as watch:
        run = pipeline.build(read, watch.show)
    from planarena.cli._building import print_build

    print_build(run, time.perf_counter() - started, as_json)


def _small_steps(
    sources: list[str], trajectories: int | None, config: Path | None, settings: list[str]
) -> list[str]:
    """Return the setting that lets a small build over own tools end after what it needs: each call of theirs takes long."""
    own = bool(sources) and all(source.startswith(("python:", "mcp:", "http:")) for source in sources)
    set_already = config is not None or any(one.startswith("chunk_scenarios") for one in settings)
    return (
        ["chunk_scenarios=2"]
        if own and not set_already and (trajectories or 0) <= 200 and trajectories
        else []
    )


def _read_config(preset: str, file: Path | None, settings: list[str], options: dict[str, Any]) -> BuildConfig:
    from difflib import get_close_matches

    from planarena.config import PRESETS, BuildConfig, load_config, parse_settings
    from planarena.errors import ConfigError

    if preset and preset not in PRESETS:
        near = get_close_matches(preset, PRESETS, n=1)
        fix = f"did you mean {near[0]}?" if near else f"one of: {', '.join(PRESETS)}"
        raise ConfigError(f"there is no preset {preset!r}", where="--preset", fix=fix)
    given = _joined(_without_none(options), parse_settings(settings))
    return load_config(BuildConfig, file=file, preset=PRESETS.get(preset), values=given)


def _joined(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    joined = dict(below)
    for key, value in above.items():
        old = joined.get(key)
        joined[key] = _joined(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return joined


def _benchmarks(entries: list[str]) -> dict[str, str]:
    from planarena.errors import ConfigError

    found = {}
    for entry in entries:
        name, sign, path = entry.partition("=")
        if not sign or not name:
            raise ConfigError(
                f"{entry!r} is not NAME=PATH", where="--against", fix="write --against bfcl=FOLDER"
            )
        found[name] = path
    return found


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
        self.show: Callable[[Progress], None] = self._nothing if quiet else self._line

    def __enter__(self) -> _Watch:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("gold trajectories"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._bar.start()
            self.show = self._move
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _nothing(self, progress: Progress) -> None:
        """Show nothing."""

    def _move(self, progress: Progress) -> None:
        if self._task is None:
            self._task = self._bar.add_task("", total=progress.wanted)
        self._bar.update(self._task, completed=progress.accepted)

    def _line(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._last >= 5 or progress.accepted >= progress.wanted:
            self._last = now
            empty = f"; the last {progress.empty} chunks gave none" if progress.empty > 1 else ""
            print(
                f"{progress.accepted} of {progress.wanted} gold trajectories{empty}",
                file=sys.stderr,
                flush=True,
            )


def _print_plan(plan: DryRun, as_json: bool) -> None:
    if as_json:
        import json

        typer.echo(json.dumps(plan._asdict() | {"phases": [phase._asdict() for phase in plan.phases]}))
        return
    if not plan.tools:
        typer.echo(
            f"would draw about {plan.expected_scenarios} scenarios, balanced over {len(plan.domains)} vendors,\n"
            f"for {plan.wanted} gold trajectories, with {plan.llm_calls} calls to models"
        )
        return
    typer.echo(
        f"would take {plan.tools} tools of {', '.join(plan.domains)},\n"
        f"draw about {plan.expected_scenarios} scenarios in {plan.expected_chunks} chunks\n"
        f"for {plan.wanted} gold trajectories, with {plan.llm_calls} calls to models"
        + ("" if plan.phases else " (the offline generator writes the words)")
    )
    if not plan.phases:
        return
    typer.echo(f"  {'part':<12}{'calls':>10}{'tokens in':>14}{'tokens out':>14}{'USD':>12}")
    for part, calls, asked, answered, usd in plan.phases:
        typer.echo(f"  {part:<12}{calls:>10,}{asked:>14,}{answered:>14,}{_dollars(usd):>12}")
    costs = [phase.usd for phase in plan.phases]
    usd = None if None in costs else sum(cost or 0.0 for cost in costs)
    asked = sum(phase.prompt_tokens for phase in plan.phases)
    answered = sum(phase.completion_tokens for phase in plan.phases)
    typer.echo(f"  {'in all':<12}{plan.llm_calls:>10,}{asked:>14,}{answered:>14,}{_dollars(usd):>12}")
    typer.echo("answers in the cache are free; repairs and retries come on top")


def _dollars(usd: float | None) -> str:
    return "unknown" if usd is None else f"{usd:,.2f}"
