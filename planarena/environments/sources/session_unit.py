"""A unit over a session: which tools work, what their results offer and report, found by trying them once.

Nobody wrote wording for such tools. A user may give some in the source's own file (`ask`, `examples`, `outputs`);
the rest is made from names, descriptions and schemas. Only what is safe is tried: of a session that cannot go back
the read-only tools alone. Where the user allows effects, its other tools are usable untried, with arguments that
the user wrote as examples: what changes things for good is never made up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from hashlib import blake2b
from random import Random
from typing import Any

import msgspec

from planarena.environments.contract import BOUND
from planarena.environments.sources.generic_wording import (
    Phrase,
    is_sayable,
    reportable,
    sayable_value,
    tool_wording,
    words_of,
)
from planarena.environments.sources.instances import Generator, NoInstanceError, everyday_facts
from planarena.environments.sources.openapi.resources import normal
from planarena.environments.sources.session_world import Session, SessionWorld
from planarena.environments.sources.source import Opened
from planarena.environments.wording import Offer, Reference, ToolWording, parse_pointer
from planarena.environments.world import Operation, Outcome
from planarena.records.canonical import CanonicalError, canonical_bytes
from planarena.tools.tool import Effect, Tool
from planarena.tools.validation import SchemaValidator

__all__ = ["SessionUnit", "ToolHints", "effect_named", "salt_number"]

_MOST_OFFERS = 12


class ToolHints(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a user says of a tool in the source's file.

    Attributes:
        effects: `read`, `create`, `update` or `delete`.
        examples: Arguments that make sense in the initial state.
        ask: Phrases in the imperative, with `{argument}`.
        outputs: JSON pointers to what an answer reports.
        error: A regular expression; a result whose text it matches is a failure, whatever the server says.
    """

    effects: str = ""
    examples: list[dict[str, Any]] = []
    ask: list[str] = []
    outputs: list[str] = []
    error: str = ""


