"""What a judge is given and what it gives: one action beside its gold, scores of a whole group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from planarena.formats import Call, Gold, Parsed

__all__ = ["GroupScores", "JudgedAction", "calls_as_json"]


class JudgedAction(msgspec.Struct, frozen=True, kw_only=True):
    """One action of a policy beside the true one.

    Attributes:
        candidate: The output, read by its format; its plan is the chain of thought that is judged.
        gold: The true action: the standard.
        task: The conversation before the action, tool results included.
        tools: Names of the tools offered; empty: not known.
        reference: Reference rationale (AWPO section 4.1); empty takes the gold's plan.
    """

    candidate: Parsed
    gold: Gold
    task: str = ""
    tools: tuple[str, ...] = ()
    reference: str = ""

    @property
    def rationale(self) -> str:
        """The reference rationale; empty without one."""
        return self.reference or self.gold.plan or ""

    @property
    def invents_tool(self) -> bool:
        """Whether it calls a tool that is not offered, as far as it is known what is."""
        return bool(self.tools) and any(call.name not in self.tools for call in self.candidate.calls)


class GroupScores(msgspec.Struct, frozen=True, kw_only=True):
    """Scores of one group, all by one scorer.

    Attributes:
        scores: One a member, in [0, 1].
        scorer: `offline/1`, or the model's name and the label of its prompt.
        fallback: Why the group was not scored by the first scorer; empty when it was.
        notes: What happened to each member: caps by hard constraints, second looks.
    """

    scores: tuple[float, ...]
    scorer: str
    fallback: str = ""
    notes: tuple[tuple[str, ...], ...] = ()


def calls_as_json(calls: Sequence[Call]) -> list[dict[str, Any]]:
    """Return calls as JSON values, for a prompt."""
    return [{"name": call.name, "arguments": call.arguments} for call in calls]
