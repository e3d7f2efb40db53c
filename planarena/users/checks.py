"""What a message of a user may say: everything it has to tell, nothing that is made up, given away or out of role.

A check reads the brief and the conversation and nothing else: what a model says of its own message counts for nothing.
Values are told apart by what can be told apart without a model: numbers, quoted texts, addresses and names, and the values
that the brief lists. A made-up wish without any of them passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from planarena.users.brief import Message

__all__ = ["asks_back", "check_message", "is_no", "telling"]

_LONGEST = 2000
_ASKS = re.compile(r"\?|\b(?:tell me|give me|let me know|please confirm|i(?: still)? need)\b", re.IGNORECASE)
# What closes an answer politely is no question back.
_CLOSES = re.compile(
    r"\b(?:any|some)thing (?:else|should change)\b|\b(?:tell me|let me know) if\b", re.IGNORECASE
)
_QUOTED = re.compile(r'"[^"]*"')
_SENTENCES = re.compile(r"[^.!?]+[.!?]*")
# What only an assistant says, and what belongs to formats.
_ROLE = re.compile(
    r"^\W*(?:assistant|system|user|customer)\W*:|\b(?:how|what) (?:can|may) i (?:help|assist|do for) you|\bas an ai\b"
    r"|\blanguage model\b|\banything else i can\b|\bi(?:'m| am) (?:here|happy|glad) to (?:help|assist)\b"
    r"|\bi(?:'ve| have) (?:gone ahead|taken care)\b|\b(?:i'll|i will|let me) (?:check|look|find|get|book|do|take care of) "
    r"(?:that|it|this|those|them) (?:up )?for you\b|</?\w+>|```|\"(?:name|arguments|tool|response)\"\s*:|<\||\|>"
    r"|\[/?(?:INST|TOOL_CALLS|TOOL_RESULTS)\]",
    re.IGNORECASE | re.MULTILINE,
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_NAME = re.compile(r"[^\W\d_](?:[^\W_]|['\u2019-](?=\w))*")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_NO = re.compile(
    r"\b(?:no|nope|not|don't|do not|never|rather not|leave (?:it|that)|cancel|stop|forget)\b", re.IGNORECASE
)
# Capitals that name nothing.
_PLAIN = frozenset(
    "i i'm i've i'd i'll ok okay am pm eur usd gbp thanks please sorry yes no hello hi dear".split()
)
_COMMON = frozenset(
    "a an and any are at be by can do for from has have i if in into is it its me my no not of on one or our out so that "
    "the their them then there these this those to up us was we what when where which who will with you your".split()
)


def asks_back(said: str) -> bool:
    """Say whether an assistant asks for something; what it quotes is nobody's question."""
    said = _QUOTED.sub("", said)
    return any(
        _ASKS.search(sentence) and not _CLOSES.search(sentence) for sentence in _SENTENCES.findall(said)
    )


def is_no(text: str) -> bool:
    """Say whether an answer to a question for a yes is a no."""
    return _NO.search(text) is not None


def telling(text: str, *, quotes: bool = True) -> set[str]:
    """Return what a text tells that could be true or false: numbers, addresses, the words of names and of quotes.

    Args:
        text: The text.
        quotes: With what it quotes.
    """
    found = {one.lower() for one in _EMAIL.findall(text)}
    rest = _EMAIL.sub(" ", text if quotes else _QUOTED.sub(" ", text))
    found |= set(map(_plain, _NUMBER.findall(rest)))
    for quote in _QUOTED.findall(rest):
        found |= {word.lower() for word in _WORD.findall(quote)}
    for sentence in re.split(r"[.!?:\n]+\s*", _QUOTED.sub(" ", rest)):
        # The first word of a sentence has a capital in any case.
        start = _NAME.search(sentence)
        for name in _NAME.findall(sentence[start.end() :] if start else ""):
            if name[0].isupper() and name.lower() not in _PLAIN:
                found.add(_bare(name))
    return found


def _bare(word: str) -> str:
    """Write a word without its capitals and its genitive."""
    return re.sub(r"['\u2019]s\Z", "", word.lower())


def _holds(text: str, phrase: str) -> bool:
    """Say whether a text holds a phrase, as whole words."""
    words = r"\s+".join(map(re.escape, phrase.split()))
    return bool(words) and re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE) is not None


def _given_away(text: str, message: Message, sayable: str) -> set[str]:
    """Return what a text tells of a message that may not be said yet."""
    found = (telling(message.text, quotes=False) - _stated(sayable)) & _stated(text)
    phrases = (*message.values, *(one.strip('"') for one in _QUOTED.findall(message.text)))
    return found | {one for one in phrases if _holds(text, one) and not _holds(sayable, one)}


def _stated(text: str) -> set[str]:
    """Return the words, numbers and addresses of a text."""
    found = {one.lower() for one in _EMAIL.findall(text)} | set(map(_plain, _NUMBER.findall(text)))
    words = {one for pattern in (_WORD, _NAME) for one in pattern.findall(text)}
    return found | {one.lower() for one in words} | set(map(_bare, words))


def _plain(number: str) -> str:
    number = number.rstrip(".,:")
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", number):
        number = number.replace(",", "")
    if re.fullmatch(r"\d+\.\d+", number):
        number = number.rstrip("0").rstrip(".")
    return number.lstrip("0") or "0"


def _words_of(values: Iterable[str]) -> set[str]:
    return {word for value in values for word in _stated(value) if word not in _COMMON}


def check_message(
    text: str,
    *,
    own: str,
    values: Iterable[str] = (),
    known: Iterable[str] = (),
    held: Iterable[Message] = (),
    later: Iterable[Message] = (),
    yes_or_no: bool = False,
) -> tuple[str, str] | None:
    """Check a message; return the class of what is wrong with it and the evidence, or None.

    Args:
        text: The message.
        own: The message of the brief that it words; empty where it has nothing to tell.
        values: That message's, as the brief lists them.
        known: What was said before, by either side.
        held: Messages of the brief that are held back still.
        later: Messages of the brief whose time has not come.
        yes_or_no: It answers a question for a yes.

    Returns:
        `other_role`, `empty`, `too_long`, `leaked`, `ahead`, `lied` or `left_out`, with the evidence.
    """
    if not text.strip():
        return "empty", "nothing was said"
    if len(text) > _LONGEST + 2 * len(own):
        return "too_long", f"{len(text)} characters"
    mark = _CONTROL.search(text) or _ROLE.search(text)
    if mark is not None and mark[0].lower() not in own.lower():
        return "other_role", mark[0]
    sayable = " ".join((own, *known, *values))
    said = _stated(text)
    for kind, messages in (("leaked", held), ("ahead", later)):
        for message in messages:
            told = _given_away(text, message, sayable)
            if told:
                return kind, ", ".join(sorted(told))
    foreign = telling(text) - _stated(sayable)
    if foreign:
        return "lied", ", ".join(sorted(foreign))
    if yes_or_no and is_no(own) != is_no(text):
        return "lied", f"{text!r} for {own!r}"
    missing = (telling(own) | _words_of(values)) - said
    if missing:
        return "left_out", ", ".join(sorted(missing))
    return None
