r"""BFCL v3 and v4: every category that runs offline, by bfcl-eval's own checkers in the sandbox.

One item of `simple_python` with its answer, shortened::

    {"id": "simple_python_0", "question": [[{"role": "user", "content": "Find the area of a triangle ..."}]],
     "function": [{"name": "calculate_triangle_area", "parameters": {"type": "dict", "properties": {...}}}]}
    {"id": "simple_python_0", "ground_truth": [{"calculate_triangle_area": {"base": [10], "height": [5], "unit": ["units", ""]}}]}

Outputs: `[{"calculate_triangle_area": "{\"base\": 10, ...}"}]` of a server, `[calculate_triangle_area(base=10, ...)]` of a
prompted model, or text in any form that `planarena.formats.read_output` reads; each is read in its own way.
"""

from __future__ import annotations

import statistics
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from planarena.errors import UserError
from planarena.eval.bfcl.categories import COUNTS, FORMATS, REVISION, categories_of, current_id
from planarena.eval.bfcl.formulas import FORMULAS, columns, overall
from planarena.eval.bfcl.memory import spread
from planarena.eval.bfcl.outputs import INFERENCE_ERROR, majority, read_questions, to_structure
from planarena.eval.bfcl.workers import open_pool
from planarena.eval.config import EvalConfig
from planarena.eval.items import Shown
from planarena.eval.pool import Pool
from planarena.eval.readings import reader_of
from planarena.eval.responses import Response, Responses, count_tokens
from planarena.eval.results import SuiteResult, Verdict
from planarena.eval.tables import build_rows, finish

__all__ = ["describe", "score"]

_SEARCH = "a model needs a search key and the internet for it; outputs that are given are scored"
_NOT_RUN = {
    "web_search_base": _SEARCH,
    "web_search_no_snippet": _SEARCH,
    "memory_vector": "its search needs the weights of an embedding model; outputs that are given are scored",
    "format_sensitivity": "5,200 requests that count in no overall value; a model that writes calls as text is asked "
    "with --set generation.format_sensitivity=true",
}
_CHUNK = 25  # of items that execute, so that one that hangs holds up few
_LONG_CHUNK = 400


def score(
    suite: str, config: EvalConfig, responses: Responses | None, progress: Callable[[str, int, int], None]
) -> tuple[SuiteResult, Mapping[str, list[Response]]]:
    """Score BFCL outputs.

    Args:
        suite: "bfcl-v3" or "bfcl-v4".
        config: The evaluation.
        responses: The outputs; None scores the ground truth.
        progress: Told what happens.

    Returns:
        The result, and the outputs that were scored by item.

    Raises:
        EnvironmentUnavailableError: bfcl-eval cannot be installed, or there is no sandbox.
    """
    custom = read_questions(Path(config.data[suite])) if suite in config.data else None
    if responses is None and custom is not None:
        raise UserError(
            "the ground truth is scored on the shipped questions alone", where=suite, fix="leave --data away"
        )
    pool = open_pool(config)
    try:
        plan = _Plan(suite, config, responses, custom, pool)
        requests = plan.requests()
        total = sum(len(value["items"]) for _, value in requests)
        ended = 0
        lock = threading.Lock()

        def done(items: int) -> None:
            nonlocal ended
            with lock:
                ended += items
                progress(suite, ended, total)

        described = [] if custom is not None else plan.described()
        answers = pool.map([*requests, *described], done)
        kind = pool.kind
    finally:
        pool.close()
    # The same workers say what the items asked for, which is looked at when the scores are written.
    _described[suite] = [row for part in answers[len(requests) :] for row in part]
    for (_, value), verdicts in zip(requests, answers, strict=False):
        plan.take(value["sample"], verdicts)
    return plan.result(kind), plan.outputs


def describe(suite: str, config: EvalConfig, ids: Sequence[str]) -> dict[str, Shown]:
    """Return what each item asked for, with the functions on offer and bfcl-eval's answer."""
    if suite in config.data:
        listed = read_questions(Path(config.data[suite]))
        rows = [
            [key, given["question"], given["answer"]] for items in listed.values() for key, given in items
        ]
    else:
        wanted = set(ids)
        rows = [row for row in _described.pop(suite, []) if row[0] in wanted]
    return {
        key: Shown(_messages(question.get("question")), question.get("function", []), answer)
        for key, question, answer in rows
    }


