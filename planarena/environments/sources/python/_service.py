"""The inside of a Python source: import the module, describe its functions, call them.

It runs in the sandbox alone. The module is named by the environment variables PLANARENA_MODULE (its name) and
PLANARENA_ROOT (the folder that its package lives in). A module that cannot go back by itself is called in a forked copy
of the process that imported it: to go back is to end the copy and fork another, which takes milliseconds.
"""

import asyncio
import enum
import importlib
import importlib.util
import inspect
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _beside(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(
        f"planarena_own{name}", Path(__file__).with_name(f"{name}.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_describing, _stillness = _beside("_describing"), _beside("_stillness")
_module: Any = None
_initial: list[str] = []
_SPECIAL = {"snapshot", "restore", "reset", "seed", "state", "facts", "main"}


def _load() -> Any:
    global _module
    if _module is None:
        _stillness.stop_clock()
        _stillness.begin_call("import")
        sys.path.insert(0, os.environ["PLANARENA_ROOT"])
        _module = importlib.import_module(os.environ["PLANARENA_MODULE"])
        if hasattr(_module, "snapshot"):
            _initial.append(json.dumps(_module.snapshot()))
    return _module


_bound: dict[str, Any] = {}


def _tools() -> dict[str, Any]:
    """Return the tools by name: those in TOOLS, else the public functions and the methods of a class that needs nothing."""
    module = _load()
    if _bound:
        return _bound
    named = getattr(module, "TOOLS", None)
    if named is not None:
        for item in named.values() if isinstance(named, dict) else named:
            name = item if isinstance(item, str) else item.__name__
            _bound[name] = getattr(module, name) if isinstance(item, str) else item
        return _bound
    for name, member in list(vars(module).items()):
        own = getattr(member, "__module__", None) == module.__name__
        if name.startswith("_") or name in _SPECIAL or not callable(member) or not own:
            continue
        if not isinstance(member, type):
            if inspect.isroutine(member) or hasattr(member, "__wrapped__"):
                _bound[name] = member
        elif not _is_data_class(member):
            _bound.update(_methods(module, member))
    return _bound


def _is_data_class(kind: type) -> bool:
    return _describing.is_record(kind) or issubclass(kind, enum.Enum | BaseException)


def _methods(module: Any, kind: type) -> dict[str, Any]:
    """Return the public methods of a class: of the instance that the module has, else of a new one if that needs nothing."""
    made = next((one for one in vars(module).values() if type(one) is kind), None)
    if made is None:
        needed = [
            one
            for one in inspect.signature(kind).parameters.values()
            if one.default is one.empty and one.kind not in {one.VAR_POSITIONAL, one.VAR_KEYWORD}
        ]
        if needed or not any(inspect.isfunction(one) for one in vars(kind).values()):
            return {}
        made = kind()
        # What the instance holds is state of the module from now on.
        setattr(module, f"_planarena_{kind.__name__}", made)
    return {
        name: getattr(made, name)
        for name, member in vars(kind).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }


def describe(_value: Any) -> dict[str, Any]:
    """Return the module's tools with their schemas, and how it goes back."""
    module = _load()
    effects = getattr(module, "EFFECTS", {})
    examples = getattr(module, "EXAMPLES", {})
    tools, refused = [], []
    for name, function in _tools().items():
        description, _ = _describing.docstring(function)
        try:
            schema = _describing.input_schema(function)
        except (TypeError, ValueError) as error:
            refused.append([name, str(error), f"{name}()", "let every argument be given by name"])
            continue
        tools.append(
            {
                "name": name,
                "description": description,
                "input_schema": schema,
                "output_schema": _describing.output_schema(function),
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
        "observable": safety != "reset" or state(None) is not None,
        "facts": {"now": _stillness.NOW[:16]} | (module.facts() if hasattr(module, "facts") else {}),
        "summary": (module.__doc__ or "").strip().split("\n")[0],
        "version": str(getattr(module, "__version__", "")),
    }


def _call_here(value: Any) -> Any:
    name, arguments = value
    # Not of the scenario: from one state a call has one result, wherever it is made.
    _stillness.begin_call(name, json.dumps(arguments, sort_keys=True))
    function = _tools()[name]
    hints = _describing._hints(function)
    given = {key: _describing.from_json(one, hints.get(key, Any)) for key, one in arguments.items()}
    result = function(**given)
    if inspect.isawaitable(result):

        async def wait() -> Any:
            return await result

        result = asyncio.run(wait())
    result = _describing.to_json(result)
    json.dumps(result)  # what is no JSON is the tool's fault, told as such
    return [result, _state_here()]


def _state_here() -> Any:
    module = _load()
    if hasattr(module, "snapshot"):
        return module.snapshot()
    return module.state() if hasattr(module, "state") else _stillness.see_state(module)


# -- a copy of the process that makes the calls ---------------------------------------------------------------------


class _Copy:
    """A forked copy of this process, spoken to in JSON lines; it ends with its pipe."""

    def __init__(self) -> None:
        down, up = os.pipe(), os.pipe()
        self.process = os.fork()
        if self.process == 0:
            os.close(down[1])
            os.close(up[0])
            _serve(os.fdopen(down[0], "rb"), os.fdopen(up[1], "wb"))
        os.close(down[0])
        os.close(up[1])
        self.requests, self.replies = os.fdopen(down[1], "wb"), os.fdopen(up[0], "rb")

    def ask(self, name: str, value: Any) -> Any:
        try:
            self.requests.write(json.dumps([name, value]).encode() + b"\n")
            self.requests.flush()
            line = self.replies.readline()
        except OSError:
            line = b""
        if not line.endswith(b"\n"):
            os._exit(70)  # the tool ended the process that it ran in: so does this one, and it is seen
        reply = json.loads(line)
        if "error" in reply:
            raise type(reply["error"][0], (Exception,), {})(reply["error"][1])
        return reply["result"]

    def end(self) -> None:
        for stop in (os.killpg, os.kill):
            try:
                stop(self.process, signal.SIGKILL)
            except OSError:
                continue
        self.requests.close()
        self.replies.close()
        os.waitpid(self.process, 0)


def _serve(requests: Any, replies: Any) -> None:
    """Answer until the pipe closes: the life of a copy."""
    os.setsid()
    made: dict[str, Callable[[Any], Any]] = {
        "call": _call_here,
        "state": lambda _: _state_here(),
        "seed": lambda salt: _load().seed(salt),
    }
    for line in requests:
        name, value = json.loads(line)
        try:
            reply = {"result": made[name](value)}
            text = json.dumps(reply)
        except (Exception, RecursionError) as error:
            text = json.dumps({"error": [type(error).__name__, str(error)[:2000]]})
        replies.write(text.encode() + b"\n")
        replies.flush()
    os._exit(0)


_copy: list[_Copy] = []


def _goes_back(module: Any) -> bool:
    return hasattr(module, "reset") or (bool(_initial) and hasattr(module, "restore"))


def _ask(name: str, value: Any) -> Any:
    module = _load()
    if _goes_back(module) or hasattr(module, "snapshot"):
        return _call_here(value) if name == "call" else _state_here()
    if not _copy:
        _tools()
        _copy.append(_Copy())
    return _copy[0].ask(name, value)


def call(value: Any) -> Any:
    """Call a tool: `[name, arguments]`; return its result and what can be seen of the state then."""
    return _ask("call", value)


def start(salt: Any) -> bool:
    """Go to the initial state; False where only a new process can."""
    module = _load()
    if _goes_back(module):
        if hasattr(module, "reset"):
            module.reset()
        else:
            module.restore(json.loads(_initial[0]))
        if hasattr(module, "seed"):
            module.seed(salt)
        return True
    while _copy:
        _copy.pop().end()
    try:
        _tools()
        _copy.append(_Copy())
    except OSError:
        return False
    if hasattr(module, "seed"):
        _copy[0].ask("seed", salt)
    return True


def restore(value: Any) -> None:
    """Go to a state."""
    _load().restore(value)


def state(_value: Any) -> Any:
    """Return what can be seen of the state."""
    return _ask("state", None)


METHODS = {
    "describe": describe,
    "call": call,
    "start": start,
    "restore": restore,
    "state": state,
}