class SessionUnit:
    """Tools over one session.

    Args:
        name: Of the unit.
        session: Shared by its worlds.
        tools: By wire name.
        hints: By wire name.
        facts: What the user knows.
        summary: A sentence.
        execution_kind: See the pipeline specification.
        allow_effects: See `SourceOptions`.
    """

    def __init__(
        self,
        name: str,
        session: Session,
        tools: Mapping[str, Tool],
        hints: Mapping[str, ToolHints],
        facts: Mapping[str, Any],
        summary: str,
        *,
        execution_kind: str = "real",
        allow_effects: bool = False,
    ) -> None:
        self.name, self.session, self.execution_kind = name, session, execution_kind
        self.safety: str = session.safety
        self.facts, self.summary = dict(facts), summary
        self._given, self._hints, self._allow = dict(tools), dict(hints), allow_effects

    # -- trying ------------------------------------------------------------------------------------

    @cached_property
    def _tried(self) -> dict[str, tuple[dict[str, Any], Outcome]]:
        """One good call of each tool from the initial state that changed or told something, and what it gave."""
        world = self._world({name: self._operation(tool) for name, tool in self._given.items()}, "sample")
        found: dict[str, tuple[dict[str, Any], Outcome]] = {}
        start = world.mark()
        for name, tool in self._given.items():
            if self._is_for_good(tool):
                continue
            for arguments in self._examples(name, tool, Random(0)):
                outcome = world.call(name, arguments)
                changed = bool(world.footprint().writes)
                world.rollback(start)
                if outcome.status == "ok" and (changed or self._outputs(name, outcome.result)):
                    found[name] = arguments, outcome
                    break
        return found

    def _is_for_good(self, tool: Tool) -> bool:
        return self.safety == "live" and tool.effects != "read"

    @cached_property
    def _samples(self) -> dict[str, Any]:
        """A result of each usable tool: of its trial, or for what is never tried one made from the declared schema."""
        found: dict[str, Any] = {}
        for name, tool in self._given.items():
            if name in self._tried:
                found[name] = self._tried[name][1].result
            elif self._allow and self._is_for_good(tool) and self._hints.get(name, ToolHints()).examples:
                try:
                    found[name] = Generator(tool.output_schema, Random(0)).value(tool.output_schema)
                except (NoInstanceError, RecursionError):
                    found[name] = None
        return found

    def failures(self) -> dict[str, str]:
        """Return why a tool was not usable when it was tried, by wire name."""
        world = self._world({name: self._operation(tool) for name, tool in self._given.items()}, "sample")
        found: dict[str, str] = {}
        start = world.mark()
        for name, tool in self._given.items():
            if name in self._samples:
                continue
            if self._is_for_good(tool):
                found[name] = "it changes things for good; `build --allow-effects` uses its examples"
                continue
            reason = "it told and changed nothing, or no arguments that fit its schema could be made; give examples"
            for arguments in self._examples(name, tool, Random(0)):
                outcome = world.call(name, arguments)
                world.rollback(start)
                if outcome.error is not None:
                    reason = f"{outcome.error['code']}: {outcome.error['message'][:200]}"
                    break
            found[name] = reason
        return found

    @staticmethod
    def _operation(tool: Tool) -> Operation:
        return Operation(tool, _not_called, SchemaValidator(tool.input_schema, tool.wire_name), None)

    def _world(self, operations: dict[str, Operation], salt: str, *, allow: bool = False) -> SessionWorld:
        propose: dict[str, Callable[[SessionWorld, Random], list[dict[str, Any]]]] = {
            name: self._proposer(name) for name in operations
        }
        return SessionWorld(
            self.session,
            operations,
            {**everyday_facts(salt), **self.facts},
            propose,
            salt,
            execution_kind=self.execution_kind,
            allow_effects=allow,
        )

    # -- what the pipeline reads ---------------------------------------------------------------------

    @cached_property
    def operations(self) -> dict[str, Operation]:
        """The tools that worked, with the semantic types of what binds."""
        consumed = {semantic for entries in self._found_offers.values() for _, semantic in entries}
        found = {}
        for name in self._samples:
            tool = self._given[name]
            properties = {}
            # What the user wrote is what is sent for good: only what the examples leave open is bound.
            written = (
                {key for one in self._hints[name].examples for key in one}
                if self._is_for_good(tool)
                else set()
            )
            for argument, schema in _properties(tool).items():
                semantic = self._semantic(argument)
                if semantic in consumed and argument not in written and "x-semantic" not in schema:
                    schema = {
                        **schema,
                        "x-semantic": semantic,
                        **({"x-hidden": True} if _is_id(argument) else {}),
                    }
                properties[argument] = schema
            input_schema = {**tool.input_schema, "properties": properties}
            found[name] = self._operation(msgspec.structs.replace(tool, input_schema=input_schema))
        return found

    def _semantic(self, argument: str) -> str:
        return f"{self.name} {normal(argument)}"

    @cached_property
    def _found_offers(self) -> dict[str, list[tuple[str, str]]]:
        """By tool: (pointer, semantic type) of scalars in its sample result that another tool has an argument for."""
        wanted: dict[str, set[str]] = {}
        for name, tool in self._given.items():
            for argument, schema in _properties(tool).items():
                kinds = schema.get("type")
                if kinds in {"string", "integer"} and "enum" not in schema:
                    wanted.setdefault(normal(argument), set()).add(name)
        found: dict[str, list[tuple[str, str]]] = {}
        for name, result in self._samples.items():
            entries: list[tuple[str, str]] = []
            for pointer, last in _scalars(result):
                users = wanted.get(normal(last), set()) - {name}
                semantic = self._semantic(last)
                if users and semantic not in {known for _, known in entries} and len(entries) < _MOST_OFFERS:
                    entries.append((pointer, semantic))
            found[name] = entries
        return found

    @cached_property
    def offers(self) -> dict[str, tuple[Offer, ...]]:
        """What results offer for binding."""
        hidden = {
            self._semantic(argument)
            for operation in self.operations.values()
            for argument, schema in _properties(operation.tool).items()
            if schema.get("x-hidden")
        }
        return {
            name: tuple(
                Offer(pointer, parse_pointer(pointer), semantic, semantic in hidden)
                for pointer, semantic in self._found_offers[name]
            )
            for name in self.operations
        }

    @cached_property
    def wording(self) -> dict[str, ToolWording]:
        """The words of the usable tools."""
        found = {}
        for name, operation in self.operations.items():
            hints, tool = self._hints.get(name, ToolHints()), operation.tool
            deed = words_of(tool.name)
            refer = {}
            for offer in self.offers[name]:
                refer[offer.pointer] = Reference(("the one just given",), (f'the one that "{deed}" gave',))
            hinted, tried = tuple(hints.outputs), name in self._tried
            # What nobody has seen yet is not promised in an answer.
            outputs = self._outputs(name, self._samples[name]) if tried else hinted
            said = {one for text in hints.ask for one in re.findall(r"\{(\w+)\}", text)}
            arguments = {key: key in tool.required for key in tool.parameters if key not in said}
            phrase = Phrase(
                tuple(hints.ask) or _phrases(tool, deed),
                f"done: {deed}" if tool.effects != "read" else "",
                "the answer",
            )
            found[name] = tool_wording(phrase, arguments, outputs, refer)
        return found

    def _outputs(self, name: str, result: Any) -> tuple[str, ...]:
        return tuple(self._hints.get(name, ToolHints()).outputs) or reportable(result)

    def open(self, salt: str) -> Opened:
        """Return a new world."""
        title = self.name.replace("_", " ")
        return Opened(
            self._world(self.operations, salt, allow=self._allow), title[:1].upper() + title[1:], self.summary
        )

    def restore(self, tables: Mapping[str, Any], facts: Mapping[str, Any]) -> SessionWorld:
        """Return the world of a stored scenario: the session starts anew with its salt."""
        world = self._world(self.operations, str(tables["session"]["salt"]))
        world.facts = dict(facts)
        return world

    # -- atoms -------------------------------------------------------------------------------------

    def _proposer(self, name: str) -> Callable[[SessionWorld, Random], list[dict[str, Any]]]:
        def propose(world: SessionWorld, rng: Random) -> list[dict[str, Any]]:
            tool = world.operations[name].tool
            if self._is_for_good(tool):
                return self._for_good(name, tool)
            found = self._examples(name, tool, rng)
            hidden = {key for key, schema in _properties(tool).items() if schema.get("x-hidden")}
            return [
                {key: value for key, value in arguments.items() if key not in hidden}
                for arguments in found
                if all(is_sayable(value) for key, value in arguments.items() if key not in hidden)
            ]

        return propose

    def _for_good(self, name: str, tool: Tool) -> list[dict[str, Any]]:
        """Return the user's examples; what they leave open and the schema requires is bound, or the example is no use."""
        found = []
        for one in self._hints[name].examples:
            left = [key for key in tool.required if key not in one]
            bindable = all("x-semantic" in tool.parameters.get(key, {}) for key in left)
            if bindable and all(map(is_sayable, one.values())):
                found.append({**one, **dict.fromkeys(left, BOUND)})
        return found

    def _examples(self, name: str, tool: Tool, rng: Random) -> list[dict[str, Any]]:
        """Return the user's examples, else up to three sets of arguments made from the schema."""
        given = self._hints.get(name, ToolHints()).examples
        if given:
            return [dict(one) for one in given]
        validator = SchemaValidator(tool.input_schema, name)
        found: list[dict[str, Any]] = []
        for number in range(3):
            made = _made(tool, rng, number)
            if made is not None and made not in found and validator.is_valid(made):
                found.append(made)
        return found


