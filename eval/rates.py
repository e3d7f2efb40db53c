"""The pass rate of a model on each task of a run: how difficult the tasks are, for that model."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from planarena.bench import Policy
from planarena.errors import ConfigError, RunError
from planarena.eval.config import EvalConfig
from planarena.eval.run import evaluate
from planarena.eval.settings import GenerationConfig
from planarena.export.card import render_card
from planarena.pipeline.run.outputs import write_if_new
from planarena.quality.splits import SPLITS
from planarena.records import Run
from planarena.records.canonical import canonical_json, content_id
from planarena.records.shards import write_shard
from planarena.records.tables import RateRow
from planarena.report.build_report import write_report

__all__ = ["RateConfig", "Rated", "rate"]

_FOLDER = "rates"


class RateConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is rated, by whom.

    Attributes:
        run: A finished run; its tasks are played in their environments.
        model: A folder, a LiteLLM id, or MODEL@URL.
        tries: Episodes of each task.
        name: How the rates are called; empty for the model's own name.
        splits: Only tasks of these splits; by default all.
        limit: Most tasks of each kind.
        format: What the model speaks; empty takes what it was trained in.
        generation: How the model is asked; the temperature is 1 unless it says otherwise.
        fresh: Ask everything anew.
    """

    run: str
    model: str
    tries: int = 4
    name: str = ""
    splits: tuple[str, ...] = ()
    limit: int | None = None
    format: str = ""
    generation: GenerationConfig = GenerationConfig()
    fresh: bool = False


class Rated(NamedTuple):
    """What was measured.

    Attributes:
        model: The name under which it is stored.
        rates: By task its pass rate.
        folder: Where the replies are, as an evaluation.
    """

    model: str
    rates: dict[str, float]
    folder: Path


def rate(
    config: RateConfig,
    progress: Callable[[str, int, int], None] | None = None,
    *,
    policy: Policy | None = None,
) -> Rated:
    """Let a model try every task of a run several times, and store its pass rates beside the run.

    The replies are kept as an evaluation in `RUN/rates/`, so that an interrupted call goes on and pays nothing twice;
    the rates are the table `rates`, a shard for each model, and the card and the report show them.

    Args:
        config: The settings.
        progress: Called with what is done, the outputs so far and the outputs in all.
        policy: Plays in the place of `config.model`, which then is its name alone.

    Returns:
        The rates.

    Raises:
        UserError: Bad settings, a model that cannot be asked, a run without tasks to play.
        RunError: The run is damaged or not finished.
    """
    if config.tries < 1:
        raise ConfigError(f"{config.tries} tries", where="--tries", fix="give 1 or more")
    run = Run.open(config.run)
    slug = _slug(config.name or config.model)
    made = config.generation
    if made.temperature == "auto":
        made = msgspec.structs.replace(made, temperature=1.0)
    folder = run.path / _FOLDER / slug
    evaluation = evaluate(
        EvalConfig(
            suites=("planarena",),
            out=str(folder),
            data={"planarena": str(run.path)},
            splits=config.splits or SPLITS,
            samples=config.tries,
            limit=config.limit,
            model=config.model,
            format=config.format,
            generation=made,
            fresh=config.fresh,
        ),
        progress,
        policy=policy,
    )
    verdicts = evaluation.suites["planarena"].verdicts
    tries: dict[str, list[bool]] = {}
    for verdict in verdicts:
        tries.setdefault(verdict.id, []).append(verdict.correct)
    generation = evaluation.run["generation"]
    name = config.name or str(generation["name"])
    settings = canonical_json(
        {"model": config.model, "temperature": made.temperature, **_plain(generation["settings"])}
    )
    rows = [
        RateRow(task, name, len(passed), sum(passed), sum(passed) / len(passed), settings)
        for task, passed in sorted(tries.items())
    ]
    if not rows:
        raise RunError("has no task that can be played", where=config.run, fix="give a run with environments")
    write_shard(run.path, "rates", slug, rows)
    _show(run.path)
    return Rated(name, {row.task_id: row.rate for row in rows}, folder)


def _plain(settings: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in settings.items() if isinstance(value, str | int | float | bool)}


def _slug(name: str) -> str:
    """Return a file name for a model: readable, and of no two models the same."""
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")[-40:].strip("-.")
    return f"{readable or 'model'}-{content_id('rates', name)[:8]}"


def _show(root: Path) -> None:
    """Write card and report anew, where the run has them."""
    run = Run.open(root)
    if run.info.get("kind") not in {"build", "augment"}:
        return
    write_if_new(root / "README.md", render_card(run).encode())
    write_report(run, root / "report.html")
