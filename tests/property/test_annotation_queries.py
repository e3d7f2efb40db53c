"""Text queries: the parser and its evaluation against a plain oracle that knows the tree it wrote down."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planarena.annotation.server.query import MAX_LEAVES, Combined, Leaf, Not, evaluate, parse, words

WORDS = ("alpha", "beta", "gamma", "delta", "al")
DOCUMENTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=5), min_size=1, max_size=8)


def leaf_text(leaf):
    text = " ".join(leaf.words)
    return f'"{text}"' if len(leaf.words) > 1 else text + ("*" if leaf.prefix else "")


leaves = st.one_of(
    st.builds(Leaf, st.tuples(st.sampled_from(WORDS)), st.booleans()),
    st.builds(Leaf, st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)), st.just(False)),
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(st.builds(Not, inner), st.builds(Combined, st.booleans(), inner, inner)),
    max_leaves=8,
)


def write(tree, signs):
    """Write a tree as a query; every inner node in parentheses, `+` or a blank for both."""
    if isinstance(tree, Leaf):
        return leaf_text(tree)
    if isinstance(tree, Not):
        return f"-({write(tree.inner, signs)})"
    sign = " | " if tree.either else signs
    return f"({write(tree.left, signs)}{sign}{write(tree.right, signs)})"


def holds(tree, document):
    """The oracle: does a document, a list of words, fit a tree?"""
    if isinstance(tree, Not):
        return not holds(tree.inner, document)
    if isinstance(tree, Combined):
        sides = (holds(tree.left, document), holds(tree.right, document))
        return any(sides) if tree.either else all(sides)
    size = len(tree.words)
    windows = [tuple(document[at : at + size]) for at in range(len(document) - size + 1)]
    if tree.prefix:
        return any(
            window[:-1] == tree.words[:-1] and window[-1].startswith(tree.words[-1]) for window in windows
        )
    return tree.words in windows


def found(query, documents):
    def match(leaf):
        return {str(at): 1.0 for at, document in enumerate(documents) if holds(leaf, document)}

    return set(evaluate(parse(query), match, lambda: {str(at) for at in range(len(documents))}))


@settings(max_examples=300, deadline=None)
@given(trees, DOCUMENTS, st.sampled_from([" ", " + ", "+"]))
def test_what_is_written_down_is_what_is_found(tree, documents, signs):
    want = {str(at) for at, document in enumerate(documents) if holds(tree, document)}
    assert found(write(tree, signs), documents) == want


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet='ab"|+-()* ~1', max_size=30), DOCUMENTS)
def test_any_text_is_a_query(text, documents):
    assert found(text, documents) <= {str(at) for at in range(len(documents))}


@pytest.mark.parametrize(
    ("query", "tree"),
    [
        ("a b | c", Combined(True, Combined(False, Leaf(("a",)), Leaf(("b",))), Leaf(("c",)))),
        ("a | b c", Combined(False, Combined(True, Leaf(("a",)), Leaf(("b",))), Leaf(("c",)))),
        ("a | (b c)", Combined(True, Leaf(("a",)), Combined(False, Leaf(("b",)), Leaf(("c",))))),
        ("a -b", Combined(False, Leaf(("a",)), Not(Leaf(("b",))))),
        ("- b", Leaf(("b",))),  # a minus belongs to what follows at once
        ("--b", Leaf(("b",))),
        ("(a", Leaf(("a",))),
        ("a)", Leaf(("a",))),
        ('"a b', Combined(False, Leaf(("a",)), Leaf(("b",)))),
        ("a | () b", Combined(False, Leaf(("a",)), Leaf(("b",)))),
        ("| a", Leaf(("a",))),
        ("find_flight", Leaf(("find", "flight"))),
        ("word~2", Leaf(("word",))),
        ("co*", Leaf(("co",), prefix=True)),
        ('"a) b" (c "d("', Combined(False, Combined(False, Leaf(("a", "b")), Leaf(("c",))), Leaf(("d",)))),
        ("*", None),
        ("", None),
    ],
)
def test_precedence_and_what_is_ignored(query, tree):
    assert parse(query) == tree


def test_a_query_of_thousands_of_terms_stays_small():
    query = " ".join(f"w{number}" for number in range(5000))
    assert len(evaluate(parse(query), lambda leaf: {" ".join(leaf.words): 1.0}, set)) == 0
    asked = []
    evaluate(parse(" | ".join(query.split())), lambda leaf: asked.append(leaf) or {}, set)
    assert len(asked) == MAX_LEAVES
    assert parse("(" * 5000 + "a" + ")" * 5000) == Leaf(("a",))


def test_words_are_runs_of_letters_and_digits():
    assert words("Find_flight: São-Paulo 2x, don't") == ["find", "flight", "são", "paulo", "2x", "don", "t"]
