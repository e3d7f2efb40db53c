"""verl's FSDP engine on the CPU: the same class without what needs an accelerator."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead

__all__ = ["CPUEngine", "start_gloo"]


@EngineRegistry.register(model_type="language_model", backend="fsdp2", device="cpu")
class CPUEngine(FSDPEngineWithLMHead):  # type: ignore[misc]  # verl is untyped
    """FSDP2 over gloo."""

    engine_config: Any

    def _build_fsdp_module(self, module: Any) -> Any:
        # A model that only infers would be offloaded to pinned memory, which there is none of without a device.
        given = self.engine_config
        self.engine_config = replace(given, forward_only=False)
        try:
            return super()._build_fsdp_module(module)
        finally:
            self.engine_config = given


def start_gloo() -> None:
    """Initialise torch.distributed before verl does: `cpu:gloo,cpu:gloo`, which it would ask for, is refused."""
    import torch.distributed
    from verl.utils.device import get_device_name

    if get_device_name() == "cpu" and not torch.distributed.is_initialized():
        torch.distributed.init_process_group(
            "gloo",
            rank=int(os.environ.get("RANK", "0")),
            world_size=int(os.environ.get("WORLD_SIZE", "1")),
            init_method=os.environ.get("DIST_INIT_METHOD"),
        )
