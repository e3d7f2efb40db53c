"""The generator with models: for one proven task, words and proposals, checked, repaired once, or left out.

It fills the same record as the offline generator (`planarena.pipeline.products.Language`): a part that no model
gives stays as that one wrote it. Nothing is executed here; what proposals are worth is found by `pipeline.proposals`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import msgspec

from planarena.config import ModelsConfig
from planarena.formats import Call, Gold, Parsed
from planarena.generate.model_brief import TaskBrief
from planarena.generate.model_checks import (
    check_call,
    check_plan,
    check_rationales,
    check_responses,
    check_trajectory,
)
from planarena.generate.model_queries import QueryWriter, Serve
from planarena.generate.model_records import (
    FAILED,
    IMPLAUSIBLE,
    KEPT,
    PARTS,
    UNJUDGED,
    Failure,
    Proposal,
    Scores,
    Usage,
    Written,
)
from planarena.generate.model_requests import PROMPTS, build_request, judge_of, proposer_of
from planarena.generate.model_texts import TextFaultError
from planarena.judges import JudgedAction, SimilarityJudge
from planarena.llm import Answer, Gateway, LLMError, Request, load_prompt, quote_data
from planarena.llm.request import Stored
from planarena.llm.structured import repair_request

__all__ = ["Choices", "Meter", "TaskWriter"]

_T = TypeVar("_T")
_DETAIL = 500
# Of what a server calls itself; it may say anything.
_MOST_NAME = 100


class Choice(NamedTuple):
    """A choice at a decision point, as a judge sees it: its calls, or the answer that it gives."""

    calls: tuple[Call, ...]
    answer: str = ""


# Choices that are there already, by step, the gold one first.
Choices = Sequence[Sequence[Choice]]


class _Completes(Protocol):
    async def complete(self, request: Request) -> Answer:
        """Answer one request."""


class Meter:
    """Asks for one task: counts what its answers cost, and asks nothing more once the build is to stop.

    Args:
        gateway: Where.
        check: Raises when nothing more is to be asked.
    """

    def __init__(self, gateway: _Completes, check: Callable[[], None]) -> None:
        self._gateway, self._check = gateway, check
        self._answers: dict[str, Answer] = {}
        self.requests = 0

    async def complete(self, request: Request) -> Answer:
        """Answer one request; see `planarena.llm.Gateway.complete`."""
        self._check()
        self.requests += 1
        answer = await self._gateway.complete(request)
        self._answers[answer.call_id] = answer
        return answer

    @property
    def usage(self) -> Usage:
        """What the answers had cost; summed in the order of their ids, so that no order of work shows."""
        answers = [self._answers[name] for name in sorted(self._answers)]
        return Usage(
            len(answers),
            sum(answer.prompt_tokens + answer.completion_tokens for answer in answers),
            sum(answer.usd or 0.0 for answer in answers),
            sum(answer.usd is None for answer in answers),
            tuple(
                (model, name, number)
                for (model, name), number in sorted(
                    Counter((answer.model, answer.served_by[:_MOST_NAME]) for answer in answers).items()
                )
                if name
            ),
        )


class _Refused(NamedTuple):
    answer: Answer | None
    kind: str
    detail: str


class TaskWriter:
    """Asks models for one task.

    Args:
        meter: How to ask.
        config: Which models, how much.
        brief: The task.
        identity: Names the task; decides who writes.
        samples: (part, model) -> the sample to ask for, where it is not the first.

    Attributes:
        serve: Serves a query unseen, where round trips are wanted.
    """

    def __init__(
        self,
        meter: Meter,
        config: ModelsConfig,
        brief: TaskBrief,
        identity: str,
        samples: dict[tuple[str, str], int] | None = None,
    ) -> None:
        self.meter, self.config, self.brief, self.identity = meter, config, brief, identity
        self.samples = samples or {}
        self.serve: Serve | None = None
        self.failures: dict[str, list[Failure]] = {}
        self.proposals: dict[str, list[Proposal]] = {}

    async def write(self, scenario: int, item: int, choices: Choices) -> Written:
        """Ask for everything.

        Args:
            scenario: As in `Written`.
            item: As in `Written`.
            choices: For a judge.

        Raises:
            LLMError: One whose `stops` is true; answers got so far are in the cache.
        """
        written = Written(scenario, item)
        if self.config.proposers and self.config.plausibility:
            written = msgspec.structs.replace(written, refused=await self._refusal())
        if self.config.proposers and not written.refused:
            written = await self._words(written)
        if self.config.judge and not written.refused:
            scores = await self._scores(written.turns or self.brief.turns, choices)
            written = msgspec.structs.replace(written, scores=scores)
        ordered = [one for part in sorted(self.proposals) for one in self.proposals[part]]
        failed = [one for part in sorted(self.failures) for one in self.failures[part]]
        return msgspec.structs.replace(
            written,
            proposals=tuple(ordered),
            failures=tuple(failed),
            usage=self.meter.usage,
            requests=self.meter.requests,
        )

    async def _words(self, written: Written) -> Written:
        query = await QueryWriter(self, self.serve).infer()
        turns = query.turns if query else list(self.brief.turns)
        jobs: list[Any] = [self._plan(turns), self._responses(turns)]
        if self.config.rationales:
            jobs.append(self._rationales(turns))
        if self.config.trajectories:
            jobs += [self._trajectory(turns, model) for model in self.config.proposers]
        if self.config.candidates:
            jobs.append(self._candidates(turns))
        # All are heard out before an error that stops everything is raised: what is under way is paid for.
        done: list[Any] = await asyncio.gather(*jobs, return_exceptions=True)
        for one in done:
            if isinstance(one, BaseException):
                raise one
        plan, responses = done[0], done[1]
        rationales = done[2] if self.config.rationales else None
        return msgspec.structs.replace(
            written,
            turns=tuple(query.turns) if query else (),
            checks=query.checks if query else {},
            plan=plan[0] if plan else "",
            step_plans=plan[1] if plan else (),
            responses=responses or (),
            rationales=rationales or (),
        )

    # -- asking --------------------------------------------------------------------------------

    async def ask(
        self, part: str, model: str, material: dict[str, Any], read: Callable[[Answer], _T | Awaitable[_T]]
    ) -> tuple[Answer, _T] | None:
        """Ask, check, and ask once more with the fault named; a failure is noted and gives None.

        Args:
            part: One of `PARTS`.
            model: Whom.
            material: Goes in quoted.
            read: Checks an answer; it raises `TextFaultError`.

        Raises:
            LLMError: One whose `stops` is true.
        """
        sample = self.samples.get((part, model), 0)
        request = build_request(part, model, material, self.config, sample)
        refused: _Refused | None = None
        for attempt in range(2):
            try:
                answer = await self.meter.complete(request)
            except LLMError as error:
                if error.stops:
                    raise
                refused = _Refused(None, error.kind, error.what)
                break
            try:
                value = read(answer)
                return answer, await value if isinstance(value, Awaitable) else value
            except TextFaultError as fault:
                refused = _Refused(answer, fault.reason, fault.detail)
                if fault.reason == UNJUDGED:
                    break  # no fault of the answer
                if attempt == 0:
                    # The detail may quote texts of others: it goes in as data does.
                    words = f"{fault.reason}: {quote_data(fault.detail[:_DETAIL])}"
                    request = repair_request(request, Stored(answer.text, finish=answer.finish), words)
        assert refused is not None
        detail = refused.detail[:_DETAIL]
        self.fail(Failure(part, model, refused.kind, detail, sample))
        # A query that was refused is noted version by version already.
        if refused.answer is not None and part != "query":
            self.note(part, model, refused.answer, refused.answer.value, FAILED, detail)
        return None

    def fail(self, failure: Failure) -> None:
        """Note a request that gave nothing of use."""
        self.failures.setdefault(_place(failure.part, failure.model), []).append(failure)

    def note(
        self,
        part: str,
        model: str,
        call: Answer | str,
        content: Any,
        verdict: str,
        detail: str = "",
        step: int = -1,
    ) -> None:
        """Note a proposal; arguments as `Proposal`, whose prompt is that of the part."""
        call_id = call if isinstance(call, str) else call.call_id
        one = Proposal(part, model, call_id, _label(part), content, verdict, detail[:_DETAIL], step)
        self.proposals.setdefault(_place(part, model), []).append(one)

    def _writer(self) -> str:
        return proposer_of(self.config, self.identity)

    # -- the parts -----------------------------------------------------------------------------

    async def _refusal(self) -> str:
        """Have the task judged before words are paid for; a judge that fails refuses nothing."""
        judge = judge_of(self.config, self.identity)
        found = await self.ask(
            "plausible", judge, self.brief.for_plausible(), lambda answer: dict(answer.value)
        )
        if found is None:
            return ""
        answer, value = found
        good = value["plausible"]
        reason = "" if good else value["kind"] or "no_purpose"
        self.note("plausible", judge, answer, value, KEPT if good else IMPLAUSIBLE, value["reason"])
        return reason

    async def _plan(self, turns: list[str]) -> tuple[str, tuple[str, ...]] | None:
        def read(answer: Answer) -> tuple[str, tuple[str, ...]]:
            return check_plan(self.brief, answer.value["steps"])

        return await self._kept("plan", self.brief.for_plan(turns), read)

    async def _responses(self, turns: list[str]) -> tuple[str, ...] | None:
        def read(answer: Answer) -> tuple[str, ...]:
            return check_responses(self.brief, turns, answer.value["answers"])

        return await self._kept("response", self.brief.for_response(turns), read)

    async def _rationales(self, turns: list[str]) -> tuple[str, ...] | None:
        def read(answer: Answer) -> tuple[str, ...]:
            return check_rationales(self.brief, answer.value["rationales"])

        return await self._kept("rationale", self.brief.for_rationale(turns), read)

    async def _kept(self, part: str, material: dict[str, Any], read: Callable[[Answer], _T]) -> _T | None:
        model = self._writer()
        found = await self.ask(part, model, material, read)
        if found is None:
            return None
        answer, value = found
        self.note(part, model, answer, answer.value, KEPT)
        return value

    async def _trajectory(self, turns: list[str], model: str) -> None:
        """Have a complete trajectory proposed (DUPO section 3.3)."""

        def read(answer: Answer) -> list[dict[str, Any]]:
            return check_trajectory(self.brief, answer.value["calls"])

        found = await self.ask("trajectory", model, self.brief.for_trajectory(turns), read)
        if found is not None:
            self.note("trajectory", model, found[0], found[1], "")

    async def _candidates(self, turns: list[str]) -> None:
        """Have choices proposed at every decision point (DUPO section 3.3)."""
        model = proposer_of(self.config, self.identity, 1)
        count = self.config.candidates

        def read(answer: Answer) -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = answer.value["candidates"]
            if not any(one["step"] <= len(self.brief.steps) for one in found):
                raise TextFaultError("no_candidates", "it proposes nothing for any step")
            return found

        answered = await self.ask("candidate", model, self.brief.for_candidates(turns, count), read)
        if answered is None:
            return
        answer, proposed = answered
        seen: list[tuple[int, str, Any]] = [
            (step.number, step.operation.tool.wire_name, step.arguments) for step in self.brief.steps
        ]
        taken = [0] * len(self.brief.steps)
        for one in proposed:
            step, tool, arguments = one["step"] - 1, one["tool"].strip()[:128], one["arguments"]
            content = {"tool": tool, "arguments": arguments, "right": one["right"]}
            verdict = detail = ""
            if step >= len(taken):
                step, verdict = -1, "no_such_step"
            elif (step, tool, arguments) in seen:
                verdict = "duplicate"
            elif taken[step] >= count:
                verdict = "beyond_the_count"
            else:
                try:
                    check_call(arguments)
                except TextFaultError as fault:
                    content["arguments"], verdict, detail = {}, fault.reason, fault.detail
            if not verdict:
                taken[step] += 1
                seen.append((step, tool, arguments))
            self.note("candidate", model, answer, content, verdict, detail, step)

    # -- relevance -----------------------------------------------------------------------------

    async def _scores(self, turns: Sequence[str], choices: Choices) -> tuple[Scores, ...]:
        """Have all choices at each decision point scored by one judge."""
        # The judge asks through the meter, which has of a gateway all that it uses.
        judge = SimilarityJudge(cast(Gateway, self.meter), (self.config.judge,))
        waiting = [
            one
            for group in self.proposals.values()
            for one in group
            if one.part == "candidate" and not one.verdict
        ]
        groups = []
        for step, there in enumerate(choices):
            gold = Gold(calls=there[0].calls)
            proposed = [
                Choice((Call(one.content["tool"], one.content["arguments"]),))
                for one in waiting
                if one.step == step
            ]
            groups.append([self._judged(turns, step, one, gold) for one in (*there, *proposed)])
        found = await judge.score_groups(groups)
        return tuple(Scores(step, one.scorer, one.scores) for step, one in enumerate(found))

    def _judged(self, turns: Sequence[str], step: int, choice: Choice, gold: Gold) -> JudgedAction:
        steps = self.brief.steps
        lines = [f"user: {turn}" for turn in turns[: self.brief.turn_of[step] + 1]]
        for one in steps[:step]:
            done = {
                "tool": one.operation.tool.wire_name,
                "arguments": one.arguments,
                "result": one.result,
            }
            lines.append(quote_data(done))
        return JudgedAction(
            candidate=Parsed(
                "planarena", "", calls=choice.calls, response=None if choice.calls else choice.answer
            ),
            gold=gold,
            task="\n".join(lines),
            tools=tuple(self.brief.tools),
        )


def _place(part: str, model: str) -> str:
    """Name a part and its model so that sorting keeps the order of parts, whatever finished first."""
    return f"{PARTS.index(part)} {model}"


def _label(part: str) -> str:
    return load_prompt(PROMPTS[part]).label
