"""What the choice needs to know of a chunk: fingerprints and categories of its items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from planarena.config import PLAIN
from planarena.environments.catalog import goals_of, group_of, is_builtin, operations_of
from planarena.environments.domains import COMBINATIONS
from planarena.pipeline.products import (
    Discard,
    Executed,
    ExecutedChunk,
    ExecutedScenario,
    LanguageChunk,
    Origin,
)
from planarena.quality.choice import ItemKeys
from planarena.quality.fingerprints import fingerprint
from planarena.tasks.algebra import parse, render

# Domains that stand beside so many others that they could be in far more than their share [ours].
_MANY = 5
COMMON = tuple(
    sorted(
        name
        for name, count in Counter(one for group in COMBINATIONS for one in group.domains).items()
        if count >= _MANY
    )
)

__all__ = ["COMMON", "chunk_keys", "masked_shape", "shape_kind", "tool_fingerprints"]


def shape_kind(task: Executed) -> str:
    """Return `single`, `serial`, `parallel` or `mixed`."""
    if len(task.steps) == 1:
        return "single"
    serial, parallel = "," in task.expression, "||" in task.expression
    return "mixed" if serial and parallel else "serial" if serial else "parallel"


def masked_shape(scenario: ExecutedScenario, task: Executed) -> str:
    """Return the canonical expression with wire names and bindings but without argument values."""
    place = {str(step.atom): number for number, step in enumerate(task.steps)}

    def label(leaf: Any) -> str:
        step = task.steps[place[leaf]]
        names = sorted(step.arguments)
        bound = {argument: f"{argument}<-{source}{pointer}" for argument, source, pointer in step.bound}
        return f"{scenario.atoms[step.atom].tool}({', '.join(bound.get(name, name) for name in names)})"

    return render(parse(task.expression), label)


def chunk_keys(executed: ExecutedChunk, language: LanguageChunk, *, quotas: bool = False) -> ItemKeys:
    """Return the fingerprints of a chunk's items, scenario by scenario.

    Args:
        executed: Phase 1.
        language: Phase 2.
        quotas: Whether scenarios are told apart by their tools.
    """
    tasks: list[int] = []
    shapes: list[int] = []
    categories: list[dict[str, str]] = []
    for scenario, words in zip(executed.scenarios, language.items, strict=True):
        for item, said in zip(scenario.items, words, strict=True):
            if isinstance(item, Discard) or isinstance(said, Discard):
                tasks.append(0)
                shapes.append(0)
                categories.append({})
                continue
            shape = masked_shape(scenario, item)
            shapes.append(fingerprint(shape))
            tasks.append(fingerprint(shape + "\n" + "\n".join(said.turns)))
            mine = {"domain": group_of(scenario.domain), "conversation": item.talk.kind or PLAIN}
            mine |= _with_common_ones(scenario, item)
            if not item.talk.kind and any(goals_of(domain) for domain in scenario.domains):
                mine["purpose"] = "aim" if item.aims else "free"
            # What people want has the length and the shape that it has; more calls for one aim would be more aims.
            if not item.aims:
                mine["length"] = str(len(item.steps))
                if len(item.steps) > 1:
                    mine["shape"] = shape_kind(item)
            categories.append(mine)
    if not quotas:
        return ItemKeys(tuple(tasks), tuple(shapes), tuple(categories))
    sizes = tuple(len(scenario.items) for scenario in executed.scenarios)
    tools = tuple(tool_fingerprints(scenario, executed.origins) for scenario in executed.scenarios)
    return ItemKeys(tuple(tasks), tuple(shapes), tuple(categories), sizes, tools, executed.more)


def _with_common_ones(scenario: ExecutedScenario, task: Executed) -> dict[str, str]:
    """Return of each domain that goes with many others whether a task calls its tools."""
    if not is_builtin(scenario.domains[0]):
        return {}
    tools = {step.tool for step in task.steps}
    own = {domain for domain in scenario.domains if tools & operations_of(domain).keys()}
    return {f"with {name}": "yes" if name in own else "no" for name in COMMON}


def tool_fingerprints(scenario: ExecutedScenario, kept: Mapping[str, Origin]) -> tuple[int, ...]:
    """Return the fingerprints of the tools that a scenario offers.

    Args:
        scenario: The scenario.
        kept: The origins that its chunk keeps.
    """
    origin = kept.get(scenario.domain)
    if origin is not None:
        return tuple(fingerprint(origin.tools[name].tool_id) for name in scenario.tools)
    found = {name: op.tool for domain in scenario.domains for name, op in operations_of(domain).items()}
    return tuple(fingerprint(found[name].tool_id) for name in scenario.tools)
