"""A call fails: what is asked for all the same, the honest answer, and what the user wants instead."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planarena.generate.answers import write_response
from planarena.generate.clauses import Voice
from planarena.generate.sentences import capital, pick
from planarena.generate.spelling import Style
from planarena.generate.surfaces import surface
from planarena.pipeline.language.conversations.lines import FOR_GOOD, Lines, Teller
from planarena.pipeline.products import Act, Executed

__all__ = [
    "REASONS",
    "again_line",
    "asked",
    "deed_of",
    "failures_of",
    "hiccup",
    "instead",
    "reason_of",
    "told",
]


_SECOND_TRY = (
    " It took a second try, but it went through.", " The first attempt got stuck; the second one went through.",
    " That only worked on the second attempt.", " I had to try that twice, in case you wonder about the wait.",
    " There was a hitch at first, but it's sorted out.",
)  # fmt: skip
_MORE_TRIES = (
    " It took a few tries, but it went through.", " That only worked after several attempts.",
    " The first attempts got stuck, but in the end it went through.", " I had to try that three times, but it's done.",
)  # fmt: skip
_FAILED = (
    "I'm sorry, I couldn't {0}: {1}", "Unfortunately I wasn't able to {0}: {1}", "I tried to {0}, but it didn't work: {1}",
    "I'm afraid I couldn't {0}: {1}",
)  # fmt: skip
_FAILED_ALONE = (
    "I'm sorry, that didn't work: {1}", "I tried, but it didn't work: {1}", "I'm afraid I couldn't {0}: {1}",
    "I couldn't {0}: {1}",
)  # fmt: skip
_INSTEAD = (
    "Too bad. Then {0}.", "That's a pity. In that case, please {0}.", "Hm, all right. Then {0} instead.", "Then {0}, please.",
    "I see. Please {0} instead.", "Never mind. Please {0}.", "What a shame. Could you {0} then?", "OK, plan B: {0}.",
)  # fmt: skip
_AGAIN = (
    "That failed, and the message says that it may pass. I try the same call once more.",
    "The call did not get through. I repeat it.",
    "Nothing was done, so I make the call again.",
    "The error is a passing one: I try again.",
)
_READ = (
    "The record has changed since I read it. I look it up again before I go on.",
    "My copy is out of date, so I read the record once more.",
)
_WRITE = (
    "Now that I have the newest version, I make the change again.",
    "With the fresh copy I try the change again.",
)


# How often an answer mentions a failure that has passed [ours].
_MENTIONED = 0.25


# By what a tool says that is out of order: the reason as the assistant gives it behind a colon.
REASONS: dict[str, tuple[str, ...]] = {
    "This function is down for maintenance until tomorrow morning.": (
        "maintenance is going on there until tomorrow morning.",
        "the service is down for maintenance until tomorrow morning.",
        "that service is being overhauled and won't be back before tomorrow morning.",
    ),
    "Your access does not include this function at present; an administrator has to enable it.": (
        "I don't have access to that; an administrator would have to give it to me.",
        "an administrator has to enable that for me first.",
        "that isn't enabled for me, and only an administrator can change that.",
    ),
    "This function has been switched off until further notice.": (
        "the function is switched off, and there's no word yet on when it'll be back.",
        "that function is switched off until further notice.",
        "that function has been switched off for the time being.",
    ),
}


# Behind the reason where a look-up of the same conversation had shown something else.
_SINCE = (
    " That has changed since I looked it up.", " It was still different when I looked a moment ago.",
    " That must have changed after I looked it up.",
)  # fmt: skip


def reason_of(message: str, style: Style, act: Act) -> str:
    """Return why a call failed as it stands behind a colon: the assistant's own words where the tool's are a machine's."""
    own = REASONS.get(message)
    if own:
        return own[act.step % len(own)]
    return _spoken_error(message, style) + (_SINCE[len(message) % len(_SINCE)] if act.value else "")


def _spoken_error(message: str, style: Style) -> str:
    """Write an error's sentence as it stands behind a colon, with its dates as the conversation writes them."""
    if _COMMON_START.match(message):
        message = message[:1].lower() + message[1:]
    return _ISO.sub(
        lambda found: surface(
            found.group(),
            {"x-surface": "datetime" if found.group(1) else "date"},
            style.manner,
            None,
            style.year,
        ),
        message,
    )


