"""Where the domains of tau2-bench and tau-bench come from, and the workers that run them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planarena import managed
from planarena.eval.config import EvalConfig
from planarena.eval.pool import Pool
from planarena.eval.tau2.data import TauTask, is_first, read_second

__all__ = ["open_pool", "place_of", "read_tasks", "user_words"]

_SERVICE = Path(__file__).with_name("_service.py")
_PARTS = ("reason_for_call", "known_info", "unknown_info", "task_instructions")


def place_of(suite: str, config: EvalConfig) -> tuple[Path, bool]:
    """Return the data's folder, and whether it is tau-bench's.

    Raises:
        UserError: There is none.
    """
    path = config.data_path(
        suite, "tau2-bench is not shipped with planarena", "fetch it: --fetch, or --data tau2=FOLDER"
    )
    return path, is_first(path)


def open_pool(config: EvalConfig, path: Path, first: bool) -> Pool:
    """Start the workers; tau2-bench's tools need packages of their own, tau-bench's none.

    Raises:
        EnvironmentUnavailableError: The packages cannot be installed, or there is no sandbox.
    """
    python = None if first else managed.environment("tau2").python
    return Pool(config, _SERVICE, python=python, readable=[path.absolute()])


def read_tasks(pool: Pool, path: Path, first: bool) -> dict[str, list[TauTask]]:
    """Return the tasks by domain; tau-bench's stand in Python files, which the worker reads."""
    if not first:
        return read_second(path)
    found = {}
    for domain in ("airline", "retail"):
        if (path / "tau_bench" / "envs" / domain / "tasks_test.py").is_file():
            request = {"folder": str(path.absolute()), "domain": domain, "first": True}
            tasks = pool.call("tasks", request, seconds=60.0)
            found[domain] = [TauTask(f"{domain}-{number}", domain, task) for number, task in enumerate(tasks)]
    return found


def user_words(task: Mapping[str, Any]) -> str:
    """What the user of a task is told, as one text."""
    if "instruction" in task:
        return str(task["instruction"])
    scenario = task.get("user_scenario") or {}
    stated = scenario.get("instructions") or ""
    lines = (
        [str(stated[part]) for part in _PARTS if stated.get(part)]
        if isinstance(stated, dict)
        else [str(stated)]
    )
    if scenario.get("persona"):
        lines.insert(0, str(scenario["persona"]))
    return "\n".join(lines)
