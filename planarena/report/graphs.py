"""A trajectory as a graph in SVG: one layer per group, data edges with their arguments, order edges dashed.

Layers stand below each other. An edge that skips layers is led through a narrow slot in each of them, so that it
runs between the steps and not through them; slots and steps are ordered by the mean place of their neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from planarena.export.escaping import escape_html, visible

__all__ = ["Edge", "Node", "draw_graph"]

_HEIGHT, _SLOT = 40.0, 18.0
# Around a name, and for each of its characters: a little more than the style's font needs.
_PADDING, _CHARACTER = 44.0, 7.4
_GAP_X, _GAP_Y, _MARGIN = 26.0, 54.0, 10.0
# Sweeps over the layers; orders of at most a dozen nodes settle within four, places within eight.
_ORDER_SWEEPS, _PLACE_SWEEPS = 4, 12
_LONGEST_NAME = 30
# Places along the last piece of an edge where its label may stand, the best first, and a label's measures.
_LABEL_SHARES = (0.5, 0.72, 0.6, 0.38, 0.28)
_LABEL_CHARACTER, _LABEL_HEIGHT = 6.8, 12.0
# How far a graph may shrink on a narrow screen before it scrolls instead.
_LEAST_SCALE = 0.7


class Node(NamedTuple):
    """A step: its number, the layer it stands in, its tool, and whether it only reads."""

    number: int
    layer: int
    name: str
    reads: bool


class Edge(NamedTuple):
    """From an earlier step to a later one; `label` names the arguments of a data edge, empty for an order edge."""

    source: int
    target: int
    label: str

    @property
    def is_data(self) -> bool:
        """Whether a value flows."""
        return bool(self.label)


class _Item:
    """A step or a slot of an edge within a layer."""

    __slots__ = ("above", "below", "layer", "node", "width", "x")

    def __init__(self, layer: int, node: Node | None) -> None:
        self.layer, self.node = layer, node
        self.width = (
            _SLOT
            if node is None
            else _PADDING + _CHARACTER * max(8, min(len(visible(node.name)), _LONGEST_NAME))
        )
        self.x = 0.0
        self.above: list[_Item] = []
        self.below: list[_Item] = []


def draw_graph(nodes: Sequence[Node], edges: Sequence[Edge], title: str) -> str:
    """Return the graph as an SVG element.

    Args:
        nodes: The steps; the layers of an edge's ends must increase.
        edges: Data and order edges. Order edges that follow from other edges are left out, and so is one
            beside a data edge between the same steps.
        title: What it shows, for screen readers.

    Returns:
        `<svg ...>...</svg>`, in pixels; nothing without nodes. The same arguments give the same text.
    """
    if not nodes:
        return ""
    drawn = _merge(edges)
    layers, paths = _arrange(nodes, drawn)
    _place(layers)
    left = min(item.x - item.width / 2 for layer in layers for item in layer)
    right = max(item.x + item.width / 2 for layer in layers for item in layer)
    for layer in layers:
        for item in layer:
            item.x += _MARGIN - left
    width = right - left + 2 * _MARGIN
    height = 2 * _MARGIN + len(layers) * _HEIGHT + (len(layers) - 1) * _GAP_Y
    # Labels come last so that no line crosses them.
    lines, labels = [], []
    taken: list[tuple[float, float, float]] = []
    for edge, path in zip(drawn, paths, strict=True):
        kind = "data" if edge.is_data else "order"
        lines.append(f'<path class="edge {kind}" d="{_curve(path)}" marker-end="url(#arrow-{kind})"/>')
        if edge.is_data:
            labels.append(_label(edge, path, taken))
    boxes = [_box(item) for layer in layers for item in layer if item.node is not None]
    return (
        f'<svg class="graph" role="img" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" style="min-width:{width * _LEAST_SCALE:.0f}px"><title>{escape_html(title)}</title>'
        f"{''.join(lines)}{''.join(boxes)}{''.join(labels)}</svg>"
    )


def _merge(edges: Sequence[Edge]) -> list[Edge]:
    """Join the labels of parallel data edges and drop order edges that follow from the others."""
    data: dict[tuple[int, int], list[str]] = {}
    for edge in edges:
        if edge.is_data:
            data.setdefault((edge.source, edge.target), []).append(edge.label)
    order = {(edge.source, edge.target) for edge in edges if not edge.is_data} - set(data)
    kept = [Edge(*pair, ", ".join(labels)) for pair, labels in sorted(data.items())]
    for pair in sorted(order):
        others = (set(data) | order) - {pair}
        if not _reaches(others, *pair):
            kept.append(Edge(*pair, ""))
    return kept


def _reaches(pairs: set[tuple[int, int]], start: int, end: int) -> bool:
    seen, queue = {start}, [start]
    while queue:
        here = queue.pop()
        for source, target in pairs:
            if source == here and target not in seen:
                seen.add(target)
                queue.append(target)
    return end in seen


def _arrange(nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[list[list[_Item]], list[list[_Item]]]:
    """Put steps and slots into layers and order them; return the layers and the items along each edge."""
    ranks = {layer: rank for rank, layer in enumerate(sorted({node.layer for node in nodes}))}
    layers: list[list[_Item]] = [[] for _ in ranks]
    items: dict[int, _Item] = {}
    for node in sorted(nodes):
        items[node.number] = _Item(ranks[node.layer], node)
        layers[ranks[node.layer]].append(items[node.number])
    paths = []
    for edge in edges:
        source, target = items[edge.source], items[edge.target]
        if source.layer >= target.layer:
            raise ValueError(f"the edge {edge.source} -> {edge.target} does not lead to a later layer")
        path = [source]
        for rank in range(source.layer + 1, target.layer):
            path.append(_Item(rank, None))
            layers[rank].append(path[-1])
        path.append(target)
        for upper, lower in pairwise(path):
            upper.below.append(lower)
            lower.above.append(upper)
        paths.append(path)
    for sweep in range(_ORDER_SWEEPS):
        downwards = sweep % 2 == 0
        for layer in layers[1:] if downwards else reversed(layers[:-1]):
            _sort_by_neighbours(layers, layer, downwards)
    return layers, paths


def _sort_by_neighbours(layers: list[list[_Item]], layer: list[_Item], downwards: bool) -> None:
    place = {id(item): float(index) for other in layers for index, item in enumerate(other)}

    def mean(item: _Item) -> float:
        near = item.above if downwards else item.below
        return sum(place[id(other)] for other in near) / len(near) if near else place[id(item)]

    layer.sort(key=mean)


def _place(layers: list[list[_Item]]) -> None:
    """Give every item its centre: near the mean of its neighbours, at a distance from those beside it."""
    for layer in layers:
        x = 0.0
        for item in layer:
            item.x = x + item.width / 2
            x += item.width + _GAP_X
        for item in layer:
            item.x -= (x - _GAP_X) / 2
    for sweep in range(_PLACE_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = []
            for item in layer:
                near = item.above + item.below
                wanted.append(sum(other.x for other in near) / len(near) if near else item.x)
            _settle(layer, wanted)


def _settle(layer: list[_Item], wanted: list[float]) -> None:
    """Move to the wanted places where they are free; the mean of a left-to-right and a right-to-left pass."""
    room = [(a.width + b.width) / 2 + _GAP_X for a, b in pairwise(layer)]
    from_left, from_right = list(wanted), list(wanted)
    for index, space in enumerate(room):
        from_left[index + 1] = max(from_left[index + 1], from_left[index] + space)
    for index in range(len(room) - 1, -1, -1):
        from_right[index] = min(from_right[index], from_right[index + 1] - room[index])
    for item, a, b in zip(layer, from_left, from_right, strict=True):
        item.x = (a + b) / 2


def _top(item: _Item) -> float:
    return _MARGIN + item.layer * (_HEIGHT + _GAP_Y)


def _curve(path: Sequence[_Item]) -> str:
    """Return the path data: from the lower side of the first item to the upper side of the last."""
    x, y = path[0].x, _top(path[0]) + _HEIGHT
    parts = [f"M{x:.1f} {y:.1f}"]
    for item in path[1:]:
        below = _top(item)
        middle = (y + below) / 2
        parts.append(f"C{x:.1f} {middle:.1f} {item.x:.1f} {middle:.1f} {item.x:.1f} {below:.1f}")
        x, y = item.x, below
        if item.node is None:
            y += _HEIGHT
            parts.append(f"L{x:.1f} {y:.1f}")
    return "".join(parts)


def _label(edge: Edge, path: Sequence[_Item], taken: list[tuple[float, float, float]]) -> str:
    """Write a data edge's arguments on its last piece, where no label stands yet; `taken` gains its place."""
    upper, lower = path[-2], path[-1]
    text = _shorten(visible(edge.label))
    half = _LABEL_CHARACTER * len(text) / 2
    places = []
    for share in _LABEL_SHARES:
        # A curve with level handles runs as 3t^2 - 2t^3 across and t down, near enough for a label.
        x = upper.x + (lower.x - upper.x) * share * share * (3 - 2 * share)
        y = _top(lower) - _GAP_Y * (1 - share)
        hidden = sum(
            abs(x - x2) < half + half2 + 4 and abs(y - y2) < _LABEL_HEIGHT for x2, y2, half2 in taken
        )
        places.append((hidden, x, y))
    _, x, y = min(places, key=lambda place: place[0])
    taken.append((x, y, half))
    return f'<text class="flow" x="{x:.1f}" y="{y + 4:.1f}">{escape_html(text)}</text>'


def _box(item: _Item) -> str:
    assert item.node is not None
    node, x, y = item.node, item.x - item.width / 2, _top(item)
    kind = "reads" if node.reads else "acts"
    return (
        f'<g class="step {kind}"><title>{escape_html(node.name)}</title>'
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{item.width:.1f}" height="{_HEIGHT:.0f}" rx="8"/>'
        f'<text class="number" x="{x + 12:.1f}" y="{y + 25:.1f}">{node.number + 1}</text>'
        f'<text class="name" x="{x + 30:.1f}" y="{y + 25:.1f}">{escape_html(_shorten(visible(node.name)))}</text></g>'
    )


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
