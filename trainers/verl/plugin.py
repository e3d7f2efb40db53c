"""What verl has to know in every process; verl imports this module by itself, and nothing of verl is changed.

Two ways lead here: the entry point `verl.plugins` (verl swallows its errors) and VERL_USE_EXTERNAL_MODULES, which our
command sets in every process. This is the one file that touches private parts of verl, so it checks the release first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, cast

from planarena.trainers.verl.versions import ROLLOUT, check_installed

__all__ = ["LOOP", "ROLLOUT", "TRAINER", "autocast_dtype", "check_registered", "register", "without_trl"]

TRAINER = "planarena"
LOOP = "planarena"
_TRAINER_MODULE = "planarena.trainers.verl.trainer"
_ADAPTER = "planarena.trainers.verl.rollout.Adapter"


def _load_replica() -> Any:
    from planarena.trainers.verl.rollout import Replica

    return Replica


def register() -> None:
    """Make the CPU platform, the FSDP engine on it, and the transformers rollout known to verl.

    The trainer registers itself where it is imported (`trainer.py`), because importing it takes seconds and only the
    driver needs it.
    """
    check_installed()
    # First of all: other parts of verl ask for the platform as soon as they are imported.
    from planarena.trainers.verl import platform  # noqa: F401  (registers itself)

    _register_rollout()
    if os.environ.get("VERL_PLATFORM") == "cpu":
        from planarena.trainers.verl import cpu  # noqa: F401  (registers itself)


def _register_rollout() -> None:
    from verl.workers.rollout import base
    from verl.workers.rollout.replica import RolloutReplicaRegistry

    RolloutReplicaRegistry.register(ROLLOUT, _load_replica)
    # verl has no public way to add a rollout's worker side.
    base._ROLLOUT_REGISTRY[(ROLLOUT, "async")] = _ADAPTER


def check_registered() -> None:
    """Make sure that verl knows our parts in this process.

    Raises:
        PlanArenaError: A registration is missing.
    """
    from verl.plugin.platform.platform_manager import PlatformRegistry
    from verl.trainer.ppo.v1.trainer_base import TRAINER_REGISTRY
    from verl.workers.engine import EngineRegistry
    from verl.workers.rollout import base
    from verl.workers.rollout.replica import RolloutReplicaRegistry

    from planarena.errors import PlanArenaError

    found = {
        "the platform cpu": PlatformRegistry.get("cpu") is not None,
        "the rollout server": RolloutReplicaRegistry._registry.get(ROLLOUT) is _load_replica,
        "the rollout adapter": base._ROLLOUT_REGISTRY.get((ROLLOUT, "async")) == _ADAPTER,
        "the trainer": getattr(TRAINER_REGISTRY.get(TRAINER), "__module__", "") == _TRAINER_MODULE,
    }
    if os.environ.get("VERL_PLATFORM") == "cpu":
        found["FSDP on cpu"] = "cpu" in EngineRegistry._engines["language_model"]["fsdp2"]
    absent = [name for name, there in found.items() if not there]
    if absent:
        raise PlanArenaError(
            f"verl does not know {', '.join(absent)}\n  fix: leave VERL_USE_EXTERNAL_MODULES to this command, and do "
            "not register other parts under the name planarena"
        )


@contextmanager
def without_trl() -> Iterator[None]:
    """Hide TRL while verl builds a model: where TRL is installed, verl 0.9.1 imports a class that TRL 1.x dropped."""
    modules = cast("dict[str, ModuleType | None]", sys.modules)
    known = "trl" in modules
    before = modules.get("trl")
    modules["trl"] = None
    try:
        yield
    finally:
        if known:
            modules["trl"] = before
        else:
            del modules["trl"]


def autocast_dtype(engine: Any) -> Any:
    """Return the dtype that an FSDP engine of verl computes in."""
    return engine._autocast_dtype


register()
