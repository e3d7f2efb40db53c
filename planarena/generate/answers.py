"""The offline generator's answers: what every step that was asked for gave, as people write it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from planarena.environments.wording import names_in, parse_pointer, schema_at
from planarena.generate.asked import main_list, plural
from planarena.generate.clauses import StepContext, Voice
from planarena.generate.mentions import holds, is_told, name_of, noun_of
from planarena.generate.sentences import pick
from planarena.generate.spelling import PLAIN, Style, capital, one_stop, spell, with_articles
from planarena.generate.templates import render_record
from planarena.tasks.atoms import resolve

__all__ = ["is_led", "untold_output", "write_failure", "write_response"]

_BARE = ("That's done.", "It's done.", "Done.")
# Before what was done, and before nothing that was only looked up: so often, and once in a conversation [ours].
_DONE, _LED = ("Done. ", "All set. ", "That's done. ", "All done. "), 0.07
_LISTS = (
    "In order, the {1} are {0}.", "The {1} are {0}.", "The {1}: {0}.", "These are the {1}: {0}.",
    "Here are the {1} in order: {0}.",
)  # fmt: skip
_OTHERS = (
    "The other {1} are {0}.", "The other {1}: {0}.", "As for the other {1}: {0}.", "The remaining {1} are {0}.",
    "The rest of the {1}: {0}.",
)  # fmt: skip
_NEXT_ONES = (*_OTHERS, "The {1} after that: {0}.", "The next {1} are {0}.")
_OTHER = ("The other {1} is {0}.", "Apart from that {1} there is {0}.", "The only other {1} is {0}.")
# Among so many records of a list an answer is searched for those that it names.
_MOST_LISTED = 5
# Behind the only answer of a conversation that did something: so often [ours].
_MORE, _CLOSED_SO = (" Anything else?", " Is there anything else?"), 0.03


def write_response(
    steps: list[StepContext],
    reported: Sequence[int],
    rng: Random,
    style: Style = PLAIN,
    needed: Sequence[tuple[int, str]] = (),
    wanted: Mapping[int, Sequence[str]] = {},
    *,
    lead: bool = True,
    tail: bool = False,
) -> str:
    """Write an answer.

    Args:
        steps: All steps of the task.
        reported: What it tells, in the order in which it was asked for; a bare confirmation where that is nothing.
        rng: Chooses among words.
        style: How it is written.
        needed: (step, pointer) of the values that later messages take up: the answer names their records too.
        wanted: By step, the pointers of the lists whose records are asked for.
        lead: Whether it may begin with "All done." and the like.
        tail: Whether it may ask for more in the end.
    """
    if not reported:
        return _BARE[rng.randrange(len(_BARE))]
    sentences = []
    used: set[str] = set()
    for number in reported:
        step = steps[number]
        listed = not wanted or main_list(step.wording) in wanted.get(number, ())
        sentence = capital(_report(step, steps, used, style, rng, listed=listed)) + "."
        for pointer in wanted.get(number, ()):
            sentence += _listing(step, pointer, sentence, style, rng)
        for source, pointer in needed:
            if source == number:
                sentence += _naming(step, pointer, sentence, style, rng)
        sentences.append(sentence)
    acts = any(steps[number].operation.tool.effects != "read" for number in reported)
    begins = steps[reported[0]].operation.tool.effects != "read"
    text = (_lead(sentences[0], rng, style) if lead and begins else "") + " ".join(sentences)
    return with_articles(
        one_stop(text + (pick(_MORE, rng) if tail and acts and rng.random() < _CLOSED_SO else ""))
    )


def is_led(answer: str) -> bool:
    """Say whether an answer begins with "All done." and the like."""
    return answer.startswith(_DONE)


def _lead(following: str, rng: Random, style: Style) -> str:
    """Draw what an answer begins with, if with anything: not "Done. Done: ..."."""
    if rng.random() >= _LED:
        return ""
    head = following.split(" ", 1)[0].strip(",.:!")
    fresh = [one for one in _DONE if head not in re.findall(r"[\w']+", one)]
    return spell(pick(fresh, rng), style) if fresh else ""


_OF_ONE = re.compile(
    r"\b(of|from|among|out of)( the| all)? 1\b|\b(are|were|be|come|comes|have|turn up) 1\b(?! \w+ (is|has))"
)


# Of one record nobody says that it comes first.
_RANKED = re.compile(
    r"\b(in order|ranked|in that order|by votes|by price|by size|at the head|on top|to dear):? |\b(back|on)[:,] "
    r"|, (in order|by) |\b(cheapest|oldest|latest|largest|earliest|soonest) "
    r"|\b(first|latest|newest|most|above all)\b"
)


def _report(
    step: StepContext, steps: list[StepContext], used: set[str], style: Style, rng: Random, *, listed: bool
) -> str:
    """Tell what a step gave: not "the first of 1 note", nor one value twice in a sentence, where it can be told otherwise."""
    rows = resolve(step.result, parse_pointer(main_list(step.wording))) if main_list(step.wording) else None
    alone = isinstance(rows, list) and len(rows) == 1
    reports = step.wording.report if listed else step.wording.brief or step.wording.report
    if alone and not listed:
        reports = (*reports, *step.wording.report)  # "the latest of them" suits no single one
    fresh = [one for one in reports if one not in used] or list(reports)
    voice = Voice(steps, rng.randrange(1000), known=True, style=style)
    start = rng.randrange(len(fresh))
    first = ""
    for template in (*fresh[start:], *fresh[:start]):
        text = _once(step, step.clause(template, voice).text)
        if alone and _RANKED.search(text):
            first = first or text
            continue
        if not _OF_ONE.search(text) and not _repeats(step, text) and " the same " not in text:
            used.add(template)
            return text
        first = first or text
    used.add(fresh[start])
    return first


def _once(step: StepContext, text: str) -> str:
    """Say a value once where a sentence does without the second time: mail from Ada need not be "by Ada" too."""
    if len(_BYLINE.findall(text)) > 2:
        return text  # every line of a list says whose it is
    for pointer in step.wording.outputs:
        value = resolve(step.result, parse_pointer(pointer))
        found = _found(value, text) if isinstance(value, str) and len(value) > 3 else []
        if len(found) != 2:
            continue
        head, tail = text[: found[-1]], text[found[-1] + len(value) :]
        if head.count('"') % 2 or tail.startswith(" (") or head.count("(") > 1:
            continue  # a title stays as it is, and so does a line of a list; after a list "the same" says nobody
        if (by := _BY.search(head)) and _CLOSED.match(tail):
            text = head[: by.start()] + tail
        elif head.endswith(" (") and tail.startswith(")"):
            text = head[:-2] + tail[1:]
    return text


def _found(value: str, text: str) -> list[int]:
    """Return where a value stands as whole words, if it stands there more than once."""
    if text.count(value) < 2:
        return []  # once is what is wanted, and the rule
    return [match.start() for match in re.finditer(rf"(?<!\w){re.escape(value)}(?!\w)", text)]


_BY = re.compile(r"((,| and)? (sent|written|posted|started|comes|is|was))? (by|from)( the)? $")
_BYLINE = re.compile(r'" (by|from) ')
_CLOSED = re.compile(r"$|[.,;:!?]| and\b")


def _repeats(step: StepContext, text: str) -> bool:
    """Say whether a text holds a value of the result twice."""
    for pointer in step.wording.outputs:
        value = resolve(step.result, parse_pointer(pointer))
        if isinstance(value, str) and len(value) > 3 and len(_found(value, text)) > 1:
            return True
    return False


def _listing(step: StepContext, pointer: str, told: str, style: Style, rng: Random, most: int = 0) -> str:
    """Return a sentence that lists the records at a pointer, without the first where that was told; empty for none."""
    rows = resolve(step.result, parse_pointer(pointer))
    words = step.wording.records.get(pointer)
    if not isinstance(rows, list) or not rows or words is None:
        return ""
    fields = (schema_at(step.operation.tool.output_schema, parse_pointer(pointer)) or {}).get("items", {})
    # A report that tells two of them is itself the list.
    if sum(_tells(told, words.name, row, fields, style) for row in rows[: most or _MOST_LISTED]) >= min(
        2, len(rows)
    ):
        return ""
    # Which of them the sentence may have told: those that its outputs stand in.
    named = {
        int(found.group(1))
        for one in step.wording.outputs
        if (found := re.match(re.escape(pointer) + r"/(\d+)", one))
    }
    before = 0
    while before in named and before < len(rows) and _tells(told, words.name, rows[before], fields, style):
        before += 1
    if before:
        text = step.rows(pointer, style, most, skip=before)
        if not text:
            return ""
        if len(rows) == before + 1:
            alone: str = pick(_OTHER, rng)
            return " " + alone.format(text, words.noun)
        several: str = pick(_NEXT_ONES if words.order else _OTHERS, rng)
        return " " + several.format(text, plural(words.noun))
    text = step.rows(pointer, style, most)
    key = pointer.rsplit("/", 1)[-1].replace("_", " ")
    if pointer != main_list(step.wording) and plural(words.noun) not in key and text:
        return (
            f" On the {key}: {text}."
            if key.endswith("list")
            else f" {capital(plural(words.noun))} {key}: {text}."
        )
    if len(rows) == 1:
        return f" The {words.noun} is {text}." if text else ""
    return " " + pick(_LISTS, rng).format(text, plural(words.noun)) if text else ""


def _tells(told: str, name: str, row: Any, fields: Any, style: Style) -> bool:
    """Say whether a text holds all that the name of a record says."""
    return render_record(name, row, fields, style) is not None and all(
        holds(told, one)
        for field in names_in(name)
        if (one := render_record(f"{{{field}}}", row, fields, style))
    )


def _naming(step: StepContext, pointer: str, told: str, style: Style, rng: Random) -> str:
    """Return a sentence that names a record which the answer has not named yet; empty where nothing is to be added."""
    name = name_of(step, pointer, style)
    if name is None or is_told(name, told):
        return ""
    path = parse_pointer(pointer)
    place = next((number for number, word in enumerate(path) if isinstance(word, int)), None)
    if place is not None:
        index = path[place]
        assert isinstance(index, int)
        at = "".join(f"/{word}" for word in path[:place])
        if at != main_list(step.wording):
            return ""  # nobody asked for these: a later message describes what it means
        noun = step.wording.records[at].noun if at in step.wording.records else noun_of(step, pointer)
        if at in step.wording.records:
            listed = _listing(step, at, told, style, rng, max(3, index + 1))
            if is_told(name, listed):
                return listed
        lines = step.rows(at, style, max(3, index + 1))
        if noun and is_told(name, lines):
            alone = len(resolve(step.result, path[:place])) == 1
            return (
                f" The {noun} is {lines}." if alone else " " + pick(_LISTS, rng).format(lines, plural(noun))
            )
    return ""


def untold_output(step: StepContext, answer: str, style: Style) -> str:
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
