"""What verl's agent-loop workers run for one row: a single decision, or a whole episode in its environment."""

from __future__ import annotations

import json
import uuid
from typing import Any

from verl.experimental.agent_loop.agent_loop import AgentLoopBase

from planarena.trainers.loop.backend import Generated
from planarena.trainers.verl.agent_output import chat_of, output
from planarena.trainers.verl.episodes import act
from planarena.trainers.verl.versions import ROLLOUT

__all__ = ["Loop"]


class Loop(AgentLoopBase):  # type: ignore[misc]  # verl is untyped
    """Samples with whatever rollout verl was told to use."""

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> Any:
        """Return the tokens of one member of a group.

        Args:
            sampling_params: verl's own.
            **kwargs: `planarena` (what to do, as JSON), `prompt_ids`, `session_id`.
        """
        wanted = json.loads(kwargs["planarena"])
        self.row = int(kwargs["session_id"])
        self.plain, self.wanted = sampling_params, wanted
        if wanted.get("episode") is not None:
            return await act(self, wanted, list(kwargs["prompt_ids"]))
        prompt = list(kwargs["prompt_ids"])
        found = await self.sample(prompt, limit=int(wanted["limit"]), seed=int(wanted["seed"]))
        return output(prompt, found.ids, [1] * len(found.ids), found.logp, {"ended": found.ended})

    async def sample(self, prompt: list[int], *, limit: int, seed: int) -> Generated:
        """Return one continuation.

        Args:
            prompt: Ids so far.
            limit: Most tokens.
            seed: Of the draws, for our rollout; others draw as they like.
        """
        params = {**self.plain, "temperature": self.wanted["temperature"], "max_tokens": limit}
        if self.rollout_config.name == ROLLOUT:
            params |= {"seed": seed, "index": self.wanted["index"], "row": self.row}
            params |= {"repeats": self.wanted["repeats"], "expect": self.wanted["expect"]}
        found = await self.server_manager.generate(
            request_id=uuid.uuid4().hex, prompt_ids=prompt, sampling_params=params
        )
        ids = [int(one) for one in found.token_ids][:limit]
        logp = list(found.log_probs or [0.0] * len(ids))[: len(ids)]
        ends = chat_of(self.tokenizer).ends
        return Generated(ids, logp, [], ended=bool(ids) and ids[-1] in ends)
