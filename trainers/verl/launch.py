"""`--engine verl`: checks, Ray, verl's trainer in this process, and errors that name what to do."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from planarena.errors import PlanArenaError, UserError
from planarena.pipeline.run.ray_head import RayHead, expect_tokens, import_ray
from planarena.trainers.config import TrainConfig
from planarena.trainers.verl.versions import VERL, check_installed, untested_release

if TYPE_CHECKING:
    from planarena.trainers.launch import TrainResult
    from planarena.trainers.types import Needs
    from planarena.trainers.verl.remote import RemotePolicy

__all__ = ["check_start", "explain", "launch", "opened", "remote_policy"]

_LEAST_SHARED = 1 << 30
# Where in the run's `verl/` the logs of Ray's processes are kept after a failure.
_LOGS = "ray"
_SHARED = "/dev/shm"  # noqa: S108  (asked for its size, never written to)


def launch(
    config: TrainConfig,
    *,
    show: Callable[[int, int, dict[str, Any]], None] | None = None,
    say: Callable[[str], None] | None = None,
    fresh: bool = False,
) -> TrainResult:
    """Train on verl; a run that was interrupted goes on where its last checkpoint stands.

    Args:
        config: Complete.
        show: Gets (steps done, steps, metrics) after each step.
        say: Gets what else happens.
        fresh: Throw an earlier run in the same folder away.

    Raises:
        UserError: Something that the caller can fix: a missing package, too little shared memory, a setting.
        PlanArenaError: A process died, memory ran out, updates that are not finite.
    """
    check_installed()
    from planarena.trainers.launch import build_algorithm, result_of
    from planarena.trainers.loop.run import RunFolder

    algorithm = build_algorithm(config)
    folder = RunFolder(config, fresh=fresh)
    if not folder.finished:
        from planarena.trainers.loop.encoding import make_encoder
        from planarena.trainers.loop.material import Material

        tell = say or _ignore
        if release := untested_release():
            tell(f"verl {release} has every part that this engine extends; its tests run with verl {VERL}")
        # What is cheap to refuse is refused first: Ray and its workers take a minute to start.
        check_start(config)
        with closing(Material(config, algorithm.needs, tell)) as material:
            material.open()
            policy = remote_policy(config, algorithm.needs, tell)
            material.read(make_encoder(config, policy.chat, policy.context, algorithm.needs))
            with opened(config, algorithm.needs, folder.path, tell) as trainer:
                from planarena.trainers.verl.trainer import Session

                trainer.train(
                    Session(
                        config=config,
                        algorithm=algorithm,
                        folder=folder,
                        policy=policy,
                        show=show or _ignore,
                        say=tell,
                        material=material,
                    )
                )
    return result_of(folder, config)


def remote_policy(config: TrainConfig, needs: Needs, say: Callable[[str], None]) -> RemotePolicy:
    """Return tokenizer and context of the model that a run starts from; a tiny one is made first.

    Raises:
        UserError: The model cannot be used.
    """
    from planarena.trainers.local.model import (
        base_path,
        holds_adapters,
        load_chat,
        quiet_transformers,
        start_path,
    )
    from planarena.trainers.local.start import start_policy
    from planarena.trainers.verl.remote import RemotePolicy
    from planarena.trainers.verl.settings import on_cpu, rollout_name
    from planarena.trainers.verl.versions import ROLLOUT

    if config.model.path == "tiny" or not config.model.path:
        start_policy(config, needs, torch.device("cpu"), say)
    from transformers import AutoConfig

    path = start_path(config)
    with quiet_transformers():
        chat = load_chat(path)
        text = AutoConfig.from_pretrained(base_path(path), trust_remote_code=False).get_text_config()
    # verl sends a model with its adapters merged in bfloat16; our engine for the CPU does not.
    rounded = (config.model.lora is not None or holds_adapters(path)) and not on_cpu(config)
    return RemotePolicy(
        chat=chat,
        context=int(getattr(text, "max_position_embeddings", 0) or 2**31),
        rounds=config.model.dtype == "bfloat16" or rollout_name(config) != ROLLOUT or rounded,
    )


@contextmanager
def opened(config: TrainConfig, needs: Needs, root: Path, say: Callable[[str], None]) -> Iterator[Any]:
    """Start Ray, workers and rollout servers, and give verl's trainer; everything is gone afterwards.

    Args:
        config: Complete.
        needs: What the workers have to hold; every session of the trainer may need less.
        root: The run's folder; what verl prints goes to `verl/driver.log` in it.
        say: Gets what takes time.

    Raises:
        UserError: As `launch`, but for what `check_start` finds.
        PlanArenaError: Likewise.
    """
    from planarena.trainers.local.model import base_path, start_path
    from planarena.trainers.verl.adapters import first_adapters
    from planarena.trainers.verl.settings import on_cpu

    folder = (root / "verl").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    adapters = first_adapters(config, needs, folder)
    model = base_path(start_path(config))
    if Path(model).is_dir():
        model = str(Path(model).resolve())
    before = dict(os.environ)
    environment = _environment(cpu=on_cpu(config))
    os.environ.update(environment)
    if not _address(config.verl.get("ray_kwargs", {}).get("ray_init", {})):
        expect_tokens()
    say("starting Ray, workers and rollout servers; this takes a minute")
    head: list[RayHead] = []
    try:
        with (folder / "driver.log").open("a") as log, redirect_stdout(log), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from planarena.trainers.verl.settings import compose

            settings = compose(config, needs, model, folder, adapters=adapters)
            yield _start(settings, environment, head)
    except BaseException as error:
        _keep_logs(head, folder)
        if isinstance(error, PlanArenaError) or not isinstance(error, Exception):
            raise
        raise explain(error, root) from error
    finally:
        _stop(head)
        os.environ.clear()
        os.environ.update(before)


def _keep_logs(head: list[RayHead], folder: Path) -> None:
    """Copy what Ray's processes wrote: their folder goes with them."""
    for one in head:
        with suppress(OSError, shutil.Error):
            logs = one.temporary / "session_latest" / "logs"
            shutil.copytree(logs, folder / _LOGS, dirs_exist_ok=True, ignore_dangling_symlinks=True)


