"""The tasks of tau2-bench and of tau-bench, and the files in which both publish their runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from planarena.errors import UserError
from planarena.eval.responses import Response, Responses, count_tokens
from planarena.eval.users import STOPS
from planarena.records.foreign import read_json

__all__ = ["DOMAINS", "WHOLE", "TauTask", "is_first", "read_runs", "read_second"]

DOMAINS = ("airline", "retail", "telecom", "banking_knowledge")
_DATABASES = ("db.json", "db.toml")
WHOLE = {"airline": 50, "retail": 114, "telecom": 114, "banking_knowledge": 97}
_ENDED = {"user_stop", "agent_stop"}
_STOP = {"role": "user", "content": STOPS[0]}


class TauTask(NamedTuple):
    """One task.

    Attributes:
        id: The domain and the task's own id.
        domain: Its category.
        task: As the benchmark has it.
    """

    id: str
    domain: str
    task: dict[str, Any]


def is_first(folder: Path) -> bool:
    """Whether a folder holds tau-bench, and not tau2-bench.

    Raises:
        UserError: It holds neither.
    """
    if (folder / "tau_bench" / "envs").is_dir():
        return True
    if (folder / "data" / "tau2" / "domains").is_dir():
        return False
    raise UserError(
        "holds neither tau2-bench nor tau-bench",
        where=str(folder),
        fix="give a repository's folder, or fetch it: planarena eval --fetch tau2",
    )


def read_second(folder: Path) -> dict[str, list[TauTask]]:
    """Read the tasks of tau2-bench by domain; of a domain with splits those of the split `base`.

    Raises:
        UserError: A file that is no list of tasks, or a domain without its database.
    """
    found: dict[str, list[TauTask]] = {}
    for domain in DOMAINS:
        place = folder / "data" / "tau2" / "domains" / domain
        files = sorted((place / "tasks").glob("task_*.json")) or [place / "tasks.json"]
        listed: list[dict[str, Any]] = []
        for file in files:
            if file.is_file():
                read = _read(file)
                read = read.get("tasks", read) if isinstance(read, dict) else read
                listed += [
                    one for one in (read if isinstance(read, list) else [read]) if isinstance(one, dict)
                ]
        splits = _read(place / "split_tasks.json") if (place / "split_tasks.json").is_file() else {}
        base = set(map(str, splits.get("base", ()))) if isinstance(splits, dict) else set()
        tasks = [
            TauTask(f"{domain}-{task['id']}", domain, task)
            for task in listed
            if "id" in task and (not base or str(task["id"]) in base)
        ]
        if tasks and not any((place / name).is_file() for name in _DATABASES):
            raise UserError(
                "holds tasks and no database, so every one of them would fail",
                where=str(place),
                fix="fetch it again: planarena eval --fetch tau2",
            )
        if tasks:
            found[domain] = tasks
    if not found:
        raise UserError(
            "holds no tasks of tau2-bench", where=str(folder), fix="fetch it: planarena eval --fetch tau2"
        )
    return found


def _read(file: Path) -> Any:
    try:
        return read_json(file)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot be read: {error}", where=str(file), fix="fetch it again") from error


def read_runs(path: Path) -> tuple[Responses, dict[str, dict[str, Any]]] | None:
    """Read a file of runs that either benchmark wrote; None where it is another file.

    tau-bench writes a list of {"task_id", "trial", "traj", "reward", "info"}, tau2-bench one object with
    `simulations`. The messages of both sides are kept, what tools returned is not: it is found again.

    Returns:
        The outputs, and by item the task as it was when the run was made, where the file says it.
    """
    if not path.is_file() or path.suffix != ".json":
        return None
    try:
        read = read_json(path)
    except (OSError, ValueError):
        return None
    rows: Iterator[tuple[str, int, Response, dict[str, Any] | None]]
    if isinstance(read, list) and read and isinstance(read[0], dict) and "traj" in read[0]:
        rows = _first_rows(read, path)
    elif isinstance(read, dict) and isinstance(read.get("simulations"), list):
        rows = _second_rows(read, path)
    else:
        return None
    found, tasks = Responses(), dict[str, dict[str, Any]]()
    listed: dict[str, dict[int, Response]] = {}
    for key, trial, response, task in rows:
        listed.setdefault(key, {})[trial] = response
        if task is not None:
            tasks[key] = task
    for key, trials in listed.items():
        found.by_id[key] = [trials[trial] for trial in sorted(trials)]
    return found, tasks


def _domain(path: Path, said: str = "") -> str:
    for domain in DOMAINS:
        if domain == said or domain in path.name.lower():
            return domain
    raise UserError(
        "does not say of which domain its runs are",
        where=str(path),
        fix=f"name it after one of {', '.join(DOMAINS)}",
    )


def _first_rows(rows: list[Any], path: Path) -> Iterator[tuple[str, int, Response, dict[str, Any] | None]]:
    domain = _domain(path)
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("traj"), list):
            continue
        task = (row.get("info") or {}).get("task") if isinstance(row.get("info"), dict) else None
        kept = [_message(one) for one in row["traj"] if _speaks(one)]
        # The first words of the user are the prompt's; the agent's first choice is what is judged.
        yield (
            f"{domain}-{row.get('task_id')}",
            int(row.get("trial") or 0),
            Response(kept, count_tokens(kept)),
            task if isinstance(task, dict) and "actions" in task else None,
        )


def _second_rows(
    read: Mapping[str, Any], path: Path
) -> Iterator[tuple[str, int, Response, dict[str, Any] | None]]:
    about = (read.get("info") or {}).get("environment_info") or {}
    domain = _domain(path, str(about.get("domain_name", "")))
    tasks = {str(task.get("id")): task for task in read.get("tasks") or () if isinstance(task, dict)}
    for row in read["simulations"]:
        if not isinstance(row, dict) or not isinstance(row.get("messages"), list):
            continue
        kept = [_message(one) for one in row["messages"] if _speaks(one)]
        if row.get("termination_reason") in _ENDED:
            kept.append(_STOP)
        key = str(row.get("task_id"))
        yield (
            f"{domain}-{key}",
            int(row.get("trial") or 0),
            Response(kept, count_tokens(kept)),
            tasks.get(key),
        )


def _speaks(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") in ("assistant", "user")


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message in the OpenAI shape; tau2 writes calls without one."""
    found: dict[str, Any] = {"role": message["role"], "content": message.get("content")}
    calls = []
    for place, call in enumerate(message.get("tool_calls") or ()):
        if isinstance(call, dict):
            inside = call.get("function") or {
                "name": call.get("name"), "arguments": json.dumps(call.get("arguments") or {}),
            }  # fmt: skip
            calls.append(
                {"id": str(call.get("id") or f"call_{place}"), "type": "function", "function": inside}
            )
    if calls:
        found["tool_calls"] = calls
    return found
