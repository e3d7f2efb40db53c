"""The inside of a Python source: import the module, describe its functions, call them.

It runs in the sandbox alone. The module is named by the environment variables PLANARENA_FILE (its file) and
PLANARENA_ROOT (the folder that its package lives in).
"""

import importlib
import importlib.util
import json
import os
import sys
from typing import Any

_module: Any = None
_initial: list[str] = []


def _load() -> Any:
    global _module
    if _module is None:
        sys.path.insert(0, os.environ["PLANARENA_ROOT"])
        _module = importlib.import_module(os.environ["PLANARENA_MODULE"])
        if hasattr(_module, "snapshot"):
            _initial.append(json.dumps(_module.snapshot()))
    return _module


def _tools() -> dict[str, Any]:
    module = _load()
    named = getattr(module, "TOOLS", None)
    if named is not None:
        found = {(item if isinstance(item, str) else item.__name__): item for item in named}
        return {
            name: getattr(module, name) if isinstance(item, str) else item for name, item in found.items()
        }
    special = {"snapshot", "restore", "reset", "seed", "state", "facts"}
    return {
        name: member
        for name, member in vars(module).items()
        if not name.startswith("_")
        and name not in special
        and callable(member)
        and not isinstance(member, type)
        and getattr(member, "__module__", None) == module.__name__
    }


def describe(_value: Any) -> dict[str, Any]:
    """Return the module's tools with their schemas, and how it goes back."""
    from planarena.errors import SchemaError
    from planarena.tools.signatures import describe as read_docstring
    from planarena.tools.signatures import input_schema, output_schema

    module = _load()
    effects = getattr(module, "EFFECTS", {})
    examples = getattr(module, "EXAMPLES", {})
    tools, refused = [], []
    for name, function in _tools().items():
        try:
            description, _ = read_docstring(function)
            schema = input_schema(function)
        except SchemaError as error:
            refused.append([name, error.what, error.where, error.fix])
            continue
        try:
            output = output_schema(function)
        except SchemaError:
            output = None
        tools.append(
            {
                "name": name,
                "description": description,
                "input_schema": schema,
                "output_schema": output,
                "effects": str(effects.get(name, "unknown")),
                "examples": list(examples.get(name, [])),
            }
        )
    if hasattr(module, "snapshot") and hasattr(module, "restore"):
        safety = "snapshot"
    else:
        safety = "read_only" if tools and all(one["effects"] == "read" for one in tools) else "reset"
    return {
        "tools": tools,
        "refused": refused,
        "safety": safety,
        "has_reset": hasattr(module, "reset"),
        "observable": safety != "reset" or hasattr(module, "state"),
        "facts": module.facts() if hasattr(module, "facts") else {},
        "summary": (module.__doc__ or "").strip().split("\n")[0],
        "version": str(getattr(module, "__version__", "")),
    }


def call(value: Any) -> Any:
    """Call a tool: `[name, arguments]`; return its result and what can be seen of the state then."""
    name, arguments = value
    return [_tools()[name](**arguments), state(None)]


def start(salt: Any) -> bool:
    """Go to the initial state in place; False where only a new process can."""
    module = _load()
    if hasattr(module, "reset"):
        module.reset()
    elif _initial and hasattr(module, "restore"):
        module.restore(json.loads(_initial[0]))
    elif not hasattr(module, "seed"):
        return False
    if hasattr(module, "seed"):
        module.seed(salt)
    return True


def restore(value: Any) -> None:
    """Go to a state."""
    _load().restore(value)


def state(_value: Any) -> Any:
    """Return what can be seen of the state."""
    module = _load()
    return (
        module.snapshot()
        if hasattr(module, "snapshot")
        else module.state()
        if hasattr(module, "state")
        else None
    )


METHODS = {
    "describe": describe,
    "call": call,
    "start": start,
    "restore": restore,
    "state": state,
}
