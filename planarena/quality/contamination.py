"""Contamination: tools and queries held against the benchmarks that a user points to.

A tool with a benchmark tool's name and parameter names is dropped, one with its name alone is flagged. A query is
flagged when it shares eight words in a row with a benchmark's, says the same where either is shorter than that, or
has a similar set of word pairs (MinHash, Jaccard of at least 0.7). A 13-gram rule would miss short queries.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from planarena.errors import SourceError
from planarena.records.foreign import Marks, parquet_batches
from planarena.tools.tool import Tool

__all__ = ["Benchmark", "Contamination", "ToolVerdict", "read_benchmark"]

NGRAM = 8
SIMILAR = 0.7
_PERMUTATIONS, _BANDS = 64, 16
_PRIME = (1 << 61) - 1
_QUERY_KEYS = ("question", "instruction", "query", "input", "user", "utterance", "problem")
_PARAMETER_KEYS = ("parameters", "input_parameters", "inputSchema", "input_schema")
_MOST_BYTES = 512 << 20


class Benchmark(NamedTuple):
    """What a benchmark holds.

    Attributes:
        name: As `bfcl`.
        names: Normal names of its tools.
        signatures: (normal name, normal parameter names) of its tools.
        queries: Its texts.
    """

    name: str
    names: frozenset[str]
    signatures: frozenset[tuple[str, tuple[str, ...]]]
    queries: tuple[str, ...]


class ToolVerdict(NamedTuple):
    """What was found of a tool.

    Attributes:
        drop: Whether it must not be used.
        marks: As `signature:bfcl` or `name:bfcl`; for the tool's `contamination`.
    """

    drop: bool
    marks: tuple[str, ...]


def _normal(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _signature(name: str, parameters: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    return _normal(name), tuple(sorted(_normal(one) for one in parameters))


def read_benchmark(name: str, path: Path) -> Benchmark:
    """Read a benchmark's files: JSON, JSON lines or Parquet, at any depth of a folder.

    Tools are objects with a name and parameters; queries are texts under the usual keys, and the contents of
    messages. Nothing is executed.

    Raises:
        SourceError: There is nothing there, or nothing of a benchmark in it.
    """
    files = (
        [path]
        if path.is_file()
        else sorted(file for file in path.rglob("*") if file.suffix in {".json", ".jsonl", ".parquet"})
    )
    names: set[str] = set()
    signatures: set[tuple[str, tuple[str, ...]]] = set()
    queries: dict[str, None] = {}
    for file in files:
        for value in _values(file):
            _collect(value, names, signatures, queries)
    if not names and not queries:
        raise SourceError(
            "holds no tools and no queries",
            where=f"{name}={path}",
            fix="point to the benchmark's data: JSON, JSON lines or Parquet",
        )
    return Benchmark(name, frozenset(names), frozenset(signatures), tuple(queries))


def _values(file: Path) -> Iterator[Any]:
    if file.suffix == ".parquet":
        import pyarrow

        try:
            for batch in parquet_batches(file):
                for row in batch:
                    yield {key: row[key] for key in _QUERY_KEYS if isinstance(row.get(key), str)}
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = str(error).splitlines()[0][:200]
            raise SourceError(f"cannot be read: {reason}", where=str(file), fix="fetch it again") from error
        return
    if file.stat().st_size > _MOST_BYTES:
        raise SourceError("is larger than 512 MiB", where=str(file), fix="split it")
    data = file.read_bytes()
    if Marks(len(data)).take(data):
        try:
            yield json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            pass
        else:
            return
    budget = Marks(len(data))
    for line in io.BytesIO(data):
        budget.line(str(file))
        if not budget.take(line):
            raise SourceError(
                "holds more values than a file of its size may hold", where=str(file), fix="split it"
            )
        try:
            yield json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue


def _collect(
    value: Any, names: set[str], signatures: set[tuple[str, tuple[str, ...]]], queries: dict[str, None]
) -> None:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack.extend(item)
            continue
        if not isinstance(item, dict):
            continue
        own = item.get("name", item.get("api_name"))
        parameters = next((item[key] for key in _PARAMETER_KEYS if isinstance(item.get(key), dict)), None)
        if isinstance(own, str) and parameters is not None:
            inner = parameters.get("properties")
            names.add(_normal(own))
            signatures.add(_signature(own, inner if isinstance(inner, dict) else parameters))
        for key, inner in item.items():
            if isinstance(inner, str) and (
                key in _QUERY_KEYS or (key in {"content", "text", "value"} and _is_user(item))
            ):
                queries[inner] = None
            elif isinstance(inner, dict | list):
                stack.append(inner)


def _is_user(item: Mapping[str, Any]) -> bool:
    return str(item.get("role", item.get("from", ""))).lower() in {"user", "human"}


class Contamination:
    """Holds tools and queries against benchmarks.

    Args:
        benchmarks: At least one.
    """

    def __init__(self, benchmarks: Iterable[Benchmark]) -> None:
        self.benchmarks = tuple(benchmarks)
        self._grams: dict[bytes, set[str]] = {}
        self._short: dict[str, set[str]] = {}
        self._bands: dict[tuple[int, bytes], set[int]] = {}
        self._sketches: list[tuple[str, list[int]]] = []
        self._rows = [_row(number) for number in range(_PERMUTATIONS)]
        for benchmark in self.benchmarks:
            for query in benchmark.queries:
                self._index(benchmark.name, query)

    def _index(self, name: str, query: str) -> None:
        words = _words(query)
        if not words:
            return
        if len(words) < NGRAM:
            self._short.setdefault(" ".join(words), set()).add(name)
        for gram in _grams(words):
            self._grams.setdefault(gram, set()).add(name)
        sketch = self._sketch(words)
        if sketch is not None:
            self._sketches.append((name, sketch))
            for band in _bands(sketch):
                self._bands.setdefault(band, set()).add(len(self._sketches) - 1)

    def _sketch(self, words: list[str]) -> list[int] | None:
        if len(words) < 4:
            return None
        pairs = {_hash(f"{a} {b}") for a, b in pairwise(words)}
        return [min((a * pair + b) % _PRIME for pair in pairs) for a, b in self._rows]

    def judge_tool(self, tool: Tool) -> ToolVerdict:
        """Say whether a tool is a benchmark's."""
        drop, marks = False, []
        for benchmark in self.benchmarks:
            if any(
                _signature(name, tool.parameters) in benchmark.signatures
                for name in (tool.name, tool.wire_name)
            ):
                drop = True
                marks.append(f"signature:{benchmark.name}")
            elif _normal(tool.name) in benchmark.names or _normal(tool.wire_name) in benchmark.names:
                marks.append(f"name:{benchmark.name}")
        return ToolVerdict(drop, tuple(marks))

    def filter_tools(self, tools: Iterable[Tool]) -> tuple[list[Tool], list[tuple[Tool, ToolVerdict]]]:
        """Return the tools that may be used, marked, and the dropped ones with their verdicts."""
        kept, dropped = [], []
        for tool in tools:
            verdict = self.judge_tool(tool)
            marks = tuple(dict.fromkeys([*tool.contamination, *verdict.marks]))
            if verdict.drop:
                dropped.append((tool, verdict))
            else:
                kept.append(msgspec.structs.replace(tool, contamination=marks) if verdict.marks else tool)
        return kept, dropped

    def judge_query(self, text: str) -> tuple[str, ...]:
        """Return what a query shares with benchmarks, as `ngram:bfcl`, `same:bfcl` or `minhash:mmlu-pro`; empty for nothing."""
        words = _words(text)
        marks = (
            {f"same:{name}" for name in self._short.get(" ".join(words), ())} if len(words) < NGRAM else set()
        )
        for gram in _grams(words):
            marks.update(f"ngram:{name}" for name in self._grams.get(gram, ()))
        sketch = self._sketch(words)
        if sketch is not None:
            near = {place for band in _bands(sketch) for place in self._bands.get(band, ())}
            for place in near:
                name, other = self._sketches[place]
                alike = sum(a == b for a, b in zip(sketch, other, strict=True)) / _PERMUTATIONS
                if alike >= SIMILAR:
                    marks.add(f"minhash:{name}")
        return tuple(sorted(marks))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def _grams(words: list[str]) -> Iterator[bytes]:
    for start in range(len(words) - NGRAM + 1):
        yield blake2b(" ".join(words[start : start + NGRAM]).encode(), digest_size=8).digest()


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") % _PRIME


def _row(number: int) -> tuple[int, int]:
    """The coefficients of one permutation, from its number alone."""
    return 1 + _hash(f"a {number}") % (_PRIME - 1), _hash(f"b {number}")


def _bands(sketch: list[int]) -> Iterator[tuple[int, bytes]]:
    size = _PERMUTATIONS // _BANDS
    for band in range(_BANDS):
        part = sketch[band * size : (band + 1) * size]
        yield band, blake2b(repr(part).encode(), digest_size=8).digest()
