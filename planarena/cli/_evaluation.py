"""The inside of `planarena eval`: options to a configuration, progress, the printed result."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from planarena.cli import plain
from planarena.cli._options import Given
from planarena.config import parse_settings
from planarena.errors import UserError
from planarena.eval import EvalConfig, Evaluation, evaluate
from planarena.eval.results import SuiteResult

__all__ = ["begin_suite", "fetch_data", "run_evaluation", "show_progress"]

_PLAIN_SECONDS = 30.0


def run_evaluation(given: Given, suites: list[str], *, quiet: bool, as_json: bool) -> None:
    """Evaluate and print.

    Args:
        given: The configuration as the command line gives it.
        suites: The suites' names.
        quiet: Show no progress.
        as_json: Print one JSON object instead of lines.
    """
    if isinstance(data := given.options.get("data"), dict):
        given.options["data"] = {_SHORT.get(suite, suite): path for suite, path in data.items()}
    config = given.load(EvalConfig, also={"suites": _known_names(suites)})
    evaluation = evaluate(config, None if quiet or as_json else show_progress())
    if as_json:
        sys.stdout.write(json.dumps(_summary(evaluation)) + "\n")
    else:
        sys.stdout.write(plain(_lines(evaluation)))


def begin_suite(words: list[str]) -> None:
    """Write a suite to begin with, and say how to go on.

    Raises:
        UserError: No folder is named, or it holds something.
    """
    from planarena.eval.own import new_suite

    if len(words) != 1:
        raise UserError(
            "one folder is to be named", where="planarena eval new", fix="planarena eval new PATH"
        )
    for file in new_suite(Path(words[0])):
        sys.stdout.write(plain(f"wrote {file}\n"))
    sys.stdout.write(plain(f"score its gold: planarena eval suite:{words[0]} --responses gold --out OUT\n"))


def fetch_data(suites: list[str], folder: str, settings: list[str]) -> None:
    """Fetch the data of suites, and say where they lie; `--set mirror=ADDRESS` names another server."""
    from planarena.eval.fetching import data_folder, fetch, read_source

    mirror = str(parse_settings(settings).get("mirror") or "")
    for suite in _known_names(suites):
        source = read_source(suite)
        path = fetch(suite, data_folder(folder), mirror=mirror, tell=show_progress())
        about = f"{source.repository} at {source.commit[:12]}, {source.licence}"
        sys.stdout.write(plain(f"{suite}: {path} ({about})\n"))


_SHORT = {"bfcl": "bfcl-v4", "tau": "tau2", "mmlu": "mmlu-pro"}


def _known_names(suites: list[str]) -> list[str]:
    """Suites by their full names; what a short name means is told."""
    for suite in suites:
        if suite in _SHORT:
            sys.stderr.write(f"{suite} is read as {_SHORT[suite]}\n")
    return [_SHORT.get(suite, suite) for suite in suites]


def show_progress() -> Any:
    """A counter in place on a terminal, with the time left; a line now and then elsewhere, while a model answers."""
    terminal = sys.stderr.isatty()
    begun: dict[str, tuple[float, int]] = {}
    shown: dict[str, float] = {}

    def show(suite: str, done: int, total: int) -> None:
        now = time.monotonic()
        since, first = begun.setdefault(suite, (now, done))
        last = done >= total
        # The wording is the same for many thousand calls, so not each is written.
        if not last and now - shown.get(suite, 0.0) < (0.1 if terminal else _PLAIN_SECONDS):
            return
        if not terminal and not suite.startswith("asking"):
            return
        shown[suite] = now
        left = ""
        if done > first and not last:
            seconds = (now - since) / (done - first) * (total - done)
            left = f", {seconds / 60:.0f} min left" if seconds >= 90 else f", {seconds:.0f} s left"
        line = f"{suite}: {done}/{total} outputs{left}"
        sys.stderr.write(f"\r\x1b[K{line}" + ("\n" if last else "") if terminal else line + "\n")
        sys.stderr.flush()

    return show


def _summary(evaluation: Evaluation) -> dict[str, Any]:
    suites = {}
    for name, result in evaluation.suites.items():
        suites[name] = {
            "headline": result.headline,
            "overall": {value.name: value.value for value in result.overall},
            "categories": {row.category: row.accuracy for row in result.categories},
            "not_run": _not_run(result),
            "part": result.part,
            "several": {key: value.value for key, value in result.several.items()},
            "notes": result.notes,
            "tokens": result.tokens,
        }
    summary: dict[str, Any] = {"out": str(evaluation.path), "suites": suites}
    if "generation" in evaluation.run:
        summary["generation"] = evaluation.run["generation"]
    return summary


def _not_run(result: SuiteResult) -> dict[str, str]:
    """What the headline lacks, by category, with the reason."""
    reasons = {row.category: row.not_run for row in result.categories if row.not_run}
    lacking = [name for value in result.overall if value.name == result.headline for name in value.not_run]
    return dict.fromkeys(lacking, "not in the data") | reasons


def _lines(evaluation: Evaluation) -> str:
    lines = []
    for name, result in evaluation.suites.items():
        lines.append(f"{name} ({result.revision}{f'; a part: {result.part}' if result.part else ''})")
        named = [value.name for value in result.overall] + [row.category for row in result.categories]
        # An evaluation whose every conversation its user spoilt has neither scores nor categories.
        wide = max((len(label) + 1 for label in (*named, *result.measures)), default=0)
        wide = max(24, wide)
        for value in result.overall:
            shown = "not run" if value.value is None else f"{100 * value.value:6.2f} %"
            if value.low is not None and value.high is not None:
                shown += f"  (95 % interval {100 * value.low:.2f} to {100 * value.high:.2f})"
            mark = "*" if value.name == result.headline else " "
            lines.append(f" {mark} {value.name:<{wide}}{shown}")
        for value in result.several.values():
            lines.append(f"   {value.name:<{wide}}{100 * (value.value or 0.0):6.2f} %  {value.formula}")
        for row in result.categories:
            if row.accuracy is None:
                lines.append(f"   {row.category:<{wide}}not run: {row.not_run}")
            else:
                lines.append(
                    f"   {row.category:<{wide}}{100 * row.accuracy:6.2f} %  {row.correct:g} of {row.items}"
                )
        lines += [
            f"   {label:<{wide}}{value:6.3f}  {meaning}"
            for label, (value, meaning) in result.measures.items()
        ]
        lines += [f"   {note}" for note in result.notes]
        if result.base is not None:
            change = result.base["items"]
            lines.append(
                f"   from {result.base['name']}: {100 * change['difference']:+.2f} points on {change['items']} items "
                f"({change['gained']} gained, {change['lost']} lost)"
            )
    lines += evaluation.run.get("generation", {}).get("notes", [])
    for name, taken in evaluation.run.get("generation", {}).get("suites", {}).items():
        cost = "" if taken["usd"] is None else f", {taken['usd']:.4f} USD"
        if taken["cached"]:
            cost += f" ({taken['cached']} replies from the cache, paid for before)"
        if taken["seconds_median"] is not None:
            cost += f", {taken['seconds_median']:.2f} s an output (95 % within {taken['seconds_95']:.2f} s)"
        cut = f", {taken['cut']} cut at a limit" if taken["cut"] else ""
        lines.append(
            f"{name}: {taken['replies']} replies, {taken['prompt_tokens']} + {taken['completion_tokens']} tokens"
            f"{cost}{cut}"
        )
    lines.append(f"report: {evaluation.path / 'report.html'}")
    return "\n".join(lines) + "\n"
