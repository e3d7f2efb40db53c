"""A trajectory's steps as a picture: a row of columns for each message, an arrow for each value that is handed on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planarena.annotation.escaped import escape
from planarena.export.trajectories import Action

__all__ = ["lay_out"]

_WIDTH, _HEIGHT = 190, 34
_ACROSS, _DOWN, _BETWEEN = 44, 14, 26
_LONGEST_NAME = 22


def lay_out(actions: Sequence[Action]) -> dict[str, Any]:
    """Return where a picture's boxes and arrows stand, in pixels; nothing where there are fewer than two steps.

    Steps of a column may be called together. What answers the user's next message stands below.

    Args:
        actions: In order.

    Returns:
        `width`, `height`, `words` (the same in a sentence), `edges` (`line` and `head`, SVG paths) and `nodes`.
    """
    if len(actions) < 2:
        return {}
    turns: dict[int, dict[int, list[Action]]] = {}
    for action in actions:
        turns.setdefault(action.turn, {}).setdefault(action.group, []).append(action)
    corners: dict[int, tuple[int, int]] = {}
    bottom = 1
    for columns in turns.values():
        tallest = max(len(members) for members in columns.values()) * (_HEIGHT + _DOWN) - _DOWN
        for number, members in enumerate(columns.values()):
            top = bottom + (tallest - (len(members) * (_HEIGHT + _DOWN) - _DOWN)) // 2
            for place, action in enumerate(members):
                corners[action.number] = (1 + number * (_WIDTH + _ACROSS), top + place * (_HEIGHT + _DOWN))
        bottom += tallest + _BETWEEN
    needs = sorted({(source, action.number) for action in actions for _, source, _ in action.bound})
    return {
        "width": max(len(columns) for columns in turns.values()) * (_WIDTH + _ACROSS) - _ACROSS + 2,
        "height": bottom - _BETWEEN + 1,
        "words": ", ".join(f"step {other + 1} needs step {one + 1}" for one, other in needs)
        or "no step needs another",
        "edges": [_edge(corners[one], corners[other]) for one, other in needs if one in corners],
        "nodes": [_node(action, *corners[action.number]) for action in actions],
    }


def _edge(one: tuple[int, int], other: tuple[int, int]) -> dict[str, str]:
    if other[0] <= one[0]:  # of a later message: from below to above
        x, y, to_x, to_y = one[0] + _WIDTH // 2, one[1] + _HEIGHT, other[0] + _WIDTH // 2, other[1]
        return {
            "line": f"M{x} {y}C{x} {y + _DOWN} {to_x} {to_y - _DOWN} {to_x} {to_y - 5}",
            "head": f"M{to_x - 4} {to_y - 7}L{to_x} {to_y}L{to_x + 4} {to_y - 7}Z",
        }
    x, y = one[0] + _WIDTH, one[1] + _HEIGHT // 2
    to_x, to_y = other[0], other[1] + _HEIGHT // 2
    bend = max(_ACROSS // 2, (to_x - x) // 2)
    return {
        "line": f"M{x} {y}C{x + bend} {y} {to_x - bend} {to_y} {to_x - 5} {to_y}",
        "head": f"M{to_x - 7} {to_y - 4}L{to_x} {to_y}L{to_x - 7} {to_y + 4}Z",
    }


def _node(action: Action, x: int, y: int) -> dict[str, Any]:
    name = action.tool.wire_name
    return {
        "number": action.number + 1,
        "name": escape(name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"),
        "failed": action.status != "ok",
        "x": x,
        "y": y,
        "text_x": x + 10,
        "text_y": y + 22,
    }
