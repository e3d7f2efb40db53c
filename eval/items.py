"""items.jsonl: every output with its prompt, tools, calls, gold, verdict with its reason, tokens and latency.

One row, shortened::

    {"suite": "bfcl-v4", "id": "simple_python_0", "sample": 0, "category": "simple_python", "correct": false,
     "reason": "value_error:string", "detail": "Invalid value for parameter ...",
     "prompt": [{"role": "user", "content": "Find the area of a triangle ..."}], "tools": [{"name": "..."}],
     "output": "<tool_call>...", "written": "hermes", "calls": [{"name": "...", "arguments": {}}], "thought": "",
     "gold": [{"calculate_triangle_area": {"base": [10]}}], "tokens": 31, "seconds": 0.42}
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import orjson

from planarena.eval.config import EvalConfig
from planarena.eval.models.journal import TIMINGS
from planarena.eval.responses import Response, read_rows
from planarena.eval.results import SuiteResult
from planarena.formats import read_output

__all__ = ["Shown", "item_rows", "read_items", "write_items"]

_MOST_CHARACTERS = 100_000


class Shown(NamedTuple):
    """What an item asked for.

    Attributes:
        prompt: Chat messages, or the question alone.
        tools: On offer.
        gold: What is right, in the benchmark's own form.
    """

    prompt: list[dict[str, Any]]
    tools: list[Any]
    gold: Any


def write_items(
    path: Path,
    suites: Mapping[str, SuiteResult],
    scored: Mapping[str, Mapping[str, list[Response]]],
    config: EvalConfig,
    homes: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Write a line for each verdict.

    Args:
        path: The file.
        suites: The results.
        scored: The outputs that were scored, by suite and item.
        config: The evaluation; a suite's module says with `describe` what its items asked for.
        homes: The module of each suite.

    Returns:
        The rows.
    """
    rows: list[dict[str, Any]] = []
    seconds = _seconds(path.with_name(TIMINGS))
    with path.open("wb") as sink:
        for suite, result in suites.items():
            module = import_module(homes[suite])
            ids = list(dict.fromkeys(verdict.id for verdict in result.verdicts))
            shown: Mapping[str, Shown] = {}
            if hasattr(module, "describe"):
                shown = module.describe(suite, config, ids)
            read = getattr(module, "shown_calls", None)
            for row in item_rows(result, scored[suite], shown, seconds, read):
                try:
                    sink.write(orjson.dumps(row) + b"\n")
                except (TypeError, ValueError):
                    sink.write(json.dumps(row).encode() + b"\n")
                rows.append(row)
    return rows


def item_rows(
    result: SuiteResult,
    outputs: Mapping[str, list[Response]],
    shown: Mapping[str, Shown],
    seconds: Mapping[tuple[str, str, int], float],
    read: Callable[[Any], list[dict[str, Any]]] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a suite in the order of its verdicts; `read` finds calls that only the suite can read."""
    for verdict in result.verdicts:
        listed = outputs.get(verdict.id, [])
        value = listed[verdict.sample].value if verdict.sample < len(listed) else None
        about = shown.get(verdict.id, Shown([], [], None))
        yield {
            "suite": result.suite,
            **{
                key: getattr(verdict, key)
                for key in ("id", "sample", "category", "correct", "reason", "detail", "answer", "tokens")
            },
            "prompt": about.prompt,
            "tools": about.tools,
            "gold": about.gold,
            "output": _clipped(value),
            **_with_own(_read(value), value, read),
            "seconds": seconds.get((result.suite, verdict.id, verdict.sample)),
        }


def _clipped(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _MOST_CHARACTERS else f"{value[:_MOST_CHARACTERS]} ..."
    text = json.dumps(value, default=str)
    return value if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} ..."


def _with_own(
    found: dict[str, Any], value: Any, read: Callable[[Any], list[dict[str, Any]]] | None
) -> dict[str, Any]:
    if found["calls"] or read is None or not (calls := read(value)):
        return found
    return {**found, "calls": calls[:200], "written": "the benchmark's own"}


def _read(value: Any) -> dict[str, Any]:
    """The calls of an output as they are read, whoever wrote them; of turns, all of them in order."""
    calls: list[dict[str, Any]] = []
    written, thought, problem = "plain", "", ""
    stack = [value]
    while stack and len(calls) < 200:
        one = stack.pop()
        if isinstance(one, list):
            stack += reversed(one)
        elif isinstance(one, dict) and "role" not in one and "tool_calls" not in one:
            written = "structure"
            for name, arguments in one.items():
                try:
                    read = json.loads(arguments) if isinstance(arguments, str) else arguments
                except (ValueError, RecursionError):
                    read = arguments
                calls.append({"name": str(name), "arguments": read})
        elif isinstance(one, (str, dict)):
            reading = read_output(one)
            calls += [msgspec.to_builtins(call) for call in reading.calls]
            written = reading.written if reading.written != "plain" else written
            thought, problem = thought or reading.thought, problem or reading.problem
    return {"written": written, "calls": calls, "thought": thought[:_MOST_CHARACTERS], "unread": problem}


def _seconds(path: Path) -> dict[tuple[str, str, int], float]:
    found: dict[tuple[str, str, int], float] = {}
    if path.is_file() and path.stat().st_size:
        for row, problem in read_rows(path):
            if row is not None and not problem and row.get("seconds") and "suite" in row:
                found[str(row["suite"]), str(row["id"]), int(row["sample"])] = float(row["seconds"])
    return found


def read_items(path: Path) -> list[dict[str, Any]]:
    """Return the rows of an evaluation's items.jsonl.

    Raises:
        UserError: There is none.
    """
    return [row for row, problem in read_rows(path / "items.jsonl") if row is not None and not problem]
