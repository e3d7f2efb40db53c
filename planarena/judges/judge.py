"""The two judges: similarity (DUPO Eq. 18) and rubric (AWPO appendix B). One group is scored by one scorer."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

from planarena.errors import ConfigError
from planarena.judges.constraints import rubric_cap, similarity_cap, snap
from planarena.judges.items import GroupScores, JudgedAction, calls_as_json
from planarena.judges.offline import OFFLINE, offline_rubric, offline_similarity
from planarena.llm import Gateway, LLMError, Request, SyncGateway, load_prompt, quote_data

__all__ = ["Judge", "RubricJudge", "SimilarityJudge"]

_SCORE = {
    "type": "object",
    "properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}},
    "required": ["score"],
    "additionalProperties": False,
}
_MAX_TOKENS = 2048
_MOST_NAME = 200


class Judge:
    """Base of the judges.

    A group goes to the first model whole; if any of its members cannot be scored (attempts spent, an answer
    outside of the schema twice, a refusal), the whole group goes to the next model, at last to the offline
    scorer. Errors that stop everything (a spent budget, a refused key) are raised, not papered over: a
    training run that silently changed its judge would be worth nothing.

    Args:
        gateway: None scores everything offline.
        models: Names of models, the judge first, then those that stand in for it.
        temperature: Of the judge; 0, so that one look is enough [ours].

    Attributes:
        counts: `groups`, `fallbacks`, `second_looks`, `capped`, and groups by scorer.
        served: By model, what its server called itself, and in how many answers.
    """

    prompt: ClassVar[str]

    def __init__(
        self,
        gateway: Gateway | SyncGateway | None = None,
        models: str | Sequence[str] = (),
        *,
        temperature: float | None = 0.0,
    ) -> None:
        self._sync = gateway if isinstance(gateway, SyncGateway) else None
        self._gateway = gateway.gateway if isinstance(gateway, SyncGateway) else gateway
        self._models = (models,) if isinstance(models, str) else tuple(models)
        if (self._gateway is None) != (not self._models):
            raise ConfigError(
                "a judge needs a gateway and a model, or neither",
                where="judge",
                fix="give --judge-model, or none",
            )
        self._temperature = temperature
        self.counts: Counter[str] = Counter()
        self.served: dict[str, Counter[str]] = {}

    async def score_group(self, group: Sequence[JudgedAction]) -> GroupScores:
        """Score the members of one group, all with one scorer.

        Raises:
            LLMError: One whose `stops` is true.
        """
        self.counts["groups"] += 1
        why = ""
        for model in self._models:
            outcomes = await asyncio.gather(
                *(self._ask(action, model) for action in group), return_exceptions=True
            )
            failed = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
            if not failed:
                pairs = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
                return self._scores(pairs, f"{model} {load_prompt(self.prompt).label}", why)
            for error in failed:
                if not isinstance(error, LLMError) or error.stops:
                    raise error
            first = next(error for error in failed if isinstance(error, LLMError))
            why = f"{model}: {len(failed)} of {len(group)} members cannot be scored, the first: {first.kind}"
            self.counts["fallbacks"] += 1
        return self._scores([self.offline(action) for action in group], OFFLINE, why)

    def _scores(self, pairs: Sequence[tuple[float, tuple[str, ...]]], scorer: str, why: str) -> GroupScores:
        self.counts[scorer] += 1
        for _, notes in pairs:
            self.counts["capped"] += any(note.startswith("capped") for note in notes)
        return GroupScores(
            scores=tuple(score for score, _ in pairs),
            scorer=scorer,
            fallback=why,
            notes=tuple(notes for _, notes in pairs),
        )

    def score(self, groups: Sequence[Sequence[JudgedAction]]) -> list[GroupScores]:
        """Score many groups at once, for code without an event loop.

        Raises:
            LLMError: One whose `stops` is true; scores got so far are in the cache.
            ConfigError: The judge holds an asynchronous gateway.
        """
        if self._sync is not None:
            return self._sync.run(self.score_groups(groups))
        if self._gateway is not None:
            raise ConfigError(
                "this judge works inside an event loop",
                where="judge",
                fix="await score_groups, or give a SyncGateway",
            )
        return [
            self._scores([self.offline(action) for action in group], OFFLINE, "")
            for group in self._count(groups)
        ]

    def _count(self, groups: Sequence[Sequence[JudgedAction]]) -> Sequence[Sequence[JudgedAction]]:
        self.counts["groups"] += len(groups)
        return groups

    async def score_groups(self, groups: Sequence[Sequence[JudgedAction]]) -> list[GroupScores]:
        """Score many groups at once.

        Raises:
            LLMError: One whose `stops` is true; scores got so far are in the cache.
        """
        tasks = [asyncio.create_task(self.score_group(group)) for group in groups]
        # Calls under way are finished and kept before an error stops all.
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return [outcome for outcome in outcomes if isinstance(outcome, GroupScores)]

    def offline(self, action: JudgedAction) -> tuple[float, tuple[str, ...]]:
        """Return the offline score of one member, and what happened to it."""
        raise NotImplementedError

    async def _ask(self, action: JudgedAction, model: str) -> tuple[float, tuple[str, ...]]:
        raise NotImplementedError

    async def _judge(self, name: str, material: dict[str, Any], model: str) -> float:
        prompt = load_prompt(name)
        assert self._gateway is not None
        answer = await self._gateway.complete(
            Request(
                model=model,
                messages=prompt.messages(data=quote_data(material)),
                schema=_SCORE,
                temperature=self._temperature,
                max_tokens=_MAX_TOKENS,
                prompt=prompt.label,
                purpose=self.prompt,
                fallback=False,
            )
        )
        if answer.served_by:
            self.served.setdefault(model, Counter())[answer.served_by[:_MOST_NAME]] += 1
        return float(answer.value["score"])


class SimilarityJudge(Judge):
    """sim(candidate, truth) in [0, 1] (DUPO Eq. 18), for DUPO's semantic reward lambda (sim - 1).

    Deviations: (1) the paper gives no prompt and no scale: ours, `data/prompts/judge_similarity.yaml`. (2) Caps
    of that scale that a comparison of calls can hold are held here (`similarity_cap`). (3) An action equal to
    the true one in calls and response scores 1 without asking; so does it by every scorer.
    """

    prompt = "judge_similarity"

    def offline(self, action: JudgedAction) -> tuple[float, tuple[str, ...]]:
        """Return `offline_similarity`, capped."""
        if _identical(action):
            return 1.0, ("identical",)
        return _capped(offline_similarity(action), *similarity_cap(action))

    async def _ask(self, action: JudgedAction, model: str) -> tuple[float, tuple[str, ...]]:
        if _identical(action):
            return 1.0, ("identical",)
        candidate, gold = action.candidate, action.gold
        material = {
            "task": action.task,
            "tools": list(action.tools),
            "candidate": {
                "plan": candidate.plan,
                "calls": None if candidate.broken else calls_as_json(candidate.calls),
                "response": candidate.response,
            },
            "truth": {"plan": gold.plan, "calls": calls_as_json(gold.calls), "response": gold.response},
        }
        return _capped(await self._judge(self.prompt, material, model), *similarity_cap(action))


class RubricJudge(Judge):
    """R_reasoning in the six tiers (AWPO appendix B), for AWPO.

    Deviations: (1) the paper prints the configuration of the prompt, not its text: ours around its words.
    (2) Hard constraints are held here too (`rubric_cap`). (3) A number between two tiers is snapped. (4) A score
    is low, and looked at again, from `second_look` down; the second look's score stands. (5) The offline
    scorer takes no second look.

    Args:
        gateway: As `Judge`.
        models: As `Judge`.
        second_look: The tier from which down the reference rationale is looked at again [ours]; below 0 never.
        temperature: As `Judge`.
    """

    prompt = "judge_rubric"

    def __init__(
        self,
        gateway: Gateway | SyncGateway | None = None,
        models: str | Sequence[str] = (),
        *,
        second_look: float = 0.5,
        temperature: float | None = 0.0,
    ) -> None:
        super().__init__(gateway, models, temperature=temperature)
        self._second_look = second_look

    def offline(self, action: JudgedAction) -> tuple[float, tuple[str, ...]]:
        """Return `offline_rubric`, snapped and capped."""
        return _capped(snap(min(1.0, offline_rubric(action))), *rubric_cap(action))

    async def _ask(self, action: JudgedAction, model: str) -> tuple[float, tuple[str, ...]]:
        candidate, gold = action.candidate, action.gold
        material = {
            "task": action.task,
            "tools": list(action.tools),
            "candidate_cot": candidate.plan,
            "candidate_calls": None if candidate.broken else calls_as_json(candidate.calls),
            "candidate_response": candidate.response,
            "ground_truth_calls": calls_as_json(gold.calls),
            "ground_truth_response": gold.response,
            "reference_cot": action.rationale or None,
        }
        cap = rubric_cap(action)
        score = snap(await self._judge(self.prompt, material, model))
        # A second look that the cap would undo is not paid for.
        if score > self._second_look or not action.rationale or cap[0] <= score:
            return _capped(score, *cap)
        self.counts["second_looks"] += 1
        second = snap(await self._judge("judge_second_look", {"first_score": score, **material}, model))
        again, notes = _capped(second, *cap)
        return again, (f"second look: {score:.2f} -> {second:.2f}", *notes)


def _identical(action: JudgedAction) -> bool:
    candidate, gold = action.candidate, action.gold
    if candidate.broken or (candidate.response or "").strip() != (gold.response or "").strip():
        return False
    if not (gold.calls or (gold.response or "").strip()):
        return False
    return quote_data(calls_as_json(candidate.calls)) == quote_data(calls_as_json(gold.calls))


def _capped(score: float, cap: float, why: str) -> tuple[float, tuple[str, ...]]:
    return (cap, (f"capped at {cap:.2f}: {why}",)) if score > cap else (score, ())
