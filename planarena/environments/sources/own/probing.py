"""Finding values that work: read first, use what came back, create where there is nothing, read the error messages.

Only what can be taken back is tried; of what is live, the reading tools alone. Nothing that is found here is believed:
every task is proven later in worlds of its own.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import msgspec

from planarena.environments.sources.field_kinds import kind_of_text
from planarena.environments.sources.generic_wording import is_sayable, reportable, sayable_value, words_of
from planarena.environments.sources.instances import Generator, NoInstanceError
from planarena.environments.sources.openapi.identifiers import normal
from planarena.environments.sources.own.drawn import Form, find_drawn
from planarena.environments.sources.own.likely import likely_value
from planarena.environments.sources.own.naming import (
    Deed,
    Scalar,
    deed_of,
    field_key,
    guess_effect,
    is_id,
    scalars,
)
from planarena.environments.sources.own.reading import (
    CODE,
    fits,
    is_attribute,
    listed_in,
    named_in,
    properties_of,
    search_words,
)
from planarena.environments.sources.session_world import Session
from planarena.environments.world import Outcome
from planarena.errors import SandboxError
from planarena.records.canonical import CanonicalError, canonical_bytes
from planarena.tools.tool import Effect, Tool
from planarena.tools.validation import SchemaValidator

__all__ = ["Probe", "Trial", "probe"]

_SECONDS = 20.0
_MOST_CALLS = 400
_MOST_TRIES = 14
_ENOUGH = 5
_NO_DEED = Deed("", "", "", many=False)
_ORDER = {"read": 1, "create": 2, "update": 3, "unknown": 3, "delete": 4}
_NETWORK = r"(?i)urlopen|name resolution|getaddrinfo|network is unreachable|connection ?(refused|error)|max retries|connecterror|ENOTFOUND|EAI_AGAIN"


class Trial(msgspec.Struct, frozen=True):
    """One call that worked.

    Attributes:
        arguments: Its arguments.
        origins: Argument -> what the value is, where an earlier result gave it.
        made: The arguments whose values came from what an earlier call had created.
        result: What it gave.
        changed: Whether it changed something.
    """

    arguments: dict[str, Any]
    origins: dict[str, str]
    made: list[str]
    result: Any
    changed: bool


class Probe(msgspec.Struct, frozen=True):
    """What was found: by tool the calls that worked, why there is none, what it was seen to do, and where it draws."""

    trials: dict[str, list[Trial]]
    reasons: dict[str, str]
    effects: dict[str, Effect]
    drawn: dict[str, dict[str, Form]] = {}


class _Value(msgspec.Struct, frozen=True):
    value: Any
    key: str = ""
    made: bool = False
    doubtful: bool = False


def probe(
    session: Session,
    tools: Mapping[str, Tool],
    examples: Mapping[str, list[dict[str, Any]]],
    refused: Mapping[str, str],
) -> Probe:
    """Look for calls that work.

    Args:
        session: It is brought to its initial state before and, by whoever uses it next, after.
        tools: By wire name.
        examples: The user's own, by wire name; they are tried before anything else.
        refused: The tools that must not be tried, and why.
    """
    return _Probing(session, tools, examples, refused).run()


class _Probing:
    def __init__(
        self,
        session: Session,
        tools: Mapping[str, Tool],
        examples: Mapping[str, list[dict[str, Any]]],
        refused: Mapping[str, str],
    ) -> None:
        self.session, self.tools, self.examples = session, dict(tools), examples
        self.deeds: dict[str, Deed] = {
            name: deed_of(one.name, one.description) for name, one in tools.items()
        }
        self.goes_back = session.safety in {"snapshot", "reset"}
        self.guesses: dict[str, Effect] = {
            name: one.effects if one.effects != "unknown" or not self.goes_back else guess_effect(one)
            for name, one in tools.items()
        }
        self.validators = {name: SchemaValidator(one.input_schema, name) for name, one in tools.items()}
        self.trials: dict[str, list[Trial]] = {name: [] for name in tools}
        self.reasons: dict[str, str] = dict(refused)
        self.refused = frozenset(refused)
        self.pool: list[tuple[str, Scalar, bool]] = []  # which tool gave it, and whether it made it
        self.choices: dict[str, list[Any]] = {}
        self.accepted: dict[str, list[Any]] = {}  # by argument, what some tool took
        self.tried: dict[bytes, int] = {}  # how much had changed when it failed; -1 where it did not
        self.changes: set[str] = set()
        self.made: list[tuple[str, dict[str, Any], Any]] = []  # calls that changed something, in their order
        self.calls = 0
        self.until = time.monotonic() + _SECONDS

    def run(self) -> Probe:
        order = [name for name in self.tools if name not in self.refused]
        order.sort(key=lambda name: (_ORDER[self.guesses[name]], len(self.tools[name].required)))
        try:
            self._anew()
            for _ in range(3):
                found = sum(map(len, self.trials.values()))
                for name in order:
                    if len(self.trials[name]) < _ENOUGH and not self._over(name):
                        self._try(name)
                if sum(map(len, self.trials.values())) == found:
                    break
        except SandboxError as error:
            for name in order:
                self.reasons.setdefault(name, f"the tools stopped answering: {str(error)[:200]}")
        drawn = self._drawn()
        self.session.owner = None
        for name in order:
            if self.trials[name]:
                self.reasons.pop(name, None)
            else:
                self.reasons.setdefault(name, "no arguments could be made that fit its schema")
        return Probe(self.trials, self.reasons, self._effects(), drawn)

    def _drawn(self) -> dict[str, dict[str, Form]]:
        """Return where results hold ids that are drawn anew whenever the tools start again."""
        if self.session.safety != "reset" or self.session.observable:
            return {}
        made = [one for one in self.made if self.guesses[one[0]] != "delete"]
        try:
            return find_drawn(self.session, made, self.tools)
        except SandboxError:
            return {}

    def _anew(self) -> None:
        self.session.owner = self
        self.session.start_anew("sample")

    def _over(self, name: str) -> bool:
        over = time.monotonic() > self.until or self.calls >= _MOST_CALLS
        if over and not self.trials[name]:
            self.reasons.setdefault(name, "the time for looking was over before a call of it worked")
        return over

    def _effects(self) -> dict[str, Effect]:
        """Return what tools do whose authors did not say it: seen where the state can be seen, else guessed from names."""
        found: dict[str, Effect] = {}
        for name, tool in self.tools.items():
            if tool.effects != "unknown" or not self.goes_back:
                continue
            guess = self.guesses[name]
            if self.session.observable and self.trials[name]:
                if name not in self.changes:
                    guess = "read"
                elif guess in {"read", "unknown"}:
                    guess = "update"
            if guess != "unknown":
                found[name] = guess
        return found

    # -- trying ------------------------------------------------------------------------------------

    def _try(self, name: str) -> None:
        tool, tries = self.tools[name], 0
        again = True
        while again and tries < _MOST_TRIES and len(self.trials[name]) < _ENOUGH:
            again = False
            for given in self._candidates(name):
                arguments = {key: one.value for key, one in given.items()}
                try:
                    mark = canonical_bytes([name, arguments, len(self.pool) if not tool.required else 0])
                except CanonicalError:
                    continue
                if not self._is_worth(name, mark) or not self.validators[name].is_valid(arguments):
                    continue
                if mark in self.tried:
                    # It works in another state alone: what brought that about gives the value.
                    given = {key: self._as_made(one) for key, one in given.items()}
                self.tried[mark] = -1
                tries += 1
                self.calls += 1
                known = len(self.pool), sum(map(len, self.choices.values()))
                if not self._call(name, tool, arguments, given):
                    self.tried[mark] = len(self.made)
                if tries >= _MOST_TRIES or len(self.trials[name]) >= _ENOUGH or self._over(name):
                    return
                if known != (len(self.pool), sum(map(len, self.choices.values()))):
                    again = True  # what it answered may hold better values
                    break

    def _is_worth(self, name: str, mark: bytes) -> bool:
        """Say whether a call was not tried, or failed in another state and no call of the tool has worked."""
        before = self.tried.get(mark)
        return before is None or (before >= 0 and before < len(self.made) and not self.trials[name])

    def _as_made(self, value: _Value) -> _Value:
        given = any(one.value == value.value for _, _, made in self.made for one in scalars(made, _NO_DEED))
        return msgspec.structs.replace(value, made=True) if value.key and given else value

    def _call(self, name: str, tool: Tool, arguments: dict[str, Any], given: Mapping[str, _Value]) -> bool:
        """Make a call and learn from it; return whether it worked."""
        sees = self.session.observable and self.goes_back
        before = self.session.digest() if sees else ""
        outcome = self.session.call(tool, arguments)
        if outcome.status != "ok":
            self._learn(name, outcome, arguments)
            return False
        changed = self.session.digest() != before if sees else self.guesses[name] != "read"
        if changed:
            self.changes.add(name)
            self.made.append((name, arguments, outcome.result))
        made = changed and self.guesses[name] != "delete"
        self._harvest(name, outcome.result, made)
        doubtful = any(one.doubtful for one in given.values())
        told = reportable(outcome.result)
        if (told or changed) and not doubtful:
            if any(one.arguments == arguments for one in self.trials[name]):
                return True
            for key, one in given.items():
                if not one.key and isinstance(one.value, str) and not is_id(key):
                    accepted = self.accepted.setdefault(normal(key), [])
                    if one.value not in accepted:
                        accepted.append(one.value)
            self.trials[name].append(
                Trial(
                    arguments,
                    {key: one.key for key, one in given.items() if one.key},
                    [key for key, one in given.items() if one.made],
                    outcome.result,
                    changed,
                )
            )
        elif not told and not changed:
            empty = "what it told was empty, and it changed nothing"
            several = "what it told has several lines, which no sentence can hold, and it changed nothing"
            self.reasons.setdefault(
                name, several if isinstance(outcome.result, str) and outcome.result else empty
            )
        if changed and self.guesses[name] == "delete" and self.goes_back:
            # What was there may be gone now, and what comes next may need it.
            self._repeat(name)
        return True

    def _repeat(self, gone: str) -> None:
        """Go back, and create again what was created."""
        self._anew()
        for name, trials in self.trials.items():
            if name != gone and self.guesses[name] == "create":
                for trial in trials:
                    self.session.call(self.tools[name], trial.arguments)

    def _learn(self, name: str, outcome: Outcome, arguments: Mapping[str, Any]) -> None:
        """Note why a call failed; a message that lists what is allowed is taken at its word."""
        assert outcome.error is not None
        code, message = outcome.error["code"], outcome.error["message"]
        if re.search(_NETWORK, message):
            self.reasons[name] = "it needs the network, which the sandbox does not give"
        elif name in self.reasons:
            pass  # what it said of the likeliest value counts
        else:
            said = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
            self.reasons[name] = (
                f"no value was found that it accepts; called with ({said[:120]}) it said {code}: {message[:160]}"
            )
        for listed in listed_in(message):
            for key, schema in properties_of(self.tools[name]).items():
                place = f"{name}.{key}"
                if schema.get("type", "string") == "string" and listed not in self.choices.get(place, []):
                    self.choices.setdefault(place, []).append(listed)
        if code in {"worker_died", "session_lost"} or outcome.status == "timeout":
            self._anew()

    def _harvest(self, name: str, result: Any, made: bool) -> None:
        known = {(one.key, repr(one.value)) for _, one, _ in self.pool}
        for one in scalars(result, self.deeds[name]):
            if (one.key, repr(one.value)) not in known and len(self.pool) < 600:
                self.pool.append((name, one, made))

    # -- values ------------------------------------------------------------------------------------

    def _candidates(self, name: str) -> Iterator[dict[str, _Value]]:
        """Yield arguments, the likeliest first."""
        tool = self.tools[name]
        if given := self.examples.get(name):
            for one in given:
                yield {key: _Value(value) for key, value in one.items()}
            return
        properties = properties_of(tool)
        options = {
            key: self._options(name, key, schema)
            for key, schema in properties.items()
            if key in tool.required
        }
        if any(not found for found in options.values()):
            return
        widest = max((len(found) for found in options.values()), default=1)
        for turn in range(min(widest, 10) + 2):
            yield {
                key: found[(turn + place * (turn // 2)) % len(found)]
                for place, (key, found) in enumerate(options.items())
            }
        for key, found in options.items():
            others = {other: values[0] for other, values in options.items()}
            for value in found[:4]:
                yield {**others, key: value}
        extra = {
            key: found[-1 if key not in tool.required else 0]
            for key, schema in properties.items()
            if (found := [one for one in self._options(name, key, schema) if not one.doubtful])
        }
        if extra.keys() >= options.keys():
            yield extra

    def _options(self, name: str, key: str, schema: Mapping[str, Any]) -> list[_Value]:
        """Return values for an argument: seen before, named by the description or a message, then made up."""
        deed, tool = self.deeds[name], self.tools[name]
        wanted, kind = field_key(key, deed.noun), schema.get("type")
        guess = self.guesses[name]
        found: list[_Value] = []
        if isinstance(schema.get("enum"), list):
            return [_Value(one) for one in schema["enum"] if one is not None][:6]
        if kind not in {"object", "array", "boolean"} and "anyOf" not in schema:
            # Amounts are of what they were measured on: of numbers only ids are used again.
            numeric = kind == "number" or (
                kind == "integer" and not (is_id(key) or CODE.search(words_of(key)))
            )
            seen = (
                []
                if numeric
                else [one for one in self.pool if fits(one[1].value, kind) and is_sayable(one[1].value)]
            )
            own = [one for one in seen if one[1].key == wanted]
            if not own and not is_id(key):
                own = [one for one in seen if one[1].key in {f"{wanted} id", f"{wanted} name", f"{wanted} title"} or normal(one[1].key) == normal(key)]  # fmt: skip
            if not own and is_id(key):
                own = [one for one in seen if one[1].key.endswith(" id") or one[1].key == "id"]
            # A new thing has a name of its own.
            if (
                guess != "create"
                or is_id(key)
                or wanted.endswith(" id")
                or not re.search(r"\b(name|title|subject)$", wanted)
            ):
                found += [_Value(one.value, one.key, made) for _, one, made in reversed(own[-8:])]
        if (
            guess in {"create", "update"}
            and found
            and all(is_attribute(one.key, wanted, [scalar for _, scalar, _ in self.pool]) for one in found)
        ):
            found = [*self._invented(tool, deed, key, schema), *found]  # it is given anew
        found += [_Value(one) for one in self.choices.get(f"{name}.{key}", [])]
        about = f"{schema.get('description', '')} " + (
            tool.description if words_of(key) in tool.description.lower() else ""
        )
        found += [_Value(one) for one in named_in(about) if fits(one, kind or "string") and kind != "boolean"]
        if (
            guess == "read"
            and kind in {None, "string"}
            and kind_of_text("", key) in {"query", "title", "message", "person", ""}
        ):
            names = [one.value for _, one, _ in self.pool if re.search(r"(name|title|subject)$", one.key)]
            found += [_Value(one) for one in search_words(names)]
        if guess != "create" or not re.search(r"\b(name|title|subject|text|description)$", wanted):
            found += [
                _Value(one) for one in self.accepted.get(normal(key), [])[:4] if fits(one, kind or "string")
            ]
        if "default" in schema and key not in tool.required:
            found.append(_Value(schema["default"]))
        if not (guess == "read" and key not in tool.required and kind == "string"):
            found += self._invented(tool, deed, key, schema)
        if guess == "read" and kind in {None, "string"} and not is_id(key):
            found += [_Value(one, doubtful=True) for one in ("", "a", "e")]
        if is_id(key) and not any(one.key for one in found):
            found += [_Value(one, doubtful=True) for one in self._of_state(kind)]
        return found

    def _invented(self, tool: Tool, deed: Deed, key: str, schema: Mapping[str, Any]) -> list[_Value]:
        found: list[_Value] = []
        for number in range(3):
            maker = Generator(
                tool.input_schema, Random(f"{key} {number}"), written=True, noun=deed.noun, number=number
            )
            try:
                value = (
                    likely_value(
                        key, deed.noun, schema, number, writes=self.guesses[tool.wire_name] != "read"
                    )
                    if "examples" not in schema
                    else None
                )
                value = sayable_value(maker, dict(schema), key) if value is None else value
                value = maker.value(dict(schema), key, 2) if value is None else value
            except (NoInstanceError, RecursionError):
                continue
            if all(one.value != value for one in found):
                found.append(_Value(value))
        return found

    def _of_state(self, kind: Any) -> list[Any]:
        """Return short values of the state that can be seen: an id may stand there that no tool shows."""
        found: list[Any] = []
        queue: list[Any] = [self.session.dump()] if self.session.observable and self.goes_back else []
        while queue and len(found) < 6:
            one = queue.pop(0)
            if isinstance(one, dict):
                queue += [*one.keys(), *one.values()]
            elif isinstance(one, list):
                queue += one
            elif fits(one, kind) and len(str(one)) < 40 and one not in found and one != "":
                found.append(one)
        return found
