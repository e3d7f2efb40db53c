"""The NESTFUL worker: carries sequences of calls out with the benchmark's own functions. Runs inside the sandbox."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

_functions: dict[tuple[str, str], Callable[..., Any]] = {}
_maps: dict[str, dict[str, str]] = {}


class _Slow(BaseException):
    """Not an Exception, so that no handler of a function takes it."""


def _alarm(_signal: int, _frame: Any) -> None:
    raise _Slow


signal.signal(signal.SIGALRM, _alarm)


def _function(folder: str, name: str) -> Callable[..., Any]:
    if (folder, name) not in _functions:
        if folder not in _maps:
            _maps[folder] = json.loads((Path(folder) / "func_file_map.json").read_text(encoding="utf-8"))
        basic = _module(Path(folder) / "basic_functions.py")
        module = basic if hasattr(basic, name) else _module(Path(folder) / Path(_maps[folder][name]).name)
        _functions[folder, name] = getattr(module, name)
    return _functions[folder, name]


def _module(path: Path) -> Any:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _value(value: Any, results: dict[str, dict[str, Any]]) -> Any:
    """A value as it is, or the result that it refers to: `$var_1.result$`."""
    if isinstance(value, str) and value.startswith("$") and (value.endswith("$") or value.startswith("$var")):
        label, _, field = value.strip("$").partition(".")
        return results[label][field]
    return value


def _run(folder: str, calls: list[list[Any]], outputs: dict[str, list[str]]) -> Any:
    """Carry the calls out, arguments by position as they are written, and return what the last one returned."""
    results: dict[str, dict[str, Any]] = {}
    answer = None
    for name, arguments, label in calls:
        (field,) = outputs[name]
        answer = _function(folder, name)(*(_value(value, results) for value in arguments.values()))
        results[label] = {field: answer}
    return answer


def _listed(value: Any) -> Any:
    return [_listed(one) for one in value] if isinstance(value, (list, tuple)) else value


def _same(found: Any, gold: Any) -> bool:
    """Floats agree to as many places as the gold is written with; a tuple is the list of the same values."""
    if type(found) is float and type(gold) is float:
        found = round(found, len(str(gold).partition(".")[2]))
    if found == gold:
        return True
    return isinstance(found, tuple) and isinstance(gold, list) and bool(_listed(found) == gold)


def score(request: dict[str, Any]) -> list[list[Any]]:
    """Return [id, whether, reason, detail] of each item: [id, calls as [name, arguments, label], outputs, gold]."""
    verdicts = []
    for key, calls, outputs, gold in request["items"]:
        try:
            signal.setitimer(signal.ITIMER_REAL, request["seconds"], 0.1)
            try:
                found = _run(request["folder"], calls, outputs)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            right = _same(found, gold)
            verdicts.append(
                [key, bool(right), "" if right else "wrong answer", "" if right else repr(found)[:300]]
            )
        except _Slow:
            verdicts.append([key, False, "limit:time", f"took longer than {request['seconds']} seconds"])
        except BaseException as error:  # a function may raise anything, SystemExit included
            verdicts.append([key, False, "execution error", f"{type(error).__name__}: {error}"[:300]])
    return verdicts


METHODS = {"score": score}
