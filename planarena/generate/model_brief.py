"""What a model is told of a task: its steps, its tools and its messages, as the JSON value that prompts quote.

Nothing in it is an instruction: descriptions, values and results may come from anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from planarena.environments.wording import parse_pointer, schema_at
from planarena.generate.clauses import StepContext, Voice
from planarena.generate.surfaces import MANNERS, surface
from planarena.tasks.atoms import resolve
from planarena.tools import Tool, strip_annotations

__all__ = ["TaskBrief", "parts_of", "references", "ways_to_say"]

_MANNER_OF = {
    "plain": "plain and direct",
    "terse": "as few words as possible",
    "chatty": "chatty, with a word of small talk",
    "indirect": "indirect: wondering, hoping",
    "formal": "formal and polite, as in a letter",
    "hurried": "in a hurry: short, with a word about the rush",
    "casual": "like a quick chat message: lower case, loose punctuation",
    "aside": "with one remark before it that says in which spot its writer is, as on a train or in a queue",
    "listed": "as a short list of things to do",
}


class TaskBrief(NamedTuple):
    """A proven task and its offline words: what every writer and every check reads.

    Attributes:
        steps: In unrolled order.
        before: Predecessors by step, as bit masks: the graph.
        order_edges: (earlier step, later step, what a swap changes) without data.
        groups: Number of the generation by step.
        tools: The tools offered, by wire name.
        facts: The context.
        told: What the user had said before.
        register: The manner of speaking.
        turns: The offline query.
        turn_of: The user's message of each step.
        plan: The offline plan.
        reported: By message, the steps whose outcome its answer tells.
        most_calls: Most calls that a proposed trajectory may make.
        persona: Who speaks.
        motive: Why.
        scenario: What the tools and the state are about.
    """

    steps: list[StepContext]
    before: Sequence[int]
    order_edges: Sequence[tuple[int, int, str]]
    groups: Sequence[int]
    tools: Mapping[str, Tool]
    facts: Mapping[str, Any]
    told: Sequence[str]
    register: str
    turns: Sequence[str]
    turn_of: Sequence[int]
    plan: str
    reported: Sequence[Sequence[int]]
    most_calls: int
    persona: str = ""
    motive: str = ""
    scenario: str = ""

    @property
    def year(self) -> str:
        """The present year, which dates need not name."""
        return str(self.facts.get("now", ""))[:4]

    # -- material, one value per part ----------------------------------------------------------

    def for_query(self, versions: int) -> dict[str, Any]:
        """Return what a query is inferred from: the task without anything that a user could not know."""
        return {
            "versions": versions,
            "messages": len(self.turns),
            "manner": _MANNER_OF[self.register],
            "persona": self.persona,
            "motive": self.motive,
            "scenario": self.scenario,
            "told_before": list(self.told),
            "context": dict(self.facts),
            "steps": [self._asked(step) for step in self.steps],
        }

    def for_plausible(self) -> dict[str, Any]:
        """Return what is judged before words are paid for: the task alone."""
        return {
            "scenario": self.scenario,
            "context": dict(self.facts),
            "told_before": list(self.told),
            "messages": len(self.turns),
            "steps": [self._asked(step) for step in self.steps],
        }

    def for_actions(self, turns: Sequence[str]) -> dict[str, Any]:
        """Return what the requested actions are read from: the messages and the tools, nothing of the solution."""
        return {
            "messages": list(turns),
            "told_before": list(self.told),
            "tools": [
                {"name": name, "description": tool.description, "arguments": list(tool.parameters)}
                for name, tool in self.tools.items()
            ],
        }

    def for_plan(self, turns: Sequence[str]) -> dict[str, Any]:
        """Return what a plan is written from: the request, and the task's graph."""
        return {
            "request": list(turns),
            "told_before": list(self.told),
            "context": dict(self.facts),
            "steps": [
                {
                    **self._asked(step),
                    "after": [earlier + 1 for earlier, later, _ in self.order_edges if later == step.number],
                }
                for step in self.steps
            ],
        }

    def for_response(self, turns: Sequence[str]) -> dict[str, Any]:
        """Return what the answers are written from: what was done, and what each answer must tell."""
        return {
            "request": list(turns),
            "context": dict(self.facts),
            "steps": [self._done(step) for step in self.steps],
            "answers": [
                [
                    {"step": number + 1, "pointer": pointer, "say": ways}
                    for number in reported
                    for pointer, ways in self.to_report(number)
                ]
                for reported in self.reported
            ],
        }

    def for_rationale(self, turns: Sequence[str]) -> dict[str, Any]:
        """Return what rationales are written from: request, tools, and the trajectory with its observations."""
        return {
            "request": list(turns),
            "told_before": list(self.told),
            "context": dict(self.facts),
            "tools": {name: tool.description for name, tool in self.tools.items()},
            "steps": [self._done(step) for step in self.steps],
        }

    def for_trajectory(self, turns: Sequence[str]) -> dict[str, Any]:
        """Return what a trajectory is proposed from: what an agent is given, and nothing of the task's solution."""
        return {
            "request": list(turns),
            "told_before": list(self.told),
            "context": dict(self.facts),
            "tools": self._described(),
            "most_calls": self.most_calls,
        }

    def for_candidates(self, turns: Sequence[str], count: int) -> dict[str, Any]:
        """Return what choices are proposed from: the request, the tools, and the trajectory step by step."""
        return {
            "request": list(turns),
            "told_before": list(self.told),
            "context": dict(self.facts),
            "tools": self._described(),
            "steps": [self._done(step) for step in self.steps],
            "per_step": count,
        }

    # -- parts of it ---------------------------------------------------------------------------

    def _described(self) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "description": tool.description,
                "parameters": strip_annotations(tool.input_schema),
                "returns": strip_annotations(tool.output_schema),
            }
            for name, tool in self.tools.items()
        ]

    def _asked(self, step: StepContext) -> dict[str, Any]:
        """Describe a step without its tool's name, the values that no user could know, and its result."""
        text = step.clause(step.wording.plan[0], Voice(self.steps, 0)).text
        message = self.turn_of[step.number]
        return {
            "step": step.number + 1,
            "message": message + 1,
            "asked_for": step.number in self.reported[message],
            "does": text,
            "tool_description": step.operation.tool.description,
            "values": [
                {"argument": name, "say": ways_to_say(step, name, self.year)[:8]}
                for name in step.arguments
                if name not in step.bound
            ],
            "from_earlier_steps": [
                {"argument": name, "step": source + 1, "say": references(self.steps, source, pointer)}
                for name, (source, pointer) in step.bound.items()
            ],
        }

    def _done(self, step: StepContext) -> dict[str, Any]:
        return {
            "step": step.number + 1,
            "message": self.turn_of[step.number] + 1,
            "tool": step.operation.tool.wire_name,
            "arguments": step.arguments,
            "result": step.result,
        }

    def to_report(self, number: int) -> list[tuple[str, list[str]]]:
        """Return what an answer must tell of a step: (pointer, the ways to say its value)."""
        step = self.steps[number]
        found = []
        for pointer in step.wording.outputs:
            path = parse_pointer(pointer)
            schema = schema_at(step.operation.tool.output_schema, path) or {}
            value = resolve(step.result, path)
            if isinstance(value, str | int | float) and not schema.get("x-hidden"):
                found.append((pointer, _surfaces(value, schema, None, self.year)))
        return found


