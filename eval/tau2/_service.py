"""The worker of tau2-bench and tau-bench: their own tools on their own databases. Runs inside the sandbox.

Domains and tools are imported from the data folder. What stands around them in the benchmarks (orchestrator, clients of
vendors, evaluators) is not: the small replay here does what their evaluators do with an environment.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import inspect
import json
import os
import pickle
import signal
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

Call = list[Any]  # [who: "assistant" or "user", name, arguments]


class _Slow(BaseException):
    """Not an Exception, so that no handler of a tool takes it."""


def _alarm(_signal: int, _frame: Any) -> None:
    raise _Slow


signal.signal(signal.SIGALRM, _alarm)
_opened: dict[str, Any] = {}
_PACKAGES = ("tau2", "tau2.environment", "tau2.domains", "tau2.data_model", "tau2.domains.banking_knowledge")


def _package(name: str, path: Path) -> None:
    """A package without its own __init__, which imports what is not there."""
    module = types.ModuleType(name)
    module.__path__ = [str(path)]
    sys.modules[name] = module


class Environment:
    """Stands in for tau2's own: holds a domain's tools and databases."""

    def __init__(
        self,
        domain_name: str,
        policy: str,
        tools: Any = None,
        user_tools: Any = None,
        solo_mode: bool = False,
    ) -> None:
        self.domain_name, self.policy, self.tools, self.user_tools = domain_name, policy, tools, user_tools
        self.solo_mode = solo_mode
        self.sync_tools()

    def sync_tools(self) -> None:
        """What a domain brings into line between its databases after each call."""


# --- tau2 --------------------------------------------------------------------------------------------


class Second:
    """One domain of tau2-bench."""

    def __init__(self, folder: str, domain: str) -> None:
        root = Path(folder)
        os.environ["TAU2_DATA_DIR"] = str(root / "data")
        if "tau2" not in sys.modules:
            for name in _PACKAGES:
                _package(name, root.joinpath("src", *name.split(".")))
            for name, found in (
                ("tau2.environment.environment", Environment),
                ("tau2.data_model.tasks", type("Task", (), {})),
            ):
                module = types.ModuleType(name)
                setattr(module, found.__name__, found)
                sys.modules[name] = module
            with contextlib.suppress(ImportError):
                importlib.import_module("loguru").logger.remove()  # every call is logged otherwise
        self.domain = domain
        bank = domain == "banking_knowledge"
        self._begin: Callable[..., Any] = (
            self._banking if bank else self._module("environment").get_environment
        )
        first = self._begin()
        self.policy = first.policy
        user = first.user_tools
        self._gold: dict[str, tuple[Any, Any]] = {}
        self._databases = pickle.dumps((first.tools.db, None if user is None else user.db))

    def _module(self, name: str) -> Any:
        return importlib.import_module(f"tau2.domains.{self.domain}.{name}")

    def _banking(self, db: Any = None) -> Any:
        """The bank without its search of documents, which changes nothing and needs an index."""
        tools, model, utils = (self._module(name) for name in ("tools", "data_model", "utils"))
        db = db if db is not None else model.TransactionalDB.load(str(utils.KNOWLEDGE_DB_PATH))
        return Environment(self.domain, "", tools.KnowledgeTools(db), tools.KnowledgeUserTools(db))

    def begin(self, task: dict[str, Any]) -> Any:
        """Open the environment in which a task begins."""
        db, user_db = pickle.loads(self._databases)  # noqa: S301  made above
        given = {"db": db, "user_db": user_db}
        taken = inspect.signature(self._begin).parameters
        found = self._begin(**{key: value for key, value in given.items() if key in taken})
        self._allow_log(found, task)
        initial = task.get("initial_state") or {}
        data = initial.get("initialization_data") or {}
        if data.get("agent_data") is not None:
            found.tools.update_db(data["agent_data"])
            if found.user_tools is not None and found.user_tools.db is not None:
                found.user_tools.db = found.tools.db
        if data.get("user_data") is not None:
            found.user_tools.update_db(data["user_data"])
            if found.tools is not None and found.tools.db is not None:
                found.tools.db = found.user_tools.db
        for action in initial.get("initialization_actions") or ():
            self._function(found, action)
        for call in _calls_of(initial.get("message_history") or ()):
            self.call(found, call, changing=True)
        found.sync_tools()
        return found

    def _allow_log(self, found: Any, task: dict[str, Any]) -> None:
        """The bank logs those reads alone that the task's own actions make."""
        if hasattr(found.tools, "set_read_log_allowlist"):
            actions = (task.get("evaluation_criteria") or {}).get("actions") or ()
            names = {str((action.get("arguments") or {}).get("agent_tool_name")) for action in actions}
            found.tools.set_read_log_allowlist(names - {"None"})

    def _function(self, found: Any, action: dict[str, Any]) -> Any:
        owner = found.user_tools if action["env_type"] == "user" else found.tools
        value = getattr(owner, action["func_name"])(**(action.get("arguments") or {}))
        found.sync_tools()
        return value

    def call(self, found: Any, call: Call, *, changing: bool = False) -> str:
        """Carry a call out; `changing` passes over what changes nothing. An error is what the caller reads."""
        who, name, arguments = call
        owner = found.user_tools if who == "user" else found.tools
        try:
            if owner is None or not owner.has_tool(name):
                return f"Error: there is no tool {name}"
            if changing and not owner.tool_mutates_state(name):
                return ""
            value = owner.use_tool(tool_name=name, **arguments)
            found.sync_tools()
        except Exception as error:
            return f"Error: {error}"
        return value if isinstance(value, str) else json.dumps(_plain(value), default=str)

    def score(self, task: dict[str, Any], calls: list[Call], said: list[str]) -> dict[str, bool]:
        """Every check that the task's own criteria name, whether or not its reward is made of it."""
        criteria = task.get("evaluation_criteria") or {}
        actions = [
            [one.get("requestor", "assistant"), one["name"], one.get("arguments") or {}]
            for one in criteria.get("actions") or ()
        ]
        reached = self.begin(task)
        for call in calls:
            self.call(reached, call, changing=True)
        reached.sync_tools()
        key = json.dumps(task, sort_keys=True)
        if key not in self._gold:
            gold = self.begin(task)
            for call in actions:
                self.call(gold, call)
            self._gold[key] = _state(gold)
        marks = {"DB": _state(reached) == self._gold[key]}
        marks["ENV_ASSERTION"] = all(
            self._holds(reached, one) for one in criteria.get("env_assertions") or ()
        )
        marks["ACTION"] = all(_made(one, calls) for one in criteria.get("actions") or ())
        marks["COMMUNICATE"] = _communicated(criteria.get("communicate_info") or (), said)
        return marks

    def _holds(self, found: Any, assertion: dict[str, Any]) -> bool:
        return bool(self._function(found, assertion) == assertion.get("assert_value", True))

    def about(self) -> dict[str, Any]:
        """The policy and both sides' tools in the OpenAI shape."""
        found = self._begin()
        listed = [found.tools.get_tools(), {} if found.user_tools is None else found.user_tools.get_tools()]
        agent, user = ([tool.openai_schema for tool in tools.values()] for tools in listed)
        return {"policy": self.policy, "tools": agent, "user_tools": user}


