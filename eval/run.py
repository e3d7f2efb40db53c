"""Evaluating: outputs, or a model that writes them, in; scores.json, report.html, responses.jsonl, run.json out."""

from __future__ import annotations

import os
import platform
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import orjson

from planarena.bench import Policy
from planarena.errors import RunError, UserError
from planarena.eval.config import EvalConfig
from planarena.eval.items import write_items
from planarena.eval.items_page import render_items
from planarena.eval.models.generation import Generation
from planarena.eval.readings import mark_unfit, reader_of
from planarena.eval.responses import Response, Responses, read_responses, refuse_unreadable
from planarena.eval.results import SuiteResult
from planarena.eval.statistics import paired_difference
from planarena.eval.tables import item_means
from planarena.records.foreign import read_json
from planarena.records.uncollected import uncollected
from planarena.version import __version__

__all__ = ["FORMAT_VERSION", "Evaluation", "evaluate", "open_evaluation"]

FORMAT_VERSION = 1

_HOMES = {
    "bfcl-v3": "planarena.eval.bfcl",
    "bfcl-v4": "planarena.eval.bfcl",
    "api-bank": "planarena.eval.api_bank",
    "mmlu-pro": "planarena.eval.mmlu_pro",
    "math": "planarena.eval.mathematics",
    "planarena": "planarena.eval.arena",
    "workbench": "planarena.eval.workbench",
    "acebench": "planarena.eval.acebench",
    "tau2": "planarena.eval.tau2",
    "nestful": "planarena.eval.nestful",
}

# Suites whose outputs hold calls, so that --format says how they are written.
_CALLING = ("bfcl-v3", "bfcl-v4", "api-bank", "planarena", "workbench", "acebench", "tau2", "nestful")

Progress = Callable[[str, int, int], None]


class Evaluation(msgspec.Struct, frozen=True):
    """A finished evaluation.

    Attributes:
        path: Its folder.
        suites: The results by suite, in the order asked for.
        run: What run.json holds.
    """

    path: Path
    suites: dict[str, SuiteResult]
    run: dict[str, Any]


def _facts(config: EvalConfig, begun: float) -> dict[str, Any]:
    """Return what `run.json` says of an evaluation before anything is scored."""
    return {
        "format_version": FORMAT_VERSION,
        "kind": "evaluation",
        "planarena": __version__,
        "python": platform.python_version(),
        "config": msgspec.to_builtins(config),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(begun)),
    }


def _score_given(
    suite: str, home: str, config: EvalConfig, tell: Progress
) -> tuple[SuiteResult, Mapping[str, list[Response]], dict[str, Any]]:
    """Score outputs that exist already; return the result, the outputs, and how they could be read."""
    module = import_module(home)
    if config.responses == "gold":
        return *module.score(suite, config, None, tell), {}
    responses = _read_given(module, suite, config)
    if suite in _CALLING or suite.startswith("suite:"):
        mark_unfit(responses, reader_of(config))
    result, scored = module.score(suite, config, responses, tell)
    unknown = _unknown_items(result, scored, config)
    _check_readable(result := _with_notes(result, responses, unknown), scored, responses, config)
    read = {
        "unreadable_lines": responses.unreadable,
        "replaced": responses.repeated,
        "unknown_items": len(unknown),
    }
    return result, scored, read


