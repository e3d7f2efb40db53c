"""Judging a draft in a process of its own: whatever the code does, it costs this process and its sandbox alone.

`python -m planarena.drafting.judging FOLDER TASKS ACTS SECONDS` prints the findings and the composed tasks as JSON.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import msgspec

from planarena.environments.check import Finding
from planarena.errors import EnvironmentUnavailableError

__all__ = ["Verdict", "judge"]

# A folder that takes longer is no environment that anybody wants to build with.
_MOST_SECONDS = 420
_GOLD = 40
_UNAVAILABLE = 3


class Verdict(NamedTuple):
    """What the judge says: the findings, and the composed tasks by number of actions."""

    findings: tuple[Finding, ...]
    tasks: dict[str, int]


class _Said(msgspec.Struct, frozen=True):
    findings: tuple[Finding, ...]
    tasks: dict[str, int]


def judge(folder: Path, tasks: int = 0, *, acts: bool = True, start_seconds: float = 15.0) -> Verdict:
    """Hold a folder to the contract, in the sandbox.

    Args:
        folder: The folder.
        tasks: Fewest composed tasks of two, three and four actions; 0 composes none.
        acts: Make worlds and act in them; without it code, tools and words alone are looked at.
        start_seconds: What its code may take to be imported.

    Returns:
        The findings; a judge that was killed or took too long is a finding, too.

    Raises:
        EnvironmentUnavailableError: There is no way to sandbox here.
    """
    command = [
        sys.executable,
        "-m",
        "planarena.drafting.judging",
        str(folder),
        str(tasks),
        str(int(acts)),
        str(start_seconds),
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env={**os.environ}
    )
    try:
        out, said = process.communicate(timeout=_MOST_SECONDS)
    except subprocess.TimeoutExpired:
        _end(process)
        return Verdict(
            (_fault(folder, f"is not judged within {_MOST_SECONDS} seconds", "make it do less"),), {}
        )
    except BaseException:
        _end(process)
        raise
    if process.returncode == _UNAVAILABLE:
        raise EnvironmentUnavailableError(
            said.decode(errors="replace").strip()[:400],
            fix="`planarena doctor` says what is missing; drafts run in the sandbox alone",
        )
    try:
        found = msgspec.json.decode(out, type=_Said)
    except msgspec.DecodeError:
        last = (said.decode(errors="replace").strip().splitlines() or ["nothing"])[-1][:300]
        return Verdict((_fault(folder, f"cannot be judged: {last}", "keep to the contract"),), {})
    return Verdict(found.findings, found.tasks)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _fault(folder: Path, what: str, fix: str) -> Finding:
    return Finding("opens", folder.name, what, fix)


def _count_tasks(folder: Path) -> dict[str, int]:
    from planarena.config import BuildConfig, ContrastConfig, ExecutionConfig
    from planarena.pipeline.composed_tasks import count_composed_tasks

    return count_composed_tasks(
        BuildConfig(
            sources=(f"env:{folder}",),
            out="unused",
            trajectories=_GOLD,
            contrast=ContrastConfig(candidates=0, trajectories=0, no_calls=0),
            execution=ExecutionConfig(workers=1),
        )
    )


def _main(folder: Path, tasks: int, acts: bool, start_seconds: float) -> int:
    from planarena.environments.check import check_folder, too_few_tasks
    from planarena.environments.sources.folder.source import folder_limits
    from planarena.errors import PlanArenaError

    limits = dataclasses.replace(folder_limits(), start_seconds=start_seconds)
    try:
        findings = check_folder(folder, limits=limits, acts=acts)
        counts: dict[str, int] = {}
        if not findings and tasks:
            try:
                counts = _count_tasks(folder)
            except EnvironmentUnavailableError:
                raise
            except PlanArenaError as error:
                findings.append(Finding("tasks", "build", str(error)[:600], "make it build"))
            findings += too_few_tasks(counts, tasks)
    except EnvironmentUnavailableError as error:
        sys.stderr.write(f"{error}\n")
        return _UNAVAILABLE
    sys.stdout.write(msgspec.json.encode(_Said(tuple(findings), counts)).decode() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "1", float(sys.argv[4])))
