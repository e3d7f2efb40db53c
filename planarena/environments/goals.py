"""What people want in an environment: `goals.yaml` of its folder, read and held to its own form.

An aim is one request of somebody who thinks of a purpose: the calls that fulfil it, when it makes sense, what its answer
tells, and how people say it. `docs/aims.md` describes every field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import yaml

from planarena.environments.world import Operation
from planarena.errors import SchemaError
from planarena.records.foreign_yaml import bounded_yaml
from planarena.tools.tool import Tool

__all__ = [
    "FEWEST_WAYS",
    "GOALS",
    "Aim",
    "AimCall",
    "Change",
    "Condition",
    "Known",
    "Lacking",
    "Pick",
    "Place",
    "TellingOf",
    "Value",
    "load_goals",
    "names_said",
    "place_of",
    "references_in",
    "stated_names",
]

GOALS = "goals.yaml"
FEWEST_WAYS = 6


class Pick(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which record of a list is meant; without a way of choosing, the only one that fits.

    Attributes:
        rows: JSON pointer of the list.
        where: By field, what it must be: a value, or tests as `{below: 10}`.
        named: The field by which the user names it; one that no other record shares is drawn.
        least: The field in which it is lowest, alone.
        most: The field in which it is highest, alone.
        place: Its place in the list.
        all: All that fit are meant: what takes from them is done for each.
        called: How a plan speaks of it, as "the cheapest flight"; of all together where all are meant.
    """

    rows: str
    where: dict[str, Any] = {}
    named: str = ""
    least: str = ""
    most: str = ""
    place: Literal["", "first", "second", "third", "last"] = ""
    all: bool = False
    called: str = ""

    @property
    def way(self) -> str:
        """How it is chosen: `named`, `least`, `most`, `place`, `all` or `only`."""
        return next((one for one in ("named", "least", "most", "place", "all") if getattr(self, one)), "only")


class AimCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"given": "with"}):
    """A call of an aim; a required argument that is not given is drawn from the tool's own proposals.

    Attributes:
        tool: Its tool.
        given: By argument: a value, or a reference as `$event.event_id`.
        draw: Optional arguments that are drawn too.
        picks: Records of its result, by the name that the rest of the aim calls them.
        branch: Under which outcome of `if` it is made; empty for always.
    """

    tool: str
    given: dict[str, Any] = {}
    draw: tuple[str, ...] = ()
    picks: dict[str, Pick] = {}
    branch: Literal["", "then", "else"] = ""


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"given": "with"}):
    """Something that the user knows of the world without looking: taken from a look-up that is not part of the task."""

    tool: str
    field: str
    given: dict[str, Any] = {}
    rows: str = ""
    where: dict[str, Any] = {}


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a value that the user says comes from: exactly one of these.

    Attributes:
        of: `TOOL.ARGUMENT`: from that tool's proposals.
        fact: A fact of the scenario, or one of a list of them.
        seed: A path into `seeds.yaml` as `cards.colours`: one of a list.
        known: Something that the user knows of the world.
        number: Lowest, highest and step.
        days: So many days from now, lowest and highest; with `at`, at one of these times.
        at: Times of day, as "09:30".
        near: A reference; the value lies near what it gives, at a share of `by`, rounded to `round`.
        by: Shares.
        round: To a multiple of it.
    """

    of: str = ""
    fact: str = ""
    seed: str = ""
    known: Known | None = None
    number: tuple[float, ...] = ()
    days: tuple[int, ...] = ()
    at: tuple[str, ...] = ()
    near: str = ""
    by: tuple[float, ...] = (0.75, 1.25)
    round: float = 1


class Condition(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"equals": "is", "differs": "not", "among": "in"}):  # fmt: skip
    """A test of a reference; several tests hold together.

    Attributes:
        that: A reference; `$PICK.count` is the number of records that fit.
    """

    that: str
    equals: Any = msgspec.UNSET
    differs: Any = msgspec.UNSET
    below: Any = msgspec.UNSET
    above: Any = msgspec.UNSET
    at_most: Any = msgspec.UNSET
    at_least: Any = msgspec.UNSET
    starts: Any = msgspec.UNSET
    contains: Any = msgspec.UNSET
    among: Any = msgspec.UNSET

    def tests(self) -> dict[str, Any]:
        """Return the tests by their names in the file."""
        names = {"equals": "is", "differs": "not", "among": "in"}
        return {
            names.get(field, field): value
            for field in self.__struct_fields__
            if field != "that" and (value := getattr(self, field)) is not msgspec.UNSET
        }


class TellingOf(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"ways": "as", "other": "else"}
):
    """What an answer tells of a call, where the words of its tool do not fit.

    Attributes:
        values: What must be told: `PICK.FIELD` of a record of its result, or a pointer as `/total`.
        ways: Clauses that tell all of it, as `report` in words.yaml.
        other: Clauses in their place where the outcome of `if` is the other one; they say why nothing more was done.
        line: Of a call that is made for all that fit: how one of them is told; `{*}` in `as` is the list of these.
    """

    values: tuple[str, ...]
    ways: tuple[str, ...]
    other: tuple[str, ...] = ()
    line: str = ""

    def clauses(self, branch: str) -> tuple[str, ...]:
        """Return the clauses that fit an outcome."""
        return self.other if branch == "else" and self.other else self.ways


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of one record by which the state gives the other outcome of `if`.

    Attributes:
        table: The environment's table.
        key: A reference to the id of the record.
        set: By field its other values; the first that turns the outcome is taken.
    """

    table: str
    key: str
    set: dict[str, tuple[Any, ...]]


