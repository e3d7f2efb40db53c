"""Wrong answers that models give: a part left out, a false value or claim, a question that was not needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from planarena.environments.wording import parse_pointer, schema_at
from planarena.generate.clauses import StepContext, Voice
from planarena.generate.offline import write_response
from planarena.generate.situations import Proposal, Situation
from planarena.generate.surfaces import surface
from planarena.generate.wrong_values import neighbours
from planarena.tasks.atoms import resolve

__all__ = [
    "ASK_BACK",
    "early_stop",
    "false_answer",
    "incomplete_answer",
    "needless_question",
    "omitted_call",
    "told_in",
    "values_told",
    "write_claim",
]

# How a value is asked back for; where it is missing the question is right, where it was told it is needless.
ASK_BACK = (
    "I can do that, but I need to know one thing first: which {0} should it be?",
    "Which {0} do you mean? With that I can go ahead.",
    "Gladly. Please tell me the {0} first.",
    "One detail is missing: the {0}. What should I take?",
)
_CLAIMS = ("Also done: {0}.", "I have taken care of the rest as well: {0}.", "And this is done too: {0}.")


def told_in(at: Situation, text: str) -> list[int]:
    """Return the steps made for this message of which a text tells every value that the right answer tells."""
    lowered = text.lower()
    return [
        step
        for step in at.reported
        if step < at.point.step and all(spoken in lowered for spoken in at.told[step])
    ]


def values_told(words: Sequence[StepContext], reported: Sequence[int], answer: str) -> dict[int, list[str]]:
    """Return by reported step the values that an answer tells of it, in small letters."""
    lowered = answer.lower()
    return {
        step: [low for _, _, spoken in _told_values(words[step]) if (low := spoken.lower()) in lowered]
        for step in reported
    }


def _told_values(step: StepContext) -> Iterator[tuple[str, Any, str]]:
    """Yield (pointer, value, how an answer writes it) of what an answer reports of a step."""
    for pointer in step.wording.outputs:
        path = parse_pointer(pointer)
        value = resolve(step.result, path)
        if isinstance(value, str | int | float):
            yield pointer, value, surface(value, schema_at(step.operation.tool.output_schema, path) or {})


def _reported(at: Situation) -> list[int]:
    """Return what can be told of what is done, of what the request asks for."""
    return [step for step in at.done if at.asked[step] and at.words[step].tells_all()]


def omitted_call(at: Situation, rng: Random) -> Iterator[Proposal]:
    """An answer after all calls of a parallel group but one, and without a word of it."""
    step = at.point.step
    if len(at.point.left) != 1 or not at.done or at.groups[step - 1] != at.groups[step]:
        return
    told = _reported(at)
    if told:
        yield Proposal("omitted_call", "", {}, response=write_response(list(at.words), told, rng))


def incomplete_answer(at: Situation, rng: Random) -> Iterator[Proposal]:
    """An answer half-way, or one at the end that leaves out something that was asked for."""
    words = list(at.words)
    if at.gold is None:
        asked = [step for step in at.reported if at.asked[step] and at.told[step]]
        if len(at.reported) > 1 and asked:
            left_out = asked[rng.randrange(len(asked))]
            rest = [step for step in at.reported if step != left_out]
            yield Proposal("incomplete_answer", "", {}, response=write_response(words, rest, rng))
        return
    told = _reported(at)
    if told:
        yield Proposal("incomplete_answer", "", {}, response=write_response(words, told, rng))


def false_answer(at: Situation, rng: Random) -> Iterator[Proposal]:
    """The right answer with one value that is another's; before the end, a claim that what is left is done."""
    if at.gold is None:
        yield from _with_a_false_value(at, rng)
        return
    told = _reported(at)
    write = next((step for step in at.point.left if _changes(at.words[step])), None)
    if not told or write is None or len(at.point.left) > 2:
        return
    claim = write_claim(at.words[write], list(at.words), rng)
    yield Proposal("false_answer", "", {}, response=f"{write_response(list(at.words), told, rng)} {claim}")


def write_claim(step: StepContext, steps: list[StepContext], rng: Random) -> str:
    """Write that a step is done, whether it is or not."""
    template = step.wording.plan[rng.randrange(len(step.wording.plan))]
    claim = step.clause(template, Voice(steps, rng.randrange(1000))).text
    return _CLAIMS[rng.randrange(len(_CLAIMS))].format(claim[0].lower() + claim[1:])


def _changes(step: StepContext) -> bool:
    return step.operation.tool.effects != "read"


def _with_a_false_value(at: Situation, rng: Random) -> Iterator[Proposal]:
    steps = [step for step in at.reported if at.asked[step]]
    rng.shuffle(steps)
    for number in steps:
        step = at.words[number]
        told = list(_told_values(step))
        rng.shuffle(told)
        for pointer, value, spoken in told:
            # Said once and nowhere inside another word: exchanging it changes nothing else.
            if isinstance(value, bool) or len(spoken) < 2 or at.answer.count(spoken) != 1:
                continue
            schema = schema_at(step.operation.tool.output_schema, parse_pointer(pointer)) or {}
            if schema.get("x-hidden"):
                continue
            others = (surface(other, schema) for other in neighbours(at, schema, value))
            other = next((one for one in others if one != spoken and one not in at.answer), None)
            if other is not None:
                text = at.answer.replace(spoken, other)
                yield Proposal("false_answer", "", {}, response=text)
                break


def needless_question(at: Situation, rng: Random) -> Iterator[Proposal]:
    """A question for a value that the user told."""
    if at.gold is None:
        return
    for step in at.point.left:
        words = at.words[step]
        names = [name for name in words.arguments if name not in words.bound]
        labels = [name for name in names if name in words.wording.missing] or names
        if labels:
            name = labels[rng.randrange(len(labels))]
            omission = words.wording.missing.get(name)
            label = omission.label if omission is not None else name.replace("_", " ")
            text = ASK_BACK[rng.randrange(len(ASK_BACK))].format(label)
            yield Proposal("needless_question", "", {}, response=text)
            return


def early_stop(at: Situation, rng: Random) -> Iterator[Proposal]:
    """An answer at once, before anything that was asked for is done."""
    if at.gold is not None and not at.done:
        yield Proposal("early_stop", "", {}, response=write_response(list(at.words), [], rng))
