"""JSON text from which the JSON type of `datasets` gets every number back exactly.

`datasets` reads its JSON type with the parser of pandas, which adds up decimal places with rounded powers of ten:
it makes 0.30000000000000004 of `0.3`, but 0.3 of `0.30`. A number that it would not read as it is stands here in
another spelling of the same decimal value, so that every other parser reads the same number too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from planarena.records import canonical_json

__all__ = ["exact_json"]

# A string, which is kept, or a number with a fraction or an exponent.
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?')
_PLACES = 15  # decimal places that the parser looks at


def exact_json(value: Any) -> str:
    """Return canonical JSON but for the spelling of numbers that the parser of `datasets` would change.

    Example:
        >>> exact_json({"price": 0.3, "note": "0.3"})
        '{"note":"0.3","price":0.30}'
    """
    return _TOKENS.sub(lambda token: _spell(token[0]), canonical_json(value))


def _spell(token: str) -> str:
    if token[0] == '"' or not set(token) & set(".eE"):
        return token
    wanted = float(token)
    if _read(token) == wanted:
        return token
    return next((other for other in _spellings(token) if _read(other) == wanted), token)


def _spellings(token: str) -> Iterator[str]:
    """Yield the same decimal value with more zeros, then with the point elsewhere."""
    digits, _, power = token.lower().partition("e")
    whole, _, places = digits.partition(".")
    exponent = int(power or 0)
    tail = f"e{exponent}" if exponent else ""
    for zeros in range(1, _PLACES):
        yield f"{whole}.{places}{'0' * zeros}{tail}"
    sign, whole = ("-", whole[1:]) if whole[0] == "-" else ("", whole)
    every = (whole + places).lstrip("0") or "0"
    scale = exponent - len(places)
    for zeros in range(8):
        padded = every + "0" * zeros
        for kept in range(len(padded), 0, -1):
            left, right = padded[:kept], padded[kept:]
            moved = scale - zeros + len(right)
            if len(left) <= 18:
                yield f"{sign}{left}{'.' + right if right else ''}e{moved}"


def _read(token: str) -> float:
    """Read a number as the parser of pandas does (`decode_numeric` of its ultrajson, without `precise_float`)."""
    digits, _, power = token.lower().partition("e")
    whole, _, places = digits.partition(".")
    sign = -1.0 if whole[0] == "-" else 1.0
    fraction = 0.0
    for digit in places[:_PLACES]:
        fraction = fraction * 10.0 + int(digit)
    value = (float(int(whole.lstrip("-"))) + fraction * float(f"1e-{min(len(places), _PLACES)}")) * sign
    return value * 10.0 ** int(power) if power else value