class Lacking(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How an aim is said without a value that it needs, and what the assistant asks then.

    Attributes:
        label: What is missing, as "account" or "day".
        asks: Questions for it.
        ways: Whole messages that say everything but that value.
        gives: How the user answers, with the value as its placeholder.
    """

    label: str
    asks: tuple[str, ...]
    ways: tuple[str, ...]
    gives: tuple[str, ...] = ()


class Aim(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"if_": "if"}, dict=True):
    """What somebody wants.

    An aim is drawn thousands of times in a build: what follows from its fields alone is found once.

    Attributes:
        calls: The calls that fulfil it, by name, in an order in which they work.
        ways: How people say it.
        values: What the user says, by name, beyond what calls draw themselves.
        needs: Where it makes sense, beyond that every call works and every pick finds what it says.
        if_: What decides between the calls of `then` and those of `else`.
        twin: How the state would have to be for the other outcome.
        tell: What the answer tells: names of calls, or a mapping that says how. By default, the calls that no other
            takes from, and those that only the outcome of `if` hangs on.
        told_by: By name of a call that changes something and is not told itself: the call in whose words it is told.
        domains: For an aim across domains: all of them.
        deed: What the assistant would do, as "pay the {category} bill from {name}": it asks for a yes with it, refuses
            with it, and says with it what did not work.
        again: How it is said where the message before has said what these leave out: "what else is in that folder?".
        lacking: By value, how the aim is said without it.
        otherwise: Values that the user would take another of, where it does not work.
    """

    calls: dict[str, AimCall]
    ways: tuple[str, ...]
    values: dict[str, Value | list[Any] | str | int | float] = {}
    needs: tuple[Condition, ...] = ()
    if_: Condition | None = None
    twin: tuple[Change, ...] = ()
    tell: dict[str, TellingOf | None] | tuple[str, ...] = ()
    told_by: dict[str, str] = {}
    domains: tuple[str, ...] = ()
    deed: str = ""
    again: tuple[str, ...] = ()
    lacking: dict[str, Lacking] = {}
    otherwise: tuple[str, ...] = ()

    @cached_property
    def tools(self) -> frozenset[str]:
        """The tools that it calls."""
        return frozenset(call.tool for call in self.calls.values())

    @cached_property
    def picks(self) -> dict[str, tuple[str, Pick]]:
        """Its picks by name, each with the call whose result it is taken from."""
        return {name: (call, pick) for call, one in self.calls.items() for name, pick in one.picks.items()}

    def telling(self, call: str) -> TellingOf | None:
        """Return how a call is told where the aim says so."""
        return self.tell.get(call) if isinstance(self.tell, dict) else None

    def told(self) -> tuple[str, ...]:
        """Return the names of the calls that its answer tells."""
        return self._told

    @cached_property
    def _told(self) -> tuple[str, ...]:
        if self.tell:
            return tuple(self.tell)
        taken = {
            place_of(self, text).call for call in self.calls.values() for text in references_in(call.given)
        }
        return tuple(name for name in self.calls if name not in taken)

    @cached_property
    def _places(self) -> dict[str, Place]:
        """What its references mean, as far as anybody has asked."""
        return {}

    @cached_property
    def _names(self) -> dict[tuple[int, ...], tuple[list[Tool], dict[tuple[str, str], str]]]:
        """What its ways call its arguments, by the identity of the tools, which are kept with it."""
        return {}


class Place(NamedTuple):
    """What a reference means.

    Attributes:
        call: The call whose result it points into; empty for a value that is said.
        pick: The record of it, if it is one.
        field: The field of the record, the pointer into the result, or the name of the value.
    """

    call: str
    pick: str
    field: str


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    domain: str
    aims: dict[str, Aim] = {}


@cache
def load_goals(file: Path) -> Mapping[str, Aim]:
    """Return the aims of an environment by name; none where it has no such file.

    Args:
        file: `goals.yaml` of its folder.

    Raises:
        SchemaError: It does not fit `Aim`.
    """
    try:
        return msgspec.yaml.decode(bounded_yaml(file), type=_File).aims
    except FileNotFoundError:
        return {}
    except (msgspec.DecodeError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SchemaError(str(error), where=str(file), fix="docs/aims.md says what stands where") from error


def references_in(value: Any) -> Iterator[str]:
    """Yield the references in what an aim gives or tests: texts that begin with `$`, without it."""
    if isinstance(value, str) and value.startswith("$"):
        yield value[1:]
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from references_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from references_in(one)


def place_of(aim: Aim, text: str) -> Place:
    """Return what a reference means, given without its `$`; what is no pick and no call is the name of a value."""
    found = aim._places.get(text)
    if found is None:
        found = aim._places[text] = _find_place(aim, text)
    return found


def _find_place(aim: Aim, text: str) -> Place:
    head, slash, rest = text.partition("/")
    if slash:
        return Place(head, "", f"/{rest}")
    head, _, rest = text.partition(".")
    if rest and head in aim.picks:
        return Place(aim.picks[head][0], head, rest)
    return Place("", "", text)


def names_said(aim: Aim, operations: Mapping[str, Operation]) -> dict[tuple[str, str], str]:
    """Return what ways call the arguments of calls that are drawn or given as they stand: (call, argument) -> name.

    An argument that one call alone has goes by its own name, others as `CALL.ARGUMENT`. What is given by reference goes
    by the name of that. The mapping is not to be changed.
    """
    tools = [operations[call.tool].tool for call in aim.calls.values()]
    key = tuple(map(id, tools))
    known = aim._names.get(key)
    if known is None:
        known = aim._names[key] = tools, _find_names(aim, operations)
    return known[1]


def _find_names(aim: Aim, operations: Mapping[str, Operation]) -> dict[tuple[str, str], str]:
    own: dict[str, list[str]] = {}
    for name, call in aim.calls.items():
        tool = operations[call.tool].tool
        drawn = [*(one for one in tool.required if one not in call.given), *call.draw]
        plain = [one for one, value in call.given.items() if not list(references_in(value))]
        for argument in dict.fromkeys((*drawn, *plain)):
            own.setdefault(argument, []).append(name)
    return {
        (name, argument): argument if len(calls) == 1 and argument not in aim.values else f"{name}.{argument}"
        for argument, calls in own.items()
        for name in calls
    }


_STATED = re.compile(r"\{([^{}/|]+)(?:\|[^{}|]+\|[^{}|]+)?\}")
_OPTIONAL = re.compile(r"\[[^\[\]]*\]")


def stated_names(way: str, *, always: bool = False) -> set[str]:
    """Return the placeholders of a way of saying an aim.

    Args:
        way: The way.
        always: Only those outside of `[ ]`.
    """
    return set(_STATED.findall(_OPTIONAL.sub("", way) if always else way))
