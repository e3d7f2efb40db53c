"""What worlds of an environment do: seeds, proposals, and long random walks in which every call is held to the contract."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

from planarena.environments.check.findings import Findings
from planarena.environments.contract import BOUND
from planarena.environments.sources.source import LiveWorld, Opened
from planarena.environments.world import Operation, Outcome
from planarena.errors import UserError
from planarena.tools.validation import SchemaValidator

__all__ = ["Walker", "check_proposals", "check_seeds", "is_closed"]

SALTS = tuple(f"{number:016x}" for number in range(1, 7))
_CODE = re.compile(r"[a-z]+(_[a-z]+)*")
_STATE = "keep all state in `self.state`, replace records by `put` and `patch`, and never change one in place"


def check_seeds(open_world: Callable[[str], Opened], findings: Findings) -> list[Opened]:
    """Open worlds of several seeds, each twice.

    Args:
        open_world: Opens the world of a salt.
        findings: Where findings are added.

    Returns:
        The worlds that could be opened.
    """
    opened: list[Opened] = []
    hashes: set[str] = set()
    for salt in SALTS:
        try:
            one, again = open_world(salt), open_world(salt)
        except UserError as error:
            findings.add("seeds", "seed", error.what, error.fix or "correct `seed`")
            return opened
        if one.world.digest() != again.world.digest() or one.world.facts != again.world.facts:
            findings.add(
                "seeds",
                "seed",
                "the same random source gives two different worlds",
                "draw from the `rng` alone",
            )
        facts = one.world.facts
        if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d", str(facts.get("now", ""))) is None:
            findings.add(
                "seeds", "facts", "has no `now` of the form 2026-05-04T09:00", "put one into the seed's facts"
            )
        if not facts.get("user_name"):
            findings.add("seeds", "facts", "has no `user_name`", "put the user's name into the seed's facts")
        if not one.title or len(one.description) < 30:
            findings.add(
                "seeds",
                "seed",
                "has no title or no description of a sentence",
                "say what the scenario is about",
            )
        hashes.add(one.world.digest())
        opened.append(one)
    if len(hashes) < len(SALTS):
        findings.add(
            "seeds",
            "seed",
            "different random sources give the same world",
            "draw names, amounts and days from `rng`",
        )
    return opened


def is_closed(operation: Operation, proposal: Mapping[str, Any]) -> bool:
    """Say whether a proposal needs nothing from other calls."""
    return all(proposal.get(name, BOUND) is not BOUND for name in operation.tool.required) and not any(
        value is BOUND for value in proposal.values()
    )


def check_proposals(world: LiveWorld, operations: Mapping[str, Operation], findings: Findings) -> None:
    """Hold the proposals of every tool against its schema.

    Args:
        world: In its initial state.
        operations: By wire name.
        findings: Where findings are added.
    """
    for name, operation in operations.items():
        try:
            proposals = world.propose(name, Random(1))
            again = world.propose(name, Random(1))
        except UserError as error:
            findings.add("proposals", name, error.what, error.fix or "correct them")
            continue
        except Exception as error:
            findings.add("proposals", name, f"fail: {type(error).__name__}: {error}", "correct them")
            continue
        if not proposals:
            findings.add(
                "proposals", name, "has none, so nobody ever asks for it", "add the tool to `proposals`"
            )
        if proposals != again:
            findings.add("proposals", name, "differ for the same random source", "draw from the `rng` alone")
        for proposal in proposals:
            _check_proposal(name, operation, proposal, findings)


def _check_proposal(name: str, operation: Operation, proposal: dict[str, Any], findings: Findings) -> None:
    parameters = operation.tool.parameters
    hidden = {argument for argument, schema in parameters.items() if schema.get("x-hidden")}
    for argument, value in proposal.items():
        if argument not in parameters:
            findings.add(
                "proposals", name, f"name {argument}, which is no argument", "name arguments of the tool"
            )
        elif argument in hidden and value is not BOUND:
            findings.add(
                "proposals",
                name,
                f"give {argument}, which a user cannot know",
                "leave it out: composition binds it",
            )
        elif value is not BOUND and not SchemaValidator(parameters[argument]).is_valid(value):
            findings.add(
                "proposals", name, f"{argument} = {value!r} does not fit its schema", "give a value that fits"
            )
    missing = set(operation.tool.required) - set(proposal) - hidden
    if missing:
        findings.add(
            "proposals", name, f"lack {', '.join(sorted(missing))}", "give a value, or BOUND to have it bound"
        )


class Walker:
    """Random walks through a world: proposed calls, bound to what was seen, each made, undone and made again.

    Args:
        operations: By wire name.
        findings: Where findings are added.

    Attributes:
        succeeded: How often each tool did.
        failures: Tool -> error codes that were met.
    """

    def __init__(self, operations: Mapping[str, Operation], findings: Findings) -> None:
        self.operations, self.findings = operations, findings
        self.succeeded: Counter[str] = Counter()
        self.failures: dict[str, Counter[str]] = defaultdict(Counter)
        self._results = {
            name: SchemaValidator(one.tool.output_schema or {}, f"{name} result")
            for name, one in operations.items()
        }
        self._reads: dict[str, dict[str, tuple[dict[str, Any], Any]]] = defaultdict(dict)
        self._shown: set[str] = set()
        self._changed: set[str] = set()

    def walk(self, world: LiveWorld, rng: Random, steps: int) -> None:
        """Walk from the world's initial state, and go back to it."""
        start, initial = world.mark(), world.digest()
        pool: dict[str, list[Any]] = defaultdict(list)
        self._reads.clear()
        for _ in range(steps):
            self._step(world, pool, rng)
        if world.store.recompute_digest() != world.digest():
            self.findings.add(
                "undo", "state", "a record was changed in place, so it cannot be undone", _STATE
            )
        world.rollback(start)
        if world.digest() != initial or world.store.recompute_digest() != initial:
            self.findings.add(
                "undo", "state", "undoing every call does not lead back to the initial state", _STATE
            )

    def report(self) -> None:
        """Add what only whole walks show: tools that never succeed, changes that no look-up shows."""
        for name, operation in self.operations.items():
            if not self.succeeded[name]:
                met = ", ".join(f"{code} ({count})" for code, count in self.failures[name].most_common(3))
                self.findings.add(
                    "proposals",
                    name,
                    f"never succeeds{': ' + met if met else ', as nothing it needs is found'}",
                    "propose arguments that fit the world, or let another tool show what it needs",
                )
            elif operation.tool.effects != "read" and name in self._changed - self._shown:
                self.findings.add(
                    "shown",
                    name,
                    "changes what no look-up shows",
                    "let a read tool show the field that it writes",
                )

    def _step(self, world: LiveWorld, pool: dict[str, list[Any]], rng: Random) -> None:
        name = rng.choice(list(self.operations))
        arguments = self._arguments(world, name, pool, rng)
        if arguments is None:
            return
        mark, before = world.mark(), world.digest()
        first = world.call(name, arguments)
        after = world.digest()
        world.rollback(mark)
        if world.digest() != before:
            self.findings.add("undo", name, "undoing the call does not lead back to the state before", _STATE)
        outcome = world.call(name, arguments)
        if outcome.payload != first.payload or outcome.status != first.status or world.digest() != after:
            self.findings.add(
                "deterministic",
                name,
                "made again in the same state it gives another result",
                "use no clock, no randomness and nothing outside of `self.state`",
            )
        if outcome.status == "tool_error":
            self._failed(name, outcome, after == before)
        elif outcome.status == "ok":
            self._done(world, name, arguments, outcome, after != before, pool)
        else:
            self.findings.add(
                "results", name, f"ends in {outcome.status}: {outcome.error}", "answer in time, and with JSON"
            )

    def _arguments(
        self, world: LiveWorld, name: str, pool: dict[str, list[Any]], rng: Random
    ) -> dict[str, Any] | None:
        try:
            proposals = world.propose(name, rng)
        except Exception:  # it was reported where proposals are checked
            return None
        if not proposals:
            return None
        tool = self.operations[name].tool
        arguments = dict(rng.choice(proposals))
        for argument, schema in tool.parameters.items():
            required = argument in tool.required
            bound = arguments.get(argument) is BOUND
            if bound or (
                schema.get("x-hidden") and argument not in arguments and (required or rng.random() < 0.5)
            ):
                known = pool[schema.get("x-semantic", "")]
                if known:
                    arguments[argument] = rng.choice(known[-8:] if rng.random() < 0.7 else known)
                elif required:
                    return None
                else:
                    arguments.pop(argument, None)
        return arguments

    def _failed(self, name: str, outcome: Outcome, unchanged: bool) -> None:
        error = outcome.error or {}
        self.failures[name][error.get("code", "")] += 1
        if _CODE.fullmatch(error.get("code", "")) is None:
            self.findings.add(
                "errors",
                name,
                f"fails with {error.get('code')!r}: {error.get('message', '')[:120]}",
                'raise ToolError("a_code", "A sentence for people.") for what may go wrong',
            )
        elif len(error.get("message", "")) < 10:
            self.findings.add(
                "errors", name, f"{error['code']} has no sentence", "say what is wrong as a sentence"
            )
        if not unchanged:
            self.findings.add("undo", name, "fails and changes the state all the same", _STATE)

    def _done(
        self,
        world: LiveWorld,
        name: str,
        arguments: dict[str, Any],
        outcome: Outcome,
        changed: bool,
        pool: dict[str, list[Any]],
    ) -> None:
        tool = self.operations[name].tool
        self.succeeded[name] += 1
        schema = tool.output_schema or {}
        if not self._results[name].is_valid(outcome.result):
            why = str(self._results[name].first_error(outcome.result))
            self.findings.add(
                "results", name, f"does not fit its schema: {why}", "return what the tool declares"
            )
        leaks = list(_undeclared(schema, outcome.result))
        if leaks:
            self.findings.add(
                "results", name, f"shows {leaks[0]}, which it does not declare", "declare it, or leave it out"
            )
        if tool.effects == "read":
            if changed:
                self.findings.add(
                    "effects", name, "is a read and changes the state", 'mark it @tool("update")'
                )
            elif len(self._reads[name]) < 6:
                self._reads[name][repr(sorted(arguments.items()))] = (arguments, outcome.result)
        elif not changed:
            self.findings.add(
                "effects",
                name,
                "says ok and changes nothing",
                'raise ToolError("already_...", "...") where nothing is to do',
            )
        else:
            self._changed.add(name)
            if name not in self._shown:
                self._look(world, name)
        for semantic, value in _meanings(schema, outcome.result):
            pool[semantic].append(value)

    def _look(self, world: LiveWorld, name: str) -> None:
        """Make the look-ups again that were made before the change: one of them should show it."""
        for read, made in self._reads.items():
            for key, (arguments, before) in list(made.items()):
                outcome = world.call(read, arguments)
                if outcome.result != before or outcome.status != "ok":
                    self._shown.add(name)
                    if outcome.status == "ok":
                        made[key] = (arguments, outcome.result)
                    else:
                        del made[key]


def _meanings(schema: Mapping[str, Any], value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every (semantic type, value) inside a result."""
    if isinstance(value, dict):
        for name, child in value.items():
            yield from _meanings(schema.get("properties", {}).get(name, {}), child)
    elif isinstance(value, list):
        for child in value:
            yield from _meanings(schema.get("items", {}), child)
    elif value is not None and "x-semantic" in schema:
        yield schema["x-semantic"], value


def _undeclared(schema: Mapping[str, Any], value: Any, where: str = "") -> Iterator[str]:
    """Yield every property of a result that its schema does not name: a field of the state that leaked."""
    if isinstance(value, dict):
        for name, child in value.items():
            if name in schema.get("properties", {}):
                yield from _undeclared(schema["properties"][name], child, f"{where}/{name}")
            elif "additionalProperties" not in schema:
                yield f"{where}/{name}"
    elif isinstance(value, list):
        for place, child in enumerate(value):
            yield from _undeclared(schema.get("items", {}), child, f"{where}/{place}")
