"""The driver's side of sampling: prompts into verl's agent loops, tokens back, in the order that was asked for."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ray
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer
from verl.utils import tensordict_utils

from planarena.errors import PlanArenaError
from planarena.trainers.config import RolloutConfig
from planarena.trainers.loop.backend import Generated, Rollouts, Sampling
from planarena.trainers.loop.encoding import Prompt
from planarena.trainers.loop.score import Scorer
from planarena.trainers.verl.episodes import act_in_environments
from planarena.trainers.verl.plugin import LOOP

__all__ = ["FastReplay", "Sampled", "VerlSampler", "written_tasks"]

_PARTITION = "train"
_ALIVE_SECONDS = 10.0


class FastReplay(ReplayBuffer):  # type: ignore[misc]  # verl is untyped
    """verl's replay buffer, asked twenty times a second instead of every two, that never hangs on what has died.

    Args:
        alive: Raises where a process that samples is gone.
        interval: Seconds between two looks.
        **options: Of verl's buffer.
    """

    def __init__(self, *, alive: Callable[[], None], interval: float = 0.05, **options: Any) -> None:
        super().__init__(poll_interval=interval, **options)
        self.alive = alive

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[Any, dict[str, Any]]:
        """Return all rows of `batch_size` prompts once every one of them has been sampled.

        Raises:
            PlanArenaError: Sampling failed for a prompt.
        """
        asked = time.monotonic()
        while True:
            self._sync_metadata_from_transfer_queue()
            if self.failure_keys[partition_id]:
                raise PlanArenaError(
                    f"sampling failed for {len(self.failure_keys[partition_id])} of {batch_size} prompts at step "
                    f"{global_steps}\n  fix: read the first error of an AgentLoopWorker in Ray's logs "
                    "(verl/ray in the run's folder); where the rollout ran out of memory, lower "
                    "rollout.batch_size or rollout.max_response_length"
                )
            finished = self.finished_keys[partition_id]
            if len(finished) >= batch_size:
                chosen, snapshot, _ = self._select_prompt_uids(partition_id, finished, batch_size)
                return self._materialize_batch(partition_id, chosen, snapshot), {}
            if time.monotonic() - asked > _ALIVE_SECONDS:
                self.alive()
                asked = time.monotonic()
            time.sleep(self.poll_interval)


def written_tasks(wanted: Sequence[dict[str, Any]], repeats: int) -> list[str]:
    """Return what each prompt's agent loops are told, as JSON.

    Args:
        wanted: P descriptions of what to do.
        repeats: K.
    """
    shared = {"repeats": repeats, "expect": repeats * len(wanted)}
    return [json.dumps({**one, "index": index, **shared}) for index, one in enumerate(wanted)]


class Sampled:
    """What came back for one row.

    Args:
        row: The fields of verl's TransferQueue.
    """

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.ids: list[int] = row["responses"].tolist()
        self.mask: list[int] = row["response_mask"].tolist()
        self.logp: list[float] = row["rollout_log_probs"].float().tolist()
        self.facts: dict[str, Any] = json.loads(row["facts"])
        if not any(self.mask) and self.ids == [0]:
            self.ids, self.mask, self.logp = [], [], []


class VerlSampler:
    """Samples through verl's agent loops.

    Args:
        manager: verl's agent-loop manager.
        replay: The buffer that knows when all rows are there.
        version: Says how many optimiser steps are done.
        context: Positions of the model.
    """

    def __init__(self, manager: Any, replay: FastReplay, version: Callable[[], int], context: int) -> None:
        self.manager, self.replay, self.version = manager, replay, version
        self.context = context
        replay.alive = self.check_alive

    def check_alive(self) -> None:
        """Ask every agent-loop worker whether it is there; a dead one raises Ray's error."""
        ray.get([worker.__ray_ready__.remote() for worker in self.manager.agent_loop_workers], timeout=300)

    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        repeats: int,
        limits: Sequence[int],
        temperature: float,
        seed: int,
    ) -> list[list[Generated]]:
        """Return `repeats` continuations of each prompt.

        Args:
            prompts: P lists of ids.
            repeats: K.
            limits: P most tokens.
            temperature: 0 takes the most probable token.
            seed: Of the draws.
        """
        wanted = [{"limit": max(limit, 1), "temperature": temperature, "seed": seed} for limit in limits]
        return [
            [Generated(one.ids, one.logp, [], ended=bool(one.facts.get("ended"))) for one in group]
            for group in self.roll(prompts, wanted, repeats)
        ]

    def episodes(
        self, prompts: Sequence[Prompt], config: RolloutConfig, scorer: Scorer, how: Sampling
    ) -> Rollouts:
        """Let the policy act in the environments of its tasks; see `act_in_environments`."""
        return act_in_environments(self, prompts, config, scorer, how, context=self.context)

    def roll(
        self, prompts: Sequence[Sequence[int]], wanted: Sequence[dict[str, Any]], repeats: int
    ) -> list[list[Sampled]]:
        """Let the agent loops work and return their rows, P lists of K.

        Args:
            prompts: P lists of ids.
            wanted: P descriptions of what to do, for the loop.
            repeats: K.
        """
        import transfer_queue

        uids = [uuid.uuid4().hex for _ in prompts]
        tasks = written_tasks(wanted, repeats)
        batch = tensordict_utils.get_tensordict(
            {
                "uid": uids,
                "index": [str(index) for index in range(len(uids))],
                "agent_name": [LOOP] * len(uids),
                "prompt_ids": [list(prompt) for prompt in prompts],
                "planarena": tasks,
                "__rollout_n__": [repeats] * len(uids),
            }
        )
        version = self.version()
        tensordict_utils.assign_non_tensor_data(batch, "global_steps", version)
        tags = [{"is_prompt": True, "status": "pending", "global_steps": version} for _ in uids]
        transfer_queue.kv_batch_put(keys=uids, partition_id=_PARTITION, tags=tags)
        self.manager.generate_sequences(batch)
        meta, _ = self.replay.sample(version, _PARTITION, len(uids))
        try:
            data = transfer_queue.kv_batch_get(
                keys=meta.keys,
                partition_id=_PARTITION,
                select_fields=["responses", "response_mask", "rollout_log_probs", "extra_fields"],
            )
        finally:
            transfer_queue.kv_clear(keys=meta.keys, partition_id=_PARTITION)
        found: dict[tuple[str, int], Sampled] = {}
        columns = [data[name].unbind() for name in ("responses", "response_mask", "rollout_log_probs")]
        for key, ids, mask, logp, extra in zip(meta.keys, *columns, list(data["extra_fields"]), strict=True):
            uid, row, _ = key.rsplit("_", 2)
            fields = {"responses": ids, "response_mask": mask, "rollout_log_probs": logp}
            found[uid, int(row)] = Sampled({**fields, "facts": extra["planarena"]})
        return [[found[uid, row] for row in range(repeats)] for uid in uids]
