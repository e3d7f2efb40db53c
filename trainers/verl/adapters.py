"""Low-rank adapters on verl: the first ones of the local engine, and checkpoints that peft loads.

verl would draw first adapters of its own, and what it writes for transformers has peft's names inside: transformers
would load such a folder with random weights. So the driver writes the first adapters to a folder, which every worker
loads, and a checkpoint is made into what the local engine writes.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch

from planarena.errors import ConfigError, UserError
from planarena.trainers.config import TrainConfig
from planarena.trainers.local.model import (
    ADAPTER_CONFIG,
    base_path,
    holds_adapters,
    lora_model,
    quiet_transformers,
    start_path,
)
from planarena.trainers.types import Needs
from planarena.trainers.verl.settings import given_key, wants_reference

__all__ = ["first_adapters", "keep_adapters"]

_WEIGHTS = "adapter_model.safetensors"


def first_adapters(config: TrainConfig, needs: Needs, folder: Path) -> Path | None:
    """Return the folder with the adapters that a run begins with; None where the whole model trains.

    Args:
        config: Complete.
        needs: Of the algorithm.
        folder: Where new ones go; every node has to see it.

    Raises:
        UserError: The run begins with adapters and needs the policy as it was at the start, which verl cannot hold.
        ConfigError: Adapters are asked for through verl's own keys.
    """
    _refuse_own_keys(config)
    start = start_path(config)
    if holds_adapters(start):
        if wants_reference(config, needs):
            raise UserError(
                f"{config.algorithm} compares with the policy as it was at the start, and on verl that is the model "
                "without its adapters",
                where=start,
                fix="merge the adapters into the model first (peft: merge_and_unload), or use --engine local",
            )
        return Path(start).resolve()
    if config.model.lora is None:
        return None
    place = folder / "adapters"
    with quiet_transformers():
        model = lora_model(_shell(start, config), config.model.lora, seed=config.seed)
        model.save_pretrained(place)
    return place.resolve()


def keep_adapters(folder: Path, first: Path) -> None:
    """Leave of a checkpoint of verl's what the local engine writes: the adapters, and which model they belong to.

    Args:
        folder: With the whole model under peft's names, in one file of safetensors or several.
        first: What the run began with.
    """
    from safetensors import safe_open
    from safetensors.torch import save_file

    found = {}
    files = sorted(folder.glob("model*.safetensors"))
    for path in files:
        with safe_open(path, framework="pt") as held:
            for name in held.keys():  # noqa: SIM118  (no mapping)
                if ".lora_" in name:
                    found[name.replace(".default.", ".")] = held.get_tensor(name)
    assert found, folder
    save_file(found, folder / _WEIGHTS, metadata={"format": "pt"})
    shutil.copyfile(first / ADAPTER_CONFIG, folder / ADAPTER_CONFIG)
    for path in (*files, *folder.glob("model*.index.json")):
        path.unlink()
    for name in ("config.json", "generation_config.json"):
        (folder / name).unlink(missing_ok=True)


def _shell(start: str, config: TrainConfig) -> Any:
    """Return a model with the shapes of the base and one number in the place of each tensor: adapters need no more."""
    from transformers import AutoConfig, AutoModelForCausalLM

    known = AutoConfig.from_pretrained(base_path(start), trust_remote_code=False)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(known, trust_remote_code=False)
    dtype = torch.bfloat16 if config.model.dtype == "bfloat16" else torch.float32
    for module in model.modules():
        for name, value in module.named_parameters(recurse=False):
            held = torch.zeros((), dtype=dtype).expand(value.shape)
            setattr(module, name, torch.nn.Parameter(held, requires_grad=False))
    return model


def _refuse_own_keys(config: TrainConfig) -> None:
    for key in ("lora_rank", "lora_adapter_path", "lora"):
        if given_key(config, "actor_rollout_ref", "model", key) is not None:
            raise ConfigError(
                "adapters are set for both engines in one place",
                where=f"verl.actor_rollout_ref.model.{key}",
                fix="write model.lora.rank; to go on from adapters give their folder as --model",
            )
