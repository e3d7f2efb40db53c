"""The sandbox of an environment folder, and the worlds that live in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, get_args

import orjson

from planarena.environments.contract import BOUND
from planarena.environments.sandbox.bubblewrap import Limits
from planarena.environments.sandbox.worker import ReplyError, Worker, WorkerDiedError, WorkerTimeoutError
from planarena.environments.sources.session_world import failure, make_outcome
from planarena.environments.state import Footprint
from planarena.environments.world import Operation, Outcome, Status
from planarena.errors import SandboxError, SourceError

__all__ = ["FolderWorld", "Host"]

_SERVICE = Path(__file__).with_name("_service.py")
_NOTHING = Footprint(frozenset(), frozenset())
_PATIENCE = 2  # how often a tool may hang or end its process before it is not called any more


class Host:
    """The sandbox of a folder, shared by its worlds.

    Attributes:
        given_up: Tool -> how it ended, for tools that hang or end their process again and again.
    """

    def __init__(self, folder: Path, text: str, limits: Limits, unsafe_no_sandbox: bool) -> None:
        ours = Path(__file__).parents[3]
        self._ended: Counter[str] = Counter()
        self.given_up: dict[str, Outcome] = {}
        self.worker = Worker(
            _SERVICE,
            readable=[folder, ours, *(item.resolve() for item in (ours / "data",) if item.is_symlink())],
            variables={"PLANARENA_FOLDER": str(folder), "PYTHONPATH": str(ours.parent)},
            limits=limits,
            unsafe_no_sandbox=unsafe_no_sandbox,
        )
        try:
            self.description: dict[str, Any] = self.worker.call("describe", seconds=limits.start_seconds)
        except SandboxError as error:
            self.worker.close()
            raise SourceError(
                f"cannot be opened in the sandbox: {str(error)[:600]}",
                where=text,
                fix="correct it; it sees no network and only its own folder. `planarena env check` says more",
            ) from error

    def note(self, name: str, outcome: Outcome) -> Outcome:
        """Note that a call took the sandbox with it: a tool that does so twice is not called again."""
        self._ended[name] += 1
        if self._ended[name] >= _PATIENCE:
            self.given_up[name] = outcome
        return outcome


class _Known(NamedTuple):
    """What a call did in a state: made again in an equal state it does the same."""

    outcome: Outcome
    touched: Footprint
    digest: str
    changed: bool


class FolderWorld:
    """A world that lives in a folder's sandbox; when the sandbox ends, it is made again and its calls repeated.

    What is remembered, undone or repeated costs the sandbox nothing until it is asked the next question: that carries
    the way from the state where it is to the state that is meant.

    Args:
        host: The sandbox.
        known: The operations.
        opening: The method and value that make the world.
    """

    execution_kind = "real"
    safety = "snapshot"
    live_tools: frozenset[str] = frozenset()

    def __init__(self, host: Host, known: dict[str, Operation], opening: list[Any]) -> None:
        self.operations = known
        self._host, self._opening = host, opening
        self._changes: list[tuple[str, dict[str, Any]]] = []  # the calls that changed the state
        self._there: list[tuple[str, dict[str, Any]]] = []  # those that the sandbox has seen
        self._digests: list[str] = [""]  # before the first of them, and after each
        self._touched = _NOTHING
        self._memory: dict[tuple[str, str, bytes], _Known] = {}
        self._remembers = False
        try:
            told = self._open()
        except WorkerDiedError:
            told = self._open()
        self.facts: dict[str, Any] = told["facts"]
        self.title, self.description = str(told.get("title", "")), str(told.get("description", ""))

    def _open(self) -> dict[str, Any]:
        told: dict[str, Any] = self._host.worker.call(*self._opening)
        self._number, self._start, self._there = told["world"], self._host.worker.starts, []
        self._digests[0] = str(told["digest"])
        return told

    def _ask(self, method: str, *more: Any) -> Any:
        """Ask of this world in its present state; it is made again where the sandbox no longer has it."""
        for attempt in (1, 2, 3):
            try:
                if self._start != self._host.worker.starts:
                    self._open()
                return self._ask_there(method, more)
            except ReplyError as error:
                if attempt == 3 or error.kind != "LookupError" or "given up" not in error.message:
                    raise
                self._start = -1
            except WorkerDiedError:
                # It may have been ended from outside; a tool that ends it does so again.
                if attempt > 1:
                    raise
        raise AssertionError("unreachable")

    def _ask_there(self, method: str, more: tuple[Any, ...]) -> Any:
        common = 0
        for ours, theirs in zip(self._changes, self._there, strict=False):
            if ours is not theirs:
                break
            common += 1
        todo = self._changes[common:]
        self._there = self._there[:common]
        try:
            digests, answer = self._host.worker.call("ask", [self._number, common, todo, method, more])
        except SandboxError:
            self._start = -1  # where it stands now is unknown
            raise
        self._there += todo
        # Repeated calls may differ where tools are not deterministic: the proofs are to see that.
        self._digests[common + 1 :] = map(str, digests)
        if isinstance(answer, dict):
            raise ReplyError(str(answer["error"][0])[:200], str(answer["error"][1])[:2000])
        return answer[0]

    @property
    def store(self) -> FolderWorld:
        """Itself: it can be dumped and hashed as a store can."""
        return self

    def dump(self) -> Any:
        """Return the tables."""
        return self._ask("dump")

    def recompute_digest(self) -> str:
        """Return the hash of the state, computed from its records."""
        return str(self._ask("recompute"))

    def remember(self, on: bool) -> bool:
        """Switch remembering on or off, as `World.remember` does. Returns whether it was on before."""
        before, self._remembers = self._remembers, on
        return before

    def propose(self, name: str, rng: Random) -> list[dict[str, Any]]:
        """Return the arguments that the tool's environment proposes in the present state."""
        version, state, gauss = rng.getstate()
        try:
            found, after = self._ask("propose", name, [version, list(state), gauss])
        except SandboxError as error:
            raise SourceError(
                f"the proposals of {name} fail: {error}",
                where=self.operations[name].tool.namespace if name in self.operations else name,
                fix="correct them; `planarena env check` runs them",
            ) from error
        rng.setstate((after[0], tuple(after[1]), after[2]))
        return [{**one, **dict.fromkeys(bound, BOUND)} for one, bound in found]

    def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Execute one call; a failed one leaves the state as it was."""
        self._touched = _NOTHING
        operation = self.operations.get(name)
        if operation is None:
            return failure("schema_error", "unknown_tool", f"There is no tool named {name}.")
        if not operation.validator.is_valid(arguments):
            return failure(
                "schema_error", "invalid_arguments", str(operation.validator.first_error(arguments))
            )
        if (ended := self._host.given_up.get(name)) is not None:
            return ended
        key = self._digests[-1], name, orjson.dumps(arguments)
        known = self._memory.get(key) if self._remembers else None
        if known is None:
            known = self._run(name, dict(arguments))
            if self._remembers and known.outcome.status in {"ok", "tool_error"}:
                self._memory[key] = known
        elif known.changed:
            self._changes.append((name, dict(arguments)))
            self._digests.append(known.digest)
        self._touched = known.touched
        return known.outcome

    def _run(self, name: str, arguments: dict[str, Any]) -> _Known:
        digest = self._digests[-1]
        try:
            outcome, reads, writes, digest, changed = _read_reply(self._ask("call", name, arguments))
        except ReplyError as error:
            return _Known(failure("tool_error", error.kind, error.message), _NOTHING, digest, False)
        except WorkerTimeoutError:
            message = f"{name} did not answer in time and was stopped."
            ended = failure("timeout", "timeout", message)
            return _Known(self._host.note(name, ended), _NOTHING, digest, False)
        except WorkerDiedError:
            ended = failure("tool_error", "worker_died", f"{name} ended the process it ran in.")
            return _Known(self._host.note(name, ended), _NOTHING, digest, False)
        if changed:
            made = (name, arguments)
            self._changes.append(made)
            self._there.append(made)
            self._digests.append(digest)
        return _Known(outcome, Footprint(reads, writes), digest, changed)

    def footprint(self) -> Footprint:
        """Return what the last call read and wrote."""
        return self._touched

    def mark(self) -> int:
        """Return a point to roll back to."""
        return len(self._changes)

    def rollback(self, mark: int) -> None:
        """Undo every call since `mark`."""
        del self._changes[mark:]
        del self._digests[mark + 1 :]

    def digest(self) -> str:
        """Return the hash of the state."""
        return self._digests[-1]


def _read_reply(reply: Any) -> tuple[Outcome, frozenset[Any], frozenset[Any], str, bool]:
    """Read what the sandbox says of a call; what it says is data, and may be nonsense.

    Raises:
        ReplyError: It is not what the service sends.
    """
    try:
        (status, result, error), reads, writes, digest, changed = reply
        touched = [frozenset((str(table), None if key is None else str(key)) for table, key in found)
                   for found in (reads, writes)]  # fmt: skip
        if status not in get_args(Status):
            raise ValueError(f"no such status: {status!r}")
    except (TypeError, ValueError) as problem:
        raise ReplyError("no_answer", f"the environment's answer cannot be read: {problem}") from problem
    if status == "ok":
        outcome = make_outcome(result)
    else:
        told = error if isinstance(error, dict) else {}
        outcome = failure(status, str(told.get("code", "error")), str(told.get("message", "")))
    return outcome, touched[0], touched[1], str(digest), bool(changed)
