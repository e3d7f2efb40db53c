"""A rollout server of verl on plain transformers: for the CPU, for tests, and for GPUs without vLLM or SGLang."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ray
import ray.util.scheduling_strategies
import torch
from torch import Tensor
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, TokenOutput

from planarena.trainers.config import ModelConfig
from planarena.trainers.local.generate import decode, draws
from planarena.trainers.local.model import Policy, load_policy

__all__ = ["Adapter", "Replica", "Server"]

# Requests of one batch arrive within this many seconds of each other; the next pass waits no longer.
_QUIET = 0.03
_MOST_ROWS = 512


@dataclass(slots=True)
class _Request:
    prompt: tuple[int, ...]
    wanted: dict[str, Any]
    answer: asyncio.Future[tuple[list[int], list[float]]]

    @property
    def limit(self) -> int:
        return int(self.wanted["max_tokens"])

    @property
    def place(self) -> tuple[int, int, int]:
        return int(self.wanted["seed"]), int(self.wanted["index"]), int(self.wanted["row"])


class Server:
    """Answers requests in batches: one pass over all prompts that are there, each computed once.

    What a row draws depends on its seed, its prompt's number and its place in the group, not on when it came.

    Args:
        path: The model at the start; weights follow.
        device: Where to.
        dtype: `float32` or `bfloat16`.
        threads: CPU threads.
        most_tokens: Longest reply to who asks for no length.
    """

    def __init__(self, path: str, device: str, dtype: str, threads: int, most_tokens: int) -> None:
        torch.set_num_threads(threads)
        half = dtype == "bfloat16"
        config = ModelConfig(path=path, dtype="bfloat16" if half else "float32")
        self.policy: Policy = load_policy(path, config, torch.device(device), train=False)
        self.version = 0
        self._most_tokens, self._asked = most_tokens, 0
        self._waiting: list[_Request] = []
        self._arrived = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None

    async def update_weights(self, weights: dict[str, Tensor], version: int | None) -> None:
        """Take the trained weights.

        Args:
            weights: By the names of transformers; tied ones once or twice.
            version: Optimiser steps done.
        """
        own = dict(self.policy.model.named_parameters(remove_duplicate=False))
        strange = sorted(set(weights) - set(own))
        missing = {name for name, value in own.items() if name not in weights}
        tied = {id(own[name]) for name in weights if name in own}
        missing = {name for name in missing if id(own[name]) not in tied}
        if strange or missing:
            raise RuntimeError(
                f"the trained model and the rollout differ: {sorted(strange)[:3]}, {sorted(missing)[:3]}"
            )
        with torch.no_grad():
            for name, value in weights.items():
                own[name].copy_(value.to(own[name].device))
        self.version = version or 0

    async def generate(
        self,
        request_id: str,  # noqa: ARG002  (part of verl's call)
        prompt_ids: list[int],
        sampling_params: dict[str, Any],
        **_: Any,
    ) -> Any:
        """Return one continuation.

        Args:
            request_id: Unused: no state is kept between turns.
            prompt_ids: The prompt.
            sampling_params: `temperature`, `max_tokens`, and for the draws `seed`, `index`, `row`, `repeats`,
                `expect` (requests of this batch). verl's own agent loops name the temperature only: each of their
                requests draws anew.
        """
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._serve())
        future: asyncio.Future[tuple[list[int], list[float]]] = asyncio.get_running_loop().create_future()
        self._asked += 1
        unnamed = {"max_tokens": self._most_tokens, "seed": 0, "index": self._asked, "row": 0, "repeats": 1}
        self._waiting.append(_Request(tuple(prompt_ids), {**unnamed, **sampling_params}, future))
        self._arrived.set()
        ids, logp = await future
        return TokenOutput(token_ids=ids, log_probs=logp, extra_fields={"global_steps": self.version})

    async def set_global_steps(self, global_steps: int) -> None:
        """Note the version of the weights."""
        self.version = global_steps

    async def ready(self) -> bool:
        """Say that the model is loaded."""
        return True

    async def _nothing(self, **_: Any) -> None:
        """Do nothing: weights stay, no cache outlives a pass, and the synchronous trainer waits for all requests."""

    wake_up = sleep = clear_kv_cache = release_kv_cache = resume_kv_cache = _nothing
    abort_all_requests = resume_generation = start_profile = stop_profile = _nothing

    async def _serve(self) -> None:
        while True:
            await self._arrived.wait()
            await self._gather()
            batch, self._waiting = self._waiting, []
            self._arrived.clear()
            for part in _classes(batch):
                try:
                    answers = await asyncio.to_thread(self._decode, part)
                except Exception as error:  # whoever asked gets the error
                    for request in part:
                        request.answer.set_exception(error)
                    continue
                for request, answer in zip(part, answers, strict=True):
                    request.answer.set_result(answer)

    async def _gather(self) -> None:
        """Wait until a whole batch is here, or none comes any more."""
        seen = 0
        while len(self._waiting) > seen:
            seen = len(self._waiting)
            if seen >= int(self._waiting[0].wanted.get("expect", 0) or 1 << 30):
                return
            # A first batch of many rows trickles in while verl starts its sessions.
            await asyncio.sleep(_QUIET)

    def _decode(self, requests: list[_Request]) -> list[tuple[list[int], list[float]]]:
        groups: dict[tuple[int, ...], list[int]] = {}
        for place, request in enumerate(requests):
            groups.setdefault(request.prompt, []).append(place)
        repeats = len(next(iter(groups.values())))
        order = [place for places in groups.values() for place in places]
        limits = [requests[place].limit for place in order]
        uniform_BT = torch.zeros((len(order), max(limits)))
        for row, place in enumerate(order):
            wanted = requests[place].wanted
            own = int(wanted["seed"]) * 1_000_003 + int(wanted["index"])
            drawn = draws(own, int(wanted["repeats"]), requests[place].limit)
            uniform_BT[row, : requests[place].limit] = drawn[int(wanted["row"])]
        self.policy.model.eval()
        with torch.no_grad():
            rolled = decode(
                self.policy,
                list(groups),
                repeats,
                torch.tensor(limits),
                float(requests[0].wanted["temperature"]),
                uniform_BT.to(self.policy.device),
                False,
                torch.tensor(list(self.policy.chat.ends), device=self.policy.device),
            )
        found: list[tuple[list[int], list[float]]] = [([], [])] * len(requests)
        for place, one in zip(order, rolled, strict=True):
            found[place] = (one.ids, one.logp)
        return found


def _classes(batch: Sequence[_Request]) -> list[list[_Request]]:
    """Divide requests into passes: one temperature, equally many rows of every prompt, in an order of their own."""
    count: dict[tuple[tuple[int, ...], float], int] = {}
    for request in batch:
        key = request.prompt, float(request.wanted["temperature"])
        count[key] = count.get(key, 0) + 1
    classes: dict[tuple[float, int], list[_Request]] = {}
    for request in sorted(batch, key=lambda one: one.place):
        temperature = float(request.wanted["temperature"])
        classes.setdefault((temperature, count[request.prompt, temperature]), []).append(request)
    parts: list[list[_Request]] = []
    for (_, repeats), members in sorted(classes.items()):
        # Members of a group stand together, and a pass never divides them.
        members.sort(key=lambda one: (len(one.prompt), one.prompt, one.place))
        step = max(_MOST_ROWS // repeats, 1) * repeats
        parts += [members[start : start + step] for start in range(0, len(members), step)]
    return parts


class Replica(RolloutReplica):  # type: ignore[misc]  # verl is untyped
    """One server beside each rank."""

    async def launch_servers(self) -> None:
        """Start the server on the node, and on a GPU machine the device, of its rank."""
        from verl.plugin.platform import get_platform

        node, visible = await self.workers[0].__ray_call__.remote(
            lambda _: (ray.get_runtime_context().get_node_id(), os.environ.get("CUDA_VISIBLE_DEVICES", ""))
        )
        cuda = get_platform().device_name == "cuda"
        environment = {"RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": visible}
        server = (
            ray.remote(Server)
            .options(
                num_cpus=0,
                name=_name(self.replica_rank),
                max_concurrency=self.max_concurrency,
                scheduling_strategy=ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
                    node_id=node, soft=False
                ),
                runtime_env={"env_vars": environment if cuda else {}},
            )
            .remote(
                str(self.model_config.path),
                "cuda" if cuda else "cpu",
                str(self.config.dtype),
                int(os.environ.get("OMP_NUM_THREADS", "1")),
                int(self.config.response_length),
            )
        )
        await server.ready.remote()
        self.servers = [server]
        self._server_handle, self._server_address = server, f"planarena-{self.replica_rank}"


def _name(rank: int) -> str:
    return f"planarena_rollout_{rank}"


class Adapter(BaseRollout):  # type: ignore[misc]  # verl is untyped
    """The training worker's side: hands the weights over."""

    def __init__(self, config: Any, model_config: Any, device_mesh: Any, **_: Any) -> None:
        super().__init__(config, model_config, device_mesh)
        self._server: Any = None

    async def resume(self, tags: list[str]) -> None:
        """Do nothing: the server keeps its memory."""

    async def release(self) -> None:
        """Do nothing."""

    async def update_weights(
        self,
        weights: Any,
        wire_format: str = "named_tensors",
        global_steps: int | None = None,
        **_: Any,
    ) -> None:
        """Send all weights to the server of this rank.

        Args:
            weights: (name, whole tensor) pairs; every rank has to take all of them.
            wire_format: Whole tensors alone are understood.
            global_steps: Their version.
        """
        if wire_format != "named_tensors":
            raise RuntimeError(f"the transformers rollout takes whole tensors, not {wire_format}")
        if self._server is None:
            self._server = ray.get_actor(_name(int(os.environ["RANK"])))
        named = {name: value.detach().cpu() for name, value in weights}
        await self._server.update_weights.remote(named, global_steps)
