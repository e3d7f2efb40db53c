"""A unit over a session: which tools work, what their results offer and report, found by trying them once.

Nobody wrote wording for such tools. A user may give some in the source's own file (`ask`, `examples`, `outputs`);
the rest is made from names, descriptions and schemas. Only what is safe is tried: of a session that cannot go back
the read-only tools alone. Where the user allows effects, its other tools are usable untried, with arguments that
the user wrote as examples: what changes things for good is never made up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from operator import itemgetter
from random import Random
from typing import Any

import msgspec

from planarena.environments.contract import BOUND
from planarena.environments.sources.generic_wording import (
    Phrase,
    is_sayable,
    reportable,
    tool_wording,
)
from planarena.environments.sources.instances import FILLERS, Generator, NoInstanceError, everyday_facts
from planarena.environments.sources.own.drawn import SteadySession
from planarena.environments.sources.own.inventing import made_arguments, stays
from planarena.environments.sources.own.naming import Deed, deed_of, field_key, is_id, scalars
from planarena.environments.sources.own.probing import Probe, Trial, probe
from planarena.environments.sources.own.reading import properties_of
from planarena.environments.sources.own.verdicts import Verdict, advice
from planarena.environments.sources.own.words import Bound, annotated, noun_of_key, outputs_of, own_wording
from planarena.environments.sources.session_world import Session, SessionWorld
from planarena.environments.sources.source import Opened
from planarena.environments.wording import Offer, ToolWording, parse_pointer
from planarena.environments.world import Operation
from planarena.tools.tool import Effect, Tool
from planarena.tools.validation import SchemaValidator

__all__ = ["SessionUnit", "ToolHints", "Verdict", "effect_named", "salt_number"]

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
        self.given_probe: Probe | None = None  # found by another process for the same build

    # -- trying ------------------------------------------------------------------------------------

    @cached_property
    def probe(self) -> Probe:
        """What was found by looking for calls that work."""
        if self.given_probe is not None:
            return self.given_probe
        if self.execution_kind == "simulated":
            return self._tried_once()  # a model makes the results up, and every one costs
        refused = {
            name: "it changes things for good; `build --allow-effects` uses its examples"
            for name, tool in self._given.items()
            if self.safety in {"read_only", "live"} and tool.effects != "read"
        }
        examples = {name: hints.examples for name, hints in self._hints.items() if hints.examples}
        return probe(self.session, self._given, examples, refused)

    @cached_property
    def _steady(self) -> Session:
        """The session, with ids that follow from the calls where its own do not."""
        drawn = self.probe.drawn if self.session.safety == "reset" else {}
        return SteadySession(self.session, drawn) if drawn else self.session

    def _tried_once(self) -> Probe:
        world = self._world({name: self._operation(tool) for name, tool in self._given.items()}, "sample")
        trials: dict[str, list[Trial]] = {name: [] for name in self._given}
        reasons: dict[str, str] = {}
        start = world.mark()
        for name, tool in self._given.items():
            for arguments in self._invented(name, tool, Random(0)):
                outcome = world.call(name, arguments)
                changed = bool(world.footprint().writes)
                world.rollback(start)
                if outcome.status == "ok" and (changed or reportable(outcome.result)):
                    trials[name].append(Trial(arguments, {}, [], outcome.result, changed))
                    break
                if outcome.error is not None:
                    reasons[name] = f"{outcome.error['code']}: {outcome.error['message'][:200]}"
        return Probe(trials, reasons, {})

    def _is_for_good(self, tool: Tool) -> bool:
        return self.safety == "live" and tool.effects != "read"

    @cached_property
    def _samples(self) -> dict[str, Any]:
        """A result of each usable tool: of its trial, or for what is never tried one made from the declared schema."""
        found: dict[str, Any] = {}
        for name, tool in self._given.items():
            if trials := self.probe.trials.get(name):
                found[name] = trials[0].result
            elif self._allow and self._is_for_good(tool) and self._hints.get(name, ToolHints()).examples:
                try:
                    found[name] = Generator(tool.output_schema, Random(0)).value(tool.output_schema)
                except (NoInstanceError, RecursionError):
                    found[name] = None
        return found

    def failures(self) -> dict[str, str]:
        """Return why a tool is not used, by wire name."""
        return {
            name: self.probe.reasons.get(
                name, "no arguments could be made that fit its schema; give examples"
            )
            for name in self._given
            if name not in self._samples
        }

    @property
    def given(self) -> tuple[Tool, ...]:
        """All tools, whether they can be used or not."""
        return tuple(self._given.values())

    def verdicts(self) -> list[Verdict]:
        """Return for each tool whether it is used; where it is not, why, and what to write."""
        reasons = self.failures()
        return [
            Verdict(
                name,
                name not in reasons,
                reasons.get(name, ""),
                advice(self.name, self._given[name], reasons.get(name, "")),
            )
            for name in self._given
        ]

    @staticmethod
    def _operation(tool: Tool) -> Operation:
        return Operation(tool, _not_called, SchemaValidator(tool.input_schema, tool.wire_name), None)

    def _world(self, operations: dict[str, Operation], salt: str, *, allow: bool = False) -> SessionWorld:
        propose: dict[str, Callable[[SessionWorld, Random], list[dict[str, Any]]]] = {
            name: self._proposer(name) for name in operations
        }
        return SessionWorld(
            self._steady,
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
        for name, sample in self._samples.items():
            tool, properties = self._given[name], {}
            # What the user wrote is what is sent for good: only what the examples leave open is bound.
            written = (
                {key for one in self._hints[name].examples for key in one}
                if self._is_for_good(tool)
                else set()
            )
            for argument, schema in properties_of(tool).items():
                semantic = self._taken(name, argument)
                if semantic in consumed and argument not in written and "x-semantic" not in schema:
                    hidden = {"x-hidden": True} if self._is_hidden(semantic) else {}
                    schema = {**schema, "x-semantic": semantic, **hidden}
                if schema.get("format") == "date":
                    schema = {**schema, "x-surface": "date"}
                properties[argument] = schema
            offered = {pointer: (kind, self._is_hidden(kind)) for pointer, kind in self._found_offers[name]}
            changed = msgspec.structs.replace(
                tool,
                effects=self.probe.effects.get(name, tool.effects),
                input_schema={**tool.input_schema, "properties": properties},
                output_schema=annotated(tool.output_schema, sample, offered),
            )
            found[name] = self._operation(changed)
        return found

    def _semantic(self, key: str) -> str:
        return f"{self.name} / {key}"

    def _taken(self, name: str, argument: str) -> str:
        """Return the semantic type of an argument: what its values were seen to be, else what its name says."""
        for trial in self.probe.trials.get(name, ()):
            if key := trial.origins.get(argument):
                return self._semantic(key)
        return self._semantic(field_key(argument, self._deeds[name].noun))

    def _is_hidden(self, semantic: str) -> bool:
        """Say whether only an earlier result can give a value: ids, and codes that tools hand out."""
        key = semantic.rpartition(" / ")[2]
        return (
            is_id(key)
            or re.search(r"\b(sku|iban|isbn|code|number|serial|slug|ref|reference|key)$", key) is not None
        )

    @cached_property
    def _nouns(self) -> dict[str, str]:
        """By semantic type what a value of it stands for: what the records are called that reading tools list it in."""
        found: dict[str, str] = {}
        for name in sorted(self._samples, key=lambda one: (len(self._given[one].required), one)):
            for one in scalars(self._samples[name], self._deeds[name]):
                found.setdefault(self._semantic(one.key), one.noun)
        return found

    @cached_property
    def _deeds(self) -> dict[str, Deed]:
        return {name: deed_of(tool.name, tool.description) for name, tool in self._given.items()}

    @cached_property
    def _found_offers(self) -> dict[str, list[tuple[str, str]]]:
        """By tool: (pointer, semantic type) of scalars in its sample result that another tool has an argument for."""
        wanted: dict[str, set[str]] = {}
        for name in self._samples:
            for argument, schema in properties_of(self._given[name]).items():
                if schema.get("type", "string") in {"string", "integer"} and "enum" not in schema:
                    semantic = self._taken(name, argument)
                    if self._is_hidden(semantic) or _is_always_made(
                        argument, self.probe.trials.get(name, [])
                    ):
                        wanted.setdefault(semantic, set()).add(name)
        found: dict[str, list[tuple[str, str]]] = {}
        effects = {name: self.probe.effects.get(name, self._given[name].effects) for name in self._samples}
        for name, result in self._samples.items():
            effect = effects[name]
            entries: list[tuple[str, str]] = []
            trial = next(iter(self.probe.trials.get(name, ())), None)
            sent = set(map(repr, trial.arguments.values())) if trial is not None else set()
            for one in scalars(result, self._deeds[name]):
                semantic = self._semantic(one.key)
                known = {kind for _, kind in entries}
                # What was sent in comes back: nobody needs it from here. Of a list the first two are spoken of.
                second = re.search(r"(^|/)1(/|$)", one.pointer) is not None and effect == "read"
                again = semantic in known and not (
                    second and "/1" not in "".join(map(itemgetter(0), entries))
                )
                fresh = not again and one.pointer.count("/1") <= 1 and repr(one.value) not in sent
                if wanted.get(semantic, set()) - {name} and fresh and len(entries) < _MOST_OFFERS:
                    entries.append((one.pointer, semantic))
            found[name] = entries
        shown = {
            semantic
            for name, entries in found.items()
            if effects[name] in {"read", "create"}
            for _, semantic in entries
        }
        for name, entries in found.items():
            if effects[name] in {"update", "delete"}:  # what it was done to is known already
                found[name] = [entry for entry in entries if entry[1] not in shown]
        return found

    @cached_property
    def offers(self) -> dict[str, tuple[Offer, ...]]:
        """What results offer for binding."""
        return {
            name: tuple(
                Offer(pointer, parse_pointer(pointer), semantic, self._is_hidden(semantic))
                for pointer, semantic in self._found_offers[name]
            )
            for name in self.operations
        }

    @cached_property
    def wording(self) -> dict[str, ToolWording]:
        """The words of the usable tools."""
        given = {entry.semantic for entries in self.offers.values() for entry in entries}
        found = {}
        for name, operation in self.operations.items():
            hints, tool = self._hints.get(name, ToolHints()), operation.tool
            trial = next(iter(self.probe.trials.get(name, ())), None)
            sent = trial.arguments if trial is not None else {}
            # What nobody has seen yet is not promised in an answer.
            outputs = tuple(hints.outputs)
            if not outputs and trial is not None:
                outputs = outputs_of(tool, self._deeds[name], trial.result, sent)
            bound = {}
            for argument, schema in properties_of(tool).items():
                semantic = self._taken(name, argument)
                key = semantic.rpartition(" / ")[2]
                if semantic in given or (
                    trial is not None and trial.origins.get(argument) in self._nouns.values()
                ):
                    noun = noun_of_key(key, self._nouns.get(semantic) or self._deeds[name].noun)
                    bound[argument] = Bound(noun, bool(schema.get("x-hidden")))
            nouns = {one.pointer: noun_of_key(one.semantic.rpartition(" / ")[2], self._nouns.get(one.semantic, "")) for one in self.offers[name]}  # fmt: skip
            words = own_wording(
                tool, self._deeds[name], bound, self._samples[name], self.offers[name], outputs, nouns
            )
            if hints.ask:
                said = {one for text in hints.ask for one in re.findall(r"\{(\w+)\}", text)}
                arguments = {key: key in tool.required for key in tool.parameters if key not in said}
                asked = tool_wording(Phrase(tuple(hints.ask), "", ""), arguments, outputs, {})
                words = msgspec.structs.replace(words, ask=asked.ask, plan=asked.plan, missing=asked.missing)
            found[name] = words
        return found

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
            return self._proposed(name, tool, rng)

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

    def _proposed(self, name: str, tool: Tool, rng: Random) -> list[dict[str, Any]]:
        """Return what worked, and the like of it: made-up values are made anew, what only an earlier call gives is bound."""
        hidden = {key for key, schema in properties_of(tool).items() if schema.get("x-hidden")}
        given = self._hints.get(name, ToolHints()).examples
        found: list[dict[str, Any]] = []
        for trial in [Trial(one, {}, [], None, False) for one in given] or self.probe.trials.get(name, []):
            made = {key for key in trial.made if "x-semantic" in tool.parameters.get(key, {})}
            literals = {key: value for key, value in trial.arguments.items() if key not in hidden}
            if all(is_sayable(value) for key, value in literals.items() if key not in made):
                found.append({**literals, **dict.fromkeys(made - hidden, BOUND)})
        free = [
            key
            for trial in self.probe.trials.get(name, [])[:1]
            for key in trial.arguments
            if key not in trial.origins
        ]
        if not given and free and found and tool.effects in {"create", "update"}:
            like = [one for one in self._invented(name, tool, rng) if one.keys() >= set(free)]
            again = [{**found[0], **{key: one[key] for key in free if key not in hidden}} for one in like[:3]]
            found += [
                one
                for one in again
                if one not in found and all(is_sayable(v) for v in one.values() if v is not BOUND)
            ]
        # "standard" stands for what nobody knows better: where anything else works, people say that.
        known = [one for one in found if not any(_is_filler(v, tool, key) for key, v in one.items())]
        return [one for one in known if not stays(one)] or known or found

    def _invented(self, name: str, tool: Tool, rng: Random) -> list[dict[str, Any]]:
        """Return the user's examples, else up to three sets of arguments made from the schema."""
        given = self._hints.get(name, ToolHints()).examples
        if given:
            return [dict(one) for one in given]
        validator = SchemaValidator(tool.input_schema, name)
        noun, found = self._deeds[name].noun, list[dict[str, Any]]()
        for number in range(3):
            made = made_arguments(tool, rng, number, noun)
            if made is not None and made not in found and validator.is_valid(made):
                found.append(made)
        return found


def _is_filler(value: Any, tool: Tool, argument: str) -> bool:
    """Say whether a value was made up for want of any other."""
    return isinstance(value, str) and value in FILLERS and "enum" not in tool.parameters.get(argument, {})


def _is_always_made(argument: str, trials: Sequence[Trial]) -> bool:
    """Say whether every value that worked had to be created first."""
    return bool(trials) and all(argument in one.made for one in trials)


def _not_called(*_: Any, **__: Any) -> Any:
    raise RuntimeError("a session's tools are called by their world")


def salt_number(salt: str) -> int:
    """Return a number for tools that take a seed as a number."""
    return int.from_bytes(blake2b(salt.encode(), digest_size=4).digest(), "big")


def effect_named(word: str) -> Effect | None:
    """Return the effect of a name, or None."""
    effects: tuple[Effect, ...] = ("read", "create", "update", "delete")
    return next((effect for effect in effects if effect == word), None)
