"""Fields of one item that must fit each other: what is under way has begun, what is over has ended."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from planarena.environments.sources.field_kinds import kind_of_text, moment_of, spaced
from planarena.environments.sources.openapi.identifiers import normal

__all__ = ["aligned"]

_UNDER_WAY = re.compile(
    r"active|inprogress|running|started|current|ongoing|open|intransit|outfordelivery|employed|onleave|enrolled|occupied|seated|live|published|overdue|sent|viewed|working|enabled|shipped|processing"
)
_OVER = re.compile(
    r"completed?|closed(won|lost)?|done|ended|past|finished|delivered|expired|terminated|resolved|solved|paid|cancell?ed|void(ed)?|archived|withdrawn|graduated|returned|refunded|noshow|disposed|retired|declined|rejected|inactive|settled|succeeded"
)

_DONE = re.compile(r"completed?|done|finished|closed|resolved|delivered")
# When something was entered, and what happened before that.
_ENTERED = re.compile(r"^(date )?(created?|creation|inserted|added)\b|\bcreated (at|on|date|time)")
_EARLIER = re.compile(
    r"birth|\bdob\b|hire|join|release|publish|founded|established|purchas|built|since|manufactur|member|start|registered|acquired"
)


def aligned(fields: dict[str, Any], now: datetime) -> dict[str, Any]:
    """Return the fields of an item with its dates on the side of now that its state tells.

    Args:
        fields: By name.
        now: The world's present.
    """
    states = [
        normal(value)
        for name, value in fields.items()
        if isinstance(value, str) and re.search(r"(status|state|stage|phase)$", normal(name))
    ]
    over = any(_OVER.fullmatch(state) for state in states)
    begun = over or any(_UNDER_WAY.fullmatch(state) for state in states)
    late = "overdue" in states
    made = {}
    for name, value in fields.items():
        role = moment_of(name)
        due = re.search(r"due|deadline", name, re.IGNORECASE) is not None
        past = over or (late and due) or (begun and role == "start" and not due)
        moves = past and role in {"start", "end"} and not re.search(r"next|renew", name, re.IGNORECASE)
        made[name] = _mirrored(name, value, now, first=role == "start") if moves else value
    _created_first(made, now)
    _numbers_agree(made, states, now)
    return made


def _created_first(made: dict[str, Any], now: datetime) -> None:
    """Move the moment at which an item was entered before all that has happened to it since."""
    happened = [
        value[:10]
        for name, value in made.items()
        if isinstance(value, str)
        and kind_of_text("", name) in {"date", "date-time"}
        and re.match(r"\d{4}-\d\d-\d\d", value)
        and value[:10] <= now.date().isoformat()
        and not _ENTERED.search(spaced(name))
        and not _EARLIER.search(spaced(name))
    ]
    for name, value in made.items():
        if (
            happened
            and isinstance(value, str)
            and _ENTERED.search(spaced(name))
            and value[:10] > min(happened)
        ):
            made[name] = min(happened) + ("T07:30:00Z" if len(value) > 10 else "")


def _numbers_agree(made: dict[str, Any], states: list[str], now: datetime) -> None:
    """Let the numbers of an item fit each other and its state: what is finished is done to the last percent."""
    for name, value in list(made.items()):
        words = spaced(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if re.search(r"\b(progress|completion|complete)\b", words) and any(map(_DONE.fullmatch, states)):
            made[name] = 100
        elif words.endswith("probability") and {"won", "closedwon", "lost", "closedlost"} & set(states):
            made[name] = 100 if {"won", "closedwon"} & set(states) else 0
        elif re.search(r"\b(max|maximum)\b", words):
            least = next((one for one in made if spaced(one) == re.sub(r"max", "min", words)), "")
            low = made.get(least)
            if isinstance(low, int | float) and not isinstance(low, bool) and low >= value:
                made[name] = type(value)(max(low + 1, low * 5 // 4))
        elif words in {"grade", "grade level"}:
            born = next((made[one] for one in made if re.search(r"birth|^dob$", spaced(one))), "")
            if isinstance(born, str) and born[:4].isdigit():
                made[name] = max(1, min(12, now.year - int(born[:4]) - 6))


def _mirrored(name: str, value: Any, now: datetime, *, first: bool) -> Any:
    """Return a day as far before now as it lay after it; what begins lies well before what ends."""
    if not isinstance(value, str) or kind_of_text("", name) not in {"date", "date-time"} or value[4:5] != "-":
        return value
    try:
        found = datetime.fromisoformat(value.removesuffix("Z"))
    except ValueError:
        return value
    if found <= now:
        return value
    days = (found - now).days + 1
    moved = found.replace(tzinfo=None)
    moved -= timedelta(days=2 * days + (90 if first and len(value) == 10 else 0))
    if len(value) == 10:
        return moved.date().isoformat()
    return moved.strftime("%Y-%m-%dT%H:%M:%SZ")
