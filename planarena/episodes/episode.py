"""The only loop that acts in an environment: building, training and evaluation all call it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import msgspec

from planarena.environments.state import Footprint
from planarena.environments.world import Outcome, Status
from planarena.tasks.atoms import Call, fill

__all__ = ["Backend", "Episode", "ExecutedCall"]

_UNBOUND = {"code": "unbound", "message": "A value that an earlier step should have produced is missing."}
_UNBOUND_OUTCOME = Outcome("schema_error", None, _UNBOUND)


class Backend(Protocol):
    """What can execute calls and go back to an earlier state (design section 6: `snapshot`)."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Execute one call; failures are outcomes."""

    def footprint(self) -> Footprint:
        """Return what the last call read and wrote."""

    def mark(self) -> int:
        """Return a point to roll back to."""

    def rollback(self, mark: int) -> None:
        """Undo every call since `mark`."""

    def digest(self) -> str:
        """Return the hash of the state."""


class ExecutedCall(msgspec.Struct, frozen=True, array_like=True, dict=True):
    """A call that was made: the one record of it, from the world to the tables.

    Attributes:
        tool: Wire name.
        arguments: All of them, bound values among them.
        status: `ok`, or how it failed.
        result: The JSON result, or None.
        error: `{"code", "message"}`, or None.
        state_before: Hash of the state before.
        state_after: Hash of the state after.
    """

    tool: str
    arguments: dict[str, Any]
    status: Status
    result: Any
    error: dict[str, str] | None
    state_before: str
    state_after: str

    @classmethod
    def of(
        cls, tool: str, arguments: dict[str, Any], outcome: Outcome, state_before: str, state_after: str
    ) -> ExecutedCall:
        """Return the record of a call that gave an outcome."""
        made = cls(tool, arguments, outcome.status, outcome.result, outcome.error, state_before, state_after)
        made.__dict__["outcome"] = outcome  # whose payload may be known
        return made

    @cached_property
    def outcome(self) -> Outcome:
        """What the call gave, without the call."""
        return Outcome(self.status, self.result, self.error)


class Episode:
    """One pass through a backend from its present state, with the observations made so far.

    Three ways to act: `act` makes any call, `attempt` one that a policy wrote, `perform` a numbered step of a program
    whose arguments may come from the observations of earlier steps.

    Args:
        backend: The world.
        program: The calls that `perform` refers to; empty for a policy.

    Attributes:
        results: By step of the program: the result, or None if it did not run or failed.
    """

    __slots__ = ("_program", "backend", "results")

    def __init__(self, backend: Backend, program: Sequence[Call] = ()) -> None:
        self.backend = backend
        self._program = program
        self.results: list[Any] = [None] * len(program)

    def act(self, tool: str, arguments: dict[str, Any]) -> ExecutedCall:
        """Make a call and keep its before and after."""
        before = self.backend.digest()
        outcome = self.backend.call(tool, arguments)
        return ExecutedCall.of(tool, arguments, outcome, before, self.backend.digest())

    def attempt(self, tool: str, arguments: dict[str, Any], offered: Collection[str]) -> Outcome:
        """Make a call that a policy wrote; whatever it holds, it costs this episode alone.

        A fault of an environment (a date of month 84 that its schema lets through) is a `tool_error` with code
        `internal_error`, and the state is as before.

        Args:
            tool: Wire name.
            arguments: Of the call.
            offered: The tools on offer: the world may have others, which the task withholds.
        """
        if tool not in offered:
            unknown = {"code": "unknown_tool", "message": f"There is no tool named {tool}."}
            return Outcome("schema_error", None, unknown)
        mark = self.backend.mark()
        try:
            return self.act(tool, arguments).outcome
        except Exception as error:
            self.backend.rollback(mark)
            words = {"code": "internal_error", "message": f"{tool} failed: {type(error).__name__}."}
            return Outcome("tool_error", None, words)

    def perform(self, step: int) -> Outcome:
        """Make a step of the program; a missing bound value is a `schema_error` with code `unbound`."""
        call = self._program[step]
        arguments = fill(call, self.results)
        outcome = _UNBOUND_OUTCOME if arguments is None else self.backend.call(call.tool, arguments)
        self.results[step] = outcome.result
        return outcome

    def perform_fully(self, step: int) -> ExecutedCall:
        """Make a step of the program and keep its arguments, before and after."""
        call = self._program[step]
        arguments = fill(call, self.results)
        if arguments is None:
            digest = self.backend.digest()
            return ExecutedCall.of(call.tool, {}, _UNBOUND_OUTCOME, digest, digest)
        made = self.act(call.tool, arguments)
        self.results[step] = made.result
        return made

    def perform_all(self, steps: Sequence[int]) -> list[Outcome]:
        """Make several steps in the order given."""
        return [self.perform(step) for step in steps]

    def forget(self) -> None:
        """Forget the observations; the backend is the caller's to roll back."""
        self.results = [None] * len(self._program)
