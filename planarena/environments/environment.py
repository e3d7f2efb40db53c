"""What an environment of ours is: a class whose typed methods are tools over a `View` of the state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from random import Random
from typing import Any, ClassVar, Literal, TypeVar

import msgspec

from planarena.environments.state import Record, View
from planarena.records.canonical import canonical_bytes

__all__ = ["BOUND", "Effect", "Environment", "Seed", "ToolError", "proposals", "tool"]

Effect = Literal["read", "create", "update", "delete"]
_F = TypeVar("_F", bound=Callable[..., Any])


class ToolError(Exception):
    """An expected failure of a call: sold out, insufficient funds, wrong device state.

    It becomes the call's error result; the state is as before the call.

    Args:
        code: A stable word for programs, as `sold_out`.
        message: A sentence for people and models.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code, self.message = code, message


class _Bound:
    """The marker `BOUND`: a proposal leaves this argument to be bound to an earlier step's output."""

    def __repr__(self) -> str:
        return "BOUND"


BOUND: Any = _Bound()


class Seed(msgspec.Struct, frozen=True):
    """The initial world of a scenario.

    Attributes:
        tables: `{table: {id: record}}`, table names without namespace.
        title: A few words, as "A weekend in Lisbon".
        description: A sentence or two on the situation.
        facts: What the user knows and may have told before, by name (`user_name`, `home_city`): JSON values.
            They form the scenario's context; a value found here counts as grounded.
        story: Values that proposals draw on so that the calls of a scenario belong together
            (destination, dates, people). Not shown to anybody.
    """

    tables: dict[str, dict[str, Record]]
    title: str
    description: str
    facts: dict[str, Any]
    story: dict[str, Any] = {}


class Environment:
    """Base of our own environments: deterministic, stateful, undoable.

    A subclass sets `domain` and `summary`, defines `seed`, tools (methods marked with `@tool`) and
    proposals (methods marked with `@proposals`), and keeps all its state in `self.state`.

    Attributes:
        state: The tables.
        facts: The seed's facts.
        story: The seed's story.
        now: The scenario's fixed "now", ISO 8601 without zone (`facts["now"]`); clocks do not tick per call.
    """

    domain: ClassVar[str]
    summary: ClassVar[str]

    def __init__(self, view: View, facts: Mapping[str, Any], story: Mapping[str, Any]) -> None:
        self.state = view
        self.facts = facts
        self.story = story
        self.now: str = facts["now"]

    @classmethod
    def seed(cls, rng: Random, shared: Mapping[str, Any] | None = None) -> Seed:
        """Make an initial world, a pure function of `rng` and `shared`.

        Args:
            rng: Chooses everything that is left open.
            shared: What the environments of one scenario have in common, or None where this is the only
                one: facts by name (`now`, `user_name`, `home_city`), and whatever the seeds of one family
                of environments agree on (ours: `planarena.environments.domains`). A seed that is given
                facts keeps to them.
        """
        raise NotImplementedError

    @staticmethod
    def new_id(prefix: str, *content: Any) -> str:
        """Return an id derived from content, so that two creates commute: equal content gives an equal id."""
        return f"{prefix}_{blake2b(canonical_bytes(list(content)), digest_size=5).hexdigest()}"

    def require(self, table: str, key: str, noun: str) -> Record:
        """Return a record, or fail the call with `not_found`."""
        record = self.state.get(table, key)
        if record is None:
            raise ToolError("not_found", f"There is no {noun} with id {key}.")
        return record


def tool(effect: Effect) -> Callable[[_F], _F]:
    """Mark a method of an `Environment` as a tool.

    Args:
        effect: `read` changes nothing; the others change the state.
    """

    def mark(function: _F) -> _F:
        function.__tool_effect__ = effect  # type: ignore[attr-defined]
        return function

    return mark


def proposals(name: str) -> Callable[[_F], _F]:
    """Mark a method as the source of atoms for the tool `name`.

    The method takes `(self, rng)` and yields dictionaries of literal arguments that make sense in the
    present state and story. Arguments whose semantic type is hidden are left out: composition binds
    them. `BOUND` as a value asks for the binding of an argument that is not hidden.
    """

    def mark(function: _F) -> _F:
        function.__proposes__ = name  # type: ignore[attr-defined]
        return function

    return mark


Proposer = Callable[[Any, Random], Iterable[dict[str, Any]]]
