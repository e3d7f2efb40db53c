"""verl's FSDP engine on the CPU: the same class without what needs an accelerator."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from torch.distributed.tensor import DTensor
from verl.utils.fsdp_utils import merged_lora_context, normalize_peft_param_name
from verl.utils.model import convert_weight_keys
from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead

__all__ = ["CPUEngine", "start_gloo"]


@EngineRegistry.register(model_type="language_model", backend="fsdp2", device="cpu")
class CPUEngine(FSDPEngineWithLMHead):  # type: ignore[misc]  # verl is untyped
    """FSDP2 over gloo."""

    engine_config: Any
    module: Any

    def _build_fsdp_module(self, module: Any) -> Any:
        # A model that only infers would be offloaded to pinned memory, which there is none of without a device.
        given = self.engine_config
        self.engine_config = replace(given, forward_only=False)
        try:
            return super()._build_fsdp_module(module)
        finally:
            self.engine_config = given

    def _merged_lora_per_tensor_param(self) -> Iterator[tuple[str, Any]]:
        # verl rounds them to bfloat16 for vLLM; our rollout computes in what the policy does.
        with merged_lora_context(self.module, backup_adapters=True):
            held = convert_weight_keys(normalize_peft_param_name(self.module.state_dict()), self.module)
            for name, value in held.items():
                whole = value.full_tensor() if isinstance(value, DTensor) else value
                # A copy: the adapters are taken out again as soon as all were asked for.
                yield name, whole.detach().clone()


def start_gloo() -> None:
    """Initialise torch.distributed before verl does: `cpu:gloo,cpu:gloo`, which it would ask for, is refused.

    Where the ranks meet on loopback, nothing listens on another interface.
    """
    import torch.distributed
    from verl.utils.device import get_device_name

    if get_device_name() != "cpu" or torch.distributed.is_initialized():
        return
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    method = os.environ.get("DIST_INIT_METHOD")
    address, port = os.environ.get("MASTER_ADDR", ""), int(os.environ.get("MASTER_PORT", "0"))
    if method or not port or not (address == "localhost" or address.startswith("127.")):
        torch.distributed.init_process_group("gloo", rank=rank, world_size=size, init_method=method)
        return
    for _, interface in socket.if_nameindex():
        if interface in ("lo", "lo0"):
            os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
    torch.distributed.init_process_group(
        "gloo", rank=rank, world_size=size, store=_loopback_store(address, port, rank, size)
    )


def _loopback_store(address: str, port: int, rank: int, size: int) -> Any:
    """Return the ranks' store; by itself it would listen on all interfaces."""
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    if rank:
        return TCPStore(address, port, size)
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((address, port))
    listening.listen()
    # The first rank waits for the others when the group is made, not here. The store closes the descriptor.
    return TCPStore(
        address, port, size, is_master=True, master_listen_fd=listening.detach(), wait_for_workers=False
    )
