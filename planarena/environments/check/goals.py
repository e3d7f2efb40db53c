"""Whether the aims of an environment fit its tools: `docs/aims.md` as findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

import msgspec

from planarena.environments.check.findings import Findings
from planarena.environments.goals import (
    FEWEST_WAYS,
    GOALS,
    Aim,
    AimCall,
    Value,
    names_said,
    place_of,
    references_in,
    stated_names,
)
from planarena.environments.wording import parse_pointer, schema_at
from planarena.environments.world import Operation

__all__ = ["check_goals"]

_SEE = "docs/aims.md says what stands where"
_SOURCES = ("of", "fact", "seed", "known", "number", "days", "near")
_TESTS = frozenset({"is", "not", "below", "above", "at_most", "at_least", "starts", "contains", "in"})


def check_goals(operations: Mapping[str, Operation], goals: Mapping[str, Aim], findings: Findings) -> None:
    """Hold the aims of an environment against its tools.

    Args:
        operations: By wire name.
        goals: By name.
        findings: Where findings are added.
    """
    met: dict[str, str] = {}
    for name, aim in goals.items():
        unknown = sorted(aim.tools - operations.keys())
        if unknown:
            findings.add(
                "goals",
                f"{GOALS}: {name}",
                f"there is no tool {', '.join(unknown)}",
                "name a tool of this environment",
            )
            continue
        for place, what in _faults(aim, operations):
            findings.add("goals", f"{GOALS}: {name}{place}", what, _SEE)
        for way in aim.ways:
            other = met.setdefault(way, name)
            if other != name or aim.ways.count(way) > 1:
                findings.add(
                    "goals", f"{GOALS}: {name}: {way!r}", f"is a way of {other} too", "say it otherwise"
                )


def _faults(aim: Aim, operations: Mapping[str, Operation]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with an aim: where, and what."""
    if len(set(aim.ways)) < FEWEST_WAYS:
        yield ": ways", f"has {len(set(aim.ways))} ways; at least {FEWEST_WAYS} different ones are wanted"
    for call_name, call in aim.calls.items():
        yield from _call_faults(aim, call_name, call, operations)
    branched = any(call.branch for call in aim.calls.values())
    if branched != (aim.if_ is not None):
        yield ": if", "a branch needs an `if`, and an `if` a call with `branch`"
    for condition in (*aim.needs, *((aim.if_,) if aim.if_ is not None else ())):
        if not condition.tests():
            yield ": if", f"{condition.that} is not tested: write `below: 10` or another test"
        yield from _reference_faults(aim, [condition.that, condition.tests()], operations)
    if aim.twin and aim.if_ is None:
        yield ": twin", "there is no `if` that could come out otherwise"
    yield from _reference_faults(aim, [one.key for one in aim.twin], operations)
    for name, value in aim.values.items():
        yield from _value_faults(aim, name, value, operations)
    used = {
        place_of(aim, text).field
        for text in references_in(
            [
                msgspec.to_builtins([list(aim.calls.values()), aim.needs, aim.if_, aim.twin]),
                [one.near for one in aim.values.values() if isinstance(one, Value)],
                msgspec.to_builtins([one.known for one in aim.values.values() if isinstance(one, Value)]),
            ]
        )
    }
    for name in sorted(aim.values.keys() - used):
        yield f": values: {name}", f"nothing takes it: write `${name}` where it belongs"
    for told in aim.tell:
        if told not in aim.calls:
            yield ": tell", f"there is no call {told}"
        elif isinstance(aim.tell, dict) and (telling := aim.tell[told]) is not None:
            yield from _telling_faults(aim, told, telling, operations)
    yield from _untold_faults(aim, operations)
    yield from _way_faults(aim, operations)


def _untold_faults(aim: Aim, operations: Mapping[str, Operation]) -> Iterator[tuple[str, str]]:
    """Yield the calls that change something and that no answer confirms."""
    told = aim.told()
    for name, by in aim.told_by.items():
        if name not in aim.calls:
            yield ": told_by", f"there is no call {name}"
        elif by not in told:
            yield ": told_by", f"{by}, in whose words {name} is to be told, is not told itself"
    for name, call in aim.calls.items():
        if operations[call.tool].tool.effects == "read" or name in told or name in aim.told_by:
            continue
        yield (
            f": {name}",
            f"{call.tool} changes something, and the answer does not say so: name {name} in `tell`, or write "
            f"`told_by: {{{name}: CALL}}` where the clauses of another call tell it",
        )