def evaluate(
    config: EvalConfig, progress: Progress | None = None, *, policy: Policy | None = None
) -> Evaluation:
    """Score outputs on benchmarks and write the result; get them from a model first where one is named.

    Scoring is a function of the outputs, the questions and the configuration alone, so an evaluation that was
    interrupted is run again and gives the same bytes of scores.json. Answers of a model are kept as they come and
    asked once.

    Args:
        config: What to evaluate.
        progress: Called with a suite, the outputs so far and the outputs in all.
        policy: Answers in the place of `config.model`, which then is its name alone.

    Returns:
        The evaluation, as written to `config.out`.

    Raises:
        UserError: Something in the configuration, the outputs or the data must be mended.
        UnansweredError: Requests failed; the same call asks them again.
    """
    tell = progress or (lambda *_: None)
    homes = {suite: _HOMES.get(suite, "planarena.eval.own") for suite in config.suites}
    out = Path(config.out)
    base = _find_base(config, out)
    begun, seconds = time.time(), {}
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot be made: {error.strerror}", where=str(out), fix="name another --out"
        ) from error
    suites: dict[str, SuiteResult] = {}
    scored: dict[str, Mapping[str, list[Response]]] = {}
    reading: dict[str, Any] = {}
    with ExitStack() as stack:
        if config.model is None:
            stack.enter_context(uncollected())
        model = stack.enter_context(Generation(config, homes, policy)) if config.model is not None else None
        for suite in dict.fromkeys(config.suites):
            started = time.perf_counter()
            if model is not None:
                responses = model.generate(suite, tell)
                score = import_module(homes[suite]).score
                result, scored[suite] = score(suite, _as_written(model.config), responses, tell)
            else:
                result, scored[suite], read = _score_given(suite, homes[suite], config, tell)
                if read:
                    reading[suite] = read
            if config.limit is not None:
                part = f"the first {config.limit} of each category"
                result = msgspec.structs.replace(
                    result, part=f"{result.part}, {part}" if result.part else part
                )
            if base is not None:
                result = msgspec.structs.replace(result, base=_difference(result, base))
            suites[suite] = result
            seconds[suite] = round(time.perf_counter() - started, 3)
        run = _facts(config, begun) | {"seconds": seconds, "reading": reading}
        finished = Evaluation(out, suites, run)
        if model is None:
            lines = _response_lines(finished, scored)
        else:
            run["generation"] = model.account()
            places = [
                (name, verdict.id, verdict.sample)
                for name, result in suites.items()
                for verdict in result.verdicts
            ]
            lines = model.finish({key: place for place, key in enumerate(places)})
        rows = write_items(
            out / "items.jsonl", suites, scored, model.config if model is not None else config, homes
        )
        _write(finished, lines, rows)
    return finished


def _read_given(module: Any, suite: str, config: EvalConfig) -> Responses:
    """Read outputs; a suite that has a reader of its own knows its benchmark's files before others do."""
    reader = getattr(module, "read_given", None)
    found: Responses | None = reader(config, suite) if reader is not None else None
    return found if found is not None else read_responses(Path(str(config.responses)), suite, config.samples)


def _as_written(config: EvalConfig) -> EvalConfig:
    """Outputs of our own need no guessing: calls are JSON, names have dots but for native function calling."""
    names = "underscored" if config.format == "native" else "dotted"
    return msgspec.structs.replace(config, calls="json", names=names)


def open_evaluation(path: Path) -> Evaluation:
    """Read an evaluation that was written before.

    Raises:
        RunError: Not an evaluation, or one of another format version.
    """
    try:
        run = read_json(path / "run.json")
        scores = read_json(path / "scores.json")
    except OSError as error:
        raise RunError(
            "is not an evaluation", where=str(path), fix="name a folder that `planarena eval` wrote"
        ) from error
    except ValueError as error:
        raise RunError(f"is damaged: {error}", where=str(path), fix="run the evaluation again") from error
    if not isinstance(run, dict) or not isinstance(scores, dict):
        raise RunError("is damaged: no objects", where=str(path), fix="run the evaluation again")
    if scores.get("format_version") != FORMAT_VERSION:
        raise RunError(
            f"has format version {scores.get('format_version')}, and this planarena reads {FORMAT_VERSION}",
            where=str(path),
            fix="run the evaluation again",
        )
    try:
        suites = msgspec.convert(scores["suites"], dict[str, SuiteResult])
    except (msgspec.ValidationError, KeyError) as error:
        raise RunError(f"is damaged: {error}", where=str(path), fix="run the evaluation again") from error
    return Evaluation(path, suites, run)


def _unknown_items(result: SuiteResult, given: Mapping[str, list[Response]], config: EvalConfig) -> list[str]:
    """Name the outputs of items that the suite does not have (or that the limit leaves out)."""
    known = {verdict.id for verdict in result.verdicts}
    if known.isdisjoint(given):
        raise UserError(
            f"none of the {len(given)} outputs is of an item of {result.suite}, such as {next(iter(given))!r}",
            where=str(config.responses),
            fix="check the suite, the ids of the outputs, and --data",
        )
    return [key for key in given if key not in known]


_NUMBERED = re.compile(r"[-_:]?\d[-_:\d]*$")


def _with_notes(result: SuiteResult, responses: Responses, unknown: list[str]) -> SuiteResult:
    """Say what was given and is in no score."""
    notes = list(result.notes)
    if unknown:
        kinds = Counter(_NUMBERED.sub("", key) or "numbers" for key in unknown)
        listed = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common(8))
        notes.append(f"{len(unknown)} outputs are of no item that was scored: {listed}")
        live = [kind for kind in kinds if kind.startswith(("exec", "rest"))]
        if live and result.suite.startswith("bfcl"):
            notes.append(
                f"{', '.join(live)}: executable categories of BFCL v1, which call services of others; they left the "
                "benchmark with v4 and are not scored"
            )
    if responses.repeated:
        notes.append(f"{responses.repeated} outputs were replaced by a later one of the same item")
    return msgspec.structs.replace(result, notes=notes)


