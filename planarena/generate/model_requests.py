"""Requests for the parts of a task that models write: prompt files, schemas, and who is asked."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from planarena.config import ModelsConfig
from planarena.generate.model_records import PARTS
from planarena.llm import Request, load_prompt, quote_data

__all__ = ["PROMPTS", "build_request", "proposer_of"]

# Part -> the prompt file in data/prompts.
PROMPTS = {
    "query": "build_query",
    "plan": "build_plan",
    "response": "build_response",
    "rationale": "build_rationale",
    "trajectory": "build_trajectory",
    "candidate": "build_candidates",
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
assert set(PROMPTS) == set(_SCHEMAS) == set(PARTS)


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
        temperature=config.temperature,
        max_tokens=config.max_tokens,
        sample=sample,
        prompt=prompt.label,
        purpose=part,
        fallback=False,
    )


def proposer_of(config: ModelsConfig, identity: str, turn: int = 0) -> str:
    """Return the model that writes for a task; `turn` 1 is the next in line, who proposes its wrong choices."""
    place = int.from_bytes(blake2b(identity.encode(), digest_size=4).digest(), "big")
    return config.proposers[(place + turn) % len(config.proposers)]
