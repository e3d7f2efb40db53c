"""Requests for the parts of a task that models write: prompt files, schemas, and who is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from planarena.config import ModelsConfig
from planarena.generate.model_records import PARTS
from planarena.llm import Request, load_prompt, quote_data

__all__ = ["PROMPTS", "build_request", "build_turn", "judge_of", "proposer_of"]

# Part -> the prompt file in data/prompts.
PROMPTS = {
    "plausible": "build_plausible",
    "actions": "build_actions",
    "round_trip": "build_round_trip",
    "query": "build_query",
    "plan": "build_plan",
    "response": "build_response",
    "rationale": "build_rationale",
    "trajectory": "build_trajectory",
    "candidate": "build_candidates",
    "user": "user",
}
_TEXT = {"type": "string", "maxLength": 20000}
_STEP = {"type": "integer", "minimum": 1, "maximum": 64}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: dict[str, Any], least: int = 1, most: int = 64) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


_SCHEMAS: dict[str, dict[str, Any]] = {
    "plausible": _object(
        plausible={"type": "boolean"},
        kind={"enum": ["", "undoes", "repeats", "too_late", "wrong_value", "no_purpose"]},
        reason=_TEXT,
    ),
    "actions": _object(
        actions=_list(
            _object(
                message={"type": "integer", "minimum": 1, "maximum": 16},
                tool=_TEXT,
                wanted={"enum": ["requested", "forbidden", "implied"]},
                quote=_TEXT,
            ),
            least=0,
            most=128,
        )
    ),
    "query": _object(versions=_list(_list(_TEXT, most=16), most=16)),
    "plan": _object(steps=_list(_object(step=_STEP, outline=_TEXT, needs=_list(_STEP, least=0), now=_TEXT))),
    "response": _object(answers=_list(_TEXT, most=16)),
    "rationale": _object(rationales=_list(_object(step=_STEP, text=_TEXT))),
    "trajectory": _object(
        calls=_list(_object(plan=_TEXT, tool=_TEXT, arguments={"type": "object"}), least=0)
    ),
    "candidate": _object(
        candidates=_list(
            _object(step=_STEP, tool=_TEXT, arguments={"type": "object"}, right={"type": "boolean"}),
            least=0,
            most=512,
        )
    ),
}
# A round trip is a conversation with tools: its answers have no schema; a user's messages are `planarena.users`' own.
assert set(PROMPTS) == {*_SCHEMAS, "round_trip", "user"} == set(PARTS)
# Parts that judge: one look is enough, as cold as can be.
_JUDGING = frozenset({"plausible", "actions"})


def build_request(
    part: str, model: str, material: dict[str, Any], config: ModelsConfig, sample: int
) -> Request:
    """Return the request for a part.

    Args:
        part: One of `PARTS`.
        model: Whom.
        material: See `TaskBrief`; it goes in quoted.
        config: Sampling.
        sample: Number of the sample; another one asks anew.
    """
    prompt = load_prompt(PROMPTS[part])
    return Request(
        model=model,
        messages=prompt.messages(data=quote_data(material)),
        schema=_SCHEMAS[part],
        temperature=0.0 if part in _JUDGING else config.temperature,
        max_tokens=config.max_tokens,
        sample=sample,
        prompt=prompt.label,
        purpose=part,
        fallback=False,
    )


def build_turn(
    model: str,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    config: ModelsConfig,
    sample: int,
) -> Request:
    """Return the request for the next action of a round trip.

    Args:
        model: Whom.
        messages: The conversation so far, its system message first.
        tools: On offer, as OpenAI's.
        config: Sampling.
        sample: As `build_request`.
    """
    return Request(
        model=model,
        messages=messages,
        tools=tools,
        temperature=config.temperature,
        max_tokens=config.max_tokens,
        sample=sample,
        prompt=load_prompt(PROMPTS["round_trip"]).label,
        purpose="round_trip",
        fallback=False,
    )


def judge_of(config: ModelsConfig, identity: str) -> str:
    """Return the model that reads a task's query: the judge, or else a proposer, another one where there is one."""
    return config.judge or proposer_of(config, identity, 1)


def proposer_of(config: ModelsConfig, identity: str, turn: int = 0) -> str:
    """Return the model that writes for a task; `turn` 1 is the next in line, who proposes its wrong choices."""
    place = int.from_bytes(blake2b(identity.encode(), digest_size=4).digest(), "big")
    return config.proposers[(place + turn) % len(config.proposers)]