def _check_readable(
    result: SuiteResult, given: Mapping[str, list[Response]], responses: Responses, config: EvalConfig
) -> None:
    if config.unreadable == "count":
        return
    present = [verdict for verdict in result.verdicts if verdict.reason != "no response"]
    problems = []
    for verdict in present:
        if verdict.reason.startswith("unreadable"):
            listed = given.get(verdict.id, [])
            problem = listed[verdict.sample].problem if verdict.sample < len(listed) else ""
            if problem != "the request failed":
                problems.append((verdict.id, verdict.reason.removeprefix("unreadable: ")))
    refuse_unreadable(str(config.responses), result.suite, responses, problems, len(present))


def _find_base(config: EvalConfig, out: Path) -> Evaluation | None:
    if config.base is None:
        return None
    for path in (Path(config.base), out.parent / config.base):
        if (path / "scores.json").is_file():
            return open_evaluation(path)
    raise UserError(
        f"there is no evaluation called {config.base!r}",
        where="--base",
        fix=f"give its folder, or the name of a folder in {out.parent}",
    )


def _difference(result: SuiteResult, base: Evaluation) -> dict[str, Any] | None:
    """Item by item where both have the item; None where the base has no such suite."""
    theirs = base.suites.get(result.suite)
    if theirs is None:
        return None
    values = {value.name: value.value for value in theirs.overall}
    found: dict[str, Any] = {"name": base.path.name, "overall": {}, "categories": {}}
    for value in result.overall:
        other = values.get(value.name)
        if value.value is not None and other is not None:
            found["overall"][value.name] = value.value - other
    found["items"] = paired_difference(item_means(result.verdicts), item_means(theirs.verdicts))
    for row in result.categories:
        mine = item_means([verdict for verdict in result.verdicts if verdict.category == row.category])
        other_items = item_means([verdict for verdict in theirs.verdicts if verdict.category == row.category])
        if mine and other_items:
            found["categories"][row.category] = paired_difference(mine, other_items)
    return found


def _write(finished: Evaluation, lines: bytes, rows: list[dict[str, Any]]) -> None:
    from planarena.eval.page import render

    scores = {"format_version": FORMAT_VERSION, "suites": msgspec.to_builtins(finished.suites)}
    try:
        written = orjson.dumps(scores, option=orjson.OPT_INDENT_2)
    except TypeError:
        written = orjson.dumps(_plain(scores), option=orjson.OPT_INDENT_2)
    files = {
        "responses.jsonl": lines,
        "scores.json": written + b"\n",
        "report.html": render(finished).encode(errors="replace"),
        "items.html": render_items([finished.path.name], [rows]).encode(errors="replace"),
        "run.json": orjson.dumps(finished.run, option=orjson.OPT_INDENT_2) + b"\n",
    }
    for name, content in files.items():
        draft = finished.path / f".{name}.{os.getpid()}"
        try:
            draft.write_bytes(content)
            draft.replace(finished.path / name)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise UserError(
                f"cannot be written: {error.strerror}",
                where=str(finished.path / name),
                fix="free space, or another --out",
            ) from error


def _plain(value: Any) -> Any:
    """Replace what UTF-8 cannot hold (half of a surrogate pair), which stops the writer."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _response_lines(finished: Evaluation, scored: Mapping[str, Mapping[str, list[Response]]]) -> bytes:
    """The outputs that were scored, in the form that `--responses` reads."""
    import json

    lines = []
    for suite, result in finished.suites.items():
        for verdict in result.verdicts:
            listed = scored[suite].get(verdict.id, [])
            if verdict.sample >= len(listed):
                continue
            response = listed[verdict.sample]
            row: dict[str, Any] = {"suite": suite, "id": verdict.id, "sample": verdict.sample}
            if response.problem:
                row["error"] = response.problem
            else:
                row["response"] = response.value
            if response.counted:
                row["tokens"] = response.tokens
            try:
                lines.append(orjson.dumps(row))
            except (TypeError, ValueError):
                lines.append(json.dumps(row).encode())  # integers beyond 64 bits, half surrogates
    return b"\n".join(lines) + b"\n" if lines else b""
