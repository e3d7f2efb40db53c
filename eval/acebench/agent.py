"""The agents of ACEBench: their replies carried out again in the sandbox, from the beginning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planarena.environments import ReplyError, WorkerDiedError, WorkerTimeoutError
from planarena.eval.acebench.data import AceItem
from planarena.eval.acebench.reading import Written, read_calls
from planarena.eval.config import EvalConfig
from planarena.eval.pool import Pool
from planarena.eval.readings import reader_of

__all__ = ["carry_out", "final_state", "open_pool"]

_SERVICE = Path(__file__).with_name("_service.py")


def open_pool(config: EvalConfig, path: Path) -> Pool:
    """Start the workers that run the benchmark's scenarios.

    Raises:
        EnvironmentUnavailableError: There is no sandbox.
    """
    return Pool(config, _SERVICE, readable=[path.absolute()])


def carry_out(
    pool: Pool, path: Path, item: AceItem, steps: list[Written], config: EvalConfig
) -> tuple[list[str], list[dict[str, Any]], str]:
    """Return what the last step's calls returned, the state that is left, and why there is none."""
    request = {
        "folder": str(path.absolute()),
        "kind": item.category.removeprefix("agent_"),
        "language": config.language,
        "classes": item.row.get("involved_classes") or [],
        "config": item.row.get("initial_config") or {},
        "steps": steps,
        "seconds": config.seconds,
    }
    try:
        found = pool.call("run", request, seconds=config.seconds + 5)
    except WorkerTimeoutError:
        return [], [], "limit:time"
    except (WorkerDiedError, ReplyError) as error:
        return [], [], f"limit:worker {error}"[:80]
    if "error" in found:
        return [], [], "limit:time"
    return list(found["results"]), list(found["state"]), ""


def final_state(
    pool: Pool, path: Path, item: AceItem, value: Any, config: EvalConfig
) -> tuple[list[dict[str, Any]], list[str], str]:
    """Return the state that an agent's replies leave, their calls as text, and why there is none."""
    form, steps, process = reader_of(config), list[Written](), list[str]()
    for part in value if isinstance(value, list) else [value]:
        calls, _ = read_calls(part, form)
        if calls:
            steps.append(calls)
            process.append(part if isinstance(part, str) else _written(calls))
    _, state, problem = carry_out(pool, path, item, steps, config)
    return state, process, problem


def _written(calls: Written) -> str:
    """Calls as the benchmark writes them."""
    inside = (
        f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
        for name, arguments in calls
    )
    return f"[{', '.join(inside)}]"
