"""A curve drawn with characters, for the end of a training on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["draw_curve"]

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_PLAIN = "  ..::##"


def draw_curve(
    points: Sequence[tuple[int, float]], *, width: int = 60, height: int = 6, blocks: bool = True
) -> list[str]:
    """Return the lines of a chart of shares: one column a point, from 0 to the next tenth above the highest.

    Args:
        points: (step, share between 0 and 1), in order of steps.
        width: Most columns; of more points evenly many are kept, the first and the last among them.
        height: Lines of the chart.
        blocks: Whether the terminal can print block characters.
    """
    if len(points) > width // 3:
        last, most = len(points) - 1, width // 3
        kept = sorted({round(place * last / (most - 1)) for place in range(most)})
        points = [points[place] for place in kept]
    top = max((value for _, value in points), default=0.0)
    top = max(-(-int(top * 100) // 10) / 10, 0.1)
    lines = []
    for line in range(height):
        # The share that the line below this one ends at.
        floor = top * (height - 1 - line) / height
        columns = []
        for _, value in points:
            filled = min(max((value - floor) * height / top, 0.0), 1.0)
            # What is above nothing is seen.
            level = max(round(filled * 8), 1 if line == height - 1 else 0)
            columns.append((_EIGHTHS[level] if blocks else _PLAIN[max(level - 1, 0)]) * 2)
        mark = f"{top:.0%}" if line == 0 else "0%" if line == height - 1 else ""
        lines.append(f"{mark:>5} |{' '.join(columns)}")
    lines.append(f"       step {points[0][0]} to {points[-1][0]}" if points else "")
    return lines
