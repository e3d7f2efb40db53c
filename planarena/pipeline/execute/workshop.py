"""What kinds of conversations work with: a scenario's world, its words, and ways of executing a changed task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any, NamedTuple

from planarena.environments import World
from planarena.environments.faults import FAULTS
from planarena.environments.goals import Aim
from planarena.environments.state import Footprint, Record
from planarena.environments.wording import ToolWording, parse_pointer
from planarena.episodes import Episode, ExecutedCall, Goal, reached
from planarena.generate.semantic_values import semantic_values
from planarena.pipeline.execute.beginnings import Beginnings
from planarena.pipeline.products import Discard, Executed
from planarena.proofs import Order, Sense, scalars_of
from planarena.records.canonical import canonical_json, content_id
from planarena.tasks.atoms import Atom, Binding, Call

__all__ = ["Made", "Workshop"]


class Made(NamedTuple):
    """A conversation.

    Attributes:
        task: Executed and proven.
        seed_state: Where it needs a state of its own: that state, as in the column.
        facts: Where it needs a context of its own.
        tools: Where it offers other tools.
        atoms: Where it needs a scenario of its own: that one's.
        digest: The hash of the state of its own.
        parts: Other tasks that went into it.
    """

    task: Executed
    seed_state: str = ""
    facts: dict[str, Any] | None = None
    tools: tuple[str, ...] = ()
    atoms: tuple[Atom, ...] = ()
    digest: str = ""
    parts: tuple[Executed, ...] = ()

    @property
    def is_elsewhere(self) -> bool:
        """Whether it needs a scenario of its own."""
        return bool(self.seed_state or self.facts is not None or self.tools)


class Workshop:
    """A scenario whose tasks become conversations.

    Args:
        world: In the initial state, where every kind leaves it.
        tools: The tools that the scenario offers.
        wording: The words of its tools.
        orders: By tool, what decides which record of a list in its result comes first.
        sense: Judges whether somebody would ask for it.
        atoms: The scenario's; a kind may add to them.
        rng: Chooses.
        beginnings: What was proven of the scenario's conversations that may go on.

    Attributes:
        aims: The aims of domains that tools fulfil, behind these domains and tools.
        spare: The tasks that no conversation has taken yet.
        domains: The scenario's.
        permitted: All tools of these that the build may offer.
        dropped: What was left out because it does not go with what a conversation has already.
    """

    def __init__(
        self,
        world: World,
        tools: Sequence[str],
        wording: Mapping[str, ToolWording],
        orders: Mapping[str, Mapping[tuple[str | int, ...], Order]],
        sense: Sense,
        atoms: list[Atom],
        rng: Random,
        beginnings: Beginnings | None = None,
    ) -> None:
        self.world, self.tools, self.wording, self.atoms, self.rng = world, tools, wording, atoms, rng
        self.orders, self.sense = orders, sense
        self.spare: list[Executed] = []
        self.dropped: list[Discard] = []
        self.domains: tuple[str, ...] = ()
        self.scenario_id = ""
        self.permitted: tuple[str, ...] = tuple(tools)
        self.facts = world.facts
        self.beginnings = Beginnings() if beginnings is None else beginnings
        self.aims: tuple[Any, list[tuple[str, str, Aim]]] | None = None
        self.start = world.mark()
        self.outputs = {name: tuple(map(parse_pointer, words.outputs)) for name, words in wording.items()}

    def own_id(self, atom: Atom) -> str:
        """Return what an atom is called in this scenario."""
        return content_id("atom", self.scenario_id, atom.atom_id)

    @contextmanager
    def staged(self, faults: Mapping[str, Record]) -> Iterator[None]:
        """Work in a state with faults seeded, by tool; afterwards the world is as it was."""
        before = self.start
        for tool, record in faults.items():
            self.world.store.view(FAULTS.split(".")[0]).put(FAULTS.split(".")[1], tool, record)
        self.start = self.world.mark()
        try:
            yield
        finally:
            self.start = before
            self.world.rollback(before)

    @contextmanager
    def changed(self, changes: Sequence[tuple[str, str, dict[str, Any]]]) -> Iterator[None]:
        """Work in a state with some fields of records changed; afterwards the world is as it was."""
        before = self.start
        for table, key, fields in changes:
            space, _, name = table.partition(".")
            self.world.store.view(space).patch(name, key, **fields)
        self.start = self.world.mark()
        try:
            yield
        finally:
            self.start = before
            self.world.rollback(before)

    def add(self, atom: Atom) -> int:
        """Add an atom to the scenario and return its number."""
        self.atoms.append(atom)
        return len(self.atoms) - 1

    def state(self) -> tuple[str, str]:
        """Return the present state as the column `seed_state` holds it, and its hash."""
        return canonical_json(self.world.store.dump()), self.world.digest()

    def reads(self, tool: str) -> bool:
        """Say whether a tool changes nothing."""
        return self.world.operations[tool].tool.effects == "read"

    def program(self, task: Executed) -> list[Call]:
        """Return a task's calls."""
        return [
            Call(
                step.tool,
                self.atoms[step.atom].arguments,
                tuple(Binding(name, source, parse_pointer(pointer)) for name, source, pointer in step.bound),
            )
            for step in task.steps
        ]

    def run_anew(
        self, program: Sequence[Call], begun: Sequence[ExecutedCall] = ()
    ) -> tuple[list[ExecutedCall], list[Footprint]]:
        """Run every call of a program, even where an equal one is remembered; return them and what each touched.

        Args:
            program: The calls, from the initial state, where the world is left.
            begun: Its first calls, which were run anew before, from the same state.
        """
        remembered = self.world.remember(True) if begun else self.world.remember(False)
        try:
            episode = Episode(self.world, program)
            made, touched = list(begun), []
            for step in range(len(begun)):
                episode.perform(step)
                touched.append(self.world.footprint())
            self.world.remember(False)
            for step in range(len(begun), len(program)):
                made.append(episode.perform_fully(step))
                touched.append(self.world.footprint())
            return made, touched
        finally:
            self.world.rollback(self.start)
            self.world.remember(remembered)

    def run(self, program: Sequence[Call]) -> tuple[list[ExecutedCall], str]:
        """Execute a program from the initial state, where the world is left; return its calls and the last state."""
        remembered = self.world.remember(True)
        try:
            episode = Episode(self.world, program)
            made = [episode.perform_fully(step) for step in range(len(program))]
            return made, self.world.digest()
        finally:
            self.world.rollback(self.start)
            self.world.remember(remembered)

    def reaches(self, program: Sequence[Call], goal: Goal) -> bool:
        """Say whether a program reaches a goal."""
        made, digest = self.run(program)
        return reached(goal, digest, [(one.tool, one.outcome) for one in made])

    def told_until(
        self, task: Executed, turn: int, but: tuple[int, str] | None = None
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the values that the messages up to one tell, by step, but one argument of one step."""
        for number, step in enumerate(task.steps):
            if task.turn_of[number] <= turn:
                given = self.atoms[step.atom].arguments
                yield {name: value for name, value in given.items() if (number, name) != but}

    def seen_before(self, task: Executed, turn: int) -> Iterator[Any]:
        """Yield what the calls for the messages before one showed."""
        for number, step in enumerate(task.steps):
            if task.turn_of[number] < turn and step.status == "ok":
                yield step.result

    def values_of(self, semantic: str, results: Sequence[tuple[str, Any]]) -> list[Any]:
        """Return the values of a semantic type that results of tools show."""
        found: list[Any] = []
        for tool, result in results:
            schema = self.world.operations[tool].tool.output_schema
            for kind, value in semantic_values(schema, result):
                if kind == semantic and value not in found:
                    found.append(value)
        return found

    def literals_of(self, semantic: str) -> list[Any]:
        """Return the values of a semantic type that the scenario's atoms have."""
        found: list[Any] = []
        for atom in self.atoms:
            schemas = self.world.operations[atom.tool].tool.parameters
            for name, value in atom.arguments.items():
                if schemas[name].get("x-semantic") == semantic and value not in found:
                    found.append(value)
        return found

    def look_ups_with(self, known: set[bytes], most: int = 12) -> list[tuple[str, Any]]:
        """Execute the look-ups whose arguments are all known; return (tool, result) of those that succeed."""
        found: list[tuple[str, Any]] = []
        for atom in self.atoms:
            if len(found) >= most:
                break
            if atom.needs or not self.reads(atom.tool) or not scalars_of(atom.arguments) <= known:
                continue
            made, _ = self.run([Call(atom.tool, atom.arguments, ())])
            if made[0].status == "ok":
                found.append((atom.tool, made[0].result))
        return found
