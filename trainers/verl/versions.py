"""What the verl engine needs installed: a release of verl that it knows, and the packages verl uses without naming them.

The engine extends parts of verl that are not public. It is tested with one release. Of the next ones it reads, without
importing anything, whether each of those parts is where it was and takes what it took; it starts with a note where all
are there, and names what is missing where not.
"""

from __future__ import annotations

import ast
import functools
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from packaging.version import InvalidVersion, Version

from planarena.errors import UserError

__all__ = ["ROLLOUT", "VERL", "check_installed", "missing_parts", "untested_release"]

# The release that the tests run with.
VERL = "0.9.1"
# Releases from here on may hold other parts than those that are looked for.
_BEYOND = Version("0.11.dev0")
# The transformers rollout: its name in verl's registries.
ROLLOUT = "planarena"
# Module -> distribution; verl's synchronous trainer imports all of them and its metadata names none.
_UNDECLARED = {
    "transfer_queue": "TransferQueue",
    "fastapi": "fastapi",
    "uvicorn": "uvicorn",
    "zmq": "pyzmq",
    "msgspec": "msgspec",
    "cachetools": "cachetools",
}
_FIX = "pip install 'planarena[train,verl]'"
# File of verl -> what this engine extends, replaces or calls in it, with the parameters that it relies on.
_PARTS: dict[str, dict[str, tuple[str, ...]]] = {
    "experimental/agent_loop/agent_loop.py": {
        "AgentLoopBase": (),
        "AgentLoopBase.run": ("sampling_params", "kwargs"),
        "AgentLoopMetrics": (),
        "AgentLoopOutput": (),
    },
    "plugin/platform/__init__.py": {"get_platform": ()},
    "plugin/platform/platform_base.py": {"PlatformBase": ()},
    "plugin/platform/platform_manager.py": {
        "PlatformRegistry": (),
        "PlatformRegistry.get": (),
        "PlatformRegistry.register": (),
    },
    "single_controller/base/decorator.py": {
        "Dispatch": (),
        "make_nd_compute_dataproto_dispatch_fn": ("mesh_name",),
        "register": ("dispatch_mode",),
    },
    "trainer/constants_ppo.py": {"get_ppo_ray_runtime_env": ("config",)},
    "trainer/ppo/v1/__init__.py": {"AgentLoopManagerTQ": (), "get_trainer_cls": ()},
    "trainer/ppo/v1/replay_buffer.py": {
        "ReplayBuffer": (),
        "ReplayBuffer.__init__": (
            "poll_interval",
            "trainer_mode",
            "trainer_config",
            "max_off_policy_threshold",
            "max_off_policy_strategy",
            "sampler_kwargs",
        ),
        "ReplayBuffer.sample": ("global_steps", "partition_id", "batch_size"),
    },
    "trainer/ppo/v1/trainer_base.py": {
        "TRAINER_REGISTRY": (),
        "register_trainer": ("name",),
        "PPOTrainer._build_replay_buffer": (),
        "PPOTrainer._init_dataloader": (),
        "PPOTrainer._init_resource_pool_mgr": (),
        "PPOTrainer._load_checkpoint": (),
        "PPOTrainer.fit": ("agent_loop_manager",),
        "PPOTrainer.get_llm_client": (),
        "PPOTrainer.get_reward_handles": (),
    },
    "trainer/ppo/v1/trainer_sync.py": {"PPOTrainerSync": ()},
    "utils/device.py": {"get_device_id": (), "get_device_name": ()},
    "utils/fsdp_utils.py": {"merged_lora_context": (), "normalize_peft_param_name": ()},
    "utils/metric/__init__.py": {"AggregationType": (), "Metric": ()},
    "utils/model.py": {"convert_weight_keys": ()},
    "utils/tensordict_utils.py": {
        "list_of_dict_to_tensordict": (),
        "assign_non_tensor_data": (),
    },
    "utils/tracking.py": {
        "Tracking": (),
        "Tracking.__init__": ("project_name", "experiment_name", "default_backend", "config"),
        "Tracking.log": ("data", "step"),
        "Tracking.finish": (),
    },
    "workers/engine/__init__.py": {"EngineRegistry": ()},
    "workers/engine/fsdp/transformer_impl.py": {
        "FSDPEngineWithLMHead": (),
        "FSDPEngine._build_fsdp_module": ("module",),
    },
    "workers/engine_workers.py": {
        "TrainingWorker": (),
        "ActorRolloutRefWorker": (),
        "TrainingWorker.__init__": ("config",),
        "TrainingWorker.train_batch": ("data",),
        "ActorRolloutRefWorker.save_checkpoint": (),
        "ActorRolloutRefWorker.load_checkpoint": (),
    },
    "workers/rollout/base.py": {
        "_ROLLOUT_REGISTRY": (),
        "BaseRollout": (),
        "BaseRollout.__init__": ("config", "model_config", "device_mesh"),
        "BaseRollout.resume": ("tags",),
        "BaseRollout.release": (),
        "BaseRollout.update_weights": ("weights",),
    },
    "workers/rollout/replica.py": {
        "RolloutReplica": (),
        "RolloutReplica.launch_servers": (),
        "RolloutReplicaRegistry": (),
        "RolloutReplicaRegistry.register": ("name", "loader"),
        "TokenOutput": (),
    },
    "workers/utils/padding.py": {"no_padding_2_padding": ()},
}


