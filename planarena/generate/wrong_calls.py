"""Wrong calls that models make: a tool that nearly fits, the wrong look-up, once more, too soon, an argument less."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from planarena.episodes import ExecutedCall
from planarena.generate.situations import Proposal, Situation
from planarena.generate.wrong_values import named
from planarena.tools import Tool

__all__ = [
    "empty_arguments",
    "hallucinated_tool",
    "near_tool",
    "omitted_argument",
    "parallel_dependents",
    "repeated_call",
    "unknowable_value",
    "wrong_lookup",
    "wrong_order",
]

# Verbs that an invented tool may start with.
_VERBS = ("fetch", "lookup", "modify", "submit", "request", "confirm", "resolve")


def _guess(at: Situation, tool: Tool, gold: ExecutedCall, rng: Random) -> dict[str, Any] | None:
    """Fill a tool's required arguments from the right call's values and what was seen; None if it takes none of its."""
    right = gold.arguments
    wanted = at.scene.tools[gold.tool].parameters
    by_type = {wanted[name].get("x-semantic"): value for name, value in right.items() if name in wanted}
    arguments: dict[str, Any] = {}
    shared = 0
    for name in tool.required:
        schema = tool.parameters.get(name, {})
        semantic = schema.get("x-semantic", "")
        seen = at.known.by_type.get(semantic)
        if "enum" in schema:
            options = schema["enum"]
            arguments[name] = (
                right[name] if right.get(name) in options else options[rng.randrange(len(options))]
            )
        elif name in right and at.known.holds(right[name]):
            arguments[name] = right[name]
            shared += 1
        elif semantic and semantic in by_type and at.known.holds(by_type[semantic]):
            arguments[name] = by_type[semantic]
            shared += 1
        elif seen:
            arguments[name] = seen[0]
        elif schema.get("type") == "boolean":
            arguments[name] = rng.random() < 0.5
        else:
            return None
    return arguments if shared else None


def near_tool(at: Situation, rng: Random) -> Iterator[Proposal]:
    """Another tool of the same family that takes values of the right call."""
    gold = at.gold
    if gold is None:
        return
    family = at.scene.tools[gold.tool].namespace
    for tool in at.scene.nearest(gold.tool)[:6]:
        arguments = _guess(at, tool, gold, rng) if tool.namespace == family else None
        if arguments is not None:
            yield Proposal("near_tool", tool.wire_name, arguments)


def wrong_lookup(at: Situation, rng: Random) -> Iterator[Proposal]:
    """A look-up that nobody asked for: of another person or thing with a tool of this task, else with a tool like it."""
    told = [(one.tool, one.arguments) for one in at.point.taken]
    mine = {one.tool for one in at.point.taken}
    near = at.gold.tool if at.gold is not None else at.point.taken[-1].tool
    tools, similar = at.scene.tools, at.scene.similar
    atoms = [atom for atom in at.scene.closed if tools[atom[0]].effects == "read"]
    start = rng.randrange(len(atoms)) if atoms else 0
    atoms = [*atoms[start:], *atoms[:start]]
    atoms.sort(key=lambda atom: (atom[0] not in mine, -similar[near, atom[0]]))
    for tool, arguments in atoms[:6]:
        if (tool, arguments) not in told:
            yield Proposal("wrong_lookup", tool, arguments)


def repeated_call(at: Situation, rng: Random) -> Iterator[Proposal]:
    """What was done before once more, or the next call twice in one turn."""
    gold, done = at.gold, list(at.done)
    twice = gold is not None and rng.random() < 0.5
    if twice and gold is not None:
        yield Proposal("repeated_call", gold.tool, gold.arguments, beside=(gold.tool, gold.arguments))
    for step in reversed(done):
        yield Proposal("repeated_call", at.point.taken[step].tool, at.point.taken[step].arguments)
    if not twice and gold is not None:
        yield Proposal("repeated_call", gold.tool, gold.arguments, beside=(gold.tool, gold.arguments))


def _later(at: Situation) -> Iterator[int]:
    """Yield the later steps of this message that cannot come yet."""
    done = (1 << at.point.step) - 1
    return (step for step in at.point.left[1:] if at.point.before[step] & ~done)


def wrong_order(at: Situation, rng: Random) -> Iterator[Proposal]:
    """A later step before its time, with values that are known; an id that is not is taken from what was seen."""
    for step in _later(at):
        taken, call = at.point.taken[step], at.point.program[step]
        arguments = dict(taken.arguments)
        for binding in call.bound:
            value = arguments[binding.argument]
            if binding.source < at.point.step or at.known.holds(value):
                continue
            schema = at.scene.tools[taken.tool].parameters.get(binding.argument, {})
            seen = at.known.by_type.get(schema.get("x-semantic", ""), ())
            if not seen:
                break
            arguments[binding.argument] = seen[0]
        else:
            yield Proposal("wrong_order", taken.tool, arguments)
    del rng


def parallel_dependents(at: Situation, rng: Random) -> Iterator[Proposal]:
    """The step and one that depends on it in a single turn, whose id is a name: its result is not there yet."""
    gold = at.gold
    if gold is None:
        return
    for step in at.point.left[1:]:
        for name, (source, _) in at.words[step].bound.items():
            call = named(at, step, name) if source == at.point.step else None
            if call is not None:
                yield Proposal("parallel_dependents", gold.tool, gold.arguments, beside=call)
                return
    del rng


def omitted_argument(at: Situation, rng: Random) -> Iterator[Proposal]:
    """The right call without one of several values that the user told: an optional one first."""
    gold = at.gold
    if gold is None or len(gold.arguments) < 2:
        return
    required = at.scene.tools[gold.tool].required
    names = list(gold.arguments)
    rng.shuffle(names)
    for name in sorted(names, key=lambda one: one in required):
        rest = {key: value for key, value in gold.arguments.items() if key != name}
        yield Proposal("omitted_argument", gold.tool, rest)


# -- kinds that anyone tells apart -------------------------------------------------------------------


def empty_arguments(at: Situation, rng: Random) -> Iterator[Proposal]:
    """The right tool without any argument."""
    if at.gold is not None and at.gold.arguments and at.scene.tools[at.gold.tool].required:
        yield Proposal("empty_arguments", at.gold.tool, {})
    del rng


def hallucinated_tool(at: Situation, rng: Random) -> Iterator[Proposal]:
    """A tool that does not exist."""
    gold = at.gold
    if gold is None:
        return
    noun = gold.tool.split("_", 1)[-1]
    name = f"{_VERBS[rng.randrange(len(_VERBS))]}_{noun}"
    if name not in at.scene.tools:
        yield Proposal("hallucinated_tool", name, gold.arguments)


def unknowable_value(at: Situation, rng: Random) -> Iterator[Proposal]:
    """A later step with the very value that only the step before it will show."""
    for step in _later(at):
        taken, call = at.point.taken[step], at.point.program[step]
        if any(
            binding.source >= at.point.step and not at.known.holds(taken.arguments[binding.argument])
            for binding in call.bound
        ):
            yield Proposal("unknowable_value", taken.tool, taken.arguments, grounded=False)
    del rng
