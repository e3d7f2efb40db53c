"""Hugging Face and OpenAI exports, the dataset card."""

from __future__ import annotations

from planarena.export.card import render_card

__all__ = ["render_card"]
