"""The distributed engine: the same algorithms on verl (Ray, FSDP, vLLM or SGLang; on the CPU gloo and transformers)."""

from __future__ import annotations

from planarena.trainers.verl.launch import launch

__all__ = ["launch"]