def _state(found: Any) -> tuple[Any, Any]:
    user = found.user_tools
    return found.tools.get_db_hash(), None if user is None or user.db is None else user.get_db_hash()


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value


def _calls_of(messages: Any) -> list[Call]:
    return [
        [call.get("requestor") or message["role"], call["name"], call.get("arguments") or {}]
        for message in messages
        if message.get("role") in ("assistant", "user")
        for call in message.get("tool_calls") or ()
    ]


def _made(action: dict[str, Any], calls: list[Call]) -> bool:
    """Whether a call was made that has the action's name and arguments, all or those that are named."""
    for _, name, arguments in calls:
        if name == action["name"]:
            compared = action.get("compare_args")
            compared = list(arguments) if compared is None else compared
            wanted = action.get("arguments") or {}
            if {key: arguments[key] for key in compared if key in arguments} == {
                key: wanted[key] for key in compared if key in wanted
            }:
                return True
    return False


def _communicated(wanted: Any, said: list[str]) -> bool:
    texts = [text.lower().replace(",", "") for text in said]
    return all(any(str(one).lower() in text for text in texts) for one in wanted)


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()


# --- tau-bench ---------------------------------------------------------------------------------------


class First:
    """One domain of tau-bench."""

    def __init__(self, folder: str, domain: str) -> None:
        root = Path(folder) / "tau_bench"
        if "tau_bench" not in sys.modules:
            for name in ("tau_bench", "tau_bench.envs", "tau_bench.envs.airline", "tau_bench.envs.retail"):
                _package(name, root.joinpath(*name.split(".")[1:]))
            module = types.ModuleType("tau_bench.types")
            module.Action = module.Task = lambda **fields: fields  # type: ignore[attr-defined]
            sys.modules["tau_bench.types"] = module
        self._place = f"tau_bench.envs.{domain}"
        tools = importlib.import_module(f"{self._place}.tools").ALL_TOOLS
        self._tools = {tool.get_info()["function"]["name"]: tool for tool in tools}
        self._data = pickle.dumps(importlib.import_module(f"{self._place}.data").load_data())
        policy = root / "envs" / domain / "wiki.md"
        self.policy = policy.read_text(encoding="utf-8") if policy.is_file() else ""
        self._gold: dict[str, str] = {}

    def tasks(self) -> list[dict[str, Any]]:
        """The tasks of the test split, as objects."""
        module = importlib.import_module(f"{self._place}.tasks_test")
        return list(getattr(module, "TASKS", None) or module.TASKS_TEST)

    def begin(self, _task: dict[str, Any]) -> Any:
        """Open the database in which every task begins."""
        return pickle.loads(self._data)  # noqa: S301  made above

    def call(self, found: Any, call: Call) -> str:
        """Carry a call out; an error is what the caller reads."""
        _, name, arguments = call
        if name not in self._tools:
            return f"Unknown action {name}"
        try:
            return str(self._tools[name].invoke(data=found, **arguments))
        except Exception as error:
            return f"Error: {error}"

    def score(self, task: dict[str, Any], calls: list[Call], said: list[str]) -> dict[str, bool]:
        """The final database, and what had to be said."""
        reached = self.begin(task)
        for call in calls:
            self.call(reached, call)
        same = _digest(reached) == self._right(task["actions"])
        return {"DB": same, "COMMUNICATE": _communicated(task.get("outputs") or (), said)}

    def _right(self, actions: list[dict[str, Any]]) -> str:
        """The digest of the database that the right actions leave."""
        key = json.dumps(actions, sort_keys=True)
        if key not in self._gold:
            gold = self.begin({})
            for action in actions:
                if action["name"] != "transfer_to_human_agents":
                    self.call(gold, ["assistant", action["name"], action["kwargs"]])
            self._gold[key] = _digest(gold)
        return self._gold[key]

    def about(self) -> dict[str, Any]:
        """The policy and the tools in the OpenAI shape."""
        return {
            "policy": self.policy,
            "tools": [tool.get_info() for tool in self._tools.values()],
            "user_tools": [],
        }