def _environment(*, cpu: bool) -> dict[str, str]:
    found = {
        "VERL_USE_EXTERNAL_MODULES": "planarena.trainers.verl.plugin",
        "TRANSFER_QUEUE_ENABLE": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "TOKENIZERS_PARALLELISM": "false",
        # What they say at lower levels is for their authors.
        "TQ_LOGGING_LEVEL": os.environ.get("TQ_LOGGING_LEVEL", "ERROR"),
        "VERL_LOGGING_LEVEL": os.environ.get("VERL_LOGGING_LEVEL", "ERROR"),
        # Otherwise Ray says at every start that it will leave these variables alone in a later release.
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "PYTHONPATH": os.pathsep.join(dict.fromkeys([*_python_path(), *_source_path()])),
    }
    if cpu:
        found["VERL_PLATFORM"] = "cpu"
        found["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS", "1")
    return found


def _python_path() -> list[str]:
    return [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]


def _source_path() -> list[str]:
    """Return where planarena was imported from, so that verl's processes import the same."""
    import planarena

    place = Path(planarena.__file__).resolve().parent.parent
    return [str(place)] if str(place) in [str(Path(part or ".").resolve()) for part in sys.path] else []


def check_start(config: TrainConfig) -> None:
    """Refuse what would fail minutes later, deep inside verl."""
    from planarena.trainers.verl.settings import forgets_weights

    if not _address(config.verl.get("ray_kwargs", {}).get("ray_init", {})) and Path(_SHARED).is_dir():
        free = shutil.disk_usage(_SHARED).free
        if free < _LEAST_SHARED:
            raise UserError(
                f"{_SHARED} has {free >> 20} MiB free, and Ray keeps batches and weights there; it needs 1 GiB",
                where="--engine verl",
                fix="enlarge it (Docker: --shm-size=2g; else mount -o remount,size=4g /dev/shm), or use --engine local",
            )
    if (config.update.sync_interval or 1) > 1 and forgets_weights(config):
        raise UserError(
            "the rollout frees its weights while the policy trains, so it cannot keep older ones",
            where="update.sync_interval",
            fix="write update.sync_interval=1, or verl.actor_rollout_ref.rollout.free_cache_engine=false",
        )


def _address(options: Mapping[str, Any]) -> str:
    """Return the address of a cluster that runs already; "" where one is started here."""
    return str(options.get("address") or os.environ.get("RAY_ADDRESS") or "")


def _connect(settings: Any, environment: dict[str, str], heads: list[RayHead]) -> Any:
    """Return Ray, connected to a cluster that runs, or to one of our own that ends with this process."""
    from omegaconf import OmegaConf
    from verl.trainer.constants_ppo import get_ppo_ray_runtime_env

    options: Any = OmegaConf.to_container(settings.ray_kwargs.ray_init, resolve=True)
    runtime = get_ppo_ray_runtime_env(settings)
    given = options.pop("runtime_env", None) or {}
    runtime["env_vars"] = {**runtime["env_vars"], **environment, **(given.get("env_vars") or {})}
    runtime |= {key: value for key, value in given.items() if key != "env_vars" and value is not None}
    sizes = [options.pop(name) for name in ("num_cpus", "num_gpus", "object_store_memory")]
    address = _address(options)
    if not address:
        heads.append(RayHead(sizes[0], gpus=sizes[1], object_store=sizes[2], where="--engine verl"))
        address = heads[0].address
    ray = import_ray(heads[0] if heads else None)
    options |= {"address": address, "runtime_env": runtime, "logging_level": "ERROR"}
    ray.init(**{key: value for key, value in options.items() if value is not None})
    return ray


