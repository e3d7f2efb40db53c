"""Decoding of groups: the keys and values of a prompt are kept and read once for all rows that continue it.

A step of decoding is bound by reading the cache. With K rows a prompt, K - 1 of K reads of its part are spared: queries
of one group meet the prompt's keys in one product, each row's own keys apart, and one softmax spans both.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from planarena.trainers.local.model import Policy

__all__ = ["can_share", "share_caches", "sharing"]

_NAME = "planarena_shared_prefix"
# Their attention is softmax(q k / sqrt(d) + mask) v and nothing besides: no soft cap, no sink, no bias of position.
_PLAIN = frozenset({"llama", "mistral", "qwen2", "qwen3"})
_GROWTH = 256


def can_share(policy: Policy, repeats: int) -> bool:
    """Say whether rows of one prompt are decoded so. On a CPU only: elsewhere it has not been measured."""
    kind = policy.model.config.get_text_config().model_type
    return policy.device.type == "cpu" and repeats > 1 and policy.appendable and kind in _PLAIN


@contextmanager
def sharing(policy: Policy) -> Iterator[None]:
    """Let the model attend in this way for a while."""
    from transformers import AttentionInterface

    if _NAME not in AttentionInterface().valid_keys():
        AttentionInterface.register(_NAME, _attend)
    config = policy.model.config.get_text_config()
    before = config._attn_implementation
    config._attn_implementation = _NAME
    try:
        yield
    finally:
        config._attn_implementation = before


class _Rows:
    """Which prompt each row continues, and its place among that prompt's rows.

    Args:
        member_B: (B,) prompt of each row, ascending.
        valid_PL: (P, L) which places of the prompts hold a token.
    """

    def __init__(self, member_B: Tensor, valid_PL: Tensor) -> None:
        self.member_B, self.valid_PL = member_B, valid_PL
        count_P = torch.bincount(member_B, minlength=valid_PL.shape[0])
        self.most = int(count_P.max())
        start_P = count_P.cumsum(0) - count_P
        self.place_B = member_B * self.most + torch.arange(member_B.numel()) - start_P[member_B]
        self.full = member_B.numel() == self.most * valid_PL.shape[0]
        self.blocked_P11L = None
        if not bool(valid_PL.all()):
            self.blocked_P11L = torch.zeros(valid_PL.shape).masked_fill_(~valid_PL, -torch.inf)[:, None, None]

    def select(self, indices: Tensor) -> tuple[_Rows, Tensor | None]:
        """Return what is left of the rows, and the prompts that are where some have no row any more."""
        member_A = self.member_B[indices]
        kept_P, member_A = torch.unique(member_A, return_inverse=True)
        gone = kept_P.numel() < self.valid_PL.shape[0]
        return _Rows(member_A, self.valid_PL[kept_P]), kept_P if gone else None

    def grouped(self, rows_BHGX: Tensor) -> Tensor:
        """Return (P, H, R * G, X): the rows of each prompt side by side, zeros where it has fewer than R."""
        _, heads, queries, size = rows_BHGX.shape
        if not self.full:
            wide = rows_BHGX.new_zeros((self.valid_PL.shape[0] * self.most, heads, queries, size))
            rows_BHGX = wide.index_copy_(0, self.place_B, rows_BHGX)
        return rows_BHGX.view(-1, self.most, heads, queries, size).transpose(1, 2).flatten(2, 3)

    def apart(self, rows_PHNX: Tensor) -> Tensor:
        """Return (B, H, G, X): the inverse of `grouped`."""
        prompts, heads, _, size = rows_PHNX.shape
        rows = rows_PHNX.view(prompts, heads, self.most, -1, size).transpose(1, 2).flatten(0, 1)
        return rows if self.full else rows.index_select(0, self.place_B)


def share_caches(caches: Sequence[Any], member_B: Tensor, valid_PL: Tensor, *, room: int) -> Any:
    """Return a cache for decoding in which row b continues prompt `member_B[b]`.

    Args:
        caches: Of P prompts in all, in order. Narrower ones are padded at the left.
        member_B: (B,) prompt of each row, ascending; every prompt has a row.
        valid_PL: (P, L) which places of the prompts hold a token.
        room: Most tokens that will follow.
    """
    from transformers import Cache

    kind = _layer()
    rows = _Rows(member_B, valid_PL)
    return Cache(
        layers=[kind(layers, rows, room) for layers in zip(*(one.layers for one in caches), strict=True)]
    )


def _side_by_side(parts: Sequence[Tensor]) -> Tensor:
    width = max(part.shape[2] for part in parts)
    return torch.cat([torch.nn.functional.pad(part, (0, 0, width - part.shape[2], 0)) for part in parts])


@functools.cache
def _layer() -> Any:
    """Return the class of a layer: a prompt's keys and values once, and those of each row's own tokens."""
    from transformers.cache_utils import DynamicLayer

    class SharedLayer(DynamicLayer):  # type: ignore[misc]  # transformers is untyped here
        def __init__(self, layers: Sequence[Any], rows: _Rows, room: int) -> None:
            super().__init__()
            self.is_initialized = True
            self.dtype, self.device = layers[0].keys.dtype, layers[0].keys.device
            self.prompt_keys = _side_by_side([layer.keys for layer in layers])
            self.prompt_values = _side_by_side([layer.values for layer in layers])
            self.rows = rows
            self.used = 0
            _, heads, _, size = self.prompt_keys.shape
            shape = (rows.member_B.numel(), heads, min(room, _GROWTH), size)
            self.key_buffer = self.prompt_keys.new_empty(shape)
            self.value_buffer = self.prompt_keys.new_empty(shape)

        def update(
            self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
        ) -> tuple[Tensor, Tensor]:
            end = self.used + key_states.shape[2]
            if end > self.key_buffer.shape[2]:
                self.key_buffer = torch.cat([self.key_buffer, torch.empty_like(self.key_buffer)], 2)
                self.value_buffer = torch.cat([self.value_buffer, torch.empty_like(self.value_buffer)], 2)
            self.key_buffer[:, :, self.used : end] = key_states
            self.value_buffer[:, :, self.used : end] = value_states
            self.used = end
            keys = self.key_buffer[:, :, :end]
            # An attention function is given keys and values alone: this is how it comes to the prompt's.
            keys.shared = self  # type: ignore[attr-defined]
            return keys, self.value_buffer[:, :, :end]

        def get_seq_length(self) -> int:
            return self.prompt_keys.shape[2] + self.used

        def batch_select_indices(self, indices: Tensor) -> None:
            self.rows, kept_P = self.rows.select(indices)
            if kept_P is not None:
                self.prompt_keys = self.prompt_keys.index_select(0, kept_P)
                self.prompt_values = self.prompt_values.index_select(0, kept_P)
            # What lies beyond `used` is not copied: it holds nothing yet.
            for name in ("key_buffer", "value_buffer"):
                old = getattr(self, name)
                fresh = old.new_empty((indices.numel(), *old.shape[1:]))
                fresh[:, :, : self.used] = old[:, :, : self.used].index_select(0, indices)
                setattr(self, name, fresh)

    return SharedLayer


def _attend(
    _module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _mask: Tensor | None,
    scaling: float | None = None,
    **_more: Any,
) -> tuple[Tensor, None]:
    """Attend from one new token a row to its prompt and to its own tokens; returns (B, 1, heads, size).

    Every own token of a row is one that it sees, so no mask is read.
    """
    layer = key.shared  # type: ignore[attr-defined]
    rows: _Rows = layer.rows
    batch, heads, _, size = query.shape
    scale = size**-0.5 if scaling is None else scaling
    query_BHGX = query.view(batch, key.shape[1], -1, size) * scale
    own_BHGT = query_BHGX @ key.transpose(-1, -2)
    shared_PHNL = rows.grouped(query_BHGX) @ layer.prompt_keys.transpose(-1, -2)
    if rows.blocked_P11L is not None:
        shared_PHNL = shared_PHNL + rows.blocked_P11L
    length = shared_PHNL.shape[-1]
    scores = torch.cat([rows.apart(shared_PHNL), own_BHGT], -1)
    weights = torch.softmax(scores, -1, dtype=torch.float32).to(value.dtype)
    told_BHGX = rows.apart(rows.grouped(weights[..., :length]) @ layer.prompt_values)
    found_BHGX = told_BHGX + weights[..., length:] @ value
    return found_BHGX.reshape(batch, 1, heads, size), None
