"""What models would be asked and what that would cost, from a sample of the build's own tasks; nothing is asked or kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from planarena.config import BuildConfig, QuotaConfig
from planarena.generate.model_brief import TaskBrief
from planarena.generate.model_requests import build_request, judge_of, proposer_of
from planarena.llm import ModelConfig, Request
from planarena.llm.backend import LiteLLMBackend
from planarena.pipeline.execute.chunk import execute_chunk
from planarena.pipeline.language.describe import describe_chunk
from planarena.pipeline.models.phase import brief_of, choices_of, models_of, with_plain_names
from planarena.pipeline.models.user import is_written, plays_user
from planarena.pipeline.products import Discard, Language
from planarena.records.canonical import canonical_bytes

__all__ = ["PhaseEstimate", "estimate_models"]

# Tasks that the estimate is made from, and scenarios drawn for them at most.
_SAMPLE, _SCENARIOS = 24, 4
# Bytes of a text per token [ours, as the gateway's own estimate].
_BYTES = 4
# Tokens of an answer beside what the offline words have: a version of the query, a rationale, a proposed call, a score.
_JSON, _RATIONALE, _CALL, _SCORE = 20, 90, 60, 10
# Tokens of the judge's instructions, its tools' names and the calls that it compares.
_JUDGE_PROMPT = 700
# Tokens of what a model that plays a user is told.
_USER_PROMPT = 500


class PhaseEstimate(NamedTuple):
    """What one part of the words would take.

    Attributes:
        part: As `planarena.generate.model_records.PARTS`, or `relevance`.
        calls: Requests, without repairs.
        prompt_tokens: Expected.
        completion_tokens: Expected.
        usd: None where a model's price is not known.
    """

    part: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None


class _Asked(NamedTuple):
    part: str
    model: str
    prompt: int
    answer: int


def estimate_models(config: BuildConfig) -> list[PhaseEstimate]:
    """Say what the models of a build would be asked, per part; answers that are in the cache are free.

    The first scenarios are composed, executed and described as the build would; their tasks' prompts are the sample.
    Repairs and retries come on top.
    """
    models = {model.name: model for model in models_of(config)}
    config = msgspec.structs.replace(config, models=with_plain_names(config.models))
    tasks = 0
    asked: list[_Asked] = []
    for brief, points, said in _sample(config):
        tasks += 1
        if is_written(said):
            asked += _requests(config, brief, points, str(tasks))
        if plays_user(config.models, said):
            asked += _user_requests(config.models.user, said)
    if not tasks:
        return []
    backend = LiteLLMBackend()
    scale = config.trajectories / tasks
    found = []
    for part in dict.fromkeys(one.part for one in asked):
        mine = [one for one in asked if one.part == part]
        costs = [_cost(backend, models[one.model], one) for one in mine]
        known = [cost for cost in costs if cost is not None]
        found.append(
            PhaseEstimate(
                part,
                round(len(mine) * scale),
                round(sum(one.prompt for one in mine) * scale),
                round(sum(one.answer for one in mine) * scale),
                round(sum(known) * scale, 4) if len(known) == len(costs) else None,
            )
        )
    return found


def _cost(backend: LiteLLMBackend, model: ModelConfig, one: _Asked) -> float | None:
    price = backend.price(model)
    return None if price is None else price[0] * one.prompt + price[1] * one.answer


def _sample(config: BuildConfig) -> Iterator[tuple[TaskBrief, list[int], Language]]:
    """Yield tasks, by decision point the number of choices that a judge compares, and their words."""
    small = msgspec.structs.replace(config, chunk_scenarios=1, quotas=QuotaConfig())
    count = 0
    for number in range(min(_SCENARIOS, config.scenarios or _SCENARIOS)):
        executed = execute_chunk(small, number, None)
        language = describe_chunk(small, executed)
        for scenario, words in zip(executed.scenarios, language.items, strict=True):
            for task, said in zip(scenario.items, words, strict=True):
                if isinstance(task, Discard) or isinstance(said, Discard):
                    continue
                brief = brief_of(config, scenario, task, said)
                yield brief, [len(point) for point in choices_of(task, said, brief)], said
                count += 1
                if count >= _SAMPLE:
                    return


def _requests(config: BuildConfig, brief: TaskBrief, points: list[int], identity: str) -> Iterator[_Asked]:
    wanted, turns = config.models, brief.turns
    steps, spoken = len(brief.steps), _tokens(list(turns))
    if wanted.proposers:
        writer, other = proposer_of(wanted, identity), proposer_of(wanted, identity, 1)
        plan = _tokens(brief.plan)
        told = sum(
            _tokens(ways[0]) + 12 for group in brief.reported for n in group for _, ways in brief.to_report(n)
        )
        yield _asked(
            config, "query", writer, brief.for_query(wanted.queries), wanted.queries * (spoken + _JSON)
        )
        reader = judge_of(wanted, identity)
        if wanted.plausibility:
            yield _asked(config, "plausible", reader, brief.for_plausible(), 2 * _SCORE + _JSON)
        # The first version read is mostly kept.
        yield _asked(config, "actions", reader, brief.for_actions(turns), steps * (_CALL + _JSON))
        if wanted.round_trip:
            tools = _tokens([tool.to_openai() for tool in brief.tools.values()])
            seen = spoken + tools
            for step in brief.steps:
                yield _Asked("round_trip", wanted.round_trip, seen, _CALL)
                seen += _CALL + _tokens(step.result)
            for _ in turns:
                yield _Asked("round_trip", wanted.round_trip, seen, _RATIONALE)
        yield _asked(config, "plan", writer, brief.for_plan(turns), 2 * plan + steps * _JSON)
        yield _asked(config, "response", writer, brief.for_response(turns), told + _JSON)
        if wanted.rationales:
            yield _asked(config, "rationale", writer, brief.for_rationale(turns), steps * _RATIONALE)
        if wanted.trajectories:
            for model in wanted.proposers:
                yield _asked(config, "trajectory", model, brief.for_trajectory(turns), steps * _CALL)
        if wanted.candidates:
            material = brief.for_candidates(turns, wanted.candidates)
            yield _asked(config, "candidate", other, material, steps * wanted.candidates * _CALL)
    if wanted.judge:
        history = 0
        for step, choices in zip(brief.steps, points, strict=True):
            more = wanted.candidates if wanted.proposers else 0
            # The gold call itself is not asked about.
            for _ in range(choices - 1 + more):
                yield _Asked("relevance", wanted.judge, _JUDGE_PROMPT + spoken + history, _SCORE)
            history += _tokens(step.result) + _tokens(step.arguments)


def _user_requests(model: str, said: Language) -> Iterator[_Asked]:
    """Yield a request for every message of the user's, and the one by which it ends."""
    seen = _USER_PROMPT
    for turn, answer in zip((*said.turns, ""), (*said.turn_responses, said.response, ""), strict=True):
        yield _Asked("user", model, seen + _tokens(turn), _tokens(turn) + _JSON)
        seen += _tokens(turn) + _tokens(answer)


def _asked(config: BuildConfig, part: str, model: str, material: dict[str, Any], answer: int) -> _Asked:
    request: Request = build_request(part, model, material, config.models, 0)
    return _Asked(part, model, _tokens(list(request.messages)), answer)


def _tokens(value: Any) -> int:
    return len(canonical_bytes(value)) // _BYTES + 1
