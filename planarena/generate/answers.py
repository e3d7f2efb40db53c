"""The offline generator's answers: what every step that was asked for gave, as people write it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from planarena.environments.wording import parse_pointer
from planarena.generate.clauses import StepWords, Voice
from planarena.generate.mentions import holds, is_told, name_of, noun_of
from planarena.generate.sentences import capital, pick
from planarena.generate.spelling import PLAIN, Style, one_stop, spell
from planarena.tasks.atoms import resolve

__all__ = ["untold_output", "write_failure", "write_response"]

# A sentence that begins so can be joined to the one before; others begin with a name, or with words that join already.
_PLAIN_STARTS = frozenset({"the", "a", "an", "your", "you", "there", "there's", "it", "no", "nobody"})
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
_NEXT = (
    "Also, ",
    "In addition, ",
    "And ",
    "Besides, ",
    "On top of that, ",
    "As for the rest, ",
    "Apart from that, ",
)
_LISTS = (
    "In order, the {1} are {0}.", "The {1} are {0}.", "The {1}: {0}.", "These are the {1}: {0}.",
    "Here are the {1} in order: {0}.", "As for the {1}, I see {0}.",
)  # fmt: skip
_MORE = (
    " Anything else?",
    " Let me know if you need more.",
    " Tell me if anything should change.",
    " Shall I do anything else?",
)


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
    if len(sentences) > 2 and rng.random() < 0.45:
        place = rng.randrange(1, len(sentences))
        if sentences[place].split(" ", 1)[0].lower() in _PLAIN_STARTS:
            head = spell(pick(_NEXT, rng), style)
            sentences[place] = head + sentences[place][:1].lower() + sentences[place][1:]
    text = _lead(steps, reported, sentences[0], rng, style) + " ".join(sentences)
    return one_stop(text + (pick(_MORE, rng) if rng.random() < 0.06 else ""))


def _lead(
    steps: Sequence[StepWords], reported: Sequence[int], following: str, rng: Random, style: Style
) -> str:
    """Draw what an answer begins with, if with anything: not "I checked. I ..." nor "Sorted. Sorted: ..."."""
    if rng.random() < 0.55:
        return ""
    reads = all(steps[number].operation.tool.effects == "read" for number in reported)
    head = following.split(" ", 1)[0].strip(",.:!")
    fresh = [one for one in (_FOUND if reads else _DONE) if head not in re.findall(r"[\w']+", one)]
    return spell(pick(fresh, rng), style) if fresh else ""


def _naming(step: StepWords, pointer: str, told: str, style: Style, rng: Random) -> str:
    """Return a sentence that names a record which the answer has not named yet; empty where nothing is to be added."""
    name = name_of(step, pointer, style)
    if name is None or is_told(name, told):
        return ""
    noun = noun_of(step, pointer)
    path = parse_pointer(pointer)
    place = next((number for number, word in enumerate(path) if isinstance(word, int)), None)
    if place is not None:
        index = path[place]
        assert isinstance(index, int)
        lines = step.rows("".join(f"/{word}" for word in path[:place]), style, max(3, index + 1))
        if is_told(name, lines) and noun:
            alone = len(resolve(step.result, path[:place])) == 1
            return (
                f" The {noun} is {lines}." if alone else " " + pick(_LISTS, rng).format(lines, _plural(noun))
            )
    return f" The {noun} is {name.text}." if noun else ""


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def untold_output(step: StepWords, answer: str, style: Style) -> str:
    """Return the pointer of an output that an answer does not tell, or an empty text."""
    for pointer in step.wording.outputs:
        text = step.told(pointer, style)
        if not holds(answer, text) and not (text == "0" and holds(answer.lower(), "no")):
            return pointer or "/"
    return ""


_SORRY = ("I could not finish this", "Something did not work", "One part failed", "This is not complete")


def write_failure(done: str, errors: Sequence[str], rng: Random) -> str:
    """Write the answer of an agent that went wrong: what it believes is done, and the first error it met."""
    if errors:
        return f"{done} {_SORRY[rng.randrange(len(_SORRY))]}: {errors[0]}".strip()
    return done or "Done."
