"""Pass and fail of trajectories, with a reason, in the run's folder: the file that `planarena inspect --read` pages save.

A reader has a file of their own, `readings/READER.json`. Its page of `--read` can be loaded with it, and `judgements` of
several readers can be compared.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from planarena.eval.statistics import wilson
from planarena.records.shards import write_durably
from planarena.report.reading import FAULTS

__all__ = ["FAULT_WORDS", "Marks", "default_reader"]

FAULT_WORDS = frozenset(word for word, _ in FAULTS)
_LONGEST_NOTE = 4_000
_READER = re.compile(r"[^A-Za-z0-9._-]+")


def default_reader() -> str:
    """Return a name for who looks."""
    return _clean(os.environ.get("USER") or os.environ.get("USERNAME") or "reader")


def _clean(name: str) -> str:
    return _READER.sub("-", name)[:60].strip(".-") or "reader"


class Marks:
    """The judgements of a run.

    Args:
        run: The folder of the run.
    """

    _lock = Lock()

    def __init__(self, run: Path) -> None:
        self._folder = run / "readings"
        self._run = run.name

    def readers(self) -> list[str]:
        """Return who has judged."""
        return sorted(path.stem for path in self._folder.glob("*.json")) if self._folder.is_dir() else []

    def of(self, reader: str) -> dict[str, dict[str, Any]]:
        """Return a reader's judgements by trajectory; what a file says is data, and what does not fit is left out."""
        return {one["trajectory_id"]: one for one in self._read(_clean(reader)).get("judgements", [])}

    def all(self) -> dict[str, list[tuple[str, dict[str, Any]]]]:
        """Return (reader, judgement) by trajectory."""
        found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        for reader in self.readers():
            for name, one in self.of(reader).items():
                found.setdefault(name, []).append((reader, one))
        return found

    def mark(self, reader: str, trajectory: str, verdict: str, reason: str = "", note: str = "") -> None:
        """Write a judgement; without a verdict it is taken back.

        Args:
            reader: Who judges.
            trajectory: Its id.
            verdict: `pass`, `fail`, or empty.
            reason: Of a failure: a word of `FAULTS`.
            note: In the reader's words.
        """
        name = _clean(reader)
        with self._lock:
            judged = {one["trajectory_id"]: one for one in self._read(name).get("judgements", [])}
            judged.pop(trajectory, None)
            if verdict in ("pass", "fail"):
                kept = reason if verdict == "fail" and reason in FAULT_WORDS else ""
                judged[trajectory] = {
                    "trajectory_id": trajectory,
                    "verdict": verdict,
                    "reason": kept,
                    "note": note[:_LONGEST_NOTE],
                }
            self._folder.mkdir(exist_ok=True)
            body = msgspec.json.encode(self._whole(name, list(judged.values())))
            write_durably(self._folder / f"{name}.json", msgspec.json.format(body, indent=2) + b"\n")

    def counts(self, reader: str) -> dict[str, Any]:
        """Return how many are judged, passed and failed, and the interval of the share that passes."""
        whole = self._whole(_clean(reader), list(self.of(reader).values()))
        return {key: whole[key] for key in ("judged", "passed", "failed", "pass_share", "wilson_95")}

    def _whole(self, reader: str, judged: list[dict[str, Any]]) -> dict[str, Any]:
        passed = sum(one["verdict"] == "pass" for one in judged)
        number = len(judged)
        return {
            "kind": "planarena-reading",
            "run": self._run,
            "seed": None,
            "key": "view",
            "reader": reader,
            "drawn": number,
            "judged": number,
            "passed": passed,
            "failed": number - passed,
            "pass_share": passed / number if number else None,
            "wilson_95": list(wilson(passed, number)) if number else None,
            "judgements": [{"number": place, **one} for place, one in enumerate(judged, 1)],
        }

    def _read(self, name: str) -> dict[str, Any]:
        try:
            saved = msgspec.json.decode((self._folder / f"{name}.json").read_bytes())
        except (OSError, msgspec.MsgspecError, RecursionError):
            return {}
        listed = saved.get("judgements") if isinstance(saved, dict) else None
        kept = [
            {key: str(one.get(key) or "") for key in ("trajectory_id", "verdict", "reason", "note")}
            for one in (listed if isinstance(listed, list) else [])
            if isinstance(one, dict) and one.get("verdict") in ("pass", "fail") and one.get("trajectory_id")
        ]
        return {"judgements": kept}
