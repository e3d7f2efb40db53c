"""The ACEBench worker: its phone and its travel desk, called by name. Runs inside the sandbox."""

from __future__ import annotations

import copy
import importlib
import inspect
import json
import signal
import sys
import types
from pathlib import Path
from typing import Any

_MODULES = {
    "BaseApi": "phone_platform.base_api",
    "MessageApi": "phone_platform.message",
    "ReminderApi": "phone_platform.reminder",
    "FoodPlatform": "phone_platform.food_services",
    "Travel": "travel",
}
_SAVED = {
    "BaseApi": ("wifi", "logged_in"),
    "MessageApi": ("inbox",),
    "ReminderApi": ("reminder_list",),
    "FoodPlatform": ("users", "logged_in_users", "orders"),
    "Travel": ("users", "reservations"),
}
_packages: set[str] = set()


class _Slow(BaseException):
    """Not an Exception, so that no handler of a scenario takes it."""


def _alarm(_signal: int, _frame: Any) -> None:
    raise _Slow


signal.signal(signal.SIGALRM, _alarm)


def _class(folder: str, kind: str, language: str, name: str) -> type:
    """One of the scenario's classes; its package's own __init__ imports vendors' clients and is left out."""
    root = Path(folder) / "model_inference"
    if folder not in _packages:
        for package in ("model_inference", "model_inference.multi_step", "model_inference.multi_turn"):
            module = types.ModuleType(package)
            module.__path__ = [str(root.joinpath(*package.split(".")[1:]))]
            sys.modules[package] = module
        _packages.add(folder)
    module = importlib.import_module(f"model_inference.{kind}.scenarios{language}.{_MODULES[name]}")
    found: type = getattr(module, name)
    return found


def _open(request: dict[str, Any]) -> dict[str, Any]:
    instances = {}
    for name in request["classes"]:
        instance = _class(request["folder"], request["kind"], request["language"], name)()
        for key in (name, "BaseApi"):
            instance._load_scenario(copy.deepcopy(request["config"].get(key, {})), long_context=False)
        instances[name] = instance
    return instances


def _call(instances: dict[str, Any], name: str, arguments: dict[str, Any]) -> str:
    """Call the method of every class that has it and return what the last one returns, as the benchmark does.

    All classes of a phone have its switches, each with a state of its own, and the answers expect all of them switched.
    """
    owners = [
        instance
        for instance in instances.values()
        if not name.startswith("_") and inspect.ismethod(getattr(instance, name, None))
    ]
    value: Any = f"Error during execution: there is no function {name}"
    try:
        for owner in owners:
            value = getattr(owner, name)(**copy.deepcopy(arguments))
    except Exception as error:
        return f"Error during execution: {error}"
    if isinstance(value, dict):
        try:
            return json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError):
            return str(value)
    return str(value)


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Carry calls out from the beginning: what the last step's returned, and the state that is left.

    The request holds `folder`, `kind` ("multi_step" or "multi_turn"), `language`, `classes`, `config`, `steps` (lists
    of [name, arguments]) and `seconds`.
    """
    signal.setitimer(signal.ITIMER_REAL, request["seconds"], 0.1)
    try:
        instances = _open(request)
        results: list[str] = []
        for step in request["steps"]:
            results = [_call(instances, name, arguments) for name, arguments in step]
        state = [
            {name: {key: getattr(instance, key) for key in vars(instance) if key in _SAVED[name]}}
            for name, instance in instances.items()
        ]
    except _Slow:
        return {"error": f"took longer than {request['seconds']} seconds"}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return {
        "results": results,
        "state": json.loads(json.dumps(state, default=str)) if request["steps"] else [],
    }


METHODS = {"run": run}
