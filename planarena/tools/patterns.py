"""Regular expressions of imported schemas: which may stay, and strings that match them.

A pattern stays only where three hold: both validators compile it; it needs no lookaround or back reference,
so that the fast validator runs it in linear time; and it nests no open-ended repeat within another, so that
Python's backtracking engine, which words the errors, cannot be made to take exponential time.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from random import Random
from typing import Any

import jsonschema_rs

__all__ = ["MAX_PATTERN", "pattern_fault", "sample_pattern"]

# The standard library's own reader of patterns; typeshed does not list it.
_constants: Any = import_module("re._constants")
_parser: Any = import_module("re._parser")

MAX_PATTERN = 1_000
_MAX_REPEAT = 1_000
_PRINTABLE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_ .,:/@#+=~!?*()%&;'"
_REPEATS = {_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT}


def _parse(pattern: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "possible nested set": a remark on style
        re.compile(pattern)
        return _parser.parse(pattern)


@lru_cache(maxsize=4096)
def pattern_fault(pattern: str) -> str | None:
    """Say why a pattern cannot be kept, or None where it can."""
    if len(pattern) > MAX_PATTERN:
        return f"longer than {MAX_PATTERN} characters"
    try:
        tree = _parse(pattern)
    except (re.error, RecursionError, OverflowError, ValueError):
        return "does not compile"
    if _may_explode(tree, within=False):
        return "may take exponential time"
    try:
        jsonschema_rs.Draft202012Validator(
            {"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions(size_limit=1 << 20)
        )
    except (ValueError, jsonschema_rs.ValidationError):
        return "does not compile in linear time"
    return None


def _may_explode(tree: Any, *, within: bool) -> bool:
    """Find an open-ended repeat, or alternatives, inside an open-ended repeat; or a repeat that is very long."""
    for operator, argument in tree:
        if operator in _REPEATS:
            least, most, body = argument
            if least > _MAX_REPEAT or (most is not _constants.MAXREPEAT and most > 100 * _MAX_REPEAT):
                return True
            many = most is _constants.MAXREPEAT or most > 16
            if (many and within) or _may_explode(body, within=within or many):
                return True
        elif operator is _constants.BRANCH:
            if within or any(_may_explode(option, within=within) for option in argument[1]):
                return True
        elif operator is _constants.SUBPATTERN and _may_explode(argument[3], within=within):
            return True
    return False


def sample_pattern(pattern: str, rng: Random) -> str | None:
    """Return a short string that matches a pattern, or None where none was found.

    Args:
        pattern: One that `pattern_fault` has nothing against; matched anywhere, as JSON Schema does.
        rng: Chooses among characters and alternatives.
    """
    try:
        text = _sample(_parse(pattern), rng)
        return text if re.search(pattern, text) else None
    except (re.error, RecursionError, ValueError, LookupError):
        return None


def _sample(tree: Any, rng: Random) -> str:
    return "".join(_sample_one(operator, argument, rng) for operator, argument in tree)


def _sample_one(operator: Any, argument: Any, rng: Random) -> str:
    if operator is _constants.LITERAL:
        return chr(argument)
    if operator is _constants.NOT_LITERAL:
        return _choose((c for c in _PRINTABLE if ord(c) != argument), rng)
    if operator is _constants.ANY:
        return _choose(_PRINTABLE[:36], rng)
    if operator is _constants.IN:
        return _sample_set(argument, rng)
    if operator is _constants.CATEGORY:
        return _sample_set([(operator, argument)], rng)
    if operator in _REPEATS:
        least, most, body = argument
        limit = least + 6 if most is _constants.MAXREPEAT else min(most, least + 6)
        times = max(least, min(limit, least + (4 if least < 4 else 0)))
        return "".join(_sample(body, rng) for _ in range(times))
    if operator is _constants.SUBPATTERN:
        return _sample(argument[3], rng)
    if operator is _constants.ATOMIC_GROUP:
        return _sample(argument, rng)
    if operator is _constants.BRANCH:
        return _sample(argument[1][rng.randrange(len(argument[1]))], rng)
    if operator is _constants.AT:
        return ""
    raise LookupError(operator)


def _choose(options: Iterable[str], rng: Random) -> str:
    found = list(options)
    return found[rng.randrange(len(found))]


def _sample_set(members: Any, rng: Random) -> str:
    negated = bool(members) and members[0][0] is _constants.NEGATE
    matcher = re.compile("[" + ("^" if negated else "") + _class_text(members[negated:]) + "]")
    found = [c for c in _PRINTABLE if matcher.match(c)]
    if not found:
        for kind, value in members:
            if kind is _constants.LITERAL:
                found.append(chr(value))
            elif kind is _constants.RANGE:
                found.append(chr(value[0]))
    return _choose(found, rng)


_CATEGORIES = {
    _constants.CATEGORY_DIGIT: r"\d",
    _constants.CATEGORY_NOT_DIGIT: r"\D",
    _constants.CATEGORY_SPACE: r"\s",
    _constants.CATEGORY_NOT_SPACE: r"\S",
    _constants.CATEGORY_WORD: r"\w",
    _constants.CATEGORY_NOT_WORD: r"\W",
}


def _class_text(members: Any) -> str:
    parts = []
    for kind, value in members:
        if kind is _constants.LITERAL:
            parts.append(re.escape(chr(value)))
        elif kind is _constants.RANGE:
            parts.append(f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}")
        else:
            parts.append(_CATEGORIES[value])
    return "".join(parts)
