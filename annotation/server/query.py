"""Text queries: the language of Elasticsearch's simple query strings, parsed and evaluated over sets of records.

The operators are those of Lucene's SimpleQueryParser, which the stock server uses with AND as default:
`a b` and `a + b` need both, `a | b` either, `-a` excludes, `"a b"` is a phrase, `a*` a prefix, parentheses group.
`+` and `|` have one precedence and associate to the left: `a b | c` is `(a b) | c`, `a | b c` is `(a | b) c`.
What is unbalanced is ignored, as there. Deviations: words are runs of letters and digits, so `find_flight` is
found by `flight` too; a fuzziness (`word~2`) is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

__all__ = ["MAX_LEAVES", "Combined", "Leaf", "Node", "Not", "evaluate", "parse", "words"]

MAX_LEAVES = 64
"""Terms of one query; what stands beyond is ignored."""

_DELIMITERS = frozenset('"|+() \t\n\r')
_WORD = re.compile(r"[^\W_]+")


class Leaf(NamedTuple):
    """Words that follow each other in one field; the last one is a beginning of a word where `prefix` is set."""

    words: tuple[str, ...]
    prefix: bool = False


class Not(NamedTuple):
    """All records but those of `inner`."""

    inner: Node


class Combined(NamedTuple):
    """Records of both sides, or of either."""

    either: bool
    left: Node
    right: Node


Node = Leaf | Not | Combined


def words(text: str) -> list[str]:
    """Return the words of a text as the index sees them: runs of letters and digits, in lower case."""
    return _WORD.findall(text.lower())


def parse(text: str) -> Node | None:
    """Parse a query; None where it names no word, which finds nothing.

    Args:
        text: What the annotator typed.
    """
    return _Parser(text).parse(0, len(text), 0)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._leaves = 0
        self._closing = _pairs(text)

    def parse(self, start: int, end: int, depth: int) -> Node | None:
        """Parse a part of the text; deeper than 32 parentheses they are ignored."""
        text, at = self._text, start
        top: Node | None = None
        either: bool | None = None
        negations = 0
        while at < end:
            found: Node | None = None
            character = text[at]
            if character == "-":
                negations += 1
                at += 1
                continue
            if character == "(":
                close = self._closing.get(at)
                if close is not None and depth < 32:
                    found = self.parse(at + 1, close, depth + 1)
                    at = close + 1
                    if found is None:
                        either = None  # an empty group takes its operator along
                else:
                    at += 1
            elif character == '"':
                close = text.find('"', at + 1, end)
                if close >= 0:
                    found = self._leaf(text[at + 1 : close], prefix=False)
                    at = close + 1
                else:
                    at += 1
            elif character in "+|":
                if either is None and top is not None:
                    either = character == "|"
                at += 1
            elif character in _DELIMITERS:
                at += 1
            else:
                stop = at
                while stop < end and text[stop] not in _DELIMITERS:
                    stop += 1
                token = re.sub(r"~\d*$", "", text[at:stop])
                found = self._leaf(token, prefix=len(token) > 1 and token.endswith("*"))
                at = stop
            if found is not None:
                if negations % 2:
                    found = Not(found)
                top = found if top is None else Combined(bool(either), top, found)
                either = None
            negations = 0  # a minus belongs to what follows at once, not across a blank
        return top

    def _leaf(self, text: str, prefix: bool) -> Leaf | None:
        found = tuple(words(text))
        if not found or self._leaves >= MAX_LEAVES:
            return None
        self._leaves += 1
        return Leaf(found, prefix)


def _pairs(text: str) -> dict[int, int]:
    """Return where each parenthesis that is closed closes; those in quotes are words."""
    found: dict[int, int] = {}
    opened: list[int] = []
    at = 0
    while at < len(text):
        if text[at] == '"' and (close := text.find('"', at + 1)) >= 0:
            at = close
        elif text[at] == "(":
            opened.append(at)
        elif text[at] == ")" and opened:
            found[opened.pop()] = at
        at += 1
    return found


def evaluate(
    node: Node | None, match: Callable[[Leaf], Mapping[str, float]], every: Callable[[], set[str]]
) -> dict[str, float]:
    """Return the records that a query finds, with their scores.

    Args:
        node: The parsed query.
        match: The records of one leaf, with a score.
        every: All records; asked for only by queries that exclude.

    Returns:
        Scores by record: the sum over the leaves that match; a record found by exclusion alone has 0.
    """
    if node is None:
        return {}
    if isinstance(node, Leaf):
        return dict(match(node))
    if isinstance(node, Not):
        return dict.fromkeys(every() - set(evaluate(node.inner, match, every)), 0.0)
    left, right = evaluate(node.left, match, every), evaluate(node.right, match, every)
    kept = left.keys() | right.keys() if node.either else left.keys() & right.keys()
    return {record: left.get(record, 0.0) + right.get(record, 0.0) for record in kept}
