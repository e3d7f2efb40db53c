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
_PAIRS = 8  # of creations in both orders, per tool
_SURE = 5  # changes that no other call showed before a tool is blamed: one may meet none that could by chance
# Failures that are not the tool's own -> what to write instead.
_GUARDED = {
    "worker_died": "return or raise ToolError; a tool may not end its process or use up its memory",
    "result_not_json": "return text, numbers, booleans, lists and objects",
    "result_too_large": "show fewer records, or fewer of their fields",
}
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
        self._reads: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
        self._shown: set[str] = set()
        self._changed: Counter[str] = Counter()
        self._pairs: Counter[str] = Counter()

    def walk(self, world: LiveWorld, rng: Random, steps: int) -> None:
        """Walk from the world's initial state, and go back to it."""
        start, initial = world.mark(), world.digest()
        pool: dict[str, list[Any]] = defaultdict(list)
        self._reads.clear()
        for _ in range(steps):
            self._step(world, pool, rng)
            if self.findings.has("undo"):
                return  # the world is spoiled
        world.rollback(start)
        if world.digest() != initial or world.store.recompute_digest() != initial:
            self.findings.add(
                "undo", "state", "undoing every call does not lead back to the initial state", _STATE
            )

    @property
    def unsure(self) -> bool:
        """Whether a change that no call showed was made too seldom to say that none shows it."""
        return any(count < _SURE for name, count in self._changed.items() if name not in self._shown)

    def report(self) -> None:
        """Add what only whole walks show: tools that never succeed, changes that no other call shows."""
        for name, operation in self.operations.items():
            if not self.succeeded[name]:
                if any(self.findings.has(rule, name) for rule in ("errors", "proposals", "results")):
                    continue  # that is why
                met = ", ".join(f"{code} ({count})" for code, count in self.failures[name].most_common(3))
                self.findings.add(
                    "proposals",
                    name,
                    f"never succeeds{': ' + met if met else ', as nothing it needs is found'}",
                    "propose arguments that fit the world, or let another tool show what it needs",
                )
            elif operation.tool.effects != "read" and name in self._changed and name not in self._shown:
                self.findings.add(
                    "shown",
                    name,
                    "changes what no other call shows",
                    "let a read tool show the field that it writes",
                )

    def _step(self, world: LiveWorld, pool: dict[str, list[Any]], rng: Random) -> None:
        names = [name for name in self.operations if not self.findings.has("proposals", name)]
        if not names:
            return
        name = rng.choice(names)
        arguments = self._arguments(world, name, pool, rng)
        if arguments is None:
            return
        mark, before = world.mark(), world.digest()
        first = world.call(name, arguments)
        after = world.digest()
        world.rollback(mark)
        if world.digest() != before or world.store.recompute_digest() != before:
            what = "undoing the call does not lead back to the state before: a record was changed in place"
            self.findings.add("undo", name, what, _STATE)
            return
        if after != before and first.status == "ok" and name not in self._shown:
            self._see(world, name, arguments, pool, rng)
            world.rollback(mark)
        if self.operations[name].tool.effects == "create" and first.status == "ok":
            self._check_ids(world, name, arguments, pool, rng)
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
            self._done(name, arguments, outcome, after != before, pool)
        elif not self.findings.has("proposals", name):
            self.findings.add(
                "results", name, f"ends in {outcome.status}: {outcome.error}", "answer in time, and with JSON"
            )

    def _check_ids(
        self, world: LiveWorld, name: str, one: dict[str, Any], pool: dict[str, list[Any]], rng: Random
    ) -> None:
        """Create two things in both orders: their ids may not depend on it, or the two calls do not commute."""
        other = self._arguments(world, name, pool, rng)
        if other is None or other == one or self._pairs[name] >= _PAIRS:
            return
        schema, orders = self.operations[name].tool.output_schema or {}, []
        for pair in ((one, other), (other, one)):
            mark = world.mark()
            made = {repr(arguments): world.call(name, arguments) for arguments in pair}
            world.rollback(mark)
            orders.append(made)
        if any(outcome.status != "ok" for made in orders for outcome in made.values()):
            return
        self._pairs[name] += 1
        if any(_renamed(schema, orders[0][key].result, orders[1][key].result) for key in orders[0]):
            self.findings.add(
                "ids",
                name,
                "gives a thing another id when something else was created before it",
                "make ids of content: `self.new_id(prefix, *content)`, not of a counter",
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
        if error.get("code") in _GUARDED:
            self.findings.add("results", name, error.get("message", ""), _GUARDED[error["code"]])
        elif _CODE.fullmatch(error.get("code", "")) is None:
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
                self._reads[name][repr(sorted(arguments.items()))] = arguments
        elif not changed:
            self.findings.add(
                "effects",
                name,
                "says ok and changes nothing",
                'raise ToolError("already_...", "...") where nothing is to do',
            )
        else:
            self._changed[name] += 1
        for semantic, value in _meanings(schema, outcome.result):
            pool[semantic].append(value)

    def _see(
        self,
        world: LiveWorld,
        name: str,
        arguments: dict[str, Any],
        pool: dict[str, list[Any]],
        rng: Random,
    ) -> None:
        """Make a change between two rounds of other calls, and note whether any of them shows it.

        Look-ups that were made before are made, and calls that take what the change was given and what it gave:
        what a draft holds may show when it is sent.
        """
        before = world.mark()
        tool, outcome = self.operations[name].tool, world.call(name, arguments)
        near = defaultdict(list, {semantic: list(values) for semantic, values in pool.items()})
        given = {"properties": tool.parameters}
        for semantic, value in [
            *_meanings(given, arguments),
            *_meanings(tool.output_schema or {}, outcome.result),
        ]:
            near[semantic].append(value)
        looks = [(read, made) for read, known in self._reads.items() for made in known.values()]
        for read, operation in self.operations.items():
            if read != name and (operation.tool.effects == "read" or self.succeeded[read]):
                if self.findings.has("proposals", read):
                    continue
                drawn = [self._arguments(world, read, near, rng) for _ in range(4)]
                own = {
                    argument: near[schema["x-semantic"]][-1]
                    for argument, schema in operation.tool.parameters.items()
                    if argument in operation.tool.required and near[schema.get("x-semantic", "")]
                }
                looks += [(read, made) for made in (*drawn, own) if made is not None]
        after = [_try(world, *look) for look in looks]
        world.rollback(before)
        if after != [_try(world, *look) for look in looks]:
            self._shown.add(name)


def _try(world: LiveWorld, name: str, arguments: dict[str, Any]) -> bytes:
    """Return what a call gives; it is taken back."""
    mark = world.mark()
    payload = world.call(name, arguments).payload
    world.rollback(mark)
    return payload


def _renamed(schema: Mapping[str, Any], one: Any, other: Any) -> bool:
    """Say whether two results show the same, but for ids."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return False
    hidden = {name for name, inner in schema.get("properties", {}).items() if inner.get("x-hidden")}
    different = {name for name in {*one, *other} if one.get(name) != other.get(name)}
    return bool(different) and different <= hidden


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
