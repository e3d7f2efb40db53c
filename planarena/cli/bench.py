"""`planarena bench algorithms`: many trainings from one start, and what their differences carry."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planarena.cli import plain
from planarena.cli._options import AsJson, Given, Quiet, Setting, with_settings
from planarena.errors import ConfigError
from planarena.eval.algorithms.plan import PRESETS, StudyConfig, full_algorithms

if TYPE_CHECKING:
    from planarena.eval.algorithms.tables import Table

__all__ = ["app"]

app = typer.Typer(add_completion=False, help="Train many algorithms from one start and compare them.")


@app.callback()
def _group() -> None:
    """Train many algorithms from one start and compare them."""


_SETTINGS = (
    Setting("out", metavar="DIR"),
    Setting("ablation", metavar="NAME"),
    Setting("seeds", metavar="N"),
    Setting("seed", metavar="N"),
)


@app.command("algorithms")
@with_settings(StudyConfig, _SETTINGS, "batches=40 or tiny.hidden=256")
def algorithms(
    preset: Annotated[
        str,
        typer.Option(
            "--preset",
            metavar="smoke|long|conversations|full",
            help="Two cores: an hour, four hours; conversations: half an hour of one; a GPU.",
        ),
    ] = "smoke",
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="PATH|tiny",
            help="What every start is taught from; tiny:64x2 has another width and depth. Several give a study each.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", help="Processes; 0 takes one per core.")] = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan and about how long it takes.")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    *,
    given: Given,
) -> None:
    """Train algorithms from one start on the same rows and play held-out tasks with each.

    The folder gets report.html, tables.md and scores.json.
    """
    ablation = given.options.get("ablation")
    if ablation == "list":
        _print_ablations(as_json)
        return
    if ablation:
        from planarena.trainers.algorithms.ablations import current_name

        if current_name(ablation) != ablation:
            sys.stderr.write(f"hint: {plain(ablation)} is called {current_name(ablation)} now\n")
    read = _read(given, preset, jobs)
    from planarena.eval.algorithms.models import model_tables, studies_of_models, write_models
    from planarena.eval.algorithms.study import estimate, run_study

    for study in _studies(read):
        found = {}
        for label, one in studies_of_models(study, model or [study.model]).items():
            if ablation == "all":
                sys.stdout.write(f"{one.ablation}\n")
            if model and len(model) > 1 and not as_json:
                sys.stdout.write(f"{plain(label)}\n")
            if dry_run:
                _print_plan(estimate(one), as_json)
                continue
            found[label] = run_study(one, None if quiet or as_json else _tell)
            _print_scores(found[label], Path(one.out), as_json)
        if len(found) > 1:
            path = write_models(Path(study.out), found)
            if not as_json:
                _print_tables(model_tables(found), f"models: {path}")


def _studies(read: StudyConfig) -> list[StudyConfig]:
    """Return the study, or with `--ablation all` one in a folder of its own for every ablation that can run here."""
    import msgspec

    from planarena.eval.algorithms.signs import runnable

    if read.ablation != "all":
        return [read]
    return [
        msgspec.structs.replace(read, ablation=name, out=str(Path(read.out) / name) if read.out else "")
        for name in runnable()
    ]


def _read(given: Given, preset: str, jobs: int) -> StudyConfig:
    if preset not in PRESETS:
        raise ConfigError(
            f"there is no preset {preset!r}", where="--preset", fix=f"one of: {', '.join(PRESETS)}"
        )
    base = dict(PRESETS[preset])
    if preset == "full":
        base["algorithms"] = full_algorithms()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return given.load(StudyConfig, preset=base, also={"preset": preset, "jobs": jobs or cores})


def _tell(done: int, total: int, name: str, left: float | None) -> None:
    shown = "" if left is None else f", about {left / 60:.1f} minutes left"
    sys.stderr.write(f"{done} of {total}: {name}{shown}\n")
    sys.stderr.flush()


def _print_ablations(as_json: bool) -> None:
    import json

    from planarena.eval.algorithms.signs import runnable
    from planarena.trainers.algorithms.ablations import ablation, ablation_names

    rows = [
        {"name": name, "source": ablation(name).source, "here": name in runnable()}
        for name in ablation_names()
    ]
    if as_json:
        sys.stdout.write(json.dumps(rows) + "\n")
        return
    for row in rows:
        note = "" if row["here"] else "  (needs other data than the study's)"
        sys.stdout.write(plain(f"{row['name']:<24}{row['source']}{note}\n"))


def _print_plan(plan: dict[str, Any], as_json: bool) -> None:
    import json

    if as_json:
        sys.stdout.write(json.dumps(plan) + "\n")
        return
    counts = ", ".join(f"{number} {kind}" for kind, number in plan["counts"].items())
    sys.stdout.write(
        f"{len(plan['units'])} units ({counts}), {plan['steps']} steps and {plan['rollouts per training']} rollouts in each "
        f"training, {plan['held-out tasks']} held-out tasks\n"
        f"about {plan['cpu_minutes']} minutes of CPU time, about {plan['minutes']} minutes with these processes\n"
    )


def _print_scores(scores: dict[str, Any], out: Path, as_json: bool) -> None:
    import json

    from planarena.eval.algorithms.tables import study_tables

    if as_json:
        sys.stdout.write(
            json.dumps({"out": str(out), "findings": scores.get("findings", scores.get("ablation"))}) + "\n"
        )
        return
    shown = ("greedy", "expected", "Signs")
    tables = [table for table in study_tables(scores) if any(word in table.title for word in shown)]
    _print_tables(tables, f"report: {out / 'report.html'}")


def _print_tables(tables: list[Table], last: str) -> None:
    lines = []
    for table in tables:
        widths = [
            max(len(row[place]) for row in [table.head, *table.rows]) for place in range(len(table.head))
        ]
        lines.append(table.title)
        for row in [table.head, *table.rows]:
            lines.append(
                "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            )
        lines.append("")
    lines.append(last)
    sys.stdout.write(plain("\n".join(lines) + "\n"))
