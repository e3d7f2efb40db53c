"""Where a wrong choice is made: what the scenario offers, what the agent knows, and what is asked and left to do.

A value counts as known when the user told it (a literal of the task), the context holds it, or an earlier
observation of the episode showed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from planarena.episodes import ExecutedCall
from planarena.generate.clauses import StepContext
from planarena.generate.relevance import tool_similarity
from planarena.generate.semantic_values import semantic_values
from planarena.proofs import DecisionPoint, scalars_of, scalars_shown
from planarena.tasks.atoms import Atom
from planarena.tools import Tool

__all__ = ["Knowledge", "Proposal", "Scene", "Situation"]


class Proposal(NamedTuple):
    """A proposed choice.

    Attributes:
        mutation: The kind of fault.
        tool: Wire name; empty for an answer.
        arguments: The arguments.
        grounded: Whether all its values could be known.
        beside: A second call made in the same turn, or None.
        response: The text of an answer; empty for a call.
    """

    mutation: str
    tool: str
    arguments: dict[str, Any]
    grounded: bool = True
    beside: tuple[str, dict[str, Any]] | None = None
    response: str = ""


class Scene(NamedTuple):
    """What does not change within a scenario.

    Attributes:
        tools: The tools offered, by wire name.
        literals: Values of literal arguments of the scenario's atoms, by semantic type.
        closed: (tool, arguments) of the atoms that need nothing.
        facts: The context.
        similar: Similarity of two tools by wire names.
        ranked: By wire name, the other tools, the most similar first; filled as needed.
        shown: By tool and payload, the typed values of an observation; filled as needed.
        names: The semantic types by which things are looked up or shown; texts of others are made up by the user.
    """

    tools: Mapping[str, Tool]
    literals: Mapping[str, Sequence[Any]]
    closed: Sequence[tuple[str, dict[str, Any]]]
    facts: Mapping[str, Any]
    similar: Mapping[tuple[str, str], float]
    ranked: dict[str, list[Tool]]
    shown: dict[tuple[str, bytes], tuple[tuple[str, Any], ...]]
    names: AbstractSet[str]

    @classmethod
    def of(
        cls,
        tools: Mapping[str, Tool],
        atoms: Iterable[Atom],
        facts: Mapping[str, Any],
    ) -> Scene:
        """Return the scene of a scenario.

        Args:
            tools: The tools offered, by wire name.
            atoms: The scenario's.
            facts: The context.
        """
        literals: dict[str, list[Any]] = {}
        closed = []
        for atom in atoms:
            for name, value in atom.arguments.items():
                semantic = tools[atom.tool].parameters[name].get("x-semantic", "")
                known = literals.setdefault(semantic, [])
                if value not in known:
                    known.append(value)
            if not atom.needs:
                closed.append((atom.tool, atom.arguments))
        similar = {(a, b): tool_similarity(tools[a], tools[b]) for a in tools for b in tools}
        names = {name for tool in tools.values() for name in _names_of(tool)}
        return cls(tools, literals, closed, facts, similar, {}, {}, names)

    def nearest(self, name: str) -> list[Tool]:
        """Return the other tools, the most similar first."""
        known = self.ranked.get(name)
        if known is None:
            others = [other for other in self.tools.values() if other.wire_name != name]
            others.sort(key=lambda other: (-self.similar[name, other.wire_name], other.wire_name))
            known = self.ranked[name] = others
        return known


_NAMES: dict[str, frozenset[str]] = {}


def _names_of(tool: Tool) -> frozenset[str]:
    known = _NAMES.get(tool.tool_id)
    if known is None:
        known = _NAMES[tool.tool_id] = frozenset(_find_names(tool))
    return known


def _find_names(tool: Tool) -> Iterator[str]:
    """Yield the semantic types that a tool's results show, and those by which a look-up finds things."""
    if tool.effects == "read":
        yield from (schema["x-semantic"] for schema in tool.parameters.values() if "x-semantic" in schema)
    stack: list[Any] = [tool.output_schema]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            if isinstance(part.get("x-semantic"), str):
                yield part["x-semantic"]
            stack.extend(part.values())


class Knowledge:
    """What an agent knows: told values and context from the start, messages and observations as they come.

    Attributes:
        by_type: Observed values by semantic type, latest first.
        scalars: Every known scalar, as canonical JSON.
    """

    def __init__(self, scene: Scene, literals: Iterable[Mapping[str, Any]]) -> None:
        self._scene = scene
        self.by_type: dict[str, list[Any]] = {}
        self.scalars = scalars_of([scene.facts, *literals])

    def hear(self, literals: Iterable[Mapping[str, Any]]) -> None:
        """Add what a message of the user tells."""
        self.scalars |= scalars_of(list(literals))

    def learn(self, taken: ExecutedCall) -> None:
        """Add an observation."""
        key = taken.tool, taken.outcome.payload
        shown = self._scene.shown.get(key)
        if shown is None:
            schema = self._scene.tools[taken.tool].output_schema
            shown = self._scene.shown[key] = tuple(semantic_values(schema, taken.outcome.result))
        for semantic, value in shown:
            known = self.by_type.setdefault(semantic, [])
            if value not in known:
                known.insert(0, value)
        self.scalars |= scalars_shown(taken.outcome)

    def holds(self, value: Any) -> bool:
        """Say whether a value, and all that it is made of, is known."""
        return scalars_of(value) <= self.scalars


class Situation(NamedTuple):
    """A decision point as the one who makes wrong choices sees it.

    Attributes:
        scene: The scenario.
        known: What the agent knows.
        point: The decision point.
        words: The task's steps in words.
        since: The first step of the message at hand.
        groups: By step, the number of its parallel group.
        asked: By step, whether the request asks for it; what only serves a later step is implied.
        reported: The steps that the answer to this message tells.
        answer: The right answer to this message.
        told: By reported step, the values that the right answer tells of it, in small letters.
        failed: By step that failed for good, the sentence by which the right answer tells it.
        superseded: By step an argument and the value that the user said first and took back.
        injected: Calls that a result has ordered and nobody asked for.
        forbidden: Calls that the message asks for and that a rule forbids, or that were not confirmed.
    """

    scene: Scene
    known: Knowledge
    point: DecisionPoint
    words: Sequence[StepContext]
    since: int
    groups: Sequence[int]
    asked: Sequence[bool]
    reported: Sequence[int]
    answer: str
    told: Mapping[int, Sequence[str]]
    failed: Mapping[int, str] = {}
    superseded: Mapping[int, tuple[str, Any]] = {}
    forbidden: Sequence[tuple[str, dict[str, Any]]] = ()
    injected: Sequence[tuple[str, dict[str, Any]]] = ()

    @property
    def gold(self) -> ExecutedCall | None:
        """The gold step, or None where only the answer is left."""
        return self.point.taken[self.point.step] if self.point.step in self.point.left else None

    @property
    def done(self) -> range:
        """The steps of this message that were made."""
        return range(self.since, self.point.step)
