"""The offline generator's plans, from the environments' own wording, varied by a seed; its answers come from `answers`."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from planarena.generate.answers import write_failure, write_response
from planarena.generate.clauses import StepContext, Voice
from planarena.generate.sentences import pick
from planarena.generate.spelling import PLAIN, Style, capital

__all__ = [
    "write_failure",
    "write_plan",
    "write_plan_line",
    "write_response",
    "write_step_plan",
    "write_step_plans",
]


def write_plan(
    steps: list[StepContext],
    order_edges: Sequence[tuple[int, int, str]],
    groups: Sequence[int],
    rng: Random,
    style: Style = PLAIN,
) -> str:
    """Write the global plan: one numbered line a step, with what it uses, what it follows and what runs beside it."""
    lines = []
    for step in steps:
        template = pick(step.wording.plan, rng)
        line = step.clause(template, Voice(steps, rng.randrange(1000), style=style)).text
        lines.append(write_plan_line(steps, order_edges, groups, step.number, line))
    return "\n".join(lines)


def write_plan_line(
    steps: list[StepContext],
    order_edges: Sequence[tuple[int, int, str]],
    groups: Sequence[int],
    number: int,
    line: str,
) -> str:
    """Number a line of plan and add what its step uses, what it follows and what runs beside it."""
    uses = sorted({source + 1 for source, _ in steps[number].bound.values()})
    after = sorted({earlier + 1 for earlier, later, _ in order_edges if later == number} - set(uses))
    beside = [other + 1 for other in range(len(steps)) if groups[other] == groups[number] and other != number]
    notes = [f"uses {_numbers(uses)}"] if uses else []
    notes += [f"after {_numbers(after)}"] if after else []
    notes += [f"together with {_numbers(beside)}"] if beside else []
    note = f" ({'; '.join(notes)})" if notes else ""
    return f"{number + 1}. {capital(line)}{note}."


def _numbers(numbers: Sequence[int]) -> str:
    words = [str(number) for number in numbers]
    head = "step" if len(words) == 1 else "steps"
    return f"{head} {words[0] if len(words) == 1 else ', '.join(words[:-1]) + ' and ' + words[-1]}"


_FIRST = (
    "I start: {0}.",
    "First of all, I {0}.",
    "To begin with, I {0}.",
    "The first thing to do is to {0}.",
)
_STEP_LEADS = (
    "Now I {0}.", "Next: {0}.", "I {0} now.", "The next thing to do is to {0}.", "Next, I {0}.", "That lets me {0}.",
    "What is left is to {0}.", "It is time to {0}.",
)  # fmt: skip


def write_step_plan(step: StepContext, steps: list[StepContext], rng: Random, style: Style = PLAIN) -> str:
    """Write the line of plan that goes with one action: what earlier steps showed is known by then, and has its name."""
    template = pick(step.wording.plan, rng)
    near = step.number - 1 if step.number else None
    text = step.clause(template, Voice(steps, rng.randrange(1000), near, known=True, style=style)).text
    lead: str = pick(_STEP_LEADS if step.number else _FIRST, rng)
    return lead.format(text[:1].lower() + text[1:])


def write_step_plans(steps: list[StepContext], rng: Random, style: Style = PLAIN) -> tuple[str, ...]:
    """Write one line of plan per action."""
    return tuple(write_step_plan(step, steps, rng, style) for step in steps)
