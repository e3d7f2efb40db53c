"""Tasks that somebody would have as an aim: drawn from `goals.yaml`, carried out in the scenario's world, and proven."""

from __future__ import annotations

from planarena.pipeline.execute.aims.drawing import AimDraw, Misfit
from planarena.pipeline.execute.aims.proving import prove_aims
from planarena.pipeline.execute.aims.redrawing import draw_again
from planarena.pipeline.execute.aims.scenario_aims import (
    calls_of,
    draw_aims,
    draw_every,
    go_on,
    lengthened,
    tools_for_aims,
)

__all__ = [
    "AimDraw",
    "Misfit",
    "calls_of",
    "draw_again",
    "draw_aims",
    "draw_every",
    "go_on",
    "lengthened",
    "prove_aims",
    "tools_for_aims",
]
