"""The offline generator's answers: what every step that was asked for gave, as people write it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from planarena.environments.wording import parse_pointer
from planarena.generate.clauses import StepWords, Voice
from planarena.generate.mentions import holds, is_told, name_of, noun_of
from planarena.generate.sentences import capital, pick
from planarena.generate.spelling import PLAIN, Style, spell

__all__ = ["untold_output", "write_failure", "write_response"]

_BARE = ("That is done.", "Done, what is next?", "I have that now.", "Ready for the next part.")
_DONE = (
    "Done. ", "All set. ", "That's sorted. ", "Everything is taken care of. ", "All done. ", "Sorted. ", "It's done. ",
    "Right, that worked. ", "Good news, that went through. ", "Consider it done. ", "No problem. ", "Of course. ",
    "Certainly. ", "Happy to help. ", "Sure. ",
)  # fmt: skip
_FOUND = (
    "Here is what I found. ", "I had a look. ", "Let me see. ", "Here you go. ", "I checked. ", "Sure. ", "Of course. ",
    "Here's the answer. ", "I looked that up. ", "Right. ",
)  # fmt: skip
_NEXT = ("Also, ", "In addition, ", "And ", "Besides, ", "On top of that, ", "As for the rest, ", "Apart from that, ")
_LISTS = (
    "In order: {0}.", "The first ones are {0}.", "The list reads {0}.", "From the top: {0}.", "These are {0}.",
    "In full: {0}.", "In sequence they are {0}.",
)  # fmt: skip
_NAMES = ("That one is {0}.", "I mean {0}.", "It is {0}.")
_MORE = (" Anything else?", " Let me know if you need more.", " Tell me if anything should change.", " Shall I do anything else?")


def write_response(
    steps: list[StepWords],
    reported: Sequence[int],
    rng: Random,
    style: Style = PLAIN,
    needed: Sequence[tuple[int, str]] = (),
) -> str:
    """Write an answer.

    Args:
        steps: All steps of the task.
        reported: What it tells, in the order in which it was asked for; a bare confirmation where that is nothing.
        rng: Chooses among words.
        style: How it is written.
        needed: (step, pointer) of the values that later messages take up: the answer names their records too.
    """
    if not reported:
        return _BARE[rng.randrange(len(_BARE))]
    sentences = []
    used: set[str] = set()
    for number in reported:
        step = steps[number]
        fresh = [one for one in step.wording.report if one not in used] or list(step.wording.report)
        template = pick(fresh, rng)
        used.add(template)
        text = step.clause(template, Voice(steps, rng.randrange(1000), known=True, style=style)).text
        sentence = capital(text) + "."
        for source, pointer in needed:
            if source == number:
                sentence += _naming(step, pointer, sentence, style, rng)
        sentences.append(sentence)
    if len(sentences) > 2 and rng.random() < 0.35:
        place = rng.randrange(1, len(sentences))
        head = spell(pick(_NEXT, rng), style)
        sentences[place] = head + _uncapital(sentences[place], steps[reported[place]])
    return _lead(steps, reported, rng, style) + " ".join(sentences) + (pick(_MORE, rng) if rng.random() < 0.06 else "")


def _lead(steps: Sequence[StepWords], reported: Sequence[int], rng: Random, style: Style) -> str:
    if rng.random() < 0.55:
        return ""
    reads = all(steps[number].operation.tool.effects == "read" for number in reported)
    return spell(pick(_FOUND if reads else _DONE, rng), style)


def _uncapital(sentence: str, step: StepWords) -> str:
    """Take the capital off a sentence that begins with a word of ours, not with a name."""
    first = sentence.split(" ", 1)[0].lower()
    ours = {"the", "a", "an", "your", "you", "there", "there's", "it", "no", "of", "on", "by", "with", "in", "that", "from", "at"}
    return sentence[:1].lower() + sentence[1:] if first in ours else sentence


def _naming(step: StepWords, pointer: str, told: str, style: Style, rng: Random) -> str:
    """Return a sentence that names a record which the answer has not named yet; empty where nothing is to be added."""
    name = name_of(step, pointer, style)
    if name is None or is_told(name, told):
        return ""
    path = parse_pointer(pointer)
    place = next((number for number, word in enumerate(path) if isinstance(word, int)), None)
    if place is not None:
        index = path[place]
        assert isinstance(index, int)
        lines = step.rows("".join(f"/{word}" for word in path[:place]), style, max(3, index + 1))
        if is_told(name, lines):
            return " " + spell(pick(_LISTS, rng), style).format(lines)
    noun = noun_of(step, pointer)
    return f" The {noun} is {name.text}." if noun else ""


def untold_output(step: StepWords, answer: str, style: Style) -> str:
    """Return the pointer of an output that an answer does not tell, or an empty text."""
    for pointer in step.wording.outputs:
        path = parse_pointer(pointer)
        text = step.clause(f"{{{pointer}}}", Voice([step], 0, style=style)).text
        if not holds(answer, text) and not (text == "0" and holds(answer.lower(), "no")):
            return pointer if path else "/"
    return ""


_SORRY = ("I could not finish this", "Something did not work", "One part failed", "This is not complete")


def write_failure(done: str, errors: Sequence[str], rng: Random) -> str:
    """Write the answer of an agent that went wrong: what it believes is done, and the first error it met."""
    if errors:
        return f"{done} {_SORRY[rng.randrange(len(_SORRY))]}: {errors[0]}".strip()
    return done or "Done."
