"""The rules of ACEBench: when calls are right, when a refusal is, when a final state is.

They are the benchmark's own, with what is lenient in them, since its leaderboard is made by them: a text is right that
contains the expected one (both without spaces and some signs, in small letters), and of numbers and booleans the type
alone is looked at. `exact` is the stricter comparison that is reported beside them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from planarena.eval.acebench.reading import Written
from planarena.records import CanonicalError, canonical_json

__all__ = ["check_calls", "check_state", "check_words", "exact", "plain_name", "process_share"]

_TYPES: dict[str, type] = {
    "string": str, "any": str, "integer": int, "int": int, "number": int, "float": float, "boolean": bool,
    "array": list, "tuple": list, "list": list, "objectArray": list, "list(string)": list, "list(enum)": list,
    "dict": dict, "object": dict, "enum": enumerate,
}  # fmt: skip
_NESTED = ("array", "tuple", "list(string)", "list(enum)", "object", "objectArray")
_SIGNS = re.compile(r"[ ,./\-_*^]")
_COUNT = re.compile(r"_\d+$")
_WORDS = {
    "special_incomplete": "Missing necessary parameters",
    "special_error_param": "There is incorrect value",
    "special_irrelevant": "the limitations of the function",
}
_MISSING = object()


def _plain(text: str) -> str:
    return _SIGNS.sub("", text).lower().replace("'", '"')


def plain_name(name: str) -> str:
    """The function that an answer's key means: a name that is called again has a count behind it."""
    return _COUNT.sub("", name)


def check_calls(functions: Sequence[dict[str, Any]], found: Written, answer: Mapping[str, Any]) -> str:
    """Return why the calls are wrong by one accepted answer; empty where they are right.

    Args:
        functions: On offer.
        found: As the output has them.
        answer: Arguments by function; a name that is called again has _1, _2 and so on behind it.
    """
    if exact(found, answer):
        return ""  # of eight items the rules themselves refuse the answer
    wanted = [(plain_name(name), name, arguments) for name, arguments in answer.items()]
    if len(found) != len(wanted):
        return "another number of calls"
    if Counter(name for name, _ in found) != Counter(name for name, _, _ in wanted):
        return "wrong functions"
    reason = ""
    for name, full, arguments in wanted:
        function = next((one for one in functions if one["name"] in full), None)
        for given_name, given in found:
            if given_name == name:
                reason = (
                    _check_call(function, given, arguments) if function is not None else "no such function"
                )
                if not reason:
                    break
        if reason:
            return reason
    return ""


def _check_call(function: dict[str, Any], given: dict[str, Any], wanted: dict[str, Any]) -> str:
    schema = function.get("parameters", function.get("arguments")) or {}
    if not given or not schema:
        return "" if not given and not schema else "wrong parameters"
    properties = schema.get("properties", {})
    if wanted == properties:
        return ""
    if not wanted:
        return "wrong parameters"
    for name in schema.get("required", ()):
        if name not in given:
            return f"lacks {name}"
    for name, value in given.items():
        if name not in properties or name not in wanted:
            return f"{name} is not asked for"
        if reason := _check_value(name, value, wanted[name], properties[name]):
            return reason
    return ""


def _check_value(name: str, value: Any, wanted: Any, about: dict[str, Any]) -> str:
    stated = about.get("type")
    expected = _TYPES.get(stated) if isinstance(stated, str) else None
    if expected is None or not isinstance(stated, str):
        return "" if _equal(value, wanted) else f"wrong value of {name}"
    nested: type | None = None
    if stated in _NESTED:
        inner = (about.get("items") or {}).get("type") if isinstance(about.get("items"), dict) else None
        inner = inner or ("string" if "string" in stated else "enum" if "enum" in stated else "dict")
        nested = _TYPES.get(inner, dict) if isinstance(inner, str) else dict
    if stated == "float" and type(value) is int:
        value = float(value)
    fits, free = _check_type(value, wanted, expected, nested)
    if not fits:
        return f"wrong type of {name}"
    if free:
        return ""
    if expected is dict:
        right = _check_object(value, wanted)
    elif expected is list and nested is dict:
        right = len(value) == len(wanted) and all(map(_check_object, value, wanted))
    elif expected is str:
        right = isinstance(wanted, str) and isinstance(value, str) and _plain(wanted) in _plain(value)
    elif expected is list:
        right = [_folded(one) for one in value] == [_folded(one) for one in wanted]
    else:
        right = True  # of numbers and booleans the benchmark compares the type alone
    return "" if right else f"wrong value of {name}"


