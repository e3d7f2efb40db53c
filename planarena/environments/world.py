"""The world of one scenario: one or more of our environments over one store, and the calls into them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any, Literal, NamedTuple

import orjson

from planarena.environments.contract import Environment, Seed, ToolError
from planarena.environments.faults import FAULTS, Faults
from planarena.environments.shapes import Shape
from planarena.environments.state import Footprint, Record, Store
from planarena.records.canonical import canonical_bytes
from planarena.tools.signatures import describe, input_schema, output_schema
from planarena.tools.tool import Tool
from planarena.tools.validation import SchemaValidator

__all__ = ["Operation", "Outcome", "Status", "World", "operations"]

Status = Literal["ok", "schema_error", "tool_error", "timeout", "nondeterministic"]


class Outcome:
    """What one call gave; never changed.

    Attributes:
        status: `ok`, or how it failed.
        result: The JSON result, or None.
        error: `{"code", "message"}`, or None.
    """

    __slots__ = ("_payload", "error", "result", "status")

    def __init__(self, status: Status, result: Any, error: dict[str, str] | None) -> None:
        self.status, self.result, self.error = status, result, error
        self._payload: bytes | None = None

    @property
    def payload(self) -> bytes:
        """The canonical JSON of the result or error: equal bytes mean the same observation."""
        if self._payload is None:
            self._payload = canonical_bytes(self.result if self.error is None else self.error)
        return self._payload

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outcome) and (self.status, self.result, self.error) == (
            other.status,
            other.result,
            other.error,
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Outcome({self.status!r}, {self.result!r}, {self.error!r})"


class Operation(NamedTuple):
    """A tool of an environment of ours, ready to be called.

    Attributes:
        tool: The record.
        method: The function; its first argument is the environment.
        validator: Of the arguments.
        propose: The source of atoms, or None.
    """

    tool: Tool
    method: Callable[..., Any]
    validator: SchemaValidator
    propose: Callable[[Any, Random], Iterable[dict[str, Any]]] | None


_CACHE: dict[type[Environment], dict[str, Operation]] = {}


def operations(environment: type[Environment]) -> dict[str, Operation]:
    """Return the operations of an environment by wire name, in order of definition.

    Raises:
        SchemaError: A signature or docstring is incomplete.
    """
    known = _CACHE.get(environment)
    if known is None:
        members = {**{k: v for base in reversed(environment.__mro__) for k, v in vars(base).items()}}
        known = {}
        for name, member in members.items():
            effect = getattr(member, "__tool_effect__", None)
            if effect is None:
                continue
            description, _ = describe(member)
            gives: Shape | None = member.__tool_gives__
            propose = member.__tool_proposes__ or environment.proposals.get(name)
            where = f"{environment.domain}.{name} -> result"
            record = Tool(
                namespace=environment.domain,
                name=name,
                wire_name=name,
                description=description,
                input_schema=input_schema(member),
                output_schema=output_schema(member) if gives is None else gives.schema(where),
                effects=effect,
                execution_kind="real",
                determinism="deterministic",
                source_kind="builtin",
                source_ref=environment.reference(),
                licence="Apache-2.0",
            )
            validator = SchemaValidator(record.input_schema, f"{environment.domain}.{name}")
            method = member if gives is None else _showing(member, gives)
            known[name] = Operation(record, method, validator, propose)
        # Only when it is whole: another thread may ask meanwhile.
        _CACHE[environment] = known
    return known


def _showing(method: Callable[..., Any], shape: Shape) -> Callable[..., Any]:
    """Return a method whose result holds what the shape shows of it, and nothing else."""
    return lambda environment, **arguments: shape.pick(method(environment, **arguments))


class _Remembered(NamedTuple):
    """What a call did in a state: made again in an equal state it does the same."""

    outcome: Outcome
    changes: tuple[tuple[str, str, Record | None], ...]
    footprint: Footprint
    total: int


class World:
    """Environments that share one store, one set of facts and one clock.

    Args:
        environments: The classes; their tool names must differ.
        seeds: One seed each, in the same order; facts of later ones fill in what earlier ones lack.
    """

    safety = "snapshot"
    execution_kind = "real"
    live_tools: frozenset[str] = frozenset()
    _memory: dict[tuple[int, str, bytes], _Remembered] | None = None
    _remembers = False

    def __init__(self, environments: Iterable[type[Environment]], seeds: Iterable[Seed]) -> None:
        pairs = list(zip(environments, seeds, strict=True))
        tables = {
            f"{environment.domain}.{name}": rows
            for environment, seed in pairs
            for name, rows in seed.tables.items()
        }
        facts: dict[str, Any] = {}
        for _, seed in reversed(pairs):
            facts.update(seed.facts)
        self._settle(Store.load(tables), facts, [(environment, seed.story) for environment, seed in pairs])

    @classmethod
    def restore(
        cls,
        environments: Iterable[type[Environment]],
        tables: Mapping[str, Mapping[str, Record]],
        facts: Mapping[str, Any],
    ) -> World:
        """Make the world of a stored scenario; without a story it proposes nothing sensible, but calls work.

        Args:
            environments: The classes.
            tables: `{domain.table: {id: record}}`, as in the column `seed_state`.
            facts: As in the column `context`.
        """
        world = cls.__new__(cls)
        world._settle(Store.load(tables), dict(facts), [(environment, {}) for environment in environments])
        return world

    def _settle(
        self, store: Store, facts: dict[str, Any], owners: list[tuple[type[Environment], Mapping[str, Any]]]
    ) -> None:
        self.store = store
        self._faults = Faults(store)
        self.facts = facts
        self.operations: dict[str, Operation] = {}
        self._owners: dict[str, Environment] = {}
        for environment, story in owners:
            owner = environment(store.view(environment.domain), facts, story)
            for name, operation in operations(environment).items():
                if name in self.operations:
                    raise ValueError(f"two environments offer a tool named {name}")
                self.operations[name] = operation
                self._owners[name] = owner

    def propose(self, name: str, rng: Random) -> list[dict[str, Any]]:
        """Return the literal arguments that the tool's environment proposes in the present state."""
        propose = self.operations[name].propose
        found = [] if propose is None else list(propose(self._owners[name], rng))
        self.store.clear_footprint()
        return found

    def remember(self, on: bool) -> bool:
        """Switch remembering on or off: while it is on, a call made before in an equal state is not run again.

        What it did then is done again from the record: the same outcome, writes and footprint. Composition tries
        the same beginnings over and over, so this saves four calls of five. A proof of determinism switches it
        off for the execution that it compares with.

        Returns:
            Whether it was on before.
        """
        before = self._memory is not None and self._remembers
        if self._memory is None:
            self._memory = {}
        self._remembers = on
        return before

    def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Call a tool; a failed call leaves the state as it was.

        Returns:
            The outcome. Unknown tools and invalid arguments are outcomes too, never exceptions.
        """
        store = self.store
        if self._memory is None or not self._remembers:
            store.clear_footprint()
            return self._run(name, arguments)
        try:
            key = store.total(), name, orjson.dumps(arguments)
        except TypeError:  # not JSON: the validator's business
            store.clear_footprint()
            return self._run(name, arguments)
        known = self._memory.get(key)
        if known is not None:
            outcome, changes, footprint, total = known
            store.replay(changes, footprint, total)
            return outcome
        store.clear_footprint()
        mark = store.mark()
        outcome = self._run(name, arguments)
        footprint = store.take_footprint()
        total = store.total()
        self._memory[key] = _Remembered(outcome, store.changes_since(mark), footprint, total)
        store.replay((), footprint, total)
        return outcome

    def _run(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        store = self.store
        operation = self.operations.get(name)
        if operation is None:
            return _failure("schema_error", "unknown_tool", f"There is no tool named {name}.")
        if not operation.validator.is_valid(arguments):
            return _failure(
                "schema_error", "invalid_arguments", str(operation.validator.first_error(arguments))
            )
        if store.has(FAULTS) and (struck := self._faults.strike(name)) is not None:
            return _failure("tool_error", *struck)
        mark = store.mark()  # what a fault has changed stays, whatever becomes of the call
        try:
            result = operation.method(self._owners[name], **arguments)
            return Outcome("ok", result, None)
        except ToolError as error:
            store.rollback(mark)
            return _failure("tool_error", error.code, error.message)

    def footprint(self) -> Footprint:
        """Return what the last call read and wrote."""
        return self.store.take_footprint()

    def mark(self) -> int:
        """Return a point to roll back to."""
        return self.store.mark()

    def rollback(self, mark: int) -> None:
        """Undo every call since `mark`."""
        self.store.rollback(mark)

    def digest(self) -> str:
        """Return the hash of the state."""
        return self.store.digest()


def _failure(status: Status, code: str, message: str) -> Outcome:
    return Outcome(status, None, {"code": code, "message": message})
