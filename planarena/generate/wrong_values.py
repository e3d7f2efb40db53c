"""Wrong values that models give: a neighbour's value, a name in place of an id, another way of writing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

from planarena.environments.wording import parse_pointer
from planarena.generate.clauses import StepContext, Voice
from planarena.generate.situations import Proposal, Situation
from planarena.generate.surfaces import surface
from planarena.tasks.atoms import resolve

__all__ = ["displayed_name", "id_as_name", "neighbour_value", "neighbours", "wrong_format"]

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
_TIME = re.compile(r"\d\d:\d\d")
# Names have at most so many words.
_WORDS = 3
# Under which keys a record shows what people call it, best first.
_NAMES = ("name", "title", "number", "label", "subject", "item", "booking_code", "code", "room", "route")


def neighbour_value(at: Situation, rng: Random) -> Iterator[Proposal]:
    """The right call with a value that lies beside the right one."""
    gold = at.gold
    if gold is None:
        return
    tool = at.scene.tools[gold.tool]
    names = list(gold.arguments)
    rng.shuffle(names)
    for name in names:
        for other in neighbours(at, tool.parameters.get(name, {}), gold.arguments[name]):
            yield Proposal("neighbour_value", gold.tool, {**gold.arguments, name: other})
            break


def neighbours(at: Situation, schema: dict[str, Any], value: Any) -> Iterator[Any]:
    """Yield values beside a value, the nearest first."""
    if isinstance(value, bool):
        yield not value
    elif "enum" in schema:
        options = schema["enum"]
        place = options.index(value) if value in options else 0
        yield from (options[other % len(options)] for other in (place + 1, place - 1) if len(options) > 1)
    elif isinstance(value, list):
        if len(value) > 1:
            yield value[:-1]
    elif isinstance(value, str | int | float):
        yield from _records_beside(at, schema, value)
        if not schema.get("x-hidden"):
            yield from _shifted(schema, value)


def _records_beside(at: Situation, schema: dict[str, Any], value: Any) -> Iterator[Any]:
    """Yield what was seen next to a value, then the names most like it that the scenario knows."""
    semantic = schema.get("x-semantic", "")
    seen = at.known.by_type.get(semantic, [])
    if value in seen:
        place = seen.index(value)
        # Latest first: the record after it in a list stands before it here.
        yield from (seen[other] for other in (place - 1, place + 1) if 0 <= other < len(seen))
    elif schema.get("x-hidden"):
        yield from seen[:2]
    if semantic not in at.scene.names or schema.get("x-hidden") or not _is_name(value):
        return  # a text that the user makes up has no neighbours
    others = [other for other in at.scene.literals.get(semantic, ()) if other != value]
    others = [other for other in others if _is_name(other)]
    yield from sorted(others, key=lambda other: (-_alike(other, value), other))[:2]


def _is_name(value: Any) -> bool:
    """Say whether a value is what a thing is called: not a sentence, a date or a number."""
    return (
        isinstance(value, str)
        and len(value.split()) <= _WORDS
        and not value[:1].isdigit()
        and value[-1:] not in ".?!"
    )


def _alike(left: str, right: str) -> int:
    """Return how much two names look alike: shared words count most, then the first letters."""
    words = len(set(left.lower().split()) & set(right.lower().split()))
    first = next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), 0)
    return 10 * words + first


def _shifted(schema: dict[str, Any], value: Any) -> Iterator[Any]:
    if isinstance(value, int | float):
        step = 10 if value >= 20 else 1
        for other in (value + step, value - step):
            if schema.get("minimum", other) <= other <= schema.get("maximum", other) and other:
                yield round(other, 2) if isinstance(other, float) else other
        return
    try:
        if _MOMENT.match(value):
            yield (datetime.fromisoformat(value) + timedelta(hours=1)).isoformat()[: len(value)]
        elif _DAY.fullmatch(value):
            yield (date.fromisoformat(value) + timedelta(days=1)).isoformat()
        elif _TIME.fullmatch(value):
            moment = datetime.fromisoformat(f"2000-01-01T{value}") + timedelta(hours=1)
            yield moment.strftime("%H:%M")
    except ValueError:  # looks like a date and is none
        return


def id_as_name(at: Situation, rng: Random) -> Iterator[Proposal]:
    """A call whose id is what people call the thing: the next step, or a later one that skips its look-up."""
    ready = at.gold is not None
    steps = [at.point.step, *at.point.left[1:]] if ready else []
    for step in steps:
        for name in at.words[step].bound:
            call = named(at, step, name)
            if call is not None:
                yield Proposal("id_as_name", *call)
                break
    del rng


def named(at: Situation, step: int, name: str) -> tuple[str, dict[str, Any]] | None:
    """Return a step's call with a name in place of the id that it binds, or None where no id or no name is known.

    Args:
        at: The decision point.
        step: The step.
        name: The bound argument.
    """
    words, taken = at.words[step], at.point.taken[step]
    schema = words.operation.tool.parameters.get(name, {})
    value = taken.arguments[name]
    if not schema.get("x-hidden") or not isinstance(value, str):
        return None
    text = displayed_name(at, *words.bound[name])
    if not text or text == value:
        return None
    arguments = {**taken.arguments, name: text}
    known = [other for key, other in arguments.items() if key != name]
    return (taken.tool, arguments) if at.known.holds(known) else None


def displayed_name(at: Situation, source: int, pointer: str) -> str:
    """Return what people call the record that a pointer takes an id from.

    As its result shows it; before that, as the user asked for it: by its own name, or with the words that refer to it.
    """
    producer = at.words[source]
    path = parse_pointer(pointer)
    if source < at.point.step:
        record = resolve(producer.result, path[:-1])
        found = next(
            (record[key] for key in _NAMES if isinstance(record, dict) and isinstance(record.get(key), str)),
            "",
        )
        if found:
            return found
    if len(path) == 1:
        for name, value in producer.arguments.items():
            schema = producer.operation.tool.parameters.get(name, {})
            if (
                isinstance(value, str)
                and schema.get("x-semantic") in at.scene.names
                and at.known.holds(value)
            ):
                return value
    reference = producer.wording.refer.get(pointer)
    if reference is None or not reference.full:
        return ""
    text = producer.clause(reference.full[0], Voice(list(at.words), 0, known=source < at.point.step)).text
    ids = (str(value) for name, value in producer.arguments.items() if _is_hidden(producer, name))
    return "" if any(one in text for one in ids) else text.removeprefix("the ")


def _is_hidden(step: StepContext, name: str) -> bool:
    return bool(step.operation.tool.parameters.get(name, {}).get("x-hidden"))


def wrong_format(at: Situation, rng: Random) -> Iterator[Proposal]:
    """The right call with a value written as people write it, not as the schema asks."""
    gold = at.gold
    if gold is None:
        return
    tool = at.scene.tools[gold.tool]
    names = list(gold.arguments)
    rng.shuffle(names)
    for name in names:
        schema = tool.parameters.get(name, {})
        if schema.get("x-hidden"):
            continue
        for other in _ways_of_writing(schema, gold.arguments[name], rng):
            if other != gold.arguments[name]:
                yield Proposal("wrong_format", gold.tool, {**gold.arguments, name: other})
                break


def _ways_of_writing(schema: dict[str, Any], value: Any, rng: Random) -> Iterator[Any]:
    if isinstance(value, bool):
        yield "yes" if value else "no"
    elif isinstance(value, int | float):
        yield surface(value, schema) if rng.random() < 0.5 else f"{value:g}"
    elif isinstance(value, list):
        yield ", ".join(map(str, value))
    elif isinstance(value, dict):
        yield json.dumps(value, ensure_ascii=False)
    elif isinstance(value, str):
        yield from _ways_of_writing_text(schema, value, rng)


def _ways_of_writing_text(schema: dict[str, Any], value: str, rng: Random) -> Iterator[str]:
    try:
        if _MOMENT.match(value):
            yield value.replace("T", " ") if rng.random() < 0.5 else surface(value, {"x-surface": "datetime"})
        elif _DAY.fullmatch(value):
            day = date.fromisoformat(value)
            yield day.strftime("%d/%m/%Y") if rng.random() < 0.5 else surface(value, {"x-surface": "date"})
        elif _TIME.fullmatch(value):
            yield surface(value, {"x-surface": "time"}, 1)
        elif "enum" in schema:
            yield value.replace("_", " ").capitalize()
    except ValueError:  # looks like a date and is none
        return
