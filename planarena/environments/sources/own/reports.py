"""What an answer says of a call to an own tool."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from planarena.environments.sources.generic_wording import words_of
from planarena.environments.sources.own.asking import (
    Argument,
    described,
    label_of,
    label_of_change,
    participle,
    unit_of,
)
from planarena.environments.sources.own.naming import Deed, is_id, plural
from planarena.environments.sources.own.records import ENVELOPES, MAKERS, NAMES, plain_list, quote_of
from planarena.environments.wording import Record
from planarena.tools.tool import Tool

__all__ = ["NAMED", "SEARCHED", "Bound", "reports_of"]

# What the record that is found is called.
NAMED = r"^((full|display|user|first|last) )?name$|^title$"
SEARCHED = r"query|^q$|search|term|text|name|title|keyword"
# Of more numbers nobody would repeat each [ours].
_MOST_GIVEN = 3
_QUERIES = r"^(query|q|search|term|text|keywords?)$"
_SETS = {"set", "change", "update", "edit", "modify", "adjust", "move"}


class Bound(NamedTuple):
    """What an argument refers to: the noun, and whether only an earlier result can give it."""

    noun: str
    hidden: bool


def _spoken_of(arguments: Sequence[Argument], bound: Mapping[str, Bound]) -> Argument | None:
    """Return the one argument that tells an answer from that to the same call with another value."""
    found = [
        one
        for one in arguments
        if one.required and not is_id(one.name) and not (one.name in bound and bound[one.name].hidden)
    ]
    # What was written without types is taken for text.
    return found[0] if len(found) == 1 and found[0].schema.get("type", "string") == "string" else None


def reports_of(
    tool: Tool,
    deed: Deed,
    bound: Mapping[str, Bound],
    sample: Any,
    records: Sequence[tuple[str, Record, bool]],
    outputs: Sequence[str],
    arguments: Sequence[Argument],
) -> tuple[str, ...]:
    """Return clauses that tell what a call gave or did; each holds every output.

    Args:
        tool: As it is offered.
        deed: What its name says.
        bound: By argument, what it refers to.
        sample: A result.
        records: Its records and how they are spoken of.
        outputs: What answers tell.
        arguments: Those that a request names.
    """
    spoken = _spoken_of(arguments, bound)
    of = next((one.noun for name, one in bound.items() if name in tool.required and one.noun), "")
    noun = deed.noun or of or "result"
    done = _done(tool, deed, of)
    listed = next((entry for entry in records if entry[2]), None)
    if listed is not None and outputs and outputs[0].startswith(f"{listed[0]}/0/"):
        return _of_list(tool, deed, listed[0], listed[1], spoken)
    strings = plain_list(sample)
    if strings is not None and outputs == (f"{strings}/0",):
        own = words_of(strings.rsplit("/", maxsplit=1)[-1])
        rest = "".join(f"[, {{{strings}/{number}}}]" for number in range(1, 10))
        # `grades` in the record of a student are no students.
        what = own if own and own not in ENVELOPES else deed.what if deed.many else plural(noun)
        return _shown(f"{what}{_about(spoken, tool)}", f"{{{strings}/0}}{rest}")
    if not outputs:
        values = [one for one in arguments if one.required and one.name not in bound]
        if of and len(values) == 1 and deed.verb in _SETS:
            label, value = label_of_change(deed.noun, values[0])
            return (f"the {label} of the {of} is now {value or f'{{{values[0].name}}}'}",)
        return (done or f"the {noun} is settled",)
    if outputs == ("",):
        what = deed.what or noun
        if deed.verb == "count":
            return (f"the number of {what} is {{}}",)
        if tool.effects == "read" and (worked := _worked_out(deed, arguments)):
            return worked
        # What is a phrase of its own, as "26 degrees in Oslo", may say it itself.
        about = "" if isinstance(sample, str) and " " in sample else _about(spoken, tool)
        return (f"the {what}{about} is {{}}",) if tool.effects == "read" and deed.verb in {"", "get", "check", "show", "tell", "compute", "calculate"} and what else ("the result is {}",) if tool.effects == "read" else (done or "the answer is {}",)  # fmt: skip
    if tool.effects != "read":
        made = done or f"the {noun} is settled"
        if len(outputs) == 1 and words_of(outputs[0].rsplit("/", maxsplit=1)[-1]) == deed.noun and done:
            return (f"{made} and is now {{{outputs[0]}}}",)
        if len(outputs) > 1:
            return (f"{made}; {_joined(_news(one).removeprefix(', and ') for one in outputs)}",)
        return (f"{made}{''.join(map(_news, outputs))}",)
    return _of_fields(tool, deed, noun, outputs, arguments, spoken)


def _of_list(
    tool: Tool, deed: Deed, pointer: str, record: Record, spoken: Argument | None
) -> tuple[str, ...]:
    """Return clauses that tell the records of a list."""
    if deed.verb in {"search", "find", "lookup", "query"} and spoken is not None:
        if re.search(SEARCHED, words_of(spoken.name)) is None:
            return _shown(f"{plural(record.noun)} with {described(spoken)}", f"{{{pointer}*}}")
        return (f"I found {{{pointer}*}}", f'for "{{{spoken.name}}}" I found {{{pointer}*}}')
    if deed.verb in {"search", "find", "lookup", "query"}:
        return (f"I found {{{pointer}*}}",)
    if not deed.many and deed.verb != "list" and deed.noun:
        return (f"here is the {deed.noun}{_about(spoken, tool)}: {{{pointer}*}}",)
    return _shown(f"{plural(record.noun)}{_about(spoken, tool)}", f"{{{pointer}*}}")


def _of_fields(
    tool: Tool,
    deed: Deed,
    noun: str,
    outputs: Sequence[str],
    arguments: Sequence[Argument],
    spoken: Argument | None,
) -> tuple[str, ...]:
    """Return clauses that tell the fields which a look-up shows."""
    name = next((one for one in outputs if words_of(one.rsplit("/", maxsplit=1)[-1]) in NAMES), None)
    told = [one for one in outputs if one != name]
    facts, said = [_fact(one) for one in told], _joined(f"the {_fact(one)}" for one in told)
    if name is not None:
        quote = quote_of(name.rsplit("/", maxsplit=1)[-1])
        called = f"the {noun} is {quote}{{{name}}}{quote}"
        by = next((one for one in outputs if words_of(one.rsplit("/", maxsplit=1)[-1]) in MAKERS), None)
        if by is not None:
            called = f"{called} by {{{by}}}"
            said = _joined(f"the {_fact(one)}" for one in told if one != by)
        return (f"{called}, with {said}" if said else called,)
    about = _about(spoken, tool)
    if not about and spoken is None and (given := _given(arguments)):
        are = _joined(f"the {fact.replace(' {', ' is {', 1)}" for fact in facts)
        return (f"for {given}, {are}",)
    if len(facts) == 1:
        if re.search(r"/(left|remaining)$", outputs[0]):
            return (f"the amount{about} that is left is {{{outputs[0]}}}",)
        return (f"the {facts[0].replace(' {', f'{about} is {{', 1)}",)
    are = _joined(f"the {fact.replace(' {', ' is {', 1)}" for fact in facts)
    if all(one.startswith("/0/") for one in outputs):
        return (f"the first entry of the {deed.what or noun}{about} has {said}",)
    if about:
        return (f"for{about.removeprefix(' of').removeprefix(' in')}, {are}",)
    return (f"the {noun} has {said}", f"for the {noun}, {are}")


def _shown(what: str, rows: str) -> tuple[str, ...]:
    """List something however many there are."""
    return (f"here is the list of {what}: {rows}", f"the list of {what} shows {rows}")


def _about(spoken: Argument | None, tool: Tool) -> str:
    """Say what a value that was looked up belongs to."""
    if spoken is None or tool.effects != "read" or re.search(_QUERIES, words_of(spoken.name)):
        return ""
    place = re.fullmatch(r"city|town|country|place|location|region|area", words_of(spoken.name))
    return (
        f" in {{{spoken.name}}}"
        if place
        else f" of {{{spoken.name}}}"
        if spoken.of or _is_thing(spoken)
        else f" for {{{spoken.name}}}"
        if "enum" in spoken.schema
        else ""
    )


_SPANS = r"(days|hours|minutes|weeks|months|years|nights)"


def _given(arguments: Sequence[Argument]) -> str:
    """Name the numbers and days that something was worked out from, so that two results are told apart; empty for others."""
    needed = [one for one in arguments if one.required]
    if not 1 <= len(needed) <= _MOST_GIVEN or any(one.of or is_id(one.name) for one in needed):
        return ""
    if not any(one.schema.get("type") in {"integer", "number"} for one in needed):
        return ""
    spans = {one.name: words_of(one.name) for one in needed if re.fullmatch(_SPANS, words_of(one.name))}
    said = [
        f"{{{one.name}|{spans[one.name][:-1]}|{spans[one.name]}}}" if one.name in spans else described(one)
        for one in needed
    ]
    return _joined(said)


def _worked_out(deed: Deed, arguments: Sequence[Argument]) -> tuple[str, ...]:
    """Tell a single value with what it was worked out from: "4 and 31 make 35"; empty where that cannot be said."""
    needed = {words_of(one.name): one.name for one in arguments if one.required}
    sides = [
        next((name for words, name in needed.items() if words.split(" ")[0] == side), "")
        for side in ("start", "end")
    ]
    ends = [
        next((name for words, name in needed.items() if words.split(" ")[0] == side), "")
        for side in ("from", "to")
    ]
    amount = next((name for words, name in needed.items() if words in {"amount", "value", "sum"}), "")
    if all(ends) and amount and len(needed) == len((*ends, amount)):
        return (
            f"{{{amount}}} {{{ends[0]}}} is {{}} {{{ends[1]}}}",
            f"{{{amount}}} {{{ends[0]}}} comes to {{}} {{{ends[1]}}}",
        )
    if all(sides) and len(needed) == len(sides):
        what = re.sub(r" (between|from)\b.*$", "", deed.what)
        between = f"between {{{sides[0]}}} and {{{sides[1]}}}"
        if re.fullmatch(_SPANS, what):
            return (f"{between} there are {{|{what[:-1]}|{what}}}",)
        return (f"the {what or 'result'} {between} is {{}}",)
    if "to" in needed and "value" in needed and len(needed) == len(("to", "value")):
        return (f"{{{needed['value']}}} is {{}} in {{{needed['to']}}}",)
    if list(needed) in (["a", "b"], ["x", "y"]):
        first, second = needed.values()
        joined = {
            "add": "and {1} make",
            "multiply": "times {1} is",
            "subtract": "minus {1} is",
            "divide": "divided by {1} is",
        }
        if deed.verb in joined or deed.what in joined:
            middle = joined[deed.verb if deed.verb in joined else deed.what].replace("{1}", f"{{{second}}}")
            return (f"{{{first}}} {middle} {{}}",)
        return (f"for {{{first}}} and {{{second}}}, the {deed.what or 'result'} is {{}}",)
    given = _given(arguments)
    return (f"for {given}, the {deed.what or deed.noun or 'result'} is {{}}",) if given else ()


def _is_thing(one: Argument) -> bool:
    return (
        re.search(r"\b(name|item|product|title|sku|code|symbol|user|owner|key)$", words_of(one.name))
        is not None
    )


def _news(pointer: str) -> str:
    """Tell what came of something, after the clause that says that it is done."""
    words = words_of(pointer.rsplit("/", maxsplit=1)[-1])
    if spans := re.fullmatch(r"(\w+) in (days|hours|minutes|weeks)", words):
        return f", {spans[1]} in {{{pointer}}} {spans[2]}"
    if words in {"left", "remaining"}:
        return f", with {{{pointer}}} {words}"
    if re.search(r"\b(status|state|balance|stock)$", words):
        return f", and the {label_of(words)} is now {{{pointer}}}"
    return f", and the {label_of(words)} is {{{pointer}}}"


def _joined(parts: Iterable[str]) -> str:
    listed = list(parts)
    return " and ".join(listed) if len(listed) < 3 else f"{', '.join(listed[:-1])} and {listed[-1]}"


def _fact(pointer: str) -> str:
    last = pointer.rsplit("/", maxsplit=1)[-1]
    quote = (
        '"' if re.search(r"\b(text|body|message|content|description|note|comment)$", words_of(last)) else ""
    )
    label, unit = unit_of(last)
    return f"{label} {quote}{{{pointer}}}{quote}{unit}"


def _done(tool: Tool, deed: Deed, of: str) -> str:
    if tool.effects == "read" or not deed.verb:
        return ""
    noun = deed.noun or of
    if not noun:
        named = [name for name in tool.required if re.search(r"\b(name|title|subject)$", words_of(name))]
        return f"{{{named[0]}}} is {participle(deed.verb)}" if len(named) == 1 else ""
    made = {"mark": "marked as done", "complete": "marked as done", "get": "made", "append": "added"}.get(
        deed.verb, participle(deed.verb)
    )
    if deed.verb in _SETS and of:
        return f"the {of} is {'moved' if deed.verb == 'move' else 'changed'}"
    return f"the {noun} is {made}"
