"""The answers that a run has: one line per item, question and annotator in `RUN/audit/answers.jsonl`.

Answers come from a server (`pull`) or from files (`import`). A pull replaces what an earlier pull from the same
place brought, so that an answer which was taken back is gone; an import adds to what is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from planarena.annotation.forms import Answer, form
from planarena.errors import RunError, UserError
from planarena.records import Run
from planarena.records.shards import write_durably

__all__ = ["audit_folder", "checked_values", "read_answers", "replace_answers", "write_lines"]


class _Line(msgspec.Struct, frozen=True):
    form: str
    item_id: str
    question: str
    annotator: str
    value: Any
    submitted_at: str
    blind: bool
    guideline_version: str
    version: str
    source: str


def audit_folder(run: Run) -> Path:
    """Return the folder of everything that belongs to a run's audit and stands in no table."""
    return run.path / "audit"


def write_lines(path: Path, rows: Iterable[Any]) -> int:
    """Write JSON lines durably and return how many."""
    lines = [msgspec.json.encode(row) for row in rows]
    write_durably(path, b"".join(line + b"\n" for line in lines))
    return len(lines)


def read_answers(run: Run) -> dict[str, list[Answer]]:
    """Return the answers of a run by where they came from.

    Raises:
        RunError: The file is damaged.
    """
    path = audit_folder(run) / "answers.jsonl"
    if not path.is_file():
        return {}
    found: dict[str, dict[tuple[str, str, str], Answer]] = {}
    try:
        for text in path.read_bytes().splitlines():
            line = msgspec.json.decode(text, type=_Line)
            asked = form(line.form).name
            key = (line.form, line.item_id, line.annotator)
            answer = found.setdefault(line.source, {}).setdefault(
                key,
                Answer(
                    asked,
                    line.item_id,
                    line.annotator,
                    {},
                    line.submitted_at,
                    line.blind,
                    line.guideline_version,
                    line.version,
                ),
            )
            answer.values[line.question] = line.value
    except (msgspec.MsgspecError, FileNotFoundError) as error:
        raise RunError(
            f"the answers are damaged: {error}",
            where=str(path),
            fix="delete the file and pull or import again",
        ) from error
    return {source: list(answers.values()) for source, answers in found.items()}


def replace_answers(run: Run, source: str, answers: Iterable[Answer], *, keep: bool) -> list[Answer]:
    """Store the answers of one source and return those of all, the latest of each person and item.

    Args:
        run: The run.
        source: Where they come from.
        answers: Checked by `checked_values`.
        keep: Keep what the source brought before where `answers` says nothing new.
    """
    every = read_answers(run)
    mine = {_key(one): one for one in every.get(source, [])} if keep else {}
    mine.update({_key(one): one for one in answers})
    every[source] = list(mine.values())
    write_lines(audit_folder(run) / "answers.jsonl", _lines(every))
    latest: dict[tuple[str, str, str], Answer] = {}
    for one in (one for group in every.values() for one in group):
        known = latest.get(_key(one))
        if known is None or one.submitted_at >= known.submitted_at:
            latest[_key(one)] = one
    return [latest[key] for key in sorted(latest)]


def _key(answer: Answer) -> tuple[str, str, str]:
    return answer.form, answer.item_id, answer.annotator


def _lines(every: dict[str, list[Answer]]) -> Iterator[_Line]:
    for source in sorted(every):
        for one in sorted(every[source], key=_key):
            for question, value in sorted(one.values.items()):
                yield _Line(
                    one.form,
                    one.item_id,
                    question,
                    one.annotator,
                    value,
                    one.submitted_at,
                    one.blind,
                    one.guideline_version,
                    one.version,
                    source,
                )


def checked_values(answer: Answer) -> Answer:
    """Return an answer with the values that its form allows; empty ones are left out.

    Raises:
        UserError: A required question is open, or a value is none of the options.
    """
    asked = {question.name: question for question in form(answer.form).questions}
    kept: dict[str, Any] = {}
    for name, value in answer.values.items():
        question = asked.get(name)
        if question is None or value in (None, "", []):
            continue
        options = {option for option, _ in question.options}
        given = value if isinstance(value, list) else [value]
        types = str | int if question.kind == "rating" else str
        fits = all(isinstance(one, types) and (not options or str(one) in options) for one in given)
        if not fits or isinstance(value, list) != (question.kind == "labels"):
            raise _refused(answer, f"{value!r} is no answer to {name!r}")
        kept[name] = int(value) if question.kind == "rating" else value
    missing = [name for name, question in asked.items() if question.required and name not in kept]
    if missing:
        raise _refused(answer, f"{missing[0]!r} is not answered")
    return answer._replace(values=kept)


def _refused(answer: Answer, what: str) -> UserError:
    return UserError(
        what,
        where=f"{answer.form} {answer.item_id}, annotator {answer.annotator}",
        fix="mend the answer, or leave the item out",
    )
