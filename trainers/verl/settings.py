"""From our configuration to verl's: the same batch sizes, lengths and rates, and what a caller sets besides."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from planarena.errors import ConfigError
from planarena.trainers.config import TrainConfig
from planarena.trainers.local.model import ADAPTER_CONFIG
from planarena.trainers.loop.backend import frozen_teacher, outside_teacher
from planarena.trainers.types import Needs
from planarena.trainers.verl.versions import ROLLOUT

__all__ = [
    "compose",
    "forgets_weights",
    "given_key",
    "on_cpu",
    "refuse_unknown",
    "rollout_name",
    "wants_reference",
]


_LOOP = """- name: planarena
  _target_: planarena.trainers.verl.agent_loop.Loop
"""


def on_cpu(config: TrainConfig) -> bool:
    """Say whether a run computes on the CPU."""
    if config.model.device == "auto":
        import torch

        return not torch.cuda.is_available()
    return config.model.device == "cpu"


def wants_reference(config: TrainConfig, needs: Needs) -> bool:
    """Say whether verl has to hold the policy as it was at the start."""
    teacher = needs.teacher_logp or needs.teacher_distribution
    return needs.reference_policy or (teacher and frozen_teacher(config, needs))


def compose(
    config: TrainConfig, needs: Needs, model: str, folder: Path, *, adapters: Path | None = None
) -> Any:
    """Return verl's whole configuration.

    Args:
        config: Complete; `config.verl` holds the caller's keys of verl.
        needs: Of the algorithm.
        model: Folder or name of the model that the run starts from.
        folder: Where files for verl's processes go; every node has to see it.
        adapters: With what the run begins, where adapters train (`first_adapters`).

    Raises:
        ConfigError: A key that verl does not have (the nearest is named).
    """
    if outside_teacher(config, needs):
        raise ConfigError(
            "on verl the teacher is the policy itself, or as it was at the start",
            where="rollout.teacher",
            fix="train with the local engine, or give current or start",
        )
    import verl
    from hydra import compose as compose_hydra
    from hydra import initialize_config_dir
    from omegaconf import OmegaConf, open_dict

    defaults = Path(verl.__file__).parent / "trainer" / "config"
    with initialize_config_dir(str(defaults), version_base=None):
        whole = compose_hydra("ppo_trainer")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "agent_loop.yaml").write_text(_LOOP)
    with open_dict(whole):
        # Keys that verl reads without having them in its files.
        whole.actor_rollout_ref.actor.fsdp_config.mixed_precision = {}
        whole.actor_rollout_ref.ref.fsdp_config.mixed_precision = {}
        whole.ray_kwargs.ray_init = OmegaConf.merge(_RAY, whole.ray_kwargs.ray_init)
        whole.trainer.v1.planarena = {}
    known = OmegaConf.to_container(whole, resolve=False)
    refuse_unknown(config.verl, known, "verl")
    with open_dict(whole):
        whole.merge_with(OmegaConf.create(_ours(config, needs, model, folder, adapters)))
        whole.merge_with(OmegaConf.create(dict(config.verl)))
    return whole


# What `ray.init` takes and verl's file does not list.
_RAY: dict[str, Any] = {
    "address": None,
    "num_cpus": None,
    "num_gpus": None,
    "namespace": None,
    "object_store_memory": None,
    "log_to_driver": False,
}


def _ours(
    config: TrainConfig, needs: Needs, model: str, folder: Path, adapters: Path | None
) -> dict[str, Any]:
    rollout, cpu = config.rollout, on_cpu(config)
    return {
        "trainer": {
            "device": "cpu" if cpu else "cuda",
            "nnodes": 1,
            "n_gpus_per_node": 1,
            "logger": [],
            "project_name": "planarena",
            "experiment_name": Path(config.out).name,
            "default_local_dir": str(folder),
            # Checkpoints, validation and resuming are our loop's.
            "resume_mode": "disable",
            "save_freq": -1,
            "test_freq": -1,
            "val_before_train": False,
            "v1": {"trainer_mode": "planarena"},
        },
        "algorithm": {"adv_estimator": "grpo"},
        "data": {
            "max_prompt_length": int(rollout.max_prompt_length or 1),
            "max_response_length": int(rollout.max_response_length or 1),
            "train_batch_size": int(rollout.batch_size or 1),
        },
        "ray_kwargs": {"ray_init": {"num_gpus": 1 if cpu else None, "num_cpus": 8 if cpu else None}},
        # Rewards are computed where the groups are whole: no process of verl's has to.
        "reward": {"num_workers": 0},
        "transfer_queue": {"backend": {"SimpleStorage": {"num_data_storage_units": 1 if cpu else 8}}},
        "actor_rollout_ref": _workers(config, needs, model, folder, adapters),
    }


def _workers(
    config: TrainConfig, needs: Needs, model: str, folder: Path, adapters: Path | None
) -> dict[str, Any]:
    update, cpu = config.update, on_cpu(config)
    half = config.model.dtype == "bfloat16"
    flash = not cpu and find_spec("flash_attn") is not None
    precision = {"param_dtype": "bf16" if half else "fp32", "reduce_dtype": "fp32", "buffer_dtype": "fp32"}
    fsdp = {
        "strategy": "fsdp2",
        "use_torch_compile": False,
        "model_dtype": "fp32",
        "mixed_precision": precision,
    }
    passes = {"log_prob_micro_batch_size_per_gpu": 1, "log_prob_use_dynamic_bsz": False}
    trained: dict[str, Any] = {}
    if adapters is not None:
        # verl reads what they are from their folder; that there are any it tells by the rank. The rollout gets the
        # model with them merged.
        rank = msgspec.json.decode((adapters / ADAPTER_CONFIG).read_bytes())["r"]
        trained = {"lora_rank": rank, "lora_adapter_path": str(adapters), "lora": {"merge": True}}
    return {
        "model": {
            "path": model,
            "use_remove_padding": flash,
            "enable_gradient_checkpointing": not cpu,
            "override_config": {} if flash else {"attn_implementation": "sdpa"},
            **trained,
        },
        "actor": {
            "strategy": "fsdp2",
            "fsdp_config": fsdp,
            "use_torch_compile": False,
            "ppo_mini_batch_size": int(config.rollout.batch_size or 1),
            "ppo_micro_batch_size_per_gpu": 1,
            # The one switch that makes verl load a reference; our losses add the term themselves.
            "use_kl_loss": wants_reference(config, needs),
            "checkpoint": {"save_contents": ["model", "optimizer", "extra", "hf_model"]},
            "optim": {
                "lr": float(update.learning_rate or 0.0),
                "betas": list(update.adam_betas or (0.9, 0.999)),
                "weight_decay": update.weight_decay,
                "clip_grad": update.max_grad_norm,
                "optimizer": "MatrixDecayAdamW",
                "optimizer_impl": "planarena.trainers.verl.optimiser",
            },
        },
        "ref": {"fsdp_config": fsdp, "use_torch_compile": False, **passes},
        "rollout": {
            "name": ROLLOUT,
            "n": int(config.rollout.group_size or 1),
            "tensor_model_parallel_size": 1,
            "temperature": float(config.rollout.temperature or 1.0),
            "dtype": "bfloat16" if half else "float32",
            "calculate_log_probs": True,
            # The transformers rollout keeps its weights; vLLM and SGLang free theirs while the policy trains.
            "free_cache_engine": forgets_weights(config),
            "agent": {
                "num_workers": 1 if cpu else 8,
                "default_agent_loop": "planarena",
                "agent_loop_config_path": str((folder / "agent_loop.yaml").resolve()),
            },
            **passes,
        },
    }


def forgets_weights(config: TrainConfig) -> bool:
    """Say whether the rollout frees its weights while the policy trains, as vLLM and SGLang do."""
    found = given_key(config, "actor_rollout_ref", "rollout", "free_cache_engine")
    return rollout_name(config) != ROLLOUT if found is None else bool(found)


def rollout_name(config: TrainConfig) -> str:
    """Return the rollout that a run uses: `planarena`, or one of verl's."""
    return str(given_key(config, "actor_rollout_ref", "rollout", "name") or ROLLOUT)


def given_key(config: TrainConfig, *keys: str) -> Any:
    """Return what the caller set of verl's own keys, None where nothing."""
    found: Any = config.verl
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def refuse_unknown(given: Mapping[str, Any], known: Any, where: str) -> None:
    """Refuse keys that verl's configuration does not have; below an empty mapping everything goes."""
    if not isinstance(known, Mapping) or not known:
        return
    for key, value in given.items():
        if key not in known:
            near = difflib.get_close_matches(str(key), [str(one) for one in known], n=1, cutoff=0.4)
            fix = f"write {where}.{near[0]}" if near else f"its keys are {', '.join(map(str, known))}"
            raise ConfigError("verl has no such setting", where=f"{where}.{key}", fix=fix)
        if isinstance(value, Mapping):
            refuse_unknown(value, known[key], f"{where}.{key}")
