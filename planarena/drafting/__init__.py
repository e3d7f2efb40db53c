"""Environments drafted by a model, in small parts, each held to what our own are held to."""

from __future__ import annotations

from planarena.drafting.batch import draft_all
from planarena.drafting.report import DraftReport, PartReport
from planarena.drafting.settings import DraftConfig, read_topics

__all__ = ["DraftConfig", "DraftReport", "PartReport", "draft_all", "read_topics"]