def check_installed() -> None:
    """Refuse to start without a release of verl that fits and all that it imports.

    Raises:
        UserError: Something is missing, or verl is of a release whose parts differ.
    """
    try:
        found = version("verl")
    except PackageNotFoundError as error:
        raise UserError("verl is not installed", where="--engine verl", fix=_FIX) from error
    if found != VERL:
        _check_release(found)
    names = {"ray": "ray", "torch": "torch", "transformers": "transformers", **_UNDECLARED}
    missing = [name for module, name in names.items() if find_spec(module) is None]
    if missing:
        raise UserError(
            f"verl needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed",
            where="--engine verl",
            fix=_FIX,
        )


def untested_release() -> str:
    """Return the release of verl that is installed, where it is not the tested one; else ""."""
    found = version("verl")
    return "" if found == VERL else found


def missing_parts(root: Path) -> list[str]:
    """Return what this engine relies on and does not find in the sources of verl, as `file: name (parameters)`.

    Args:
        root: The folder of the package `verl`.
    """
    return [
        f"{file}: {name}" + (f" ({', '.join(lacking)})" if lacking else "")
        for file, parts in _PARTS.items()
        for name, lacking in _lacking(root / file, parts)
    ]


@functools.cache
def _check_release(found: str) -> None:
    """Raise UserError where a release is too old, too new, or lacks a part. Cached: many modules of verl ask."""
    fix = f"pip install verl=={VERL}"
    try:
        fits = Version(VERL) <= Version(Version(found).base_version) and Version(found) < _BEYOND
    except InvalidVersion:
        fits = False
    if not fits:
        raise UserError(
            f"verl {found} is installed; this engine extends verl {VERL} through parts that change between releases",
            where="--engine verl",
            fix=fix,
        )
    spec = find_spec("verl")
    missing = missing_parts(Path(str(spec.origin)).parent) if spec and spec.origin else ["verl"]
    if missing:
        raise UserError(
            f"verl {found} is installed and has moved or changed what this engine extends: {'; '.join(missing)}",
            where="--engine verl",
            fix=fix,
        )


def _lacking(file: Path, parts: dict[str, tuple[str, ...]]) -> list[tuple[str, list[str]]]:
    """Return the names that a file does not define, and those whose function lacks parameters, with these."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return [(name, []) for name in parts]
    defined = _defined(tree)
    found: list[tuple[str, list[str]]] = []
    for name, wanted in parts.items():
        if name not in defined:
            found.append((name, []))
        elif lacking := [one for one in wanted if one not in defined[name]]:
            found.append((name, lacking))
    return found


def _defined(tree: ast.Module) -> dict[str, set[str]]:
    """Return what a module defines: names, classes, functions and methods, each with its parameters."""
    found: dict[str, set[str]] = {}
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found[node.name] = _parameters(node)
            case ast.ClassDef():
                found[node.name] = set()
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                        found[f"{node.name}.{inner.name}"] = _parameters(inner)
            case ast.ImportFrom():
                found |= {one.asname or one.name: set() for one in node.names}
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found[name] = set()
            case _:
                pass
    return found


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {one.arg for one in every if one is not None}
