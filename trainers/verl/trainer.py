"""verl's synchronous trainer with our loop: verl builds workers, rollout servers and queues; the loop is shared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ray
from omegaconf import open_dict
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils.tracking import Tracking

from planarena.trainers.config import TrainConfig
from planarena.trainers.loop.backend import frozen_teacher
from planarena.trainers.loop.loop import Loop
from planarena.trainers.loop.material import Material
from planarena.trainers.loop.run import RunFolder
from planarena.trainers.types import Algorithm
from planarena.trainers.verl.backend import Cluster, VerlBackend
from planarena.trainers.verl.group import RayWorkers
from planarena.trainers.verl.loss import PolicyLoss
from planarena.trainers.verl.plugin import TRAINER
from planarena.trainers.verl.remote import RemotePolicy
from planarena.trainers.verl.sampler import FastReplay, VerlSampler
from planarena.trainers.verl.worker import PolicyWorker

__all__ = ["Session", "Trainer"]


@dataclass(slots=True)
class Session:
    """What our command gives to the trainer.

    Attributes:
        config: Complete.
        algorithm: Fresh.
        folder: The run's folder, opened.
        policy: The tokenizer and the size of the context.
        show: Gets (steps done, steps, metrics) after each step.
        say: Gets what else happens.
        material: What the run works on, where it has been read already.
    """

    config: TrainConfig
    algorithm: Algorithm
    folder: RunFolder
    policy: RemotePolicy
    show: Callable[[int, int, dict[str, Any]], None]
    say: Callable[[str], None]
    material: Material | None = None


@register_trainer(TRAINER)
class Trainer(PPOTrainerSync):  # type: ignore[misc]  # verl is untyped
    """Trains any algorithm; one trainer may run several sessions, one after the other, on the same workers.

    Args:
        config: verl's configuration.
    """

    _sessions = 0

    def _build_replay_buffer(self) -> Any:
        sampler = self.config.trainer.v1.sampler
        return FastReplay(
            alive=lambda: None,
            trainer_mode="sync",
            trainer_config={},
            max_off_policy_threshold=sampler.max_off_policy_threshold,
            max_off_policy_strategy=sampler.max_off_policy_strategy,
            sampler_kwargs=sampler.sampler_kwargs,
        )

    def _init_dataloader(self) -> None:
        """Read nothing: rows are read once, by our loop, in an order that its checkpoints hold."""
        # The learning rate of each step comes with its batch; verl's schedules stay constant.
        with open_dict(self.config):
            self.config.actor_rollout_ref.actor.optim.total_training_steps = 1

    def _init_resource_pool_mgr(self) -> None:
        super()._init_resource_pool_mgr()
        for role in self.role_worker_mapping:
            self.role_worker_mapping[role] = ray.remote(PolicyWorker)

    def _load_checkpoint(self) -> None:
        """Load nothing here: the loop reads its own checkpoints."""
        self.global_steps = 0

    def on_init_end(self) -> None:
        """Send no weights yet: the loop does when it is at its checkpoint."""

    def fit(self, agent_loop_manager: Any) -> None:
        """Note what samples; `train` does the rest."""
        self.agent_loop_manager = agent_loop_manager

    def train(self, session: Session) -> dict[str, Any]:
        """Run one session to its end and return what run.json says."""
        config, algorithm = session.config, session.algorithm
        rollout = self.config.actor_rollout_ref.rollout
        if self._sessions:
            self.actor_rollout_wg.start_over()
        self._sessions += 1
        loss = PolicyLoss(algorithm.config)
        self.actor_rollout_wg.set_loss_fn(loss, frozen_teacher(config, algorithm.needs))
        workers = RayWorkers(
            self.actor_rollout_wg,
            getattr(self, "ref_policy_wg", None),
            adapters=bool(self.ref_in_actor),
            budget=int(config.update.micro_batch_tokens or 16384),
            dynamic=bool(self.config.actor_rollout_ref.actor.use_dynamic_bsz),
        )
        steps = {"done": 0}
        tracking = self._tracking(session)

        def synchronise(done: int) -> None:
            steps["done"] = done
            self.checkpoint_manager.update_weights(done)

        cluster = Cluster(
            workers=workers,
            sampler=VerlSampler(
                self.agent_loop_manager,
                self.replay_buffer,
                lambda: steps["done"],
                session.policy.context,
            ),
            synchronise=synchronise,
            sleep=self.checkpoint_manager.sleep_replicas,
            save=lambda path, step: self.actor_rollout_wg.save_checkpoint(path, None, step),
            load=self.actor_rollout_wg.load_checkpoint,
            note=lambda metrics, step: tracking.log(data=dict(metrics), step=step) if tracking else None,
            adapters=self.config.actor_rollout_ref.model.lora_adapter_path,
            sleeps=bool(rollout.free_cache_engine),
            facts={
                "engine": "verl",
                "device": self.config.trainer.device,
                "ranks": workers.ranks,
                "rollout": rollout.name,
            },
        )
        loop = Loop(
            config,
            algorithm,
            session.folder,
            VerlBackend(config, algorithm, session.policy, cluster),
            show=session.show,
            say=session.say,
            material=session.material,
        )
        try:
            return loop.run()
        finally:
            if tracking:
                tracking.finish(exit_code=0)

    def _tracking(self, session: Session) -> Any:
        loggers = list(self.config.trainer.logger or [])
        if not loggers:
            return None
        return Tracking(
            project_name=self.config.trainer.project_name,
            experiment_name=self.config.trainer.experiment_name,
            default_backend=loggers,
            config={"run": str(session.folder.path)},
        )