def _surfaces(value: Any, schema: Mapping[str, Any], words: Mapping[Any, str] | None, year: str) -> list[str]:
    given = dict(words) if words else None
    ways = [surface(value, dict(schema), manner, given, year) for manner in range(MANNERS)]
    if isinstance(value, int | float) and not isinstance(value, bool):
        ways.append(f"{int(value)}" if float(value).is_integer() else f"{value}")
        if value >= 1000:
            ways.append(f"{value:,.2f}" if value % 1 else f"{int(value):,}")
    elif isinstance(value, str):
        ways.append(value)
    return list(dict.fromkeys(way for way in ways if way.strip()))


def ways_to_say(step: StepContext, argument: str, year: str = "") -> list[str]:
    """Return the ways in which a literal argument may be stated; of a list or an object, those of its parts.

    An absent text (an empty string) and a truth value without words of its own may be left to the step's meaning:
    they have none.
    """
    schema = step.operation.tool.parameters[argument]
    value, words = step.arguments[argument], step.wording.values.get(argument)
    return [way for part in parts_of(value, schema, words, year) for way in part]


def parts_of(
    value: Any, schema: Mapping[str, Any], words: Mapping[Any, str] | None, year: str = ""
) -> list[list[str]]:
    """Return for every scalar in a value the ways to say it; one list each, all of which must be met."""
    if isinstance(value, list):
        inner = schema.get("items", {})
        return [
            part
            for item in value
            for part in parts_of(item, inner if isinstance(inner, dict) else {}, words, year)
        ]
    if isinstance(value, dict):
        inside = schema.get("properties", {})
        return [
            part for key, item in value.items() for part in parts_of(item, inside.get(key, {}), None, year)
        ]
    if value is None or value == "" or (isinstance(value, bool) and not (words and value in words)):
        return []
    return [_surfaces(value, schema, words, year)]


def references(steps: list[StepContext], source: int, pointer: str) -> list[str]:
    """Return how a value of an earlier step's result may be referred to."""
    producer = steps[source]
    known = producer.wording.refer.get(pointer)
    if known is None:
        return []
    voice = Voice(steps, 0)
    phrases = dict.fromkeys((*known.full, *known.short))
    return [producer.clause(phrase, voice).text for phrase in phrases]
