"""One loader for what `--data` may be: RUN, FILE or FOLDER, streamed in a fixed order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from planarena.errors import UserError
from planarena.records import Run
from planarena.rows.dialogue import Dialogue
from planarena.rows.difficulty import tasks_within
from planarena.rows.environments import locate
from planarena.rows.importers import (
    ImportOptions,
    Record,
    TraceError,
    as_dialogue,
    data_files,
    detect,
    read_records,
    source,
)
from planarena.rows.options import RowOptions
from planarena.rows.preferences import PairOptions, PairReader
from planarena.rows.row import EpisodeRow, PreferencePair, TrainingRow
from planarena.rows.run_reading import ShardReader
from planarena.rows.stepwise import StepExtractor

__all__ = ["Rows", "load_dialogues", "load_episodes", "load_pairs", "load_rows", "write_rows"]

_T = TypeVar("_T", TrainingRow, EpisodeRow, PreferencePair)

_SPLITS = {"val": "validation", "valid": "validation", "dev": "validation", "eval": "validation"}
_SPLIT_NAME = re.compile(r"(train|validation|valid|val|dev|eval|test|unseen_tools)(?:[-_.].*)?")
_ROW_KEYS = frozenset({"row_id", "prompt", "target", "trajectory_id"})
_PAIR_KEYS = frozenset({"prompt", "chosen", "rejected"})
_SHAPES = (
    "rows of write_rows, OpenAI messages, ShareGPT conversations, xLAM query and answers, ToolRL instruction and "
    "output, or OpenR1-Math problem and answer"
)
# Shapes that records of one set may differ in; their readers are chosen record by record.
_FAMILY = {"toolace": "conversations", "hermes": "conversations", "sharegpt": "conversations"}


class Rows(Iterable[_T]):
    """Rows of one kind; iterating streams them anew, always in the same order.

    Attributes:
        path: Where they come from.
        counts: Of the last pass: rows, dialogues, and what was left out by reason.
    """

    def __init__(self, path: Path, kind: type[_T], stream: Any, *, allow_empty: bool) -> None:
        self.path = path
        self.counts: Counter[str] = Counter()
        self._kind: type[_T] = kind
        self._stream, self._allow_empty = stream, allow_empty

    def __iter__(self) -> Iterator[_T]:
        self.counts = Counter()
        empty = True
        for row in self._stream(self.counts):
            empty = False
            yield row
        if empty and not self._allow_empty:
            raise UserError(
                f"gives no {_WORDS[self._kind]}{self._why()}",
                where=str(self.path),
                fix="give other data, another format, or other splits, kinds or domains",
            )

    def _why(self) -> str:
        told = [f"{times} {reason}" for reason, times in self.counts.most_common(3) if reason != "rows"]
        return f" ({'; '.join(told)})" if told else ""


_WORDS: dict[type, str] = {TrainingRow: "row", EpisodeRow: "episode", PreferencePair: "preference pair"}


def load_rows(
    path: str | Path,
    options: RowOptions | None = None,
    *,
    source_format: str | None = None,
    allow_empty: bool = False,
) -> Rows[TrainingRow]:
    """Load step-wise decisions.

    Args:
        path: A run directory, a file (JSON lines, a JSON list, Parquet) or a folder of such files.
        options: What rows look like and which are wanted. Rows that `write_rows` wrote keep their look; of the
            options only the selection holds for them.
        source_format: How to read files, a name of `planarena import`; None finds out.
        allow_empty: Do not refuse data that gives no row.

    Returns:
        The rows; faults of single records are raised while they are read.

    Raises:
        UserError: A path, shape or option that cannot be used, an empty file, files of several formats, a record
            without gold (with its file and line), or no row at all.
    """
    options = options or RowOptions()
    options.check()
    root = Path(path)
    stream: Any
    if _is_run(root, options):
        stream = partial(_rows_of_run, Run.open(root), options)
    else:
        shape = _shape_of(root, source_format)
        if shape == "pairs":
            raise UserError(
                "holds preference pairs, not single decisions",
                where=str(root),
                fix="give rows, or train with an algorithm of preferences",
            )
        if shape == "rows":
            stream = partial(_stored, root, options, TrainingRow)
        else:
            stream = partial(_rows_of_files, root, options, source_format)
    return Rows(root, TrainingRow, stream, allow_empty=allow_empty)


def load_episodes(
    path: str | Path,
    options: RowOptions | None = None,
    *,
    source_format: str | None = None,
    allow_empty: bool = False,
) -> Rows[EpisodeRow]:
    """Load whole trajectories: for multi-turn rollouts in their environments, or to imitate as a whole.

    Arguments and errors as of `load_rows`.
    """
    options = options or RowOptions()
    options.check()
    root = Path(path)
    stream: Any
    if _is_run(root, options):
        stream = partial(_episodes_of_run, Run.open(root), options)
    elif _shape_of(root, source_format) in ("rows", "pairs"):
        stream = partial(_stored, root, options, EpisodeRow)
    else:
        stream = partial(_episodes_of_files, root, options, source_format)
    return Rows(root, EpisodeRow, stream, allow_empty=allow_empty)


def load_pairs(
    path: str | Path,
    options: RowOptions | None = None,
    pairs: PairOptions | None = None,
    *,
    allow_empty: bool = False,
) -> Rows[PreferencePair]:
    """Load preference pairs: of a run with contrast, or of files that `write_rows` wrote.

    Arguments and errors as of `load_rows`.
    """
    options = options or RowOptions()
    options.check()
    root = Path(path)
    stream: Any
    if _is_run(root, options):
        stream = partial(_pairs_of_run, Run.open(root), options, pairs)
    else:
        shape = _shape_of(root, None)
        if shape != "pairs":
            raise UserError(
                "holds no preference pairs",
                where=str(root),
                fix="give a run with contrast, or pairs of write_rows",
            )
        stream = partial(_stored, root, options, PreferencePair)
    return Rows(root, PreferencePair, stream, allow_empty=allow_empty)


def load_dialogues(path: str | Path, *, source_format: str | None = None) -> Iterator[Dialogue]:
    """Stream the dialogues of a run, a file or a folder: gold ones, of all splits.

    Raises:
        UserError: As `load_rows`.
    """
    root = Path(path)
    if _is_run(root):
        from planarena.rows.run_reading import read_dialogues

        yield from read_dialogues(Run.open(root))
    else:
        _shape_of(root, source_format)
        yield from _dialogues_of_files(root, source_format)


def write_rows(path: str | Path, rows: Iterable[TrainingRow | EpisodeRow | PreferencePair]) -> int:
    """Write rows of one kind as JSON lines, which the loaders read back; return their number.

    Raises:
        OSError: No space, no permission.
    """
    encoder = msgspec.json.Encoder()
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    number = 0
    with target.open("wb") as handle:
        for row in rows:
            handle.write(encoder.encode(row) + b"\n")
            number += 1
    return number


# -- runs --------------------------------------------------------------------------------------------


def _is_run(path: Path, options: RowOptions | None = None) -> bool:
    found = _looks_like_a_run(path)
    if not found and options is not None and options.difficulty:
        raise UserError(
            "are files, and only runs hold pass rates of their tasks",
            where=str(path),
            fix="leave the difficulty out, or give a run that `planarena rate` has rated",
        )
    return found


def _looks_like_a_run(path: Path) -> bool:
    return path.is_dir() and ((path / "run.json").is_file() or (path / "ledger.sqlite").is_file())


def _of_run(run: Run, options: RowOptions, counts: Counter[str]) -> Iterator[tuple[ShardReader, Dialogue]]:
    reader = ShardReader(run)
    within = tasks_within(run, options.difficulty) if options.difficulty else None
    for path in run.shards("trajectories"):
        for row in reader.open(path):
            if row.kind in options.kinds and (not options.splits or reader.split_of(row) in options.splits):
                if within is not None and row.task_id not in within:
                    counts["of another difficulty"] += 1
                    continue
                yield reader, reader.dialogue(row)


def _rows_of_run(run: Run, options: RowOptions, counts: Counter[str]) -> Iterator[TrainingRow]:
    cutter = StepExtractor(options, counts)
    for reader, dialogue in _of_run(run, options, counts):
        yield from cutter.rows(dialogue, locate(reader, dialogue))


def _episodes_of_run(run: Run, options: RowOptions, counts: Counter[str]) -> Iterator[EpisodeRow]:
    cutter = StepExtractor(options, counts)
    for reader, dialogue in _of_run(run, options, counts):
        episode = cutter.episode(dialogue, locate(reader, dialogue))
        if episode is not None:
            yield episode


def _pairs_of_run(
    run: Run, options: RowOptions, pairs: PairOptions | None, counts: Counter[str]
) -> Iterator[PreferencePair]:
    yield from PairReader(run, options, pairs, counts)


# -- files -------------------------------------------------------------------------------------------


def _rows_of_files(
    path: Path, options: RowOptions, name: str | None, counts: Counter[str]
) -> Iterator[TrainingRow]:
    cutter = StepExtractor(options, counts)
    for dialogue in _dialogues_of_files(path, name):
        yield from cutter.rows(dialogue)


def _episodes_of_files(
    path: Path, options: RowOptions, name: str | None, counts: Counter[str]
) -> Iterator[EpisodeRow]:
    cutter = StepExtractor(options, counts)
    for dialogue in _dialogues_of_files(path, name):
        episode = cutter.episode(dialogue)
        if episode is not None:
            yield episode


def _dialogues_of_files(path: Path, name: str | None) -> Iterator[Dialogue]:
    first: tuple[str, Record] | None = None
    options = ImportOptions()
    number = 0
    for file in data_files(path):
        split = _split_of(file)
        for record in read_records(file):
            found = name or _detect(record)
            first = _same_shape(first, found, record)
            reader = source(found)
            try:
                trace = reader.read(record.value, options, number)
                dialogue = as_dialogue(trace, found, licence=reader.licence, source=file.name)
            except TraceError as error:
                raise UserError(
                    f"{error}",
                    where=record.where,
                    fix="mend or remove it; `planarena import` leaves such records out and counts them",
                ) from error
            if not trace.split:
                dialogue = msgspec.structs.replace(dialogue, split=split)
            number += 1
            yield dialogue


def _stored(path: Path, options: RowOptions, kind: type[_T], counts: Counter[str]) -> Iterator[_T]:
    first: tuple[str, Record] | None = None
    for file in data_files(path):
        for record in read_records(file):
            first = _same_shape(first, _detect(record), record)
            if kind is TrainingRow and not _has_gold(record.value.get("gold")):
                raise UserError("a row without gold", where=record.where, fix="give its gold or remove it")
            try:
                row = msgspec.convert(record.value, kind)
            except msgspec.ValidationError as error:
                raise UserError(
                    f"is no {_WORDS[kind]}: {error}", where=record.where, fix="write it with write_rows"
                ) from error
            counts["rows read"] += 1
            if _chosen(row, options):
                yield row


def _has_gold(gold: Any) -> bool:
    return isinstance(gold, dict) and bool(gold.get("calls") or gold.get("response"))


def _chosen(row: TrainingRow | EpisodeRow | PreferencePair, options: RowOptions) -> bool:
    if options.splits and row.split not in options.splits:
        return False
    if options.domains and row.domain not in options.domains:
        return False
    if isinstance(row, TrainingRow):
        if row.polarity == "negative" and "contrastive" not in options.kinds:
            return False
        if row.gold.calls == () and not options.answers:
            return False
    return isinstance(row, PreferencePair) or not options.generators or row.generator in options.generators


def _shape_of(path: Path, name: str | None) -> str:
    """Return the shape of the first record; look at the first record of every file before any work is done."""
    if name is not None:
        source(name)
    first: tuple[str, Record] | None = None
    for file in data_files(path):
        record = next(read_records(file), None)
        if record is None:
            raise UserError("is empty", where=str(file), fix="give a file with records, or remove it")
        first = _same_shape(first, name or _detect(record), record)
    assert first is not None
    return first[0]


def _same_shape(first: tuple[str, Record] | None, found: str, record: Record) -> tuple[str, Record]:
    if first is None:
        return found, record
    if _FAMILY.get(first[0], first[0]) != _FAMILY.get(found, found):
        raise UserError(
            f"is of the format {found}, but {first[1].where} is {first[0]}",
            where=record.where,
            fix="give data of one format, or make a run of each with `planarena import`",
        )
    return first


def _detect(record: Record) -> Literal["rows", "pairs"] | str:
    keys = record.value.keys()
    if keys >= _ROW_KEYS or keys >= {"row_id", "prompt", "messages", "targets"}:
        return "rows"
    if keys >= _PAIR_KEYS:
        return "pairs"
    if str(record.value.get("data_source", "")).startswith("planarena"):
        raise UserError(
            "is an export for verl, which holds rows as verl wants them",
            where=record.where,
            fix="give the run it was exported from",
        )
    found = detect(record.value)
    if found is None:
        raise UserError(
            f"has the keys {', '.join(sorted(map(str, keys))[:8]) or 'none'}, which is no shape of training data",
            where=record.where,
            fix=f"give {_SHAPES}",
        )
    return found


def _split_of(path: Path) -> str:
    """Return the split that a file's name states, else `train`."""
    match = _SPLIT_NAME.fullmatch(path.stem)
    return _SPLITS.get(match[1], match[1]) if match else "train"
