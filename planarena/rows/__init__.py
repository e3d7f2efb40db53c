"""Trajectories and imported traces as training rows: text only, streamed, in every format."""

from __future__ import annotations

from planarena.rows.dialogue import Decision, Dialogue, Observation, Turn
from planarena.rows.environments import Opened, open_environment
from planarena.rows.experts import Aligned, Coverage, ExpertOptions, Experts, align, divide, is_expert_task
from planarena.rows.loading import Rows, load_dialogues, load_episodes, load_pairs, load_rows, write_rows
from planarena.rows.options import RowOptions
from planarena.rows.preferences import PairOptions
from planarena.rows.row import EnvironmentReference, EpisodeRow, PreferencePair, TrainingRow
from planarena.rows.signatures import render_tools, signature
from planarena.rows.templates import template_names

__all__ = [
    "Aligned",
    "Coverage",
    "Decision",
    "Dialogue",
    "EnvironmentReference",
    "EpisodeRow",
    "ExpertOptions",
    "Experts",
    "Observation",
    "Opened",
    "PairOptions",
    "PreferencePair",
    "RowOptions",
    "Rows",
    "TrainingRow",
    "Turn",
    "align",
    "divide",
    "is_expert_task",
    "load_dialogues",
    "load_episodes",
    "load_pairs",
    "load_rows",
    "open_environment",
    "render_tools",
    "signature",
    "template_names",
    "write_rows",
]