def _messages(turns: Any) -> list[dict[str, Any]]:
    """The messages of all turns; old questions are a text."""
    if isinstance(turns, str):
        return [{"role": "user", "content": turns}]
    return [
        message
        for turn in turns or ()
        for message in (turn if isinstance(turn, list) else [turn])
        if isinstance(message, dict)
    ]


# What the last scoring of a suite was asked, until it is written.
_described: dict[str, list[list[Any]]] = {}


class _Plan:
    """Which output of which item is scored how."""

    def __init__(
        self,
        suite: str,
        config: EvalConfig,
        responses: Responses | None,
        custom: dict[str, list[tuple[str, dict[str, Any]]]] | None,
        pool: Pool,
    ) -> None:
        self.suite, self.config, self.custom = suite, config, custom
        self.categories = tuple(custom) if custom is not None else categories_of(suite)
        self.outputs: dict[str, list[Response]] = {}
        if responses is not None:
            rename = current_id if custom is None else str
            self.outputs = spread({rename(key): listed for key, listed in responses.by_id.items()})
        self.items: dict[str, list[str]] = {}
        self.given: dict[str, dict[str, Any]] = {}
        if custom is not None:
            for category, listed in custom.items():
                self.items[category] = [key for key, _ in listed][: config.limit]
                self.given |= dict(listed)
        elif responses is None:
            answers = pool.map([("gold", category) for category in self.categories], lambda _: None)
            for category, pairs in zip(self.categories, answers, strict=True):
                self.items[category] = [key for key, _ in pairs][: config.limit]
                self.outputs |= {
                    key: [Response(value, count_tokens(value))] for key, value in pairs[: config.limit]
                }
        else:
            answers = pool.map([("ids", category) for category in self.categories], lambda _: None)
            for category, keys in zip(self.categories, answers, strict=True):
                self.items[category] = keys[: config.limit]
        # An output in one of the prompt formats says nothing about how the model writes calls elsewhere.
        readable = [
            response.value
            for key, listed in self.outputs.items()
            for response in listed
            if not response.problem and not key.startswith(FORMATS)
        ]
        self.form = _reader(config) if responses is not None else "auto"
        self.calls, self.ways = majority(readable, "auto" if self.form == "text" else self.form)
        if config.calls != "auto":
            self.calls = config.calls
        self.names = config.names
        if self.names == "auto":
            self.names = self._detect_names(pool) if responses is not None else "dotted"
        self.answers: dict[tuple[str, int], list[Any]] = {}

    def _detect_names(self, pool: Pool) -> str:
        """Count which writing of a dotted function name the outputs use."""
        asked = []
        for category in ("simple_python", "multiple", "parallel", "parallel_multiple"):
            if category in self.items:
                listed = [
                    self._item(key, self.outputs[key][0].value, category)
                    for key in self.items[category][:200]
                    if key in self.outputs and not self.outputs[key][0].problem
                ]
                asked.append(("naming", {"category": category, "items": listed}))
        counts = pool.map(asked, lambda _: None)
        dotted, underscored = (sum(pair[side] for pair in counts) for side in (0, 1))
        return "underscored" if underscored > dotted else "dotted"

    def _item(self, key: str, output: Any, category: str) -> list[Any]:
        value, calls = to_structure(output, category, self.calls, self.form)
        return [key, value, self.given.get(key), calls]

    def requests(self) -> list[tuple[str, dict[str, Any]]]:
        found = []
        for sample in range(self.config.samples):
            for category in self.categories:
                items = []
                for key in self.items[category]:
                    listed = self.outputs.get(key, [])
                    if sample < len(listed) and not listed[sample].problem:
                        items.append(self._item(key, listed[sample].value, category))
                size = _CHUNK if category.startswith("multi_turn") else _LONG_CHUNK
                common = {
                    "category": category,
                    "names": self.names,
                    "seconds": self.config.seconds,
                    "sample": sample,
                }
                chunks = [items[start : start + size] for start in range(0, len(items), size)]
                found += [("score", common | {"items": chunk}) for chunk in chunks]
        # What executes takes longest, and starts first.
        return sorted(found, key=lambda request: not request[1]["category"].startswith("multi_turn"))

    def described(self) -> list[tuple[str, Any]]:
        """Requests for what the items asked for, of the categories that have outputs."""
        there = [name for name in self.categories if any(key in self.outputs for key in self.items[name])]
        return [("describe", {"category": name}) for name in there if name not in FORMATS]

    def take(self, sample: int, verdicts: list[list[Any]]) -> None:
        self.answers |= {(verdict[0], sample): verdict for verdict in verdicts}

    def result(self, kind: str) -> SuiteResult:
        verdicts, skipped = [], {}
        for category in self.categories:
            if not any(key in self.outputs for key in self.items[category]):
                skipped[category] = _NOT_RUN.get(category, "no outputs were given")
                continue
            for key in self.items[category]:
                listed = self.outputs.get(key, [])
                for sample in range(self.config.samples):
                    if sample >= len(listed):
                        verdicts.append(Verdict(key, category, False, "no response", sample=sample))
                    elif listed[sample].problem:
                        verdicts.append(
                            Verdict(
                                key, category, False, f"unreadable: {listed[sample].problem}", sample=sample
                            )
                        )
                    else:
                        _, correct, reason, detail = self.answers[key, sample]
                        tokens = listed[sample].tokens
                        verdicts.append(Verdict(key, category, correct, reason, detail, sample, tokens))
        rows = build_rows(
            verdicts, {category: len(self.items[category]) for category in self.categories}, skipped
        )
        by_name = {row.category: row for row in rows}
        notes = self._notes(verdicts)
        if self.config.limit is not None:
            notes.append(f"limited to the first {self.config.limit} items of each category")
        if formatted := [item for item in verdicts if item.category in FORMATS]:
            notes.append(_format_note(formatted))
        headline = "v3" if self.suite == "bfcl-v3" else "v4"
        names = [headline, *(name for name in FORMULAS if name != headline)]
        return finish(
            suite=self.suite,
            revision=REVISION if self.custom is None else f"the questions of {self.config.data[self.suite]}",
            headline=headline,
            overall=[overall(name, by_name) for name in names if set(by_name) & set(COUNTS)],
            rows=rows,
            verdicts=verdicts,
            columns=columns(by_name),
            notes=notes,
            sandbox=kind,
            outputs=self.outputs,
            weighted=True,
        )

    def _notes(self, verdicts: list[Verdict]) -> list[str]:
        ways = ", ".join(f"{way} {count}" for way, count in self.ways.items())
        notes = [
            f'outputs without marks were read as "{self.calls}" calls, with function names {self.names}; '
            f"written: {ways or 'nothing'}"
        ]
        kinds = [way for way in self.ways if way != "plain"]
        if len(kinds) > 1:
            least = {way: self.ways[way] for way in kinds[1:]}
            notes.append(
                f"WARNING: outputs write calls in {len(kinds)} ways; each was read in its own "
                f"({', '.join(f'{count} {way}' for way, count in least.items())} beside {self.ways[kinds[0]]} {kinds[0]}); "
                "--format forces one"
            )
        failed = [
            verdict
            for verdict in verdicts
            if verdict.sample < len(listed := self.outputs.get(verdict.id, ()))
            and _failed(listed[verdict.sample].value)
        ]
        if failed:
            right = sum(verdict.correct for verdict in failed)
            notes.append(
                f"WARNING: {len(failed)} outputs are errors of their inference and no words of a model; {right} of them "
                "count as right, because nothing was called where nothing should be (so does bfcl-eval)"
            )
        return notes


def _reader(config: EvalConfig) -> str:
    """How outputs are read: the format named, else as `calls` says, else each in its own way."""
    if (form := reader_of(config)) != "auto":
        return form
    return "text" if config.calls == "text" else "auto"


def _failed(value: Any) -> bool:
    while isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, str) and value.lstrip().startswith(INFERENCE_ERROR)


def _format_note(verdicts: list[Verdict]) -> str:
    """The spread of accuracy over prompt formats, which bfcl-eval prints beside the overall value."""
    by_format: dict[str, list[bool]] = {}
    for verdict in verdicts:
        by_format.setdefault(verdict.id.split(":")[1], []).append(verdict.correct)
    shares = [100 * sum(listed) / len(listed) for listed in by_format.values()]
    deviation = statistics.stdev(shares) if len(shares) > 1 else 0.0
    return (
        f"format_sensitivity counts in no overall value: {len(shares)} formats, maximum delta "
        f"{max(shares) - min(shares):.2f} points, standard deviation {deviation:.2f} points"
    )
