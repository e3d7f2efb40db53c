"""A world over sessions that live elsewhere: a sandboxed worker, MCP servers, an HTTP API.

Going back is done by the session: it restores a snapshot, or it starts anew and the calls so far are repeated. What
is repeated is only ever what ran before in the same order, and it is lazy: a rollback costs nothing until
something is called. A session that can do neither is live: it refuses every tool that is not read-only, unless the user allowed
effects and a gold trajectory is being executed for its one time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any, Literal, Protocol

from planarena.environments.state import Footprint
from planarena.environments.world import Operation, Outcome, Status
from planarena.errors import SandboxError
from planarena.records.canonical import CanonicalError, canonical_bytes, id_of_bytes
from planarena.tools.tool import Tool

__all__ = ["FAILED", "MAX_RESULT", "Session", "SessionWorld", "SnapshotLostError", "failure", "make_outcome"]

MAX_RESULT = 1 << 20
# Tools that answer a failure as if it were a success nearly all begin its text so.
FAILED = r"^\s*(Error|Database error|Failed|Failure|Exception|Traceback)\b"
Safety = Literal["read_only", "snapshot", "reset", "live"]


class SnapshotLostError(SandboxError):
    """The process that kept a snapshot is gone; the state is made again by repeating the calls."""


class Session(Protocol):
    """What holds the state.

    Attributes:
        safety: How it goes back; `live` cannot.
        observable: Whether `digest` sees the state; where not, the calls made stand for it.
        owner: The world that uses it now; another world that comes to it starts it anew.
    """

    safety: Safety
    observable: bool
    owner: object

    def is_live(self, tool: Tool) -> bool:
        """Say whether a tool acts on what can neither go back nor was declared to be only read."""

    def call(self, tool: Tool, arguments: Mapping[str, Any]) -> Outcome:
        """Execute a call; failures are outcomes."""

    def start_anew(self, salt: str) -> None:
        """Go to the initial state that the salt decides."""

    def snapshot(self) -> Any:
        """Return a token of the present state."""

    def restore(self, token: Any) -> None:
        """Go to the state of a token."""

    def digest(self) -> str:
        """Return the hash of the present state."""

    def dump(self) -> Any:
        """Return the present state as JSON, as far as it can be seen."""


def failure(status: Status, code: str, message: str) -> Outcome:
    """Return the outcome of a failed call; text that is no Unicode is escaped."""
    clean = message[:2000].encode("utf-8", "backslashreplace").decode()
    error = {"code": code[:200].encode("utf-8", "backslashreplace").decode(), "message": clean}
    return Outcome(status, None, error)


def make_outcome(result: Any) -> Outcome:
    """Return the outcome of a call that gave a value: `ok`, unless the value is no JSON of at most 1 MiB."""
    try:
        payload = canonical_bytes(result)
    except CanonicalError as error:
        return failure("tool_error", "result_not_json", f"The result is no JSON value: {error}")
    if len(payload) > MAX_RESULT:
        return failure(
            "tool_error",
            "result_too_large",
            f"The result takes {len(payload)} bytes, more than {MAX_RESULT}.",
        )
    return Outcome("ok", result, None)


class SessionWorld:
    """The world of one scenario over one session.

    Args:
        session: Shared by the worlds of its unit, one after the other.
        operations: By wire name; their `method` is not used.
        facts: The context.
        propose: Sources of atoms by wire name.
        salt: Decides the initial state.
        allow_effects: Let a live session change things, inside of `irreversibly`.

    Attributes:
        live_tools: Wire names of the tools that act on what cannot go back: no wrong choice calls them.
    """

    def __init__(
        self,
        session: Session,
        operations: dict[str, Operation],
        facts: dict[str, Any],
        propose: Mapping[str, Callable[[SessionWorld, Random], list[dict[str, Any]]]],
        salt: str,
        *,
        execution_kind: str = "real",
        allow_effects: bool = False,
    ) -> None:
        self.session, self.operations, self.facts, self.salt = session, operations, facts, salt
        self.execution_kind, self.safety = execution_kind, session.safety
        self.live_tools = frozenset(name for name, one in operations.items() if session.is_live(one.tool))
        self._propose, self._allow, self._for_good = propose, allow_effects, False
        self._history: list[tuple[str, dict[str, Any]]] = []  # the calls that changed the state
        self._digests: list[str] = []  # of the state after that many changes
        self._tokens: dict[int, Any] = {}
        self._applied = -1  # how many of the history the session has seen; -1: unknown
        self._touched = Footprint(frozenset(), frozenset())

    @property
    def store(self) -> SessionWorld:
        """Itself: it can be dumped and hashed as a store can."""
        return self

    def dump(self) -> Any:
        """Return the state as JSON, as far as it can be seen."""
        self._sync()
        return {"session": {"salt": self.salt, "state": self.session.dump()}}

    def recompute_digest(self) -> str:
        """Return the hash of the state as the session sees it now."""
        self._sync()
        return self._look()

    def propose(self, name: str, rng: Random) -> list[dict[str, Any]]:
        """Return arguments for atoms of a tool."""
        source = self._propose.get(name)
        return [] if source is None else source(self, rng)

    def remember(self, on: bool) -> bool:
        """Remember nothing: what runs elsewhere is asked each time. Returns False."""
        del on
        return False

    def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Execute one call; a failed one leaves the state as it was."""
        self._touched = Footprint(frozenset(), frozenset())
        operation = self.operations.get(name)
        if operation is None:
            return failure("schema_error", "unknown_tool", f"There is no tool named {name}.")
        if not operation.validator.is_valid(arguments):
            return failure(
                "schema_error", "invalid_arguments", str(operation.validator.first_error(arguments))
            )
        tool = operation.tool
        if self.session.safety in {"read_only", "live"} and tool.effects != "read" and not self._may_change():
            message = f"{name} may change things and this environment cannot go back: it was not called."
            return failure("tool_error", "effects_not_allowed", message)
        self._sync()
        before = self._digests[-1]
        try:
            outcome = self.session.call(tool, arguments)
        except SandboxError:
            self._applied = -1
            raise
        self._settle(tool, dict(arguments), outcome, before)
        return outcome

    def _may_change(self) -> bool:
        return self._allow and self._for_good and self.session.safety == "live"

    @contextmanager
    def irreversibly(self) -> Iterator[None]:
        """Let calls inside change what cannot be changed back: a gold trajectory, once, and nothing else."""
        self._for_good = True
        try:
            yield
        finally:
            self._for_good = False

    def _settle(self, tool: Tool, arguments: dict[str, Any], outcome: Outcome, before: str) -> None:
        """Find what the call changed."""
        table = tool.namespace
        reads = frozenset({(table, None)})
        if outcome.status != "ok":
            # It may have changed something before it failed, or taken the session with it.
            self._applied = -1 if tool.effects != "read" or outcome.status == "timeout" else self._applied
            if outcome.error is not None and outcome.error["code"] in {"worker_died", "session_lost"}:
                self._applied = -1
            self._touched = Footprint(reads, frozenset())
            return
        after = self._look((tool, arguments))
        if after == before:
            self._touched = Footprint(reads, frozenset())
            return
        self._history.append((tool.wire_name, arguments))
        self._digests.append(after)
        self._applied = len(self._history)
        self._touched = Footprint(reads, frozenset({(table, "*")}))

    def _look(self, last: tuple[Tool, dict[str, Any]] | None = None) -> str:
        if self.session.observable:
            return self.session.digest()
        made = [*self._history]
        if last is not None and last[0].effects != "read":
            made.append((last[0].wire_name, last[1]))
        return id_of_bytes(canonical_bytes([self.salt, [list(one) for one in made]]))

    def _sync(self) -> None:
        """Bring the session to the state that the history says."""
        wanted = len(self._history)
        if self.session.owner is not self:
            self.session.owner, self._applied = self, -1
        if self._applied == wanted:
            return
        if self.session.safety == "live":
            self._applied = wanted
            self._digests = self._digests or [self._look()]
            return
        try:
            self._replay(wanted)
        except SnapshotLostError:
            self._tokens.clear()
            self._replay(wanted)
        self._applied = wanted
        if not self._digests:
            self._digests.append(self._look())
        if self.session.safety == "snapshot" and wanted not in self._tokens:
            self._tokens[wanted] = self.session.snapshot()

    def _replay(self, wanted: int) -> None:
        known = max((place for place in self._tokens if place <= wanted), default=None)
        if known is None:
            self.session.start_anew(self.salt)
            known = 0
        else:
            self.session.restore(self._tokens[known])
        for name, arguments in self._history[known:wanted]:
            outcome = self.session.call(self.operations[name].tool, arguments)
            if outcome.status != "ok":
                raise SandboxError(f"{name} worked before and fails when it is repeated: {outcome.error}")
        if self._digests and self.session.observable and self.session.digest() != self._digests[wanted]:
            raise SandboxError("repeating the same calls gave another state: the tools are not deterministic")

    def footprint(self) -> Footprint:
        """Return what the last call read and wrote: whole servers, as nobody can see inside."""
        return self._touched

    def mark(self) -> int:
        """Return a point to roll back to."""
        self._sync()
        if self.session.safety == "snapshot" and len(self._history) not in self._tokens:
            self._tokens[len(self._history)] = self.session.snapshot()
        return len(self._history)

    def rollback(self, mark: int) -> None:
        """Undo every call since `mark`, when something is next called."""
        if mark == len(self._history):
            return
        del self._history[mark:]
        del self._digests[mark + 1 :]
        for place in [place for place in self._tokens if place > mark]:
            del self._tokens[place]
        self._applied = -1

    def digest(self) -> str:
        """Return the hash of the state."""
        if not self._digests:
            self._sync()
        return self._digests[-1]
