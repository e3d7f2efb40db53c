"""Caches of keys and values: shared prompts, rows that leave, room for the tokens to come."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from planarena.trainers.local.model import Policy

__all__ = ["new_cache", "repeat_caches"]

_GROWTH = 256


def new_cache(policy: Policy) -> Any:
    """Return an empty cache that keeps its gradient graph."""
    from transformers import DynamicCache

    return DynamicCache() if policy.appendable else DynamicCache(config=policy.model.config)


def repeat_caches(policy: Policy, caches: Sequence[Any], member_B: Tensor, *, room: int) -> Any:
    """Return a cache for decoding in which row b starts as row `member_B[b]`.

    Args:
        policy: The model that filled them.
        caches: Of P rows in all, in order; only those of an appendable policy may be several. Narrower ones are
            padded at the left.
        member_B: (B,) row of each new row, ascending.
        room: Most tokens that will follow.
    """
    if not policy.appendable:
        (cache,) = caches
        cache.batch_select_indices(member_B)
        return cache
    from transformers import Cache

    kind = _growing_layer()
    return Cache(
        layers=[kind(layers, member_B, room) for layers in zip(*(one.layers for one in caches), strict=True)]
    )


@functools.cache
def _growing_layer() -> Any:
    """Return the class of a layer whose buffers have room for more, so that a step copies one token, not all."""
    from transformers.cache_utils import DynamicLayer

    class GrowingLayer(DynamicLayer):  # type: ignore[misc]  # transformers is untyped here
        def __init__(self, layers: Sequence[Any], member_B: Tensor, room: int) -> None:
            super().__init__()
            self.is_initialized = True
            self.dtype, self.device = layers[0].keys.dtype, layers[0].keys.device
            self.used: int = max(layer.keys.shape[2] for layer in layers)
            self.room = min(room, _GROWTH)
            self.key_buffer = self._filled([layer.keys for layer in layers], member_B)
            self.value_buffer = self._filled([layer.values for layer in layers], member_B)

        def _filled(self, parts: Sequence[Tensor], member_B: Tensor) -> Tensor:
            _, heads, _, size = parts[0].shape
            buffer = parts[0].new_empty((member_B.numel(), heads, self.used + self.room, size))
            start, row = 0, 0
            for part in parts:
                chosen = member_B[(member_B >= start) & (member_B < start + part.shape[0])] - start
                rows = buffer[row : row + chosen.numel()]
                left = self.used - part.shape[2]
                rows[:, :, :left] = 0.0
                rows[:, :, left : self.used] = part.index_select(0, chosen)
                start, row = start + part.shape[0], row + chosen.numel()
            return buffer

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
