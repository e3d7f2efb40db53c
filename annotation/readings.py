"""Readings as answers: pass and fail of whole trajectories, as `planarena view` and pages of `inspect --read` save them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from planarena.annotation.forms import Answer
from planarena.errors import UserError
from planarena.records.foreign import ForeignError, Marks

__all__ = ["answers_of_reading", "is_reading"]

# Reason of a failure -> (the query states the goal, the trajectory achieves it, the issue that comes nearest).
_MEANS: dict[str, tuple[str, str, str]] = {
    "untold": ("yes", "no", "wrong_answer"),
    "reference": ("no", "yes", "query_unclear"),
    "senseless": ("no", "yes", "other"),
    "wording": ("no", "yes", "query_unclear"),
    "request": ("no", "yes", "query_incomplete"),
    "call": ("yes", "no", "other"),
    "answer": ("yes", "no", "wrong_answer"),
    "world": ("yes", "no", "other"),
    "other": ("yes", "no", "other"),
}


class _Judgement(msgspec.Struct, frozen=True):
    trajectory_id: str
    verdict: str
    reason: str = ""
    note: str = ""


class _Reading(msgspec.Struct, frozen=True):
    kind: str
    judgements: list[_Judgement]
    reader: str = ""


def is_reading(path: Path) -> bool:
    """Say whether a file is a reading rather than a sheet's answers.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as source:
        return b'"planarena-reading"' in source.read(4096)


def answers_of_reading(path: Path, annotator: str = "") -> list[Answer]:
    """Return what a reader said of trajectories as answers of the form `trajectories`.

    A pass says that the query states the goal and that the trajectory achieves it. A failure's reason says which of the
    two does not hold, and names the issue that comes nearest; reason and note stand in the comment as they were written.

    Args:
        path: The reading.
        annotator: Whose it is, where the file names nobody.

    Raises:
        UserError: The file is damaged, or nobody's.
        OSError: The file cannot be read.
    """
    try:
        data = path.read_bytes()
        if not Marks(len(data)).take(data):
            raise ForeignError("it holds more values than a file of its size may hold")
        reading = msgspec.json.decode(data, type=_Reading)
    except (msgspec.MsgspecError, ForeignError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(
            f"is no reading: {error}",
            where=str(path),
            fix="give the file that `planarena view` keeps in RUN/readings",
        ) from error
    who = reading.reader.strip() or annotator
    if not who:
        raise UserError(
            "the reading says nothing of who read", where=str(path), fix="name them with --annotator"
        )
    read = (
        datetime.fromtimestamp(path.stat().st_mtime, UTC).replace(tzinfo=None).isoformat(timespec="seconds")
    )
    return [
        Answer(
            "trajectories",
            one.trajectory_id,
            who,
            _values(one),
            read,
            blind=True,
            guideline_version="",
            version="",
        )
        for one in reading.judgements
        if one.verdict in ("pass", "fail")
    ]


def _values(one: _Judgement) -> dict[str, Any]:
    if one.verdict == "pass":
        return {"query_ok": "yes", "goal_ok": "yes", "comment": one.note}
    query, goal, issue = _MEANS.get(one.reason, _MEANS["other"])
    comment = ": ".join(part for part in (one.reason, one.note) if part)
    return {"query_ok": query, "goal_ok": goal, "issues": [issue], "comment": comment}
