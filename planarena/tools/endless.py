"""Schemas that refer to themselves without going into the value, such as `{"if": {"$ref": "#"}}`.

Such a schema says nothing that a smaller one would not say, yet imported documents hold them. The fast
validator ends on them; the reference implementation recurses until the stack is full, and depending on the
depth at which that happens a compiled part of it aborts instead of raising `RecursionError`. So it is never asked.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

# Keywords whose schemas judge the value itself, not a part of it.
_ONE = ("not", "if", "then", "else")
_LISTS = ("allOf", "anyOf", "oneOf")
_ALL = (*_ONE, *_LISTS, "$ref", "$dynamicRef", "$recursiveRef", "dependentSchemas")


def is_endless(schema: Any) -> bool:
    """Return whether some subschema reaches itself through keywords that stay at the same value.

    Args:
        schema: A JSON Schema 2020-12, references inside the document only.
    """
    done: set[int] = set()
    return any(id(start) not in done and _cycles(start, schema, done) for start in _subschemas(schema))


def _cycles(start: dict[str, Any], root: Any, done: set[int]) -> bool:
    open_: set[int] = {id(start)}
    stack = [(start, iter(_same_value(start, root)))]
    while stack:
        node, rest = stack[-1]
        following = next(rest, None)
        if following is None:
            stack.pop()
            open_.discard(id(node))
            done.add(id(node))
        elif id(following) in open_:
            return True
        elif id(following) not in done:
            open_.add(id(following))
            stack.append((following, iter(_same_value(following, root))))
    return False


def _subschemas(schema: Any) -> list[dict[str, Any]]:
    """Every object of the document that could judge a value and passes it on to another schema."""
    found = []
    stack = [schema]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if any(word in item for word in _ALL):
                found.append(item)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return found


def _same_value(node: dict[str, Any], root: Any) -> list[dict[str, Any]]:
    following: list[Any] = [node.get(word) for word in _ONE]
    for word in _LISTS:
        if isinstance(node.get(word), list):
            following.extend(node[word])
    if isinstance(node.get("dependentSchemas"), dict):
        following.extend(node["dependentSchemas"].values())
    for word in ("$ref", "$dynamicRef", "$recursiveRef"):
        if isinstance(node.get(word), str):
            following.append(_target(node[word], root))
    return [item for item in following if isinstance(item, dict)]


def _target(reference: str, root: Any) -> Any:
    if not reference.startswith("#"):
        return None
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        name = reference[1:]
        named = (item for item in _objects(root) if name in (item.get("$anchor"), item.get("$dynamicAnchor")))
        return next(named, None)
    found = root
    for word in unquote(reference[2:]).split("/"):
        word = word.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(word)] if isinstance(found, list) else found[word]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return found


def _objects(root: Any) -> Any:
    stack = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            yield item
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
