"""British and American spelling, kept apart: texts are written in British, and a trajectory speaks one of the two.

Only words of templates are changed, never values: a document titled "Colours" keeps its name in America.
"""

from __future__ import annotations

import re
from functools import lru_cache
from random import Random
from typing import NamedTuple

__all__ = ["PLAIN", "Style", "draw_style", "spell"]

_AMERICAN = {
    "analyse": "analyze", "apologise": "apologize", "behaviour": "behavior", "cancelled": "canceled",
    "cancelling": "canceling", "catalogue": "catalog", "centre": "center", "centres": "centers", "cheque": "check",
    "cheques": "checks", "colour": "color", "colours": "colors", "cosy": "cozy", "defence": "defense",
    "dialled": "dialed", "draught": "draft", "enquire": "inquire", "enquiry": "inquiry", "enrol": "enroll",
    "favour": "favor", "favours": "favors", "favourite": "favorite", "favourites": "favorites", "fulfil": "fulfill",
    "grey": "gray", "honour": "honor", "instalment": "installment", "instalments": "installments",
    "jewellery": "jewelry", "kerb": "curb", "labelled": "labeled", "labour": "labor", "licence": "license",
    "litre": "liter", "litres": "liters", "metre": "meter", "metres": "meters", "neighbour": "neighbor",
    "neighbours": "neighbors", "neighbour's": "neighbor's", "offence": "offense", "organise": "organize",
    "organised": "organized", "organiser": "organizer", "organises": "organizes", "organising": "organizing",
    "practise": "practice", "prioritise": "prioritize",
    "programme": "program", "programmes": "programs", "realise": "realize", "realised": "realized",
    "recognise": "recognize", "sceptical": "skeptical",
    "signalling": "signaling", "specialise": "specialize", "storey": "story", "summarise": "summarize",
    "theatre": "theater", "travelled": "traveled", "travelling": "traveling",
    "tyre": "tire", "tyres": "tires", "whilst": "while",
    "towards": "toward", "learnt": "learned",
}  # fmt: skip
_WORD = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z][A-Za-z']*(?![A-Za-z0-9_])")
_SHORT = (
    (r"\b([Ii])t is\b(?! [.,;])", r"\1t's"),
    (r"\b([Tt])hat is\b(?= (done|all|sorted|set|settled|in))", r"\1hat's"),
    (r"\b([Tt])here is\b", r"\1here's"),
    (r"\b([Yy])ou have\b(?= (no|not|been|one|the|a|still)\b)", r"\1ou've"),
    (r"\bI have\b(?= (put|set|sent|added|moved|booked|not|made|got)\b)", "I've"),
    (r"\b(is|are|was|does|do|did|has|have|could|would) not\b", r"\1n't"),
    (r"\b([Cc])annot\b", r"\1an't"),
    (r"\b([Ww])ill not\b", r"\1on't"),
    (r"\b(it|they|you|we|he|she) will\b", r"\1'll"),
)
_CONTRACTIONS = tuple((re.compile(pattern), text) for pattern, text in _SHORT)


class Style(NamedTuple):
    """How one trajectory writes.

    Attributes:
        british: The spelling.
        contracted: Whether "it is" becomes "it's".
        manner: How values are written: see `planarena.generate.surfaces`.
        year: The present year, which dates need not name; empty where there is no clock.
    """

    british: bool = True
    contracted: bool = False
    manner: int = 0
    year: str = ""


PLAIN = Style()


def draw_style(rng: Random, now: str = "") -> Style:
    """Draw how a trajectory writes: dates and hours go with the spelling.

    Args:
        rng: Chooses.
        now: The present moment.
    """
    british = rng.random() < 0.5
    draw = rng.random()
    manner = 2 if draw < 0.06 else (0 if british else 1) if draw < 0.3 else (3 if british else 4)
    return Style(british, rng.random() < 0.75, manner, now[:4])


def spell(text: str, style: Style) -> str:
    """Write a template's words in a style."""
    return text if style.british and not style.contracted else _spelled(text, style.british, style.contracted)


# A build says the same few thousand words of templates over and over.
@lru_cache(maxsize=65536)
def _spelled(text: str, british: bool, contracted: bool) -> str:
    if contracted:
        for pattern, short in _CONTRACTIONS:
            text = pattern.sub(short, text)
    return text if british else _WORD.sub(_american, text)


def _american(match: re.Match[str]) -> str:
    word = match.group()
    found = _AMERICAN.get(word.lower())
    if found is None:
        return word
    return found.capitalize() if word[0].isupper() else found
