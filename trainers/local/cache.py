"""Caches of keys and values: shared prompts, rows that leave, room for the tokens to come."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from planarena.trainers.local.model import Policy

__all__ = ["new_cache", "repeat_cache"]

_GROWTH = 256


def new_cache(policy: Policy) -> Any:
    """Return an empty cache that keeps its gradient graph."""
    from transformers import DynamicCache

    return DynamicCache() if policy.appendable else DynamicCache(config=policy.model.config)


def repeat_cache(policy: Policy, cache: Any, member_B: Tensor, *, room: int) -> Any:
    """Return a cache for decoding in which row b starts as row `member_B[b]`.

    Args:
        policy: The model that filled it.
        cache: Of P rows.
        member_B: (B,) row of each new row.
        room: Most tokens that will follow.
    """
    if not policy.appendable:
        cache.batch_select_indices(member_B)
        return cache
    from transformers import Cache

    kind = _growing_layer()
    return Cache(layers=[kind(layer.keys, layer.values, member_B, room) for layer in cache.layers])


@functools.cache
def _growing_layer() -> Any:
    """Return the class of a layer whose buffers have room for more, so that a step copies one token, not all."""
    from transformers.cache_utils import DynamicLayer

    class GrowingLayer(DynamicLayer):  # type: ignore[misc]  # transformers is untyped here
        def __init__(self, keys: Tensor, values: Tensor, member_B: Tensor, room: int) -> None:
            super().__init__()
            self.is_initialized = True
            self.dtype, self.device = keys.dtype, keys.device
            self.used = keys.shape[2]
            self.room = min(room, _GROWTH)
            self.key_buffer = self._grown(keys.index_select(0, member_B))
            self.value_buffer = self._grown(values.index_select(0, member_B))

        def _grown(self, old: Tensor) -> Tensor:
            buffer = old.new_empty((*old.shape[:2], old.shape[2] + self.room, old.shape[3]))
            buffer[:, :, : old.shape[2]] = old
            return buffer

        def update(
            self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
        ) -> tuple[Tensor, Tensor]:
            end = self.used + key_states.shape[2]
            if end > self.key_buffer.shape[2]:
                self.key_buffer = self._grown(self.key_buffer)
                self.value_buffer = self._grown(self.value_buffer)
            self.key_buffer[:, :, self.used : end] = key_states
            self.value_buffer[:, :, self.used : end] = value_states
            self.used = end
            return self.key_buffer[:, :, :end], self.value_buffer[:, :, :end]

        def get_seq_length(self) -> int:
            return self.used

        def batch_select_indices(self, indices: Tensor) -> None:
            # What lies beyond `used` is not copied: it holds nothing yet.
            kept = (indices.numel(), *self.key_buffer.shape[1:])
            for name in ("key_buffer", "value_buffer"):
                old = getattr(self, name)
                fresh = torch.empty(kept, dtype=old.dtype, device=old.device)
                fresh[:, :, : self.used] = old[:, :, : self.used].index_select(0, indices)
                setattr(self, name, fresh)

    return GrowingLayer
