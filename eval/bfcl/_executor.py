"""Executing calls on bfcl-eval's simulated systems, by name and never by source text.

Runs inside the sandbox, in bfcl-eval's environment. It takes the place of bfcl-eval's
`execute_multi_turn_func_call` under its own checker, with three deviations: (1) a call is a method of the
scenario's classes, looked up by its public name, where bfcl-eval passes a string to `eval`; (2) instances
live as long as one item, where bfcl-eval keeps them in `globals()` under the model's name; (3) method names
inside of string arguments are left alone, where bfcl-eval puts an instance's name before each.
"""

from __future__ import annotations

import decimal
import importlib
import inspect
import json
import sys
from typing import Any

from _calls import Call, parse_trusted_calls, why_not_executable
from bfcl_eval.constants.executable_backend_config import CLASS_FILE_PATH_MAPPING, STATELESS_CLASSES

_REFUSED = frozenset(
    ["kill", "exit", "quit", "remove", "unlink", "popen", "Popen", "run"]
)  # bfcl-eval's own list
_CLASSES: dict[str, type] = {}
_METHODS: dict[str, list[str]] = {}
_instances: dict[tuple[str, str], Any] = {}
_scenarios: dict[str, str] = {}


def forget() -> None:
    """Drop the instances of the last item, and the precision that its calls may have set for the process."""
    _instances.clear()
    _scenarios.clear()
    decimal.setcontext(decimal.DefaultContext.copy())
    if "mpmath" in sys.modules:
        sys.modules["mpmath"].mp.dps = 15


def execute(
    func_call_list: list[Any],
    initial_config: dict[str, Any],
    involved_classes: list[str],
    model_name: str,
    test_entry_id: str,  # noqa: ARG001
    long_context: bool = False,
    is_evaL_run: bool = False,  # noqa: ARG001
) -> tuple[list[str], dict[str, Any]]:
    """Execute one step's calls and return each result as text, and the instances by class name.

    Args:
        func_call_list: `Call` of the model's, or source lines of the ground truth.
        initial_config: The state of each class at the start.
        involved_classes: The classes of the scenario.
        model_name: Tells the model's instances from the ground truth's.
        test_entry_id: Unused: one item lives here at a time.
        long_context: Fill the scenario up.
        is_evaL_run: Unused: both kinds of run are apart by `model_name`.
    """
    instances = {name: _instance(name, model_name, initial_config, long_context) for name in involved_classes}
    owners = {method: name for name in involved_classes for method in _METHODS[name]}
    results = []
    for call in func_call_list:
        try:
            if isinstance(call, Call):
                value = _invoke(call, owners, instances)
            else:
                ((name, positional, named),) = parse_trusted_calls([call])
                value = getattr(instances[owners[name]], name)(*positional, **named)
            results.append(_as_text(value))
        except Exception as error:
            results.append(f"Error during execution: {error}")
    return results, instances


def _invoke(call: Call, owners: dict[str, str], instances: dict[str, Any]) -> Any:
    if (reason := why_not_executable(call)) is not None:
        raise ValueError(reason)
    if call.name in _REFUSED:
        raise ValueError(f"Function call {call.name} is not allowed.")
    if call.name not in owners:
        raise NameError(f"name {call.name.split('.')[0]!r} is not defined")
    arguments = {
        key: _invoke(value, owners, instances) if isinstance(value, Call) else value
        for key, value in call.arguments.items()
    }
    return getattr(instances[owners[call.name]], call.name)(**arguments)


def _as_text(value: Any) -> str:
    if isinstance(value, dict):
        try:
            return json.dumps(value)
        except (TypeError, ValueError):
            return str(value)
    return value if type(value) is str else str(value)


def load_class(name: str) -> type:
    """Import one of bfcl-eval's simulated systems."""
    if name not in _CLASSES:
        _CLASSES[name] = getattr(importlib.import_module(CLASS_FILE_PATH_MAPPING[name]), name)
    return _CLASSES[name]


def _instance(name: str, model_name: str, initial_config: dict[str, Any], long_context: bool) -> Any:
    key = (model_name, name)
    if key in _instances:
        return _instances[key]
    instance = load_class(name)()
    if name not in _METHODS:
        methods = inspect.getmembers(instance, predicate=inspect.ismethod)
        _METHODS[name] = [method for method, _ in methods if not method.startswith("_")]
    if name not in STATELESS_CLASSES:
        # Parsed afresh for each instance, which costs a third of a deep copy.
        if name not in _scenarios:
            _scenarios[name] = json.dumps(initial_config.get(name, {}))
        instance._load_scenario(json.loads(_scenarios[name]), long_context=long_context)
    _instances[key] = instance
    return instance
