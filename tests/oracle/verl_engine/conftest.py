"""One rank of verl's real FSDP2 engine inside this process, without Ray: gloo, one process."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from planarena.trainers.config import TinyConfig
from planarena.trainers.local.model import Policy, make_tiny, save_model
from planarena.trainers.loop.tokenizer import ChatTokenizer, train_tokenizer

TEXTS = ["move file a to folder b", "<plan>1. move</plan>", '<tool_call>{"name": "move_file"}</tool_call>']
ENVIRONMENT = {
    "VERL_PLATFORM": "cpu",
    "VERL_USE_EXTERNAL_MODULES": "planarena.trainers.verl.plugin",
    "RANK": "0",
    "WORLD_SIZE": "1",
    "LOCAL_RANK": "0",
    "MASTER_ADDR": "127.0.0.1",
}


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with its tokenizer, in a folder."""
    torch.set_num_threads(1)
    chat = ChatTokenizer(train_tokenizer(TEXTS, 320))
    model = make_tiny(TinyConfig(hidden=32, layers=2, heads=2, intermediate=48), chat, seed=0, positions=256)
    folder = tmp_path_factory.mktemp("start")
    save_model(Policy(model, chat), folder)
    return folder


class InProcess:
    """The workers of verl in this process: every call passes through verl's own engine."""

    def __init__(self, actor: Any, reference: Any, budget: int) -> None:
        self.actor, self.reference, self.budget = actor, reference, budget

    def _data(self, rows: Sequence[Any], size: int, **extra: Any) -> Any:
        from verl.utils import tensordict_utils

        from planarena.trainers.verl.group import jagged
        from planarena.trainers.verl.rows import tensors

        data = jagged([tensors(row) for row in rows])
        extra = {"use_dynamic_bsz": False, "micro_batch_size_per_gpu": size, **extra}
        for key, value in extra.items():
            tensordict_utils.assign_non_tensor_data(data, key, value)
        return data

    def update(self, rows: Sequence[Any], info: Any, *, pairs: bool = False) -> dict[str, float]:
        from verl.utils import tensordict_utils

        from planarena.trainers.verl.rows import INFO, deal

        dealt, size = deal(rows, 1, budget=self.budget, pairs=pairs)
        data = self._data(
            dealt,
            size,
            **{
                INFO: info.encode(),
                "mini_batch_size": len(dealt),
                "dataloader_kwargs": {"shuffle": False},
                "calculate_entropy": info.entropy or info.expert_entropy,
                "distillation_use_topk": info.distributions,
            },
        )
        out = self.actor.train_mini_batch(data)
        found = tensordict_utils.get(out, "metrics")
        return {key: float(sum(value) if isinstance(value, list) else value) for key, value in found.items()}

    def score(self, rows: Sequence[Any], *, entropy: bool = False, reference: bool = False) -> Any:
        from planarena.trainers.verl.group import response_part, restored
        from planarena.trainers.verl.rows import deal

        dealt, size = deal(rows, 1, budget=self.budget)
        data = self._data(dealt, size, calculate_entropy=entropy, compute_loss=False)
        worker = self.reference if reference else self.actor
        out = worker.infer_batch(data)
        logp = response_part(out["log_probs"], dealt)
        more = response_part(out["entropy"], dealt) if entropy else [[] for _ in dealt]
        return restored(rows, dealt, list(zip(logp, more, strict=True)))

    def reverse_kl(self, rows: Sequence[Any], *, frozen: bool) -> list[list[float]]:
        from planarena.trainers.verl.worker import Distributions, reverse_kl_rows

        teacher = self.reference if frozen else self.actor
        values = reverse_kl_rows(
            Distributions(self.actor.engine), Distributions(teacher.engine), self._data(rows, 3), 3
        )
        return [row.tolist() for row in values.unbind()]


@pytest.fixture(scope="session")
def training_worker(start: Path) -> Iterator[Callable[..., Any]]:
    """Makes one rank of verl's worker, trained or frozen."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    before = dict(os.environ)
    os.environ.update({**ENVIRONMENT, "MASTER_PORT": port})
    from verl.plugin.platform import platform_manager

    from planarena.trainers.verl import plugin  # noqa: F401  (where verl was imported before, it has not loaded it)

    # Another test may have asked verl for its platform before the variable was set.
    platform_manager.set_platform(platform_manager.PlatformRegistry.get("cpu")())
    from verl.workers.config import FSDPEngineConfig, FSDPOptimizerConfig, HFModelConfig, TrainingWorkerConfig

    from planarena.trainers.verl.worker import PolicyTrainingWorker

    def make(
        *,
        frozen: bool = False,
        learning_rate: float = 1e-3,
        path: str | Path = start,
        adapters: Path | None = None,
    ) -> Any:
        from verl.trainer.config import CheckpointConfig

        lora: dict[str, Any] = {}
        if adapters is not None:
            lora = {"lora_rank": 1, "lora_adapter_path": str(adapters), "lora": {"merge": True}}
        worker = PolicyTrainingWorker(
            TrainingWorkerConfig(
                model_type="language_model",
                model_config=HFModelConfig(
                    path=str(path),
                    use_remove_padding=False,
                    enable_gradient_checkpointing=False,
                    override_config={"attn_implementation": "sdpa"},
                    **lora,
                ),
                engine_config=FSDPEngineConfig(
                    strategy="fsdp2",
                    model_dtype="fp32",
                    use_torch_compile=False,
                    forward_only=frozen,
                    mixed_precision={"param_dtype": "fp32"},
                    use_dynamic_bsz=False,
                ),
                optimizer_config=FSDPOptimizerConfig(
                    lr=learning_rate,
                    optimizer="MatrixDecayAdamW",
                    optimizer_impl="planarena.trainers.verl.optimiser",
                    total_training_steps=10,
                ),
                checkpoint_config=CheckpointConfig(save_contents=["model", "optimizer", "extra", "hf_model"]),
            )
        )
        worker.reset()
        return worker

    yield make
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def in_process() -> type[InProcess]:
    return InProcess
