"""Fields of one item that must fit each other: what is under way has begun, what is over has ended."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from planarena.environments.sources.field_kinds import kind_of_text, moment_of
from planarena.environments.sources.openapi.resources import normal

__all__ = ["aligned"]

_UNDER_WAY = re.compile(
    r"active|inprogress|running|started|current|ongoing|open|intransit|outfordelivery|employed|onleave|enrolled|occupied|seated|live|published|overdue|sent|viewed|working|enabled|shipped|processing"
)
_OVER = re.compile(
    r"completed?|closed(won|lost)?|done|ended|past|finished|delivered|expired|terminated|resolved|solved|paid|cancell?ed|void(ed)?|archived|withdrawn|graduated|returned|refunded|noshow|disposed|retired|declined|rejected|inactive|settled|succeeded"
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
    return made


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
