"""What an agent loop reads and returns: the tokenizer as we use it, and tokens as verl stores them."""

from __future__ import annotations

import functools
import json
from typing import Any

from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput

from planarena.trainers.loop.tokenizer import ChatTokenizer

__all__ = ["chat_of", "output"]


@functools.lru_cache(maxsize=4)
def chat_of(tokenizer: Any) -> ChatTokenizer:
    """Return a tokenizer as we use it; looking through a large vocabulary once is enough."""
    return ChatTokenizer(tokenizer)


def output(
    prompt: list[int],
    ids: list[int],
    mask: list[int],
    logp: list[float],
    facts: dict[str, Any],
    turns: int = 2,
) -> Any:
    """Return tokens as verl stores them; rewards are given where groups are whole, not here."""
    if not ids:
        # A rollout that says nothing at all is a row without a token to learn from.
        ids, mask, logp = [0], [0], [0.0]
    return AgentLoopOutput(
        prompt_ids=prompt,
        response_ids=ids,
        response_mask=mask,
        response_logprobs=logp,
        num_turns=turns,
        metrics=AgentLoopMetrics(),
        reward_score=0.0,
        extra_fields={"planarena": json.dumps(facts), "min_global_steps": 0, "max_global_steps": 0},
    )
