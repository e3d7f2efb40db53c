"""plot.png: reward, success, entropy, length, clip fraction and the algorithm's own coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["draw_plot"]

_PANELS = (
    ("reward", ("reward/mean", "validation/reward")),
    ("success", ("reward/success", "validation/success", "bench/success")),
    ("entropy, nats", ("policy/entropy",)),
    ("response length, tokens", ("length/mean",)),
    ("clip fraction", ("policy/clip_fraction",)),
    ("KL", ("policy/kl_to_rollout", "loss/kl")),
    ("preference accuracy", ("preference/accuracy",)),
    ("loss", ("loss/sft", "loss/total")),
)
_COEFFICIENTS = (
    "loss/mu",
    "policy/eps_high",
    "policy/clip_radius",
    "advantage/mixed_weight",
    "advantage/segments_per_row",
    "advantage/degenerate_groups",
)


def draw_plot(lines: Sequence[dict[str, Any]], path: Path, title: str) -> None:
    """Draw the curves of a run.

    Args:
        lines: Of metrics.jsonl.
        path: A PNG file, replaced.
        title: Above all panels.
    """
    # The object interface: pyplot keeps global state and picks a display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    seen = {key for line in lines for key in line}
    coefficients = tuple(
        key for key in sorted(seen) if key.startswith("coefficient/") or key in _COEFFICIENTS
    )
    panels = [(name, keys) for name, keys in (*_PANELS, ("coefficients", coefficients)) if seen & set(keys)]
    rows = max((len(panels) + 2) // 3, 1)
    figure = Figure(figsize=(12, 3.0 * rows + 0.6))
    FigureCanvasAgg(figure)
    # Fixed margins: a layout that is solved for costs as much as the drawing.
    figure.subplots_adjust(
        left=0.05, right=0.99, bottom=0.16 / rows, top=1 - 0.28 / rows, hspace=0.45, wspace=0.16
    )
    figure.suptitle(title.replace("$", r"\$"))
    for index, (name, keys) in enumerate(panels):
        axes = figure.add_subplot(rows, 3, index + 1)
        for key in keys:
            points = [(line["step"], line[key]) for line in lines if isinstance(line.get(key), int | float)]
            if points:
                steps, values = zip(*points, strict=True)
                marker = "o" if key.startswith(("validation/", "bench/")) else ""
                axes.plot(
                    steps, values, label=key.replace("$", r"\$"), marker=marker, markersize=3, linewidth=1
                )
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("step")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    temporary = path.with_name(f".{path.name}")
    figure.savefig(temporary, format="png", dpi=90)
    temporary.replace(path)