_COMMON_START = re.compile(
    r"(?:the|this|that|there|these|your|a|an|no|nobody|nothing|only|it|its|somebody|one|all|on|in|at)\b",
    re.IGNORECASE,
)
_ISO = re.compile(r"\b\d{4}-\d\d-\d\d(T\d\d:\d\d)?\b")


def failures_of(task: Executed, style: Style) -> dict[int, str]:
    """Return by step that fails for good the sentence by which its answer tells it."""
    found = {}
    for act in task.talk.acts:
        if act.what == "fails" and act.argument == FOR_GOOD:
            error = task.steps[act.step].error
            assert error is not None
            found[act.step] = reason_of(error["message"], style, act)
    return found


def asked(lines: Lines, act: Act, turn: int) -> str:
    """Write the message that asks for what fails, among other things."""
    steps = lines.asked_at(turn, act.step) if act.argument == FOR_GOOD else lines.asked_at(turn)
    return lines.request(steps, turn)


def told(lines: Lines, act: Act, turn: int, needed: Sequence[tuple[int, str]]) -> str:
    """Write the answer: that it did not work, and what else is done; or that it worked in the end."""
    of = lines.of
    done = lines.asked_at(turn)
    if act.argument != FOR_GOOD:
        last = hiccup(of, act, turn)
        lead = not last and of.may_lead()
        return write_response(of.steps, done, of.rng, of.style, needed, of.wanted, lead=lead) + last
    deed = deed_of(lines, act.step)
    failure = lines.pick(_FAILED if done else _FAILED_ALONE).format(
        deed, reason_of(of.errors[act.step], of.style, act)
    )
    if not done:
        return failure
    # "All set." before what did not work is a lie.
    rest = write_response(of.steps, done, of.rng, of.style, needed, of.wanted, lead=False)
    return f"{rest} {failure}" if of.rng.random() < 0.6 else f"{failure} {rest}"


def hiccup(of: Teller, act: Act, turn: int) -> str:
    """Return what is said of a failure that has passed, behind the answer; empty where nothing is.

    Of a look-up nobody cares how often it was tried; nor is a try heard of that was not the answer's last deed.
    """
    deeds = [step for step in Lines(of).asked_at(turn) if of.steps[step].operation.tool.effects != "read"]
    tools = [of.steps[step].operation.tool.name for step in deeds]
    if of.rng.random() >= _MENTIONED or tools != [of.steps[act.step].operation.tool.name]:
        return ""
    # A newer version is read once more and then changed: two calls again, one second try.
    tries = (
        1
        if act.argument == "stale"
        else sum(one.what == "again" and one.turn == turn for one in of.talk.acts)
    )
    forms = _SECOND_TRY if tries == 1 else _MORE_TRIES
    return Lines(of).pick(forms)


def deed_of(lines: Lines, step: int) -> str:
    """Return what a step does, as "hold the flight for Ana"."""
    of = lines.of
    words = of.steps[step]
    template = pick(words.wording.plan, of.rng)
    text = words.clause(template, Voice(of.steps, of.rng.randrange(1000), known=True, style=of.style)).text
    return text[:1].lower() + text[1:]


def instead(lines: Lines, act: Act, turn: int) -> str:
    """Write the message that wants the next best."""
    of = lines.of
    words = of.steps[act.step]
    voice = Voice(of.steps, of.rng.randrange(1000), memory=of.memory, style=of.style)
    clause = of.clause_of(words, pick(words.wording.ask, of.rng), voice)
    of.said += clause.said
    rest = [step for step in lines.asked_at(turn) if step != act.step]
    text = capital(lines.pick(_INSTEAD).format(clause.text))
    return f"{text} {lines.request(rest, turn)}" if rest else text


def again_line(*, look_up: bool, after_look_up: bool, number: int) -> str:
    """Return the line of plan of a call that is made again."""
    found = _READ if look_up else _WRITE if after_look_up else _AGAIN
    return found[number % len(found)]
