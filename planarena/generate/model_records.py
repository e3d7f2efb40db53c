"""What models wrote and proposed for one task, and what became of it: the records that are kept and resumed from."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = [
    "FAILED",
    "IMPLAUSIBLE",
    "KEPT",
    "PARTS",
    "UNJUDGED",
    "Failure",
    "Proposal",
    "Scores",
    "Usage",
    "Written",
]

# Parts of a task's words and contrast that models are asked for, in the order in which they are kept.
PARTS = (
    *("plausible", "query", "actions", "round_trip"),
    *("plan", "response", "rationale", "trajectory", "candidate", "user"),
)
# What is said of a task that no one would ask for.
IMPLAUSIBLE = "implausible"
# What is said of a query that nobody could be had to read or serve: asking them again may do.
UNJUDGED = "unjudged"
# Verdicts that are not found by execution; the others are reasons of `planarena.generate.model_checks` and outcomes.
KEPT, FAILED = "kept", "failed"


class Proposal(msgspec.Struct, frozen=True, array_like=True):
    """One proposal of a model.

    Attributes:
        part: One of `PARTS`.
        model: Its name.
        call_id: The paid call.
        prompt: Name, version and digest of the prompt file.
        content: What was proposed, a JSON value.
        verdict: `kept`, `not_best`, why it was refused, or what its execution showed; empty until it is executed.
        detail: The evidence.
        step: The step that it is for; -1 for the whole task.
    """

    part: str
    model: str
    call_id: str
    prompt: str
    content: Any
    verdict: str = ""
    detail: str = ""
    step: int = -1


class Failure(msgspec.Struct, frozen=True, array_like=True):
    """A request that gave nothing of use.

    Attributes:
        part: One of `PARTS`.
        model: Its name.
        kind: The gateway's class of the failure, or why the checks refused the answer and the repaired one.
        detail: The evidence.
        sample: The number of the sample asked for; a retry asks for the next.
    """

    part: str
    model: str
    kind: str
    detail: str
    sample: int = 0


class Usage(msgspec.Struct, frozen=True, array_like=True):
    """What the answers used had cost when they were paid for; the same whether they came from the cache or not.

    Attributes:
        calls: Answers.
        tokens: Prompt and answer tokens.
        usd: US dollars, as far as prices are known.
        unpriced: Answers without a known price.
        served: Model, what its server called itself, and in how many answers.
    """

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0
    served: tuple[tuple[str, str, int], ...] = ()


class Scores(msgspec.Struct, frozen=True, array_like=True):
    """Relevance at one decision point, all by one scorer.

    Attributes:
        step: The step.
        scorer: Its name.
        values: In [0, 1]: of the choices that were there, then of the proposals of this step that await execution.
    """

    step: int
    scorer: str
    values: tuple[float, ...]


class Written(msgspec.Struct, frozen=True, array_like=True):
    """All that models gave for one task. An empty part stays as the offline generator wrote it.

    Attributes:
        scenario: Place of the scenario in its chunk.
        item: Place of the task in its scenario.
        turns: The user's messages.
        checks: What the query passed and where each value is grounded.
        plan: The global plan.
        step_plans: One line per step.
        responses: The answers, one per message.
        rationales: One per step.
        proposals: All of them, kept or not.
        failures: What gave nothing of use.
        scores: Relevance by a judge.
        usage: What all this cost.
        requests: How often models were asked, repairs by the gateway not counted.
        refused: Why a judge would not have the task at all; empty when it did or was not asked.
    """

    scenario: int
    item: int
    turns: tuple[str, ...] = ()
    checks: dict[str, Any] = {}
    plan: str = ""
    step_plans: tuple[str, ...] = ()
    responses: tuple[str, ...] = ()
    rationales: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    failures: tuple[Failure, ...] = ()
    scores: tuple[Scores, ...] = ()
    usage: Usage = Usage()
    requests: int = 0
    refused: str = ""

    def call_of(self, *parts: str) -> str:
        """Return the id of the call whose answer was kept for one of these parts; empty when none was."""
        return next((one.call_id for one in self.proposals if one.part in parts and one.verdict == KEPT), "")

    @property
    def wrote(self) -> bool:
        """Whether words of the gold trajectory are a model's."""
        return bool(self.turns or self.plan or self.responses)
