"""Graphs of trajectories: layers, labels, which edges are drawn, and that boxes never meet."""

from __future__ import annotations

import random
import re
from itertools import pairwise

import pytest

from planarena.report.graphs import Edge, Node, draw_graph

Box = tuple[float, float, float, float]


def _boxes(svg: str) -> list[Box]:
    """(x, y, width, height) in drawing order."""
    found = re.findall(r'<rect x="([\d.-]+)" y="([\d.-]+)" width="([\d.]+)" height="([\d.]+)"', svg)
    return [tuple(map(float, numbers)) for numbers in found]  # type: ignore[misc]


def _edges(svg: str) -> dict[str, int]:
    return {kind: svg.count(f'class="edge {kind}"') for kind in ("data", "order")}


def test_layers_stand_below_each_other() -> None:
    nodes = [Node(0, 0, "find", True), Node(1, 1, "book", False), Node(2, 1, "tell", False)]
    svg = draw_graph(nodes, [Edge(0, 1, "id"), Edge(0, 2, "id")], "a graph")
    first, second, third = _boxes(svg)
    assert second[1] == third[1] > first[1] + first[3]
    assert second[0] + second[2] < third[0]
    assert _edges(svg) == {"data": 2, "order": 0}
    assert svg.count(">id</text>") == 2
    assert svg.count('class="step reads"') == 1


def test_arguments_between_the_same_steps_share_an_edge() -> None:
    svg = draw_graph([Node(0, 0, "a", True), Node(1, 1, "b", True)], [Edge(0, 1, "x"), Edge(0, 1, "y")], "t")
    assert _edges(svg) == {"data": 1, "order": 0}
    assert ">x, y</text>" in svg


def test_order_edges_that_follow_from_others_are_left_out() -> None:
    nodes = [Node(number, number, "n", True) for number in range(4)]
    edges = [Edge(0, 1, "x"), Edge(1, 2, ""), Edge(0, 2, ""), Edge(0, 1, ""), Edge(0, 3, "")]
    assert _edges(draw_graph(nodes, edges, "t")) == {"data": 1, "order": 2}


def test_layer_numbers_may_have_gaps_and_no_node_gives_nothing() -> None:
    svg = draw_graph([Node(0, 3, "a", True), Node(1, 9, "b", True)], [Edge(0, 1, "")], "t")
    first, second = _boxes(svg)
    assert 40 < second[1] - first[1] < 120
    assert draw_graph([], [], "t") == ""


def test_an_edge_backwards_is_a_fault() -> None:
    with pytest.raises(ValueError, match="later layer"):
        draw_graph([Node(0, 1, "a", True), Node(1, 0, "b", True)], [Edge(0, 1, "x")], "t")


def test_names_and_labels_are_escaped_and_shortened() -> None:
    name = "<script>" + "n" * 100
    svg = draw_graph([Node(0, 0, name, True), Node(1, 1, "b", True)], [Edge(0, 1, '"><x\x1b')], "<t>")
    assert "<script>" not in svg
    assert "&quot;&gt;&lt;x\\x1b" in svg
    assert "…</text>" in svg


def test_boxes_never_meet_and_all_is_inside() -> None:
    rng = random.Random(11)
    for _ in range(200):
        number = rng.randint(1, 12)
        nodes, layer = [], 0
        for place in range(number):
            layer += rng.random() < 0.5
            nodes.append(Node(place, layer, "n" * rng.randint(1, 60), True))
        edges = [
            Edge(a.number, b.number, rng.choice(["", "argument", "another_argument"]))
            for a in nodes
            for b in nodes
            if a.layer < b.layer and rng.random() < 0.4
        ]
        svg = draw_graph(nodes, edges, "t")
        size = re.search(r'viewBox="0 0 (\d+) (\d+)"', svg)
        assert size is not None
        rows: dict[float, list[Box]] = {}
        for box in _boxes(svg):
            rows.setdefault(box[1], []).append(box)
            # The width is rounded to a whole pixel, so a box may reach half a pixel further.
            assert box[0] >= -0.5
            assert box[0] + box[2] <= int(size[1]) + 0.5
            assert box[1] + box[3] <= int(size[2]) + 0.5
        for row in rows.values():
            for left, right in pairwise(sorted(row)):
                assert left[0] + left[2] <= right[0]
        assert draw_graph(nodes, edges, "t") == svg
