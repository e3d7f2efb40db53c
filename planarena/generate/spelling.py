"""British and American spelling, kept apart: texts are written in British, and a trajectory speaks one of the two.

Only words of templates are changed, never values: a document titled "Colours" keeps its name in America.
"""

from __future__ import annotations

import re
from functools import lru_cache
from random import Random
from typing import NamedTuple

__all__ = ["PLAIN", "Style", "capital", "draw_style", "one_stop", "spell", "with_articles"]

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
# "It's" stands before what it says, never last: not in "how long it is" or "as it is now, so".
_SHORTENED = re.compile(r"\b(it|that|there) is\b(?= (\w*))", re.I)
_QUESTION = re.compile(
    r"\b(how|what|where|who|whom|whose|when|why|which|whether|as|than|whatever|wherever)\b[^.,;:!?]*$", re.I
)
_CLOSES = re.compile(
    r" (now|then|there|here|today|tonight|tomorrow|yet|again|too|still|already|and|or|but|if|so|when|while|because|for"
    r"|on|in|at|this|that)\b",
    re.I,
)
# Only at the start of a clause: "the first hour there is 9:00" and "the place to fetch it is Pet Shop Fins" stay.
_STARTS = re.compile(
    r"(^|[.,;:!?(\"“] ?|\b(and|but|so|or|nor|then|because|since|if|when|that|while|though|unless|once|think|says?) )$",
    re.I,
)
_MORE_WORDS = r"(?= [\w{])"
_SHORT = (
    (r"\b([Yy])ou have\b(?= (not|been)\b)", r"\1ou've"),
    (
        r"\bI have\b(?= (put|set|sent|added|moved|booked|made|got|given|asked|changed|cancelled|marked|reserved|renewed|ordered|saved|started"
        r"|arranged|assigned|declined|approved|entered|merged|queued|shared|planned|paid)\b)",
        "I've",
    ),
    (r"\b(is|are|was|does|do|did|has|have|could|would) not\b", r"\1n't"),
    (r"\b([Cc])annot\b", r"\1an't"),
    (r"\b([Ww])ill not\b", r"\1on't"),
    (rf"(?<!of )\b(it|they|you|we|he|she) will\b{_MORE_WORDS}", r"\1'll"),
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
    manner = 2 if draw < 0.01 else (0 if british else 1) if draw < 0.1 else (3 if british else 4)
    return Style(british, rng.random() < 0.75, manner, now[:4])


_STOPS = re.compile(r"""(?<!\.)([.!?])(["'”’]?)\.(?=\s|$)""")


def one_stop(text: str) -> str:
    """Take away the full stop after words that end with a stop of their own, quoted or not."""
    return _STOPS.sub(r"\1\2", text)


_ARTICLE = re.compile(r"(?<![\w'\".-])a(?= (?!one\b|once\b|[Ee]uro|[Uu]ni|use|usu)[\"“]?[AEIOaeio]\w)")


def with_articles(text: str) -> str:
    """Write "an" before a vowel: a template does not know what stands in its place."""
    return _ARTICLE.sub("an", text)


def capital(text: str) -> str:
    """Give a text a capital at its start; an address of mail and the name of a file keep their small letters."""
    return text if _KEEPS_SMALL.search(text.split(" ", 1)[0]) else text[:1].upper() + text[1:]


_KEEPS_SMALL = re.compile(r"@|\w_\w|\w\.\w")


def spell(text: str, style: Style) -> str:
    """Write a template's words in a style."""
    return text if style.british and not style.contracted else _spelled(text, style.british, style.contracted)


# A build says the same few thousand words of templates over and over.
@lru_cache(maxsize=65536)
def _spelled(text: str, british: bool, contracted: bool) -> str:
    if contracted:
        text = _SHORTENED.sub(_short, text)
        for pattern, short in _CONTRACTIONS:
            text = pattern.sub(short, text)
    return text if british else _WORD.sub(_american, text)


def _short(match: re.Match[str]) -> str:
    text, word = match.string, match.group(1)
    following = text[match.end() :]
    before = text[: match.start()]
    if not _STARTS.search(before) or _QUESTION.search(before) or _CLOSES.match(following):
        return match.group()
    if word.lower() == "that" and match.group(2) not in {"done", "all", "sorted", "set", "settled"}:
        return match.group()
    return f"{word}'s"


def _american(match: re.Match[str]) -> str:
    word = match.group()
    found = _AMERICAN.get(word.lower())
    if found is None:
        return word
    return found.capitalize() if word[0].isupper() else found
