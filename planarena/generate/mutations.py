"""Wrong choices that look right: mutations of a gold step at its decision point.

Each mutation only proposes a call; what it is worth is decided by executing it (`planarena.proofs.outcomes`).
A value counts as known when the user told it (a literal of the task), the context holds it, or an earlier
observation of the episode showed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from random import Random
from typing import Any, NamedTuple

from planarena.episodes import Taken
from planarena.generate.semantic_values import semantic_values
from planarena.proofs import DecisionPoint, scalars_of, scalars_shown
from planarena.tools import Tool

__all__ = ["MUTATIONS", "Knowledge", "Proposal", "Scene", "propose"]

# Verbs that a hallucinated tool may start with.
_VERBS = ("fetch", "lookup", "modify", "submit", "request", "auto", "quick", "bulk", "confirm", "resolve")


class Proposal(NamedTuple):
    """A proposed call.

    Attributes:
        mutation: The kind of fault.
        tool: Wire name; empty for answering at once.
        arguments: The arguments.
        grounded: Whether all its values could be known.
        beside: A second call made in the same turn, or None.
    """

    mutation: str
    tool: str
    arguments: dict[str, Any]
    grounded: bool = True
    beside: tuple[str, dict[str, Any]] | None = None


class Knowledge:
    """What an agent knows: told values and context from the start, observations as they come.

    Attributes:
        by_type: Observed values by semantic type, latest first.
        scalars: Every known scalar, as canonical JSON.
    """

    def __init__(self, scene: Scene, literals: Iterable[Mapping[str, Any]]) -> None:
        self._scene = scene
        self.by_type: dict[str, list[Any]] = {}
        self.scalars = scalars_of([scene.facts, *literals])

    def learn(self, taken: Taken) -> None:
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
    """

    tools: Mapping[str, Tool]
    literals: Mapping[str, Sequence[Any]]
    closed: Sequence[tuple[str, dict[str, Any]]]
    facts: Mapping[str, Any]
    similar: Mapping[tuple[str, str], float]
    ranked: dict[str, list[Tool]]
    shown: dict[tuple[str, bytes], tuple[tuple[str, Any], ...]]


def _ranked(scene: Scene, tool: Tool) -> list[Tool]:
    name = tool.wire_name
    known = scene.ranked.get(name)
    if known is None:
        others = [other for other in scene.tools.values() if other.wire_name != name]
        others.sort(key=lambda other: (-scene.similar[name, other.wire_name], other.wire_name))
        known = scene.ranked[name] = others
    return known


def _guess(
    scene: Scene, known: Knowledge, tool: Tool, right: Mapping[str, Any], rng: Random
) -> dict[str, Any] | None:
    """Fill a tool's required arguments from what is at hand: the right call's values first, by type."""
    arguments: dict[str, Any] = {}
    for name in tool.required:
        schema = tool.parameters[name]
        semantic = schema.get("x-semantic", "")
        if "enum" in schema:
            arguments[name] = schema["enum"][rng.randrange(len(schema["enum"]))]
        elif name in right and not schema.get("x-hidden"):
            arguments[name] = right[name]
        elif known.by_type.get(semantic):
            arguments[name] = known.by_type[semantic][0]
        elif not schema.get("x-hidden") and scene.literals.get(semantic):
            values = scene.literals[semantic]
            arguments[name] = values[rng.randrange(len(values))]
        elif schema.get("type") == "boolean":
            arguments[name] = rng.random() < 0.5
        else:
            return None
    return arguments


def _wrong_tool(scene: Scene, known: Knowledge, point: DecisionPoint, rng: Random) -> Iterator[Proposal]:
    gold = point.taken[point.step]
    for tool in _ranked(scene, scene.tools[gold.tool])[:4]:
        arguments = _guess(scene, known, tool, gold.arguments, rng)
        if arguments is not None:
            yield Proposal("wrong_tool", tool.wire_name, arguments)


def _stranger(scene: Scene, known: Knowledge, point: DecisionPoint, rng: Random) -> Iterator[Proposal]:
    del known
    gold = point.taken[point.step].tool
    told = [(one.tool, one.arguments) for one in point.taken]
    atoms = [atom for atom in scene.closed if atom not in told]
    rng.shuffle(atoms)
    atoms.sort(key=lambda atom: scene.similar[gold, atom[0]])
    for tool, arguments in atoms[:3]:
        yield Proposal("unrelated_tool", tool, arguments)


def _wrong_value(scene: Scene, known: Knowledge, point: DecisionPoint, rng: Random) -> Iterator[Proposal]:
    gold = point.taken[point.step]
    tool = scene.tools[gold.tool]
    names = list(gold.arguments)
    rng.shuffle(names)
    for name in names:
        schema, value = tool.parameters[name], gold.arguments[name]
        for other in _alternatives(scene, known, schema, value):
            yield Proposal("wrong_value", gold.tool, {**gold.arguments, name: other})
            break