# --- what is asked of the worker ---------------------------------------------------------------------


def _open(request: dict[str, Any]) -> Any:
    folder, domain = request["folder"], request["domain"]
    key = f"{folder}\0{domain}"
    if key not in _opened:
        _opened[key] = (First if request["first"] else Second)(folder, domain)
    return _opened[key]


def about(request: dict[str, Any]) -> dict[str, Any]:
    """What an agent and a user of a domain are shown."""
    found: dict[str, Any] = _open(request).about()
    return found


def tasks(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The tasks of tau-bench, which stand in Python files."""
    found: list[dict[str, Any]] = _open(request).tasks()
    return found


def run(request: dict[str, Any]) -> list[str]:
    """What the calls of the last step return, after those of the steps before it."""
    domain = _open(request)
    signal.setitimer(signal.ITIMER_REAL, request["seconds"], 0.1)
    try:
        found = domain.begin(request["task"])
        results: list[str] = []
        for step in request["steps"]:
            results = [domain.call(found, call) for call in step]
    except _Slow:
        return []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return results


def score(request: dict[str, Any]) -> list[list[Any]]:
    """Return [id, checks, problem] of each item: [id, task, calls, what was said]."""
    verdicts = []
    domain = _open(request)
    for key, task, calls, said in request["items"]:
        signal.setitimer(signal.ITIMER_REAL, request["seconds"], 0.1)
        try:
            verdicts.append([key, domain.score(task, calls, said), ""])
        except _Slow:
            verdicts.append([key, {}, "limit:time"])
        except Exception as error:
            verdicts.append([key, {}, f"checker_error:{type(error).__name__}: {error}"[:300]])
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return verdicts


METHODS = {"about": about, "run": run, "score": score, "tasks": tasks}
