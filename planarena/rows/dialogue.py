"""A dialogue as decisions: what the assistant did, turn by turn, and what came back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from planarena.formats import Call
from planarena.records import content_id
from planarena.records.tables import ToolRow
from planarena.tools import strip_annotations

__all__ = ["Decision", "Dialogue", "Observation", "Place", "Turn", "openai_tool"]


class Observation(msgspec.Struct, frozen=True):
    """What a call returned: a JSON value, the error where `ok` is false."""

    value: Any
    ok: bool = True


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the assistant did in one turn: it called, it spoke, or both.

    Attributes:
        calls: Calls that go in one turn.
        observations: One per call; None where the source does not say what came back.
        text: What it said, or None.
        plan: A line of plan per call.
        rationale: Why, as the source has it; empty without one.
        steps: The step numbers of the calls in the table `steps`.
        state: Hash of the environment's state before the calls; empty where there is no environment.
    """

    calls: tuple[Call, ...] = ()
    observations: tuple[Observation | None, ...] = ()
    text: str | None = None
    plan: str = ""
    rationale: str = ""
    steps: tuple[int, ...] = ()
    state: str = ""

    def one_by_one(self) -> tuple[Decision, ...]:
        """Return the decision with one call a turn; what it said goes with the first."""
        if len(self.calls) < 2:
            return (self,)
        plans = self.plan.split("\n")
        plans = plans if len(plans) == len(self.calls) else [self.plan] * len(self.calls)
        return tuple(
            msgspec.structs.replace(
                self,
                calls=(call,),
                observations=self.observations[index : index + 1],
                text=None if index else self.text,
                plan=plans[index],
                rationale="" if index else self.rationale,
                steps=self.steps[index : index + 1],
                # The state before the later calls is not that before the turn.
                state="" if index else self.state,
            )
            for index, call in enumerate(self.calls)
        )


class Turn(msgspec.Struct, frozen=True):
    """A message of the user (empty where the assistant opens) and what the assistant did until the next."""

    user: str
    decisions: tuple[Decision, ...]


class Place(msgspec.Struct, frozen=True):
    """Where a decision stands: its turn, its number within the turn, and its number within the dialogue."""

    turn: int
    inner: int
    number: int


class Dialogue(msgspec.Struct, frozen=True, kw_only=True):
    """A trajectory or a trace, ready to be cut into rows.

    Attributes:
        trajectory_id: Of the trajectory.
        scenario_id: Of its scenario.
        task_id: Of its task; trajectories of one task share it, whoever generated them.
        split: `train`, `validation`, `test` or `unseen_tools`.
        domain: Of the scenario; of a trace, the dataset.
        generator: Who made it: `offline`, `llm`, `import:DATASET`, `correction`, `mutation`.
        kind: `gold` or `contrastive`.
        parent_id: Of a contrastive one, the gold it departs from.
        diverge_step: The first step that differs; -1 for gold.
        diverge_turn: The user's turn in which it differs; -1 for gold.
        mutation: What was done to the gold.
        tools: What the scenario offers.
        context: What the assistant is told before: the date, the user, a source's own instructions.
        said_before: What the user had said before, beyond the context.
        category: `call`, or why no call is right.
        turns: In order.
        plan: The global plan, or empty.
        goal: The goal as JSON, or empty.
        environment: The environment as JSON, or empty.
        first_decision: Decisions before this number are history only: the source gives no gold for them.
        brief: What the user knows and says when, as JSON, or empty.
        label: `positive` or `negative` as people judged it; empty where nobody has.
    """

    trajectory_id: str
    scenario_id: str
    task_id: str
    split: str = "train"
    domain: str = ""
    generator: str = ""
    kind: str = "gold"
    parent_id: str = ""
    diverge_step: int = -1
    diverge_turn: int = -1
    mutation: str = ""
    tools: tuple[ToolRow, ...] = ()
    context: dict[str, Any] = {}
    said_before: tuple[str, ...] = ()
    category: str = "call"
    turns: tuple[Turn, ...] = ()
    plan: str = ""
    goal: str = ""
    environment: str = ""
    first_decision: int = 0
    label: str = ""
    brief: str = ""

    def decisions(self) -> Iterator[tuple[Place, Decision]]:
        """Return every decision with its place."""
        number = 0
        for turn_number, turn in enumerate(self.turns):
            for inner, decision in enumerate(turn.decisions):
                yield Place(turn_number, inner, number), decision
                number += 1

    def one_call_per_turn(self) -> Dialogue:
        """Return the dialogue with calls that may go in one turn one after the other."""
        turns = []
        first, number = 0, 0
        for turn in self.turns:
            decisions: list[Decision] = []
            for decision in turn.decisions:
                if number < self.first_decision:
                    first += len(decision.one_by_one())
                number += 1
                decisions += decision.one_by_one()
            turns.append(Turn(turn.user, tuple(decisions)))
        return msgspec.structs.replace(self, turns=tuple(turns), first_decision=first)

    def calls_before(self, place: Place) -> tuple[Call, ...]:
        """Return the calls that stand before a place: made from the initial state, they lead to its state."""
        return tuple(
            call
            for other, decision in self.decisions()
            if other.number < place.number
            for call in decision.calls
        )

    @property
    def known(self) -> dict[str, Any]:
        """What is known beforehand: the context, and what the user had said."""
        said = {"said before": " ".join(self.said_before)} if self.said_before else {}
        return {**self.context, **said}

    @property
    def content(self) -> str:
        """The id of what is said and done, whatever the dialogue is called."""
        return content_id(
            "dialogue",
            [[tool.wire_name, tool.description, tool.input_schema] for tool in self.tools],
            self.context,
            self.said_before,
            [
                [turn.user, [msgspec.to_builtins(decision) for decision in turn.decisions]]
                for turn in self.turns
            ],
        )


def openai_tool(tool: ToolRow) -> dict[str, Any]:
    """Return a tool in the OpenAI function-calling shape; the schema has every key of the source and no other."""
    return {
        "type": "function",
        "function": {
            "name": tool.wire_name,
            "description": tool.description,
            "parameters": strip_annotations(msgspec.json.decode(tool.input_schema)),
        },
    }