def _alternatives(scene: Scene, known: Knowledge, schema: dict[str, Any], value: Any) -> Iterator[Any]:
    semantic = schema.get("x-semantic", "")
    if isinstance(value, bool):
        yield not value
    elif "enum" in schema:
        place = schema["enum"].index(value)
        yield schema["enum"][(place + 1) % len(schema["enum"])]
    elif not isinstance(value, list | dict):
        yield from (
            other for other in known.by_type.get(semantic, ()) if other != value and _alike(other, value)
        )
        if not schema.get("x-hidden"):
            yield from (
                other for other in scene.literals.get(semantic, ()) if other != value and _alike(other, value)
            )
            yield from _shifted(schema, value)


def _alike(left: Any, right: Any) -> bool:
    return isinstance(left, bool) == isinstance(right, bool) and isinstance(left, str) == isinstance(
        right, str
    )


def _shifted(schema: dict[str, Any], value: Any) -> Iterator[Any]:
    surface = schema.get("x-surface")
    if isinstance(value, int | float):
        for other in (value + (10 if value >= 20 else 1), value - (10 if value >= 20 else 1)):
            if schema.get("minimum", other) <= other <= schema.get("maximum", other):
                yield round(other, 2) if isinstance(other, float) else other
    elif surface == "date":
        yield (date.fromisoformat(value) + timedelta(days=1)).isoformat()
    elif surface == "datetime":
        yield (datetime.fromisoformat(value) + timedelta(hours=1)).isoformat(timespec="minutes")


def _missing_parameter(
    scene: Scene, known: Knowledge, point: DecisionPoint, rng: Random
) -> Iterator[Proposal]:
    del known
    gold = point.taken[point.step]
    required = list(scene.tools[gold.tool].required)
    rng.shuffle(required)
    for name in required:
        rest = {key: value for key, value in gold.arguments.items() if key != name}
        yield Proposal("missing_parameter", gold.tool, rest)


def _hallucinated_tool(
    scene: Scene, known: Knowledge, point: DecisionPoint, rng: Random
) -> Iterator[Proposal]:
    del known
    gold = point.taken[point.step]
    noun = gold.tool.split("_", 1)[-1]
    name = f"{_VERBS[rng.randrange(len(_VERBS))]}_{noun}"
    if name not in scene.tools:
        yield Proposal("hallucinated_tool", name, gold.arguments)


def _too_early(scene: Scene, known: Knowledge, point: DecisionPoint, rng: Random) -> Iterator[Proposal]:
    """A later step before its time: its values unknown, or known but out of order."""
    del scene, rng
    done = (1 << point.step) - 1
    for step in range(point.step + 1, len(point.program)):
        if not point.before[step] & ~done:
            continue
        taken, call = point.taken[step], point.program[step]
        unknown = any(
            binding.source >= point.step and not known.holds(taken.arguments[binding.argument])
            for binding in call.bound
        )
        skips = point.before[step] >> point.step & 1
        if unknown:
            yield Proposal("unknowable_value", taken.tool, taken.arguments, grounded=False)
        else:
            yield Proposal("missing_step" if skips else "wrong_order", taken.tool, taken.arguments)


def _parallel(scene: Scene, known: Knowledge, point: DecisionPoint, rng: Random) -> Iterator[Proposal]:
    """The step and one that depends on it in a single turn, before the observation."""
    del scene, rng
    gold = point.taken[point.step]
    for step in range(point.step + 1, len(point.program)):
        taken, call = point.taken[step], point.program[step]
        values = [taken.arguments[binding.argument] for binding in call.bound if binding.source == point.step]
        if values and not all(map(known.holds, values)):
            beside = taken.tool, taken.arguments
            yield Proposal("parallel_dependents", gold.tool, gold.arguments, grounded=False, beside=beside)
            return


def _early_stop(scene: Scene, known: Knowledge, point: DecisionPoint, rng: Random) -> Iterator[Proposal]:
    del scene, known, point, rng
    yield Proposal("early_stop", "", {})


# Name of the mutation -> its source. The spec's nine, and a call that has nothing to do with the task.
MUTATIONS: dict[str, Callable[[Scene, Knowledge, DecisionPoint, Random], Iterator[Proposal]]] = {
    "wrong_tool": _wrong_tool,
    "wrong_value": _wrong_value,
    "missing_parameter": _missing_parameter,
    "hallucinated_tool": _hallucinated_tool,
    "too_early": _too_early,
    "parallel_dependents": _parallel,
    "early_stop": _early_stop,
    "unrelated_tool": _stranger,
}


def propose(
    name: str, scene: Scene, known: Knowledge, point: DecisionPoint, rng: Random
) -> Iterator[Proposal]:
    """Yield the proposals of one mutation at a decision point, best first.

    Args:
        name: A key of `MUTATIONS`.
        scene: The scenario.
        known: What is known before the step.
        point: The decision point.
        rng: Decides among equals.
    """
    return MUTATIONS[name](scene, known, point, rng)
