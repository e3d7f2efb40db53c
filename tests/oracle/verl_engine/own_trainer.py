"""verl's own synchronous trainer on exported rows, started as a process of its own: its data set, its agent loop, its
reward manager with our function, its GRPO and its loss. From us come the platform and the worker for a CPU, which verl
has none of, and the transformers rollout.

    python own_trainer.py ROWS MODEL OUT
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

STEPS = 2


def train(rows: Path, model: Path, out: Path) -> None:
    """Take two steps; OUT/metrics.json holds what verl measured of each."""
    import importlib

    import msgspec
    from omegaconf import OmegaConf, open_dict

    from planarena.trainers import get
    from planarena.trainers.config import TrainConfig, complete

    launch = importlib.import_module("planarena.trainers.verl.launch")
    from planarena.trainers.verl.settings import compose

    config = complete(
        msgspec.convert(
            {
                "engine": "verl",
                "algorithm": "grpo",
                "data": {"path": str(rows)},
                "out": str(out),
                "model": {"path": str(model), "device": "cpu"},
                "rollout": {
                    "batch_size": 2,
                    "group_size": 4,
                    "max_prompt_length": 1800,
                    "max_response_length": 48,
                },
                "update": {"learning_rate": 1e-3},
            },
            TrainConfig,
        )
    )
    environment = launch._environment(cpu=True)
    import os

    os.environ.update(environment)
    launch.expect_tokens()  # before Ray is imported
    settings = compose(config, get("grpo").needs, str(model), out)
    file = str(rows / "rl" / "train.parquet")
    reward = Path(__file__).resolve().parents[3] / "trainers/rewards/for_verl.py"
    with open_dict(settings):
        settings.merge_with(
            OmegaConf.create(
                {
                    "data": {
                        "train_files": [file],
                        "val_files": [file],
                        "train_batch_size": 3,
                        "train_max_samples": 9,
                        "dataloader_num_workers": 0,
                        "filter_overlong_prompts": True,
                    },
                    "trainer": {
                        "v1": {"trainer_mode": "own"},
                        "total_training_steps": STEPS,
                        "total_epochs": 1,
                    },
                    "reward": {
                        "num_workers": 1,
                        "custom_reward_function": {"path": str(reward), "name": "compute_score"},
                    },
                    "actor_rollout_ref": {"rollout": {"agent": {"default_agent_loop": "single_turn_agent"}}},
                }
            )
        )
        settings.transfer_queue.enable = True
    OmegaConf.resolve(settings)
    heads: list[Any] = []
    ray = launch._connect(settings, environment, heads)
    try:
        import transfer_queue
        from verl.trainer.ppo.v1 import AgentLoopManagerTQ, get_trainer_cls
        from verl.trainer.ppo.v1.trainer_base import register_trainer
        from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
        from verl.utils import tracking

        from planarena.trainers.verl.worker import PolicyWorker

        seen: list[dict[str, float]] = []

        class Notes:
            def __init__(self, *_: Any, **__: Any) -> None:
                pass

            def log(self, data: dict[str, Any], step: int, **_: Any) -> None:
                seen.append(
                    {key: float(value) for key, value in data.items() if isinstance(value, int | float)}
                )

        import verl.trainer.ppo.v1.trainer_base as base

        base.Tracking = Notes

        @register_trainer("own")
        class OnCPU(PPOTrainerSync):  # type: ignore[misc]
            def _init_resource_pool_mgr(self) -> None:
                super()._init_resource_pool_mgr()
                for role in self.role_worker_mapping:
                    self.role_worker_mapping[role] = ray.remote(PolicyWorker)

        del tracking
        transfer_queue.init(settings.transfer_queue)
        trainer = get_trainer_cls("own")(config=settings)
        trainer.init()
        trainer.fit(
            AgentLoopManagerTQ.create(
                config=settings,
                llm_client=trainer.get_llm_client(),
                teacher_client=None,
                reward_loop_worker_handles=trainer.get_reward_handles(),
            )
        )
        (out / "metrics.json").write_text(json.dumps(seen))
    finally:
        launch._stop(heads)


if __name__ == "__main__":
    train(*(Path(word).resolve() for word in sys.argv[1:4]))
