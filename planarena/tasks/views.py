"""networkx views of a task: its partial order as a directed acyclic graph, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from planarena.tasks.algebra import Expression, from_order, order_of, relabel

if TYPE_CHECKING:
    import networkx

__all__ = ["from_graph", "to_graph"]


def to_graph(expression: Expression, data_edges: Iterable[Mapping[str, Any]] = ()) -> networkx.DiGraph:
    """Return the covering relation of an expression as a graph.

    Args:
        expression: Its leaves become the nodes.
        data_edges: Bindings `{"from", "to", "argument", "pointer"}`; they become edges of kind `data`
            with those attributes, the other edges are of kind `order`.

    Returns:
        A `networkx.DiGraph`, acyclic.
    """
    import networkx

    names, before = order_of(expression)
    graph = networkx.DiGraph()
    graph.add_nodes_from(names)
    for later, mask in enumerate(before):
        for earlier in range(len(names)):
            if mask >> earlier & 1:
                graph.add_edge(names[earlier], names[later], kind="order")
    graph = _reduced(graph)
    for edge in data_edges:
        graph.add_edge(
            edge["from"], edge["to"], kind="data", argument=edge["argument"], pointer=edge["pointer"]
        )
    return graph


def _reduced(graph: networkx.DiGraph) -> networkx.DiGraph:
    import networkx

    reduced = networkx.transitive_reduction(graph)
    reduced.add_nodes_from(graph.nodes(data=True))
    reduced.add_edges_from((a, b, {"kind": "order"}) for a, b in list(reduced.edges))
    return reduced


def from_graph(graph: networkx.DiGraph) -> tuple[Expression, bool]:
    """Return the expression of a graph's partial order, and whether it had to be over-serialised.

    Raises:
        networkx.NetworkXUnfeasible: The graph has a cycle.
    """
    import networkx

    nodes = list(networkx.lexicographical_topological_sort(graph, key=str))
    place = {node: index for index, node in enumerate(nodes)}
    before = [sum(1 << place[other] for other in networkx.ancestors(graph, node)) for node in nodes]
    expression, extra = from_order(before)
    return relabel(expression, nodes), extra
