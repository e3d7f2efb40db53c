"""`planarena build`: tools -> composed, executed, proven trajectories -> a dataset."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planarena.cli._options import AsJson, Given, Quiet, Setting, with_settings
from planarena.config import PRESETS, BuildConfig
from planarena.errors import ConfigError

if TYPE_CHECKING:
    from planarena.pipeline import DryRun, Progress

__all__ = ["build"]


_CALLS, _ALLOWED = "execution.calls", "Third-party code"
_SETTINGS = (
    Setting("out", metavar="RUN", panel="The run"),
    Setting("trajectories", metavar="N", panel="Amount"),
    Setting("scenarios", metavar="N", panel="Amount"),
    Setting("composition.max_actions", metavar="N", panel="Amount"),
    Setting("composition.max_depth", metavar="N", panel="Amount"),
    Setting("contrast.candidates", "--negatives", "K", "Amount"),
    Setting("execution.workers", metavar="N", panel="The run"),
    Setting("execution.engine", metavar="local|ray", panel="The run"),
    Setting("execution.extend", panel="The run"),
    Setting("execution.fresh", panel="The run"),
    Setting("execution.retry_failed", panel="The run"),
    Setting("models.proposers", "--model", "ID", "Models"),
    Setting("models.judge", "--judge-model", "ID", "Models"),
    Setting(f"{_CALLS}.budget_usd", metavar="X", panel="Models"),
    Setting(f"{_CALLS}.budget_tokens", metavar="N", panel="Models"),
    Setting(f"{_CALLS}.budget_calls", metavar="N", panel="Models"),
    Setting("allowed.simulate", metavar="ID", panel="Models"),
    Setting("allowed.unsafe_no_sandbox", panel=_ALLOWED),
    Setting("allowed.trusted", panel=_ALLOWED),
    Setting("allowed.effects", "--allow-effects", panel=_ALLOWED),
    Setting("contamination", "--against", "NAME=PATH", "Settings"),
    Setting("seed", metavar="N", panel="Settings"),
)


@with_settings(BuildConfig, _SETTINGS, "composition.budget=200", "Settings")
def build(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE]...",
            help="Your tools: mytools.py, api.yaml, servers.json, a folder with environment.py; what it is is recognised, or written before it as python:, openapi:, mcp:, http: or env:. Or builtin, builtin:DOMAIN; builtin when left out. Or errands: a small set of tasks for a first training.",
        ),
    ] = None,
    preset: Annotated[
        str, typer.Option("--preset", help="Named settings: demo, paper.", rich_help_panel="Settings")
    ] = "",
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be done, and do nothing.", rich_help_panel="The run"),
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    *,
    given: Given,
) -> None:
    """Build executed, proven trajectories from tools."""
    options = given.options
    if sources == ["errands"]:
        from planarena.cli._practice import build_practice

        build_practice(
            options.get("out", ""),
            options.get("trajectories"),
            options.get("seed"),
            fresh=options.get("execution", {}).get("fresh", False),
            quiet=quiet,
            as_json=as_json,
        )
        return
    from planarena import pipeline
    from planarena.cli._own_sources import announce_tools, with_kinds

    sources = with_kinds(sources or [], quiet=quiet or as_json)
    read = _read(given, preset, sources)
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


def _read(given: Given, preset: str, sources: list[str]) -> BuildConfig:
    """Read the configuration of a build over sources."""
    if preset and preset not in PRESETS:
        near = get_close_matches(preset, PRESETS, n=1)
        fix = f"did you mean {near[0]}?" if near else f"one of: {', '.join(PRESETS)}"
        raise ConfigError(f"there is no preset {preset!r}", where="--preset", fix=fix)
    also: dict[str, Any] = {"sources": sources} if sources else {}
    own = bool(sources) and all(source.startswith(("python:", "mcp:", "http:")) for source in sources)
    if own and given.file is None and 0 < given.options.get("trajectories", 0) <= 200:
        # A small build over own tools ends after what it needs: each call of theirs takes long.
        also["chunk_scenarios"] = 2
    return given.load(BuildConfig, preset=PRESETS.get(preset), also=also)


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
