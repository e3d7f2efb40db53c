"""The words of an aim for the steps that it makes: how a plan speaks of what they hand on, and how an answer tells them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec.structs import replace

from planarena.environments.catalog import goals_of
from planarena.environments.goals import Aim, Pick
from planarena.environments.wording import Omission, Reference, parse_pointer, schema_at
from planarena.generate.clauses import StepContext
from planarena.pipeline.aimed import Aimed, Picked
from planarena.pipeline.execute.carried import outputs_of, pointer_in
from planarena.pipeline.products import Executed

__all__ = ["aim_of", "aim_steps"]

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def aim_of(aimed: Aimed) -> Aim:
    """Return the aim that a message follows.

    Raises:
        LookupError: It is not there any more.
    """
    return goals_of(aimed.domain)[aimed.name]


def aim_steps(task: Executed, steps: list[StepContext]) -> list[StepContext]:
    """Return a task's steps with the words that its aims have for them."""
    found = list(steps)
    for aimed in task.aims:
        aim = aim_of(aimed)
        own_steps = {step for step, _, _ in aimed.calls}
        for step in {one.step for one in aimed.picked if one.step < len(found)} - own_steps:
            # An earlier message has looked it up.
            words = found[step].wording
            refer = {**_references(task, aimed, aim, found[step]), **words.refer}
            found[step] = found[step]._replace(wording=replace(words, refer=refer))
        for step, call, _ in aimed.calls:
            if step >= len(found):
                continue  # a call that is not made
            words = found[step].wording
            words = replace(words, refer={**words.refer, **_references(task, aimed, aim, found[step])})
            words = replace(words, missing={**words.missing, **_omissions(aimed, aim, step)})
            own = [(one.name, one.index) for one in aimed.picked if one.step == step]
            told = outputs_of(aim, call, own)
            if told is not None:
                telling = aim.telling(call)
                assert telling is not None
                ways = (telling.line,) if telling.line else telling.clauses(aimed.branch)
                words = replace(words, outputs=told, report=_reports(aim, ways, own))
            found[step] = found[step]._replace(wording=words)
    return found


def _omissions(aimed: Aimed, aim: Aim, step: int) -> dict[str, Omission]:
    """Return what a step's arguments are called that a message may leave out."""
    return {
        argument: Omission((), aim.lacking[one.name].label)
        for one in aimed.said
        if one.name in aim.lacking
        for place, argument in one.places
        if place == step
    }


def _reports(aim: Aim, ways: Sequence[str], own: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    """Return clauses that tell a call, with the places of the records that are meant."""
    places = dict(own)

    def pointed(match: re.Match[str]) -> str:
        name, rest = match.group(1), match.group(2) or ""
        head = name.split(".", 1)[0]
        return (
            f"{{{pointer_in(aim, name, places[head])}{rest}}}"
            if head in places and "." in name
            else match.group()
        )

    return tuple(re.sub(r"\{([^{}|]+)((?:\|[^{}]*)?)\}", pointed, way) for way in ways)


@lru_cache(maxsize=4096)
def _plain(ways: tuple[str, ...]) -> tuple[str, ...]:
    """Return ways of saying an aim without their placeholders."""
    return tuple(re.sub(r"[\[\]]|\{[^{}]*\}", " ", way) for way in ways)


def _references(task: Executed, aimed: Aimed, aim: Aim, producer: StepContext) -> dict[str, Reference]:
    """Return how a plan speaks of what other calls take from a step."""
    taken = {pointer for step in task.steps for _, source, pointer in step.bound if source == producer.number}
    found = {}
    said = _plain(aim.ways) if taken else ()
    for pointer in sorted(taken):
        known = producer.wording.refer.get(pointer)
        text = ""
        for one in aimed.picked:
            rows = aim.picks[one.name][1].rows
            if one.step == producer.number and pointer.startswith(f"{rows}/{one.index}/"):
                field = pointer[len(f"{rows}/{one.index}/") :]
                text = _called(one, aim.picks[one.name][1], field, producer)
        if not text and known is None:
            text = f"the {_words(pointer)} found there"
        if not text and known is not None:
            found[pointer] = replace(known, said=said)
        elif text:
            noun, name = (known.noun, known.name) if known is not None else ("", "")
            found[pointer] = Reference((text,), (text,), noun=noun, name=name, said=said)
    return found


def _called(one: Picked, pick: Pick, field: str, producer: StepContext) -> str:
    record = producer.wording.records.get(pick.rows)
    noun = record.noun if record is not None else "entry"
    row_schema = schema_at(producer.operation.tool.output_schema, (*parse_pointer(pick.rows), 0)) or {}
    schemas = row_schema.get("properties", {})
    if pick.all:
        text = f"the {_ORDINALS[one.number]} of {pick.called or f'the {noun} entries that fit'}"
    elif pick.called:
        text = pick.called
    elif pick.named:
        name = f"{{{pick.rows}/{one.index}/{pick.named}}}"
        own = schemas.get(pick.named, {}).get("x-semantic") == "person"
        text = f"the {noun} of {name}" if own else f'the {noun} "{name}"'
    elif pick.place:
        text = f"the {pick.place} {noun}"
    elif pick.way in {"least", "most"}:
        timed = schemas.get(pick.least or pick.most, {}).get("x-surface") in {"date", "datetime", "time"}
        word = ("earliest" if pick.least else "latest") if timed else ("lowest" if pick.least else "highest")
        text = f"the {noun} with the {word} {_words(pick.least or pick.most)}"
    else:
        text = f"the {noun} that fits"
    return text if schemas.get(field, {}).get("x-hidden") else f"the {_words(field)} of {text}"


def _words(pointer: str) -> str:
    return pointer.rsplit("/", 1)[-1].replace("_", " ")