def _call_faults(
    aim: Aim, name: str, call: AimCall, operations: Mapping[str, Operation]
) -> Iterator[tuple[str, str]]:
    tool = operations[call.tool].tool
    where = f": {name}"
    for argument in (*call.given, *call.draw):
        if argument not in tool.parameters:
            yield where, f"{call.tool} takes no {argument}"
    for argument in tool.required:
        if argument not in call.given and tool.parameters[argument].get("x-hidden"):
            yield (
                where,
                f"{argument} is an id that nobody knows: take it from an earlier call, as `$PICK.{argument}`",
            )
    yield from _reference_faults(aim, call.given, operations, before=name)
    for pick_name, pick in call.picks.items():
        rows = schema_at(tool.output_schema, parse_pointer(pick.rows))
        items = (rows or {}).get("items")
        if not isinstance(items, dict):
            yield f"{where}: {pick_name}", f"{pick.rows} is no list of {call.tool}"
            continue
        fields = items.get("properties", {})
        for field in (pick.named, pick.least, pick.most, *pick.where):
            if field and field not in fields:
                yield f"{where}: {pick_name}", f"the records at {pick.rows} have no {field}"
        ways = [one for one in ("named", "least", "most", "place", "all") if getattr(pick, one)]
        if len(ways) > 1:
            yield f"{where}: {pick_name}", f"is chosen by {' and '.join(ways)}: one way is enough"
        for test in pick.where.values():
            if isinstance(test, Mapping) and (unknown := sorted(set(test) - _TESTS)):
                yield f"{where}: {pick_name}", f"there is no test {', '.join(unknown)}"
        yield from _reference_faults(aim, pick.where, operations)


def _reference_faults(
    aim: Aim, value: Any, operations: Mapping[str, Operation], before: str = ""
) -> Iterator[tuple[str, str]]:
    known = {*aim.values, *names_said(aim, operations).values(), "now", "today"}
    order = list(aim.calls)
    for text in references_in(value):
        place = place_of(aim, text)
        if not place.call:
            if place.field not in known:
                yield "", f"${text} is no value, no pick and no call"
            continue
        if place.call not in aim.calls:
            yield "", f"${text}: there is no call {place.call}"
            continue
        if before and order.index(place.call) >= order.index(before):
            yield "", f"${text} is of a call that is not made before {before}"
        if place.pick and place.field == "count":
            continue
        output = operations[aim.calls[place.call].tool].tool.output_schema
        rows = (*parse_pointer(aim.picks[place.pick][1].rows), 0) if place.pick else ()
        path = (*rows, place.field) if place.pick else parse_pointer(place.field)
        if schema_at(output, path) is None:
            yield "", f"${text} is not in the result of {aim.calls[place.call].tool}"


def _value_faults(
    aim: Aim, name: str, value: Any, operations: Mapping[str, Operation]
) -> Iterator[tuple[str, str]]:
    if isinstance(value, list) and not value:
        yield f": values: {name}", "is an empty list"
    if not isinstance(value, Value):
        return
    given = [one for one in _SOURCES if getattr(value, one)]
    if len(given) != 1:
        yield f": values: {name}", f"says {len(given)} of {', '.join(_SOURCES)}; one is wanted"
    if value.of:
        tool, _, argument = value.of.partition(".")
        if tool not in operations or argument not in operations[tool].tool.parameters:
            yield f": values: {name}", f"there is no {value.of}"
    if value.known is not None:
        known = value.known
        if known.tool not in operations:
            yield f": values: {name}", f"there is no tool {known.tool}"
        elif operations[known.tool].tool.effects != "read":
            yield f": values: {name}", f"{known.tool} changes something"
        else:
            path = (*parse_pointer(known.rows), *((0,) if known.rows else ()), known.field)
            if schema_at(operations[known.tool].tool.output_schema, path) is None:
                yield f": values: {name}", f"{known.tool} shows no {known.rows}/{known.field}"
    yield from _reference_faults(aim, [value.near, msgspec.to_builtins(value.known)], operations)


def _telling_faults(
    aim: Aim, call: str, telling: Any, operations: Mapping[str, Operation]
) -> Iterator[tuple[str, str]]:
    output = operations[aim.calls[call].tool].tool.output_schema
    if len(set(telling.ways)) < 3:
        yield f": tell: {call}", "has fewer than three clauses under `as`"
    every = (*telling.ways, *telling.other)
    tool = operations[aim.calls[call].tool].tool
    fits = {*telling.values, *tool.parameters, *_fields_of_picks(aim, call, output), "*"}
    for way in (*every, telling.line):
        for name in sorted(set(re.findall(r"\{([^{}|]+)", way)) - fits):
            if not name.startswith("/") or schema_at(output, parse_pointer(name.removesuffix("*"))) is None:
                yield f": tell: {call}: {way!r}", f"nothing fills {{{name}}}"
    for way in every:
        if ("{*}" in way) != bool(telling.line):
            yield (
                f": tell: {call}: {way!r}",
                "`{*}` stands where `line` says how one of them is told, and only there",
            )
    for value in telling.values:
        head, _, field = value.partition(".")
        own = head in aim.calls[call].picks
        path = (*parse_pointer(aim.calls[call].picks[head].rows), 0, field) if own else parse_pointer(value)
        if not (own or value.startswith("/")) or schema_at(output, path) is None:
            yield (
                f": tell: {call}",
                f"{value} is no value of a pick of {call}, and no pointer into its result",
            )
        elif (schema_at(output, path) or {}).get("x-hidden"):
            yield f": tell: {call}", f"{value} is an id that nobody is told"
        for way in (telling.line,) if telling.line else every:
            # A count of nothing is told by "no": "there are no guests".
            if not re.search(r"\{" + re.escape(value) + r"[|}]", way) and not re.search(r"\bno\b", way):
                yield f": tell: {call}: {way!r}", f"does not tell {{{value}}}"


