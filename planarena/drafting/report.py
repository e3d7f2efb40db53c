"""What became of a draft: part by part, what was found and how often it was repaired."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from planarena.environments.check import Finding
from planarena.records.shards import write_durably

__all__ = ["DraftReport", "PartReport", "read_report", "write_report"]


class PartReport(msgspec.Struct, frozen=True):
    """One part.

    Attributes:
        part: Its name.
        answers: Answers that were asked for it, repairs among them.
        findings: By answer what was found in it; the last is empty where the part passed.
        fault: Why there was no answer; empty where there was.
    """

    part: str
    answers: int
    findings: tuple[tuple[Finding, ...], ...]
    fault: str = ""

    @property
    def passed(self) -> bool:
        """The last answer had no finding."""
        return not self.fault and bool(self.findings) and not self.findings[-1]


class DraftReport(msgspec.Struct, frozen=True):
    """One draft.

    Attributes:
        topic: What it is about.
        name: Of its folder.
        status: `made`, or `given_up`.
        folder: Where it lies; of one that was given up where its last state lies.
        model: Who drafted it.
        parts: In order.
        tools: How many it has.
        tasks: By number of actions the composed tasks that passed the proofs.
        sample: How often it was drafted before.
    """

    topic: str
    name: str
    status: Literal["made", "given_up"]
    folder: str
    model: str
    parts: tuple[PartReport, ...]
    tools: int = 0
    tasks: dict[str, int] = {}
    sample: int = 0


def write_report(path: Path, report: DraftReport) -> None:
    """Write a report durably."""
    text = msgspec.json.format(msgspec.json.encode(report, order="deterministic"), indent=2)
    write_durably(path, text + b"\n")


def read_report(path: Path) -> DraftReport | None:
    """Read a report back; None where there is none that can be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=DraftReport)
    except (OSError, msgspec.DecodeError):
        return None
