"""Query checks: every value a call needs is stated or known, and nothing that a user could not know is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planarena.generate.clauses import Mention, StepContext
from planarena.generate.mentions import holds
from planarena.generate.query_fault import QueryFaultError

__all__ = ["QueryFaultError", "check_query"]


def check_query(
    text: str,
    steps: Sequence[StepContext],
    said: Iterable[Mention],
    facts: Mapping[str, Any],
    tool_names: Iterable[str],
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Check a query against the task that it asks for.

    Args:
        text: All user turns.
        steps: The task's steps.
        said: Where the generator says that it stated each literal; believed only if the text holds it.
        facts: The context.
        tool_names: Names that must not appear.
        notes: What the user had told before.

    Returns:
        The passed checks and, under `grounded`, for each `step/argument` one of `query`, `context` or `step N`.

    Raises:
        QueryFaultError: `ungrounded`, `tool_name`, `hidden_value` or `leftover_template`.
    """
    if "{" in text or "}" in text:
        raise QueryFaultError("leftover_template", text)
    stated: set[tuple[int, str]] = set()
    noted: set[tuple[int, str]] = set()
    for one in said:
        # At the head of a sentence it has a capital: "New brakes: cheapest, earliest?"
        if holds(text, one.text) or holds(text, one.text[:1].upper() + one.text[1:]):
            stated.add((one.step, one.argument))
        elif any(holds(note, one.text) for note in notes):
            noted.add((one.step, one.argument))
    known = {repr(value) for value in facts.values()}
    grounded: dict[str, str] = {}
    for step in steps:
        for argument, value in step.arguments.items():
            place = f"{step.number}/{argument}"
            if argument in step.bound:
                grounded[place] = f"step {step.bound[argument][0]}"
                _refuse_hidden(text, step, argument, value)
            elif (step.number, argument) in stated:
                grounded[place] = "query"
            elif (step.number, argument) in noted or repr(value) in known:
                grounded[place] = "context"
            else:
                raise QueryFaultError(
                    "ungrounded", f"step {step.number}: {argument} = {value!r} is not in the query"
                )
    for name in tool_names:
        if "_" in name and name in text:
            raise QueryFaultError("tool_name", name)
    return {"grounded": grounded, "no_hidden_values": True, "no_tool_names": True}


def _refuse_hidden(text: str, step: StepContext, argument: str, value: Any) -> None:
    schema = step.operation.tool.parameters[argument]
    if schema.get("x-hidden") and isinstance(value, str) and value in text:
        raise QueryFaultError("hidden_value", f"step {step.number}: {argument}")
