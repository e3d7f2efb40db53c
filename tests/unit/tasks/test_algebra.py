"""The algebra: flattening, canonical form, parsing, orders and generations."""

from __future__ import annotations

import itertools
import random

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planarena.errors import UserError
from planarena.tasks.algebra import (
    Node,
    canonical,
    depth,
    from_order,
    generations,
    leaves,
    order_of,
    parallel,
    parse,
    relabel,
    render,
    serial,
)
from planarena.tasks.composition import enumerate_forms
from planarena.tasks.views import from_graph, to_graph


def expressions(max_leaves=7):
    """Random expressions with distinct leaves a, b, c, ..."""

    def number(tree):
        names = iter("abcdefghijklmnop")

        def walk(part):
            if part is None:
                return next(names)
            op, parts = part
            return (serial if op == "," else parallel)(*(walk(item) for item in parts))

        return walk(tree)

    trees = st.recursive(
        st.none(),
        lambda inner: st.tuples(st.sampled_from([",", "||"]), st.lists(inner, min_size=2, max_size=3)),
        max_leaves=max_leaves,
    )
    return trees.map(number)


def linear_extensions(expression):
    names, before = order_of(expression)
    found = set()
    for order in itertools.permutations(range(len(names))):
        place = {item: rank for rank, item in enumerate(order)}
        if all(
            place[i] < place[j] for j in range(len(names)) for i in range(len(names)) if before[j] >> i & 1
        ):
            found.add(tuple(names[item] for item in order))
    return found


@pytest.mark.parametrize(("n", "forms"), [(1, 1), (2, 3), (3, 19), (4, 195), (5, 2791)])
def test_canonical_forms_are_the_labelled_series_parallel_orders(n, forms):
    space = enumerate_forms(n, max_actions=n, max_depth=11)
    assert sum(member.n_actions == n for level in space.levels for member in level) == forms
    assert space.stop_reason == "exhausted"


def test_195_of_the_219_orders_over_four_elements_have_an_expression():
    orders, exact = set(), 0
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    for size in range(len(pairs) + 1):
        for edges in itertools.combinations(pairs, size):
            graph = networkx.DiGraph()
            graph.add_nodes_from(range(4))
            graph.add_edges_from(edges)
            if networkx.is_directed_acyclic_graph(graph):
                orders.add(frozenset(networkx.transitive_closure(graph).edges))
        if size == 6:
            break
    for closure in orders:
        graph = networkx.DiGraph()
        graph.add_nodes_from(range(4))
        graph.add_edges_from(closure)
        expression, extra = from_graph(graph)
        said = {(a, b) for a, b in networkx.transitive_closure(to_graph(expression)).edges}
        assert closure <= said
        assert extra == (said != set(closure))
        exact += not extra
    assert (len(orders), exact) == (219, 195)


def test_both_limits_and_both_stop_rules():
    assert enumerate_forms(3, max_actions=3, max_depth=2).stop_reason == "max_depth"
    short = enumerate_forms(4, max_actions=2, max_depth=11)
    assert short.stop_reason == "exhausted"
    assert max(member.n_actions for level in short.levels for member in level) == 2


@given(expressions())
def test_rendering_and_parsing_return_the_same_expression(expression):
    assert parse(render(expression)) == expression


@given(expressions(), st.randoms(use_true_random=False))
def test_canonical_form_ignores_the_order_of_parallel_parts(expression, rng):
    def shuffled(part):
        if not isinstance(part, Node):
            return part
        parts = [shuffled(item) for item in part.parts]
        if part.op == "||":
            rng.shuffle(parts)
        return Node(part.op, tuple(parts))

    assert canonical(shuffled(expression)) == canonical(expression)
    assert canonical(canonical(expression)) == canonical(expression)


def test_canonical_form_keeps_the_order_of_serial_parts():
    assert canonical(parse("a, b")) != canonical(parse("b, a"))
    assert canonical(parse("b || a")) == parse("a || b")


@given(expressions(5))
def test_an_order_and_its_expression_say_the_same(expression):
    names, before = order_of(expression)
    rebuilt, extra = from_order(before)
    assert not extra
    assert canonical(relabel(rebuilt, names)) == canonical(expression)


@given(expressions(5))
def test_generations_are_a_linear_extension_of_antichains(expression):
    rows = generations(expression)
    assert tuple(name for row in rows for name in row) in linear_extensions(expression)
    names, before = order_of(expression)
    place = {name: index for index, name in enumerate(names)}
    for row in rows:
        for a, b in itertools.permutations(row, 2):
            assert not before[place[b]] >> place[a] & 1


def test_three_interleavings_of_a_chain_beside_one_step():
    assert len(linear_extensions(parse("(a, b) || c"))) == 3


def test_n_shaped_order_is_over_serialised_and_says_so():
    # 0 < 2, 1 < 2, 1 < 3: no expression says exactly this.
    expression, extra = from_order([0, 0, 0b11, 0b10])
    assert extra
    names, before = order_of(expression)
    place = {name: index for index, name in enumerate(names)}
    for earlier, later in ((0, 2), (1, 2), (1, 3)):
        assert before[place[later]] >> place[earlier] & 1


def test_depth_and_leaves():
    expression = parse("a, (b || (c, d))")
    assert depth(expression) == 4
    assert leaves(expression) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("text", ["", "a,", "(a", "a || b, c", "a)", "a b", ", a", "a ; b", "()"])
def test_a_malformed_expression_is_one_clear_error(text):
    with pytest.raises(UserError, match="cannot be read at character"):
        parse(text)


def test_graph_view_reduces_order_and_marks_data():
    graph = to_graph(parse("a, b, c"), [{"from": "a", "to": "c", "argument": "x", "pointer": "/y"}])
    assert dict(graph.edges) == {
        ("a", "b"): {"kind": "order"},
        ("b", "c"): {"kind": "order"},
        ("a", "c"): {"kind": "data", "argument": "x", "pointer": "/y"},
    }


def test_random_orders_survive_the_round_trip_through_graphs():
    rng = random.Random(3)
    for _ in range(200):
        n = rng.randint(1, 7)
        graph = networkx.DiGraph()
        graph.add_nodes_from(range(n))
        graph.add_edges_from((i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.3)
        closure = set(networkx.transitive_closure(graph).edges)
        expression, extra = from_graph(graph)
        said = set(networkx.transitive_closure(to_graph(expression)).edges)
        assert closure <= said
        assert (said == closure) == (not extra)