def _made(tool: Tool, rng: Random, number: int) -> dict[str, Any] | None:
    generator = Generator(tool.input_schema, rng, written=True)
    arguments: dict[str, Any] = {}
    for key, schema in _properties(tool).items():
        required = key in tool.required
        if not required and number == 0:
            continue
        if not required and rng.random() < 0.5:
            continue
        try:
            examples = schema.get("examples")
            if isinstance(examples, list) and examples:
                value = examples[rng.randrange(len(examples))]
            else:
                value = sayable_value(generator, schema, key)
                if value is None and required:
                    value = generator.value(schema, key, 2)
            canonical_bytes(value)
        except (NoInstanceError, RecursionError, CanonicalError):
            if required:
                return None
            continue
        if required or (value is not None and is_sayable(value)):
            arguments[key] = value
    return arguments


def _properties(tool: Tool) -> dict[str, dict[str, Any]]:
    """Return the schemas of the arguments; `true` allows anything, as `{}` does."""
    found: dict[str, Any] = tool.input_schema.get("properties", {})
    return {name: schema if isinstance(schema, dict) else {} for name, schema in found.items()}


def _not_called(*_: Any, **__: Any) -> Any:
    raise RuntimeError("a session's tools are called by their world")


def _is_id(name: str) -> bool:
    return re.search(r"(^|_)(id|uuid|token|handle)$|Id$|ID$", name) is not None


def _scalars(result: Any) -> list[tuple[str, str]]:
    """Return (pointer, last name) of every scalar in a result, nearest first, at most 100."""
    found: list[tuple[str, str]] = []
    queue: list[tuple[str, str, Any]] = [("", "", result)]
    while queue and len(found) < 100:
        pointer, last, value = queue.pop(0)
        if isinstance(value, dict):
            for name, inner in value.items():
                if not str(name).isdigit():
                    queue.append(
                        (f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}", str(name), inner)
                    )
        elif isinstance(value, list):
            if value:
                queue.append((f"{pointer}/0", last, value[0]))
        elif isinstance(value, str | int | float) and not isinstance(value, bool) and last:
            found.append((pointer, last))
    return found


def _phrases(tool: Tool, deed: str) -> tuple[str, ...]:
    """Take the first sentence of the description where it is short and plain, else the name."""
    sentence = re.split(r"(?<=[a-z)])[.\n]", tool.description.strip(), maxsplit=1)[0].strip()
    found = [deed]
    if 8 <= len(sentence) <= 80 and not re.search(r"[{}\[\]_<>`]", sentence):
        words = sentence.split(" ")
        first = words[0].lower()
        # "Returns the price" is what the tool does; asked for it is "return the price".
        if first.endswith("s") and not first.endswith("ss") and len(first) > 3:
            first = first[:-1] if not first.endswith(("ches", "shes", "sses", "xes")) else first[:-2]
        found.insert(0, " ".join([first, *words[1:]]))
    return tuple(dict.fromkeys(found))


def salt_number(salt: str) -> int:
    """Return a number for tools that take a seed as a number."""
    return int.from_bytes(blake2b(salt.encode(), digest_size=4).digest(), "big")


def effect_named(word: str) -> Effect | None:
    """Return the effect of a name, or None."""
    effects: tuple[Effect, ...] = ("read", "create", "update", "delete")
    return next((effect for effect in effects if effect == word), None)