def _folded(value: Any) -> Any:
    return _plain(value) if isinstance(value, str) else value


def _equal(value: Any, wanted: Any) -> bool:
    return bool(_folded(value) == _folded(wanted))


def _check_type(value: Any, wanted: Any, expected: type, nested: type | None) -> tuple[bool, bool]:
    """Whether a value's type fits, and whether its value is free, as where the answer itself has another type."""
    kind = None if isinstance(wanted, str) and not wanted else type(wanted)
    free = kind is not None and kind is not expected
    value = {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
    if type(value) is expected:
        if nested is None or _check_inner(value, wanted, nested):
            return True, free
        return False, free
    return (type(value) is kind or value == wanted), True


def _check_inner(value: Any, wanted: Any, nested: type) -> bool:
    for one in wanted if isinstance(wanted, (list, dict, str)) else ():
        if not isinstance(one, list) or all(_check_type(inner, one, nested, nested)[0] for inner in value):
            return True
    return False


def _check_object(value: Any, wanted: Any) -> bool:
    """Objects have the same keys, and each text of the answer stands in the value's."""
    if not isinstance(value, dict) or not isinstance(wanted, dict) or len(value) != len(wanted):
        return False
    for key, inner in value.items():
        answer = wanted.get(key, _MISSING)
        if answer is _MISSING:
            return False
        inner = {"true": True, "false": False}.get(inner, inner) if isinstance(inner, str) else inner
        if isinstance(answer, dict):
            if not _check_object(inner, answer):
                return False
        elif str(_folded(answer)) not in str(_folded(inner)):
            return False
    return True


def exact(found: Written, answer: Mapping[str, Any]) -> bool:
    """Whether the calls are the answer's, value by value, in any order."""
    try:
        wanted = sorted(canonical_json([plain_name(name), values]) for name, values in answer.items())
        return sorted(canonical_json([name, values]) for name, values in found) == wanted
    except CanonicalError:
        return False


def check_words(category: str, text: str, answer: Any) -> str:
    """Return why an output does not say what is wrong with a request; empty where it does."""
    if _WORDS[category] not in text:
        return "says nothing of it"
    for name, values in answer.items() if isinstance(answer, dict) else ():
        if category == "special_incomplete" and name not in text:
            return f"does not name {name}"
        for value in values:
            if str(value) not in text:
                return f"does not name {value}"
    return ""


def check_state(found: Sequence[dict[str, Any]], answer: Any) -> str:
    """Return why a final state is wrong; empty where it is right.

    A class whose name the found state does not have is passed over, as the benchmark does (some of its answers have
    misspelt one).
    """
    wanted = answer if isinstance(answer, list) else [answer]
    if len(found) != len(wanted):
        return "another number of classes"
    for one in wanted:
        state = next((state for state in found if state.keys() == one.keys()), None)
        if state is None:
            continue
        (name, expected), (_, given) = next(iter(one.items())), next(iter(state.items()))
        for field, value in given.items():
            if field not in expected:
                return f"{name}.{field} is not expected"
            right = expected[field]
            if isinstance(right, dict):
                wrong = not isinstance(value, dict) or any(
                    key not in value or value[key] != inner for key, inner in right.items()
                )
            else:
                wrong = right != value
            if wrong:
                return f"{name}.{field} differs"
    return ""


def process_share(found: Sequence[str], milestones: Sequence[Any]) -> float:
    """The greatest share of one list of milestones that stand in the process in their order."""
    lists = milestones if milestones and isinstance(milestones[0], list) else [milestones]
    best = 0.0
    for stones in lists:
        place = reached = 0
        for stone in stones:
            while place < len(found):
                place += 1
                if found[place - 1].strip() == stone.strip():
                    reached += 1
                    break
        best = max(best, reached / len(stones) if stones else 1.0)
    return best
