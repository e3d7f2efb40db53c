"""Servers that draw ids and times: what they draw is given names that follow from the calls, so that repeating them repeats all.

A server in another process draws a new id whenever it starts again, and worlds start it again to go back. What differs between
two runs of the same calls was drawn; it is renamed on its way here, and named back on its way there.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

import msgspec

from planarena.environments.sources.session_world import Session, make_outcome
from planarena.environments.world import Outcome
from planarena.records.canonical import CanonicalError, canonical_bytes, id_of_bytes
from planarena.tools.tool import Tool

__all__ = ["Form", "SteadySession", "find_drawn"]

# Stands for a letter or digit that is drawn.
_ANY = "\ue000"
_NOW, _NOW_SECONDS = "2026-03-02T09:00:00", 1_772_442_000
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?")
# Numbers above are seconds or milliseconds since 1970.
_SECONDS, _MILLISECONDS = 1_000_000_000, 1_000_000_000_000
_SMALLEST = 1000
_Scalar = str | int | float


def _leaves(value: Any, pointer: str = "") -> Iterator[tuple[str, _Scalar]]:
    """Yield (pointer with `*` for each place of a list, value) of all texts and numbers."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{pointer}/{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, f"{pointer}/*")
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield pointer, value


def _exchanged(value: Any, names: Mapping[_Scalar, _Scalar]) -> Any:
    """Return a value in which every text and number that has another name bears it."""
    if isinstance(value, dict):
        return {key: _exchanged(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [_exchanged(inner, names) for inner in value]
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return names.get(value, value)
    return value


class Form(msgspec.Struct, frozen=True):
    """What drawn values of one place look like.

    Attributes:
        text: One of them with a private character for each letter or digit that differs; empty for a number.
        letters: What stands in their place.
        is_time: Whether they are moments.
    """

    text: str
    letters: str
    is_time: bool


def find_drawn(
    session: Session, calls: Sequence[tuple[str, Mapping[str, Any], Any]], tools: Mapping[str, Tool]
) -> dict[str, dict[str, Form]]:
    """Return where a session's results hold what it draws anew each time: form by pointer by wire name.

    Args:
        session: It goes back by starting again.
        calls: (wire name, arguments, result) of calls that changed something, in the order in which they were made.
        tools: By wire name.
    """
    runs = [_repeated(session, calls, tools) for _ in range(2)]
    values: dict[str, dict[str, list[_Scalar]]] = {}
    drawn: set[tuple[str, str]] = set()
    for (name, _, before), first, second in zip(calls, *runs, strict=True):
        leaves = [list(_leaves(one)) for one in (before, first, second)]
        if len({tuple(pointer for pointer, _ in one) for one in leaves}) > 1:
            continue
        for (pointer, old), (_, value), (_, again) in zip(*leaves, strict=True):
            values.setdefault(name, {}).setdefault(pointer, []).extend((old, value, again))
            if value != again:
                drawn.add((name, pointer))
    return {
        name: {pointer: _form(found) for pointer, found in places.items() if (name, pointer) in drawn}
        for name, places in values.items()
        if any((name, pointer) in drawn for pointer in places)
    }


def _form(values: Sequence[_Scalar]) -> Form:
    texts = list(dict.fromkeys(one for one in values if isinstance(one, str)))
    if len(texts) < len(set(values)):
        return Form("", "", is_time=all(not isinstance(one, str) and one >= _SECONDS for one in values))
    if all(map(_TIME.match, texts)):
        return Form(_at_present(texts[0]), "", is_time=True)
    first = texts[0]
    if len({len(one) for one in texts}) > 1:
        start = next((n for n, met in enumerate(zip(*texts, strict=False)) if len(set(met)) > 1), 0)
        varied = [place >= start and letter.isalnum() for place, letter in enumerate(first)]
    else:
        varied = [
            letter.isalnum() and any(one[place] != letter for one in texts)
            for place, letter in enumerate(first)
        ]
    met = {letter for one in texts for letter, own in zip(one, varied, strict=False) if own}
    sets = ("0123456789", "0123456789abcdef", "0123456789ABCDEF", string.ascii_lowercase + string.digits)
    letters = next((one for one in sets if met <= set(one)), string.ascii_letters + string.digits)
    return Form(
        "".join(_ANY if own else letter for letter, own in zip(first, varied, strict=True)),
        letters,
        is_time=False,
    )


def _at_present(text: str) -> str:
    """Return a moment with everything but its form replaced by the present of all worlds."""
    found = _TIME.match(text)
    assert found is not None
    zone = re.search(r"(Z|[+-]\d\d:?\d\d)$", text[found.end() :])
    rest = text[found.end() : len(text) - len(zone[0] if zone else "")]
    return (
        _NOW[: found.end()].replace("T", text[len("2026-03-02")])
        + re.sub(r"\d", "0", rest)
        + (zone[0] if zone else "")
    )


def _repeated(
    session: Session, calls: Sequence[tuple[str, Mapping[str, Any], Any]], tools: Mapping[str, Tool]
) -> list[Any]:
    session.start_anew("sample")
    names: dict[_Scalar, _Scalar] = {}
    results = []
    for name, arguments, before in calls:
        outcome = session.call(tools[name], _exchanged(arguments, names))
        results.append(outcome.result)
        one, other = list(_leaves(before)), list(_leaves(outcome.result))
        if [pointer for pointer, _ in one] == [pointer for pointer, _ in other]:
            # Only texts: a number that counts what is there is none's name.
            names.update(
                {
                    old: new
                    for (_, old), (_, new) in zip(one, other, strict=True)
                    if old != new and isinstance(old, str)
                }
            )
    return results


class SteadySession:
    """A session whose results hold nothing that was drawn: the same calls from the start give the same results.

    Args:
        session: Goes back by starting again.
        drawn: What it draws looks like, by pointer by wire name.
    """

    def __init__(self, session: Session, drawn: Mapping[str, Mapping[str, Form]]) -> None:
        self.session, self.safety, self.observable = session, session.safety, session.observable
        self.owner: object = None
        self._drawn = {name: dict(forms) for name, forms in drawn.items()}
        self._ours: dict[_Scalar, _Scalar] = {}
        self._theirs: dict[_Scalar, _Scalar] = {}
        self._made: Counter[bytes] = Counter()

    def is_live(self, tool: Tool) -> bool:
        """Say whether a tool acts on what cannot go back."""
        return self.session.is_live(tool)

    def call(self, tool: Tool, arguments: Mapping[str, Any]) -> Outcome:
        """Execute a call, with what was drawn named as here in its arguments and its result."""
        outcome = self.session.call(tool, _exchanged(arguments, self._theirs))
        if outcome.status != "ok":
            return outcome
        places = self._drawn.get(tool.wire_name)
        if places:
            try:
                call = canonical_bytes([tool.wire_name, arguments])
            except CanonicalError:
                return outcome
            self._made[call] += 1
            seen: Counter[str] = Counter()
            for pointer, value in _leaves(outcome.result):
                if pointer in places:
                    seen[pointer] += 1
                    # Small numbers count things, and would be renamed wherever they stand.
                    if value not in self._ours and (isinstance(value, str) or value >= _SMALLEST):
                        told = id_of_bytes(
                            canonical_bytes([call.decode(), self._made[call], pointer, seen[pointer]])
                        )
                        self._name(value, _named(value, places[pointer], Random(told)))
        return make_outcome(_exchanged(outcome.result, self._ours)) if self._ours else outcome

    def _name(self, theirs: _Scalar, ours: _Scalar) -> None:
        self._ours[theirs] = ours
        self._theirs[ours] = theirs

    def start_anew(self, salt: str) -> None:
        """Go to the initial state, in which nothing was drawn."""
        self._ours, self._theirs, self._made = {}, {}, Counter()
        self.session.start_anew(salt)

    def snapshot(self) -> Any:
        """Return a token of the present state."""
        return self.session.snapshot()

    def restore(self, token: Any) -> None:
        """Go to the state of a token."""
        self.session.restore(token)

    def digest(self) -> str:
        """Return the hash of the present state."""
        return self.session.digest()

    def dump(self) -> Any:
        """Return the present state as JSON."""
        return self.session.dump()


def _named(value: _Scalar, form: Form, rng: Random) -> _Scalar:
    """Return what a drawn value is called here: it depends on its form alone, and not on the value."""
    if isinstance(value, str):
        return "".join(rng.choice(form.letters) if one == _ANY else one for one in form.text)
    if form.is_time:
        at = _NOW_SECONDS * 1000 if value >= _MILLISECONDS else _NOW_SECONDS
        return float(at) if isinstance(value, float) else at
    return (
        round(rng.random(), 6) if isinstance(value, float) else rng.randrange(_SMALLEST * 10, _SMALLEST * 100)
    )
