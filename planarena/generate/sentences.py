"""Clauses and whole sentences packed into one message of a register."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from planarena.generate.manners import (
    ACKNOWLEDGED,
    GREETINGS,
    JOIN_AND,
    JOIN_THEN,
    STYLES,
    THANKS,
    fitting_asides,
)
from planarena.generate.manners import Style as Manner
from planarena.generate.spelling import Style, capital, one_stop, spell, with_articles

__all__ = ["Piece", "capital", "join_message", "pick"]

# A longer sentence is not gone on with.
_LONGEST = 190
# How often a chatty first message greets, or thanks; and how often a later one begins with a word of thanks [ours].
_GREETS, _THANKS, _ACKNOWLEDGES = 0.3, 0.25, 0.3


class Piece(NamedTuple):
    """What a message says about one step.

    Attributes:
        relation: `start`, `then` (it needs what stands before) or `and`.
        text: An imperative clause, or a whole sentence.
        whole: Whether it is a sentence.
    """

    relation: str
    text: str
    whole: bool


def pick(choices: Sequence[Any], rng: Random) -> Any:
    """Return one of several."""
    return choices[rng.randrange(len(choices))]


# Of so many drawn words the one is taken that was said least.
_DRAWS = 4


def pick_rare(choices: Sequence[Any], rng: Random, counts: Counter[str] | None) -> Any:
    """Return one of several, rather one that other conversations did not say yet, and count it on."""
    if counts is None:
        return pick(choices, rng)
    drawn = [pick(choices, rng) for _ in range(_DRAWS)]
    found = min(drawn, key=lambda one: counts[f"said {one}"])
    counts[f"said {found}"] += 1
    return found


def join_message(
    pieces: Sequence[Piece],
    register: str,
    turn: int,
    style: Style,
    used: set[str],
    rng: Random,
    counts: Counter[str] | None = None,
) -> str:
    """Write a message.

    Args:
        pieces: In the order in which they are asked for.
        register: The manner of speaking.
        turn: Number of the message.
        style: Its spelling.
        used: Openings that the conversation had already; those of this message are added.
        rng: Chooses among words.
        counts: How often other conversations said what, counted on here; None where it does not matter.
    """
    if register == "listed" and len(pieces) > 1 and turn == 0:
        return with_articles(one_stop(_listed(pieces, style, rng)))
    manner = STYLES.get(register, STYLES["plain"])
    sentences = _Sentences(pieces, manner, turn, style, used, rng, counts).all()
    if register == "casual":
        return with_articles(one_stop(_loose(sentences, pieces)))
    if register == "chatty":
        # Whoever greets does not thank in the same breath, and nobody thanks twice.
        if turn == 0 and rng.random() < _GREETS:
            sentences[0] = _greeted(sentences[0], pieces[0], style, rng, counts)
        elif turn == 0 and rng.random() < _THANKS and not any("hank" in sentence for sentence in sentences):
            sentences.append(spell(pick_rare(THANKS, rng, counts), style))
    elif register == "aside" and turn == 0 and not _LEANS.search(sentences[0]):
        # Before "it" and "so" the remark would be what they mean.
        sentences.insert(0, spell(pick_rare(fitting_asides(" ".join(sentences)), rng, counts), style))
    return with_articles(one_stop(" ".join(sentences)))


class _Sentences:
    """Sentences of one to three clauses, joined by what relates them."""

    def __init__(
        self,
        pieces: Sequence[Piece],
        manner: Manner,
        turn: int,
        style: Style,
        used: set[str],
        rng: Random,
        counts: Counter[str] | None,
    ) -> None:
        self.counts = counts
        self.pieces, self.manner, self.turn, self.style, self.rng = pieces, manner, turn, style, rng
        self.used = used

    def all(self) -> list[str]:
        sentences: list[str] = []
        place = 0
        while place < len(self.pieces):
            piece = self.pieces[place]
            if piece.whole:
                sentences.append(self._whole(place))
                place += 1
                continue
            opening, stop = self._opening(place)
            # "Good. Ask the practice": after a full stop a sentence begins.
            words = opening + (
                capital(piece.text) if opening.rstrip()[-1:] in {".", "!", "?"} else piece.text
            )
            size = 1
            most = 1 + (self.rng.random() < 0.6) + (self.rng.random() < 0.2)
            while size < most and place + size < len(self.pieces):
                following = self.pieces[place + size]
                if following.whole or len(words) + len(following.text) > _LONGEST or "\n" in words:
                    break
                if words.endswith(_ENDED):
                    break
                words += self._join(following.relation, opening, words) + following.text
                size += 1
            sentences.append(capital(words) + stop)
            place += size
        return sentences

    def _whole(self, place: int) -> str:
        """A sentence of its own; what it follows on stands before it."""
        text = capital(self.pieces[place].text)
        if place == 0 and self.turn > 0 and self.rng.random() < _ACKNOWLEDGES:
            head = text.split(" ", 1)[0].strip(",.!?")
            # "Right. Right, that note" is nobody's way of speaking.
            fresh = [one for one in ACKNOWLEDGED if head not in one]
            return f"{spell(pick_rare(fresh, self.rng, self.counts), self.style)} {text}"
        return text

    def _join(self, relation: str, opening: str, before: str) -> str:
        joins: tuple[str, ...] = JOIN_THEN if relation == "then" else JOIN_AND
        # "..., and also ..., and also": a sentence says it once.
        joins = tuple(one for one in joins if len(one) < 6 or one not in before) or joins
        if opening in self.manner.then:
            joins = joins[:1]  # "After that, ... and then ... after that": one such word a sentence is enough
        return spell(pick(joins, self.rng), self.style)

    def _opening(self, place: int) -> tuple[str, str]:
        if place == 0 and self.turn == 0:
            opening, stop = pick_rare(self.manner.openers, self.rng, self.counts)
            return spell(opening, self.style), stop
        if place == 0:
            found = self.manner.later
        elif self.pieces[place].relation == "and":
            found = self.manner.also
        elif place == len(self.pieces) - 1 and len(self.pieces) > 2 and self.rng.random() < 0.5:
            found = self.manner.last
        else:
            found = self.manner.then
        fresh = [one for one in found if one not in self.used] or list(found)
        opening = pick_rare(fresh, self.rng, self.counts)
        self.used.add(opening)
        return spell(opening, self.style), "?" if _ASKS.search(opening) else "."


# What a quotation that ends a sentence ends with: "..., then" does not go on behind it.
_ENDED = ('."', '?"', '!"')
_LEANS = re.compile(r"\b(it|its|they|them|their|this|that|those|these|so|there|then|he|she)\b", re.I)
# "Could you then " begins a question; "I'd be glad if you could " does not.
_ASKS = re.compile(
    r"\b(could|would|might|can|will) you( also| now| then| perhaps| possibly)*( be able to| go ahead and)? $"
    r"|\bwould it suit you to $",
    re.I,
)


def _greeted(sentence: str, first: Piece, style: Style, rng: Random, counts: Counter[str] | None) -> str:
    # Before a sentence of its own a greeting must be whole too: not "Hey, so."
    whole = first.whole
    fitting = [one for one in GREETINGS if not (whole and _goes_on(one))]
    greeting = spell(pick_rare(fitting, rng, counts), style).rstrip()
    if greeting[-1] in "!.?":
        return f"{greeting} {sentence}"
    if whole:
        return f"{greeting.rstrip(',')}. {sentence}"
    mine = sentence.startswith(("I ", "I'"))
    return f"{greeting} {sentence if mine else sentence[:1].lower() + sentence[1:]}"


def _goes_on(greeting: str) -> bool:
    return greeting.rstrip().endswith((" so", " so,", ":"))


def _loose(sentences: list[str], pieces: Sequence[Piece]) -> str:
    """Write like a quick chat message: no capitals at the start of what we wrote, no last full stop."""
    # Whole sentences keep their capital, and a message does not write in two ways.
    small = not any(piece.whole for piece in pieces)
    out = []
    for sentence in sentences:
        keeps = not small or sentence[:2] in {"I ", "I'"}
        text = sentence if keeps else sentence[:1].lower() + sentence[1:]
        out.append(text if text[-1] in ".?!" else text + ".")
    joined = " ".join(out)
    return joined[:-1] if joined.endswith(".") else joined


_LIST_HEADS = (
    "Could you take care of these?", "A few things for today:", "Here's my to-do list:", "Please work through this:",
    "Would you go through these for me?",
)  # fmt: skip


def _listed(pieces: Sequence[Piece], style: Style, rng: Random) -> str:
    head = spell(pick(_LIST_HEADS, rng), style)
    mark = rng.random() < 0.5 or any(piece.relation == "then" for piece in pieces)
    lines = [
        (f"{number}. " if mark else "- ") + capital(piece.text) for number, piece in enumerate(pieces, 1)
    ]
    return "\n".join([head, *lines])