def _fields_of_picks(aim: Aim, call: str, output: Any) -> set[str]:
    """Return `PICK.FIELD` of every pick of a call."""
    return {
        f"{name}.{field}"
        for name, pick in aim.calls[call].picks.items()
        for field in (schema_at(output, (*parse_pointer(pick.rows), 0)) or {}).get("properties", {})
    }


def _way_faults(aim: Aim, operations: Mapping[str, Operation]) -> Iterator[tuple[str, str]]:
    names = names_said(aim, operations)
    optional = {
        names[name, argument]
        for name, call in aim.calls.items()
        for argument in call.draw
        if argument not in operations[call.tool].tool.required
    }
    used = {
        place_of(aim, text).field
        for call in aim.calls.values()
        for text in references_in(call.given)
        if not place_of(aim, text).call
    }
    needed = {*names.values(), *(used & aim.values.keys())} - optional
    named = {name: pick.named for name, (_, pick) in aim.picks.items() if pick.named}
    needed |= {f"{name}.{field}" for name, field in named.items()}
    for way in aim.ways:
        yield from _one_way(aim, way, operations, needed, optional)
    if not aim.ways:
        return
    needed |= set.intersection(*(stated_names(way, always=True) for way in aim.ways))
    left_out = {name: needed - {name} for name in aim.lacking}
    for name, lacking in aim.lacking.items():
        where = f": lacking: {name}"
        if name not in needed:
            yield where, "is no value that every way says"
        for text in (*lacking.ways, *lacking.asks):
            if name in stated_names(text):
                yield f"{where}: {text!r}", f"says {{{name}}} all the same"
        for way in lacking.ways:
            for place, what in _one_way(aim, way, operations, left_out[name], frozenset()):
                yield where + place, what
        for text in lacking.gives:
            if name not in stated_names(text):
                yield f"{where}: {text!r}", f"does not give {{{name}}}"
        if not lacking.asks or not lacking.ways:
            yield where, "lacks a question or a way"
    for way in aim.again:
        for place, what in _one_way(aim, way, operations, frozenset(), frozenset()):
            yield f": again{place}", what
        if needed <= stated_names(way):
            yield f": again: {way!r}", "leaves nothing out: it belongs to the ways"
    for name in sorted(set(aim.otherwise) - needed):
        yield f": otherwise: {name}", "is no value that every way says"
    for name in sorted(stated_names(aim.deed) - _fillable(aim, operations)):
        yield ": deed", f"nothing fills {{{name}}}"


def _fillable(aim: Aim, operations: Mapping[str, Operation]) -> set[str]:
    """Return what ways may name."""
    found = {*names_said(aim, operations).values(), *aim.values}
    for head, (call, pick) in aim.picks.items():
        if pick.named:
            output = operations[aim.calls[call].tool].tool.output_schema
            fields = (schema_at(output, (*parse_pointer(pick.rows), 0)) or {}).get("properties", {})
            found |= {f"{head}.{field}" for field in fields}
    return found


def _one_way(
    aim: Aim,
    way: str,
    operations: Mapping[str, Operation],
    needed: Set[str],
    optional: Set[str],
) -> Iterator[tuple[str, str]]:
    stated, always = stated_names(way), stated_names(way, always=True)
    for one in sorted(stated - _fillable(aim, operations)):
        yield f": {way!r}", f"nothing fills {{{one}}}"
    for one in sorted(needed - always):
        yield f": {way!r}", f"does not state {{{one}}}"
    for one in sorted(optional - stated):
        yield f": {way!r}", f"does not state {{{one}}}, not even within [ ]"
    if not re.search(r"[.?!](?: \([^()]*\))?[\"')]*$|\"$", way) or re.match(r"[a-z]", way):
        yield f": {way!r}", "is no whole message"
    tools = [tool for tool in operations if tool in way]
    if tools:
        yield f": {way!r}", f"says the name of the tool {tools[0]}"
