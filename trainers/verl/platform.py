"""The platform `cpu` of verl: processes with gloo and no accelerator.

verl asks a platform for a module shaped like `torch.cuda`. Memory questions get 0; what waits or frees does nothing.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry

__all__ = ["CPUPlatform"]


def _device_module() -> types.ModuleType:
    module: Any = types.ModuleType("planarena_cpu_device")

    def nothing(*_: Any, **__: Any) -> None:
        return None

    def zero(*_: Any, **__: Any) -> int:
        return 0

    module.is_available = lambda: False
    module.empty_cache = module.synchronize = module.set_device = nothing
    module.current_device = lambda: "cpu"
    module.device_count = lambda: 1
    module.memory_allocated = module.memory_reserved = zero
    module.max_memory_allocated = module.max_memory_reserved = zero
    module.reset_peak_memory_stats = nothing
    # Free and total; verl prints their difference.
    module.mem_get_info = lambda *_: (1, 1)
    module.get_device_name = lambda *_: "CPU"
    module.manual_seed = module.manual_seed_all = torch.manual_seed
    module.get_rng_state, module.set_rng_state = torch.get_rng_state, torch.set_rng_state
    found: types.ModuleType = module
    return found


@PlatformRegistry.register("cpu")
class CPUPlatform(PlatformBase):  # type: ignore[misc]  # verl is untyped
    """No accelerator; chosen by VERL_PLATFORM=cpu."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _device_module()

    def is_available(self) -> bool:
        """Say yes."""
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:  # noqa: ARG002
        """Say no to verl's search: where nobody asks for the CPU, an accelerator is looked for."""
        return False

    def current_device(self) -> str:
        """Return the device that tensors go to."""
        return "cpu"

    def device_count(self) -> int:
        """Return 1."""
        return 1

    def _nothing(self, *_: Any, **__: Any) -> None:
        """Do nothing, or return nothing."""

    set_device = synchronize = set_allocator_settings = empty_cache = _nothing
    profiler_start = profiler_stop = cudart = _nothing

    def manual_seed(self, seed: int) -> None:
        """Seed the generator."""
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:  # noqa: ARG002
        """Return no capability."""
        return None, None

    def communication_backend_name(self) -> str:
        """Return gloo."""
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """Return the variable that verl sets for every worker."""
        return "CUDA_VISIBLE_DEVICES"

    def ray_resource_name(self) -> str:
        """Return GPU: verl counts no other resource, so Ray gets logical ones."""
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        """Return none."""
        return []

    def is_ipc_supported(self) -> bool:
        """Say no."""
        return False

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:  # noqa: ARG002
        """Mark nothing."""
        yield
