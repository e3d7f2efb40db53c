"""Graphs of trajectories in a report: layers, labels, which edges are drawn, and that boxes never meet."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Browser

Node = tuple[int, int, str]  # number, layer, name
Edge = tuple[int, int, str]  # source, target, label


class Drawing:
    """What a graph holds, measured in the browser."""

    def __init__(self, measured: dict[str, Any]) -> None:
        self.boxes: list[list[float]] = measured["boxes"]  # x, y, width, height; in drawing order
        self.size: list[float] = measured["size"]
        self.kinds: list[str] = measured["kinds"]
        self.texts: list[str] = measured["texts"]
        self.steps: list[str] = measured["steps"]

    def edges(self) -> tuple[int, int]:
        """The numbers of data edges and of order edges."""
        return self.kinds.count("edge data"), self.kinds.count("edge order")


@pytest.fixture(scope="module")
def drawing(browser: Browser, root: Path) -> Any:
    folder = root / "planarena/report"
    source = "".join((folder / name).read_text() for name in ("blocks.js", "graph.js"))
    measure = """
    return GRAPHS.map(([nodes, edges]) => {
      const graph = drawGraph(nodes.map(([number, layer, name]) => ({number, layer, name, effect: ["reads", "acts"][number % 2]})),
        edges.map(([source, target, label]) => ({source, target, label})), "<t>");
      const of = (item, names) => names.map(name => Number(item.getAttribute(name)));
      return {
        boxes: [...graph.querySelectorAll("rect")].map(r => of(r, ["x", "y", "width", "height"])),
        size: of(graph, ["width", "height"]),
        kinds: [...graph.querySelectorAll("path")].map(p => p.getAttribute("class")),
        texts: [...graph.querySelectorAll("text")].map(t => t.textContent),
        steps: [...graph.querySelectorAll("g")].map(g => g.getAttribute("class")),
      };
    });
    """

    def draw(*graphs: tuple[list[Node], list[Edge]]) -> list[Drawing]:
        given = f"const GRAPHS = {json.dumps(graphs)};"
        return [Drawing(one) for one in browser.run(f"{source}\n{given}\n{measure}")]

    return draw


def test_layers_stand_below_each_other(drawing: Any) -> None:
    (one,) = drawing(([(0, 0, "find"), (1, 1, "book"), (2, 1, "tell")], [(0, 1, "id"), (0, 2, "id")]))
    first, second, third = one.boxes
    assert second[1] == third[1] > first[1] + first[3]
    assert second[0] + second[2] < third[0]
    assert one.edges() == (2, 0)
    assert one.texts.count("id") == 2
    assert one.steps == ["step reads", "step acts", "step reads"]


def test_which_edges_are_drawn(drawing: Any) -> None:
    shared, implied, backwards = drawing(
        ([(0, 0, "a"), (1, 1, "b")], [(0, 1, "x"), (0, 1, "y")]),
        (
            [(number, number, "n") for number in range(4)],
            [(0, 1, "x"), (1, 2, ""), (0, 2, ""), (0, 1, ""), (0, 3, "")],
        ),
        ([(0, 0, "a"), (1, 1, "b"), (2, 1, "c")], [(1, 0, "x"), (1, 2, "y")]),
    )
    assert shared.edges() == (1, 0)
    assert "x, y" in shared.texts
    # Order edges that follow from others are left out.
    assert implied.edges() == (1, 2)
    # An edge that does not lead to a later layer, in a run that others wrote, is no edge to draw.
    assert backwards.edges() == (0, 0)


def test_layer_numbers_may_have_gaps(drawing: Any) -> None:
    (one,) = drawing(([(0, 3, "a"), (1, 9, "b")], [(0, 1, "")]))
    first, second = one.boxes
    assert 40 < second[1] - first[1] < 120


def test_names_and_labels_are_shortened_and_control_codes_are_shown(drawing: Any) -> None:
    (one,) = drawing(([(0, 0, "<script>" + "n" * 100), (1, 1, "b")], [(0, 1, '"><x\x1b')]))
    assert '"><x\\x1b' in one.texts
    assert any(text.startswith("<script>n") and text.endswith("…") for text in one.texts)


def test_boxes_never_meet_and_all_is_inside(drawing: Any) -> None:
    rng = random.Random(11)
    graphs = []
    for _ in range(200):
        nodes: list[Node] = []
        layer = 0
        for place in range(rng.randint(1, 12)):
            layer += rng.random() < 0.5
            nodes.append((place, layer, "n" * rng.randint(1, 60)))
        edges = [
            (a[0], b[0], rng.choice(["", "argument", "another_argument"]))
            for a in nodes
            for b in nodes
            if a[1] < b[1] and rng.random() < 0.4
        ]
        graphs.append((nodes, edges))
    for one in drawing(*graphs):
        rows: dict[float, list[list[float]]] = {}
        for box in one.boxes:
            rows.setdefault(box[1], []).append(box)
            # Places are means of floats: the last digits of a left border may fall below the margin.
            assert box[0] >= 10 - 1e-6
            assert box[0] + box[2] <= one.size[0]
            assert box[1] + box[3] <= one.size[1]
        for row in rows.values():
            for left, right in pairwise(sorted(row)):
                assert left[0] + left[2] <= right[0]