def _start(settings: Any, environment: dict[str, str], heads: list[RayHead]) -> Any:
    """Connect to Ray, open verl's queue, and build the trainer with all its processes."""
    import transfer_queue
    from omegaconf import OmegaConf, open_dict
    from verl.trainer.ppo.v1 import AgentLoopManagerTQ, get_trainer_cls

    from planarena.trainers.verl import trainer as _registers  # noqa: F401
    from planarena.trainers.verl.plugin import check_registered

    check_registered()
    ray = _connect(settings, environment, heads)
    _check_resources(ray, settings)
    with open_dict(settings):
        settings.transfer_queue.enable = True
    OmegaConf.resolve(settings)
    transfer_queue.init(settings.transfer_queue)
    trainer = get_trainer_cls(settings.trainer.v1.trainer_mode)(config=settings)
    trainer.init()
    trainer.fit(
        AgentLoopManagerTQ.create(
            config=settings,
            llm_client=trainer.get_llm_client(),
            teacher_client=None,
            reward_loop_worker_handles=trainer.get_reward_handles(),
        )
    )
    return trainer


def _check_resources(ray: Any, settings: Any) -> None:
    """Refuse more ranks than Ray has devices: verl would wait for them without a word."""
    wanted = int(settings.trainer.n_gpus_per_node) * int(settings.trainer.nnodes)
    there = int(ray.cluster_resources().get("GPU", 0))
    if wanted > there:
        raise UserError(
            f"{wanted} ranks are asked for and Ray counts {there} devices on {len(ray.nodes())} nodes",
            where="verl.trainer.n_gpus_per_node, verl.trainer.nnodes",
            fix="ask for fewer, add nodes to the Ray cluster, or on CPU write verl.ray_kwargs.ray_init.num_gpus="
            f"{wanted}",
        )


def _stop(heads: list[RayHead]) -> None:
    """End all processes; what fails on the way out hides no error."""
    with suppress(Exception):
        import transfer_queue

        transfer_queue.close()
    with suppress(Exception):
        import ray

        ray.shutdown()
    for one in heads:
        one.close()


def explain(error: BaseException, root: Path) -> PlanArenaError:
    """Return an error of Ray, verl or torch as one message with what to do.

    Args:
        error: What was raised.
        root: The run's folder.
    """
    text = f"{type(error).__name__}: {error}"
    low = text.lower()
    last = _last_line(error)
    checkpoint = _last_checkpoint(root)
    if "eaddrinuse" in low or "address already in use" in low or "port is already" in low:
        return PlanArenaError(
            f"a port that verl or Ray chose is in use: {last}\n  fix: run the same command again, which chooses "
            "others; where a port is set (MASTER_PORT, ray start --port, dashboard_port), choose a free one"
        )
    if (
        isinstance(error, ConnectionError)
        or "could not connect to" in low
        or "failed to connect to gcs" in low
    ):
        return PlanArenaError(
            f"the Ray cluster does not answer: {last}\n  fix: start it (ray start --head), or correct "
            "RAY_ADDRESS or verl.ray_kwargs.ray_init.address; without either a cluster is started here"
        )
    died = ("ActorDiedError", "ActorUnavailableError", "RayActorError", "WorkerCrashedError", "NodeDiedError")
    if type(error).__name__ in died or any(f"{name}:" in text for name in died):
        return PlanArenaError(
            f"a process of verl died: {last}\n  fix: run the same command again; it goes on from {checkpoint}. If it "
            "dies again, memory is the usual reason: lower update.micro_batch_tokens or rollout.batch_size; the newest "
            f"file in {_logs(root)} may say more"
        )
    if "outofmemoryerror" in low or "out of memory" in low:
        return PlanArenaError(
            f"out of memory: {last}\n  fix: lower update.micro_batch_tokens, rollout.batch_size or "
            f"verl.actor_rollout_ref.rollout.gpu_memory_utilization; the last good checkpoint is {checkpoint}"
        )
    return PlanArenaError(
        f"verl failed: {last}\n  fix: {root / 'verl' / 'driver.log'} and {_logs(root)} hold the whole story; the "
        f"last good checkpoint is {checkpoint}"
    )


def _logs(root: Path) -> str:
    kept = root / "verl" / _LOGS
    return str(kept) if kept.is_dir() else "session_latest/logs of Ray's temporary folder"


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Ray puts the traceback of the other process first; what was raised there stands last.
    return (lines[-1] if lines else type(error).__name__)[:400]


def _last_checkpoint(root: Path) -> str:
    from planarena.trainers.loop.checkpoints import Checkpoints

    return Checkpoints(root, 1).last_good()


def _ignore(*_: Any) -> None:
    """Show nothing."""
