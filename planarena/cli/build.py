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
    from planarena.records.run import Run

__all__ = ["build"]


def build(
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SOURCE]...", help="builtin or builtin:DOMAIN; builtin when left out."),
    ] = None,
    out: Annotated[str, typer.Option("--out", metavar="RUN", help="The run directory.")] = "",
    preset: Annotated[str, typer.Option("--preset", help="Named settings: demo, paper.")] = "",
    trajectories: Annotated[
        int | None, typer.Option("--trajectories", metavar="N", help="Gold trajectories to accept.")
    ] = None,
    scenarios: Annotated[
        int | None, typer.Option("--scenarios", metavar="N", help="Most scenarios to draw.")
    ] = None,
    max_actions: Annotated[
        int | None, typer.Option("--max-actions", metavar="N", help="Most actions of a task.")
    ] = None,
    max_depth: Annotated[
        int | None, typer.Option("--max-depth", metavar="N", help="Most levels of composition.")
    ] = None,
    negatives: Annotated[
        int | None,
        typer.Option("--negatives", metavar="K", help="Candidates per decision point beside the right ones."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Worker processes; 0: one per core.")
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model", metavar="ID", help="A model that writes and proposes; several times for several."
        ),
    ] = None,
    judge: Annotated[
        str, typer.Option("--judge-model", metavar="ID", help="The model that scores relevance.")
    ] = "",
    budget_usd: Annotated[
        float | None, typer.Option("--budget-usd", metavar="X", help="Most US dollars for models.")
    ] = None,
    budget_tokens: Annotated[
        int | None, typer.Option("--budget-tokens", metavar="N", help="Most tokens, prompts and answers.")
    ] = None,
    budget_calls: Annotated[
        int | None, typer.Option("--budget-calls", metavar="N", help="Most calls to models.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option("--engine", metavar="NAME", help="What runs the workers: local or ray.")
    ] = None,
    unsafe: Annotated[
        bool, typer.Option("--unsafe-no-sandbox", help="Run third-party code without a sandbox.")
    ] = False,
    trusted: Annotated[
        bool,
        typer.Option("--trusted", help="Run your own environment folders in process: faster, no sandbox."),
    ] = False,
    effects: Annotated[
        bool,
        typer.Option(
            "--allow-effects", help="Execute gold trajectories once with live tools that cannot go back."
        ),
    ] = False,
    simulate: Annotated[
        str,
        typer.Option("--simulate", metavar="ID", help="A model that makes up results of JSON tool lists."),
    ] = "",
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against",
            metavar="NAME=PATH",
            help="A benchmark whose data you have: its tools and queries stay out.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Of everything random.")] = None,
    extend: Annotated[
        bool, typer.Option("--extend", help="Go on with a finished run up to more trajectories.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Throw an earlier run in RUN away.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try what failed again: scenarios, and requests to models.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="A YAML file of settings.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="K=V", help="One setting, as composition.budget=200.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Build executed, proven trajectories from tools."""
    from planarena import pipeline

    read = _read_config(
        preset,
        config,
        settings or [],
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
    if dry_run:
        _print_plan(pipeline.plan_build(read), as_json)
        return
    started = time.perf_counter()
    with _Watch(as_json) as watch:
        run = pipeline.build(read, watch.show)
    _print_result(run, time.perf_counter() - started, as_json)


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
            print(f"{progress.accepted} of {progress.wanted} gold trajectories", file=sys.stderr, flush=True)


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


def _print_result(run: Run, seconds: float, as_json: bool) -> None:
    info = run.info
    counts = info["counts"]
    if as_json:
        import json

        typer.echo(json.dumps({"run": str(run.path), "stop_reason": info["stop_reason"], "counts": counts}))
        return
    gold = counts.get("gold", 0)
    kinds = ", ".join(f"{number} {kind}" for kind, number in counts.get("executions", {}).items())

    def share(name: str) -> str:
        return f"{100 * counts.get(name, 0) / gold:.0f} %" if gold else "-"

    lengths = "  ".join(f"{length}: {number}" for length, number in counts.get("gold_length", {}).items())
    domains = ", ".join(counts.get("gold_domain", {}))
    typer.echo(
        f"{gold} gold trajectories over {domains} in {seconds:.1f} s (stopped by: {info['stop_reason']})"
    )
    typer.echo(f"  actions       {lengths}")
    typer.echo(
        f"  parallel      {share('gold_parallel')}   data edges {share('gold_data_edge')}   order edges {share('gold_order_edge')}"
    )
    extra = f"{counts.get('contrastive', 0)} trajectories, {counts.get('decision_points', 0)} decision points"
    typer.echo(f"  contrast      {extra}, {counts.get('no_call', 0)} requests without a call")
    typer.echo(f"  executions    {kinds}")
    if asked := counts.get("llm_requests"):
        failed = sum(counts.get("llm_failures", {}).values())
        usd = info["cost"]["usd"]
        cost = f"{info['cost']['tokens']:,} tokens, {'cost unknown' if usd is None else f'{usd:.2f} USD'}"
        typer.echo(f"  models        {asked} requests, {failed} without use; {cost}")
    typer.echo(f"  tables        {run.path}/tables/")
    typer.echo(f"  card          {run.path}/README.md")
    typer.echo(f"  report        {run.path}/report.html")
    typer.echo(f"next: planarena inspect {run.path}")
