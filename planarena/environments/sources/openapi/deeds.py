"""Actions on items that people ask for by name: how to ask, what is then so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from planarena.environments.sources.openapi.fields import kinds_of, merged_of
from planarena.environments.sources.openapi.identifiers import normal
from planarena.environments.sources.openapi.resources import Api

__all__ = ["DEEDS", "STATES", "Deed", "can_show", "outcome_of"]


class Deed(NamedTuple):
    """An action.

    Attributes:
        ask: The verb, as "cancel".
        done: What the item then is, as "cancelled".
        undoes: What it then is no longer, as "archived", or "".

    A state that the item has is then `done`, or what services say for it: `STATES`.
    """

    ask: str
    done: str
    undoes: str = ""


DEEDS: dict[str, Deed] = {
    verb: Deed(verb, done, undoes)
    for verb, done, undoes in (
        ("cancel", "cancelled", "active"), ("archive", "archived", ""), ("unarchive", "unarchived", "archived"),
        ("close", "closed", "open"), ("reopen", "open", "closed"), ("publish", "published", "draft"),
        ("unpublish", "unpublished", "published"), ("pause", "paused", ""), ("resume", "resumed", "paused"),
        ("start", "started", ""), ("stop", "stopped", ""), ("approve", "approved", ""), ("reject", "rejected", ""),
        ("accept", "accepted", ""), ("decline", "declined", ""), ("follow", "followed", ""),
        ("unfollow", "unfollowed", "followed"), ("star", "starred", ""), ("unstar", "unstarred", "starred"),
        ("like", "liked", ""), ("unlike", "unliked", "liked"), ("lock", "locked", ""), ("unlock", "unlocked", "locked"),
        ("restore", "restored", "deleted"),
        ("enable", "enabled", "disabled"), ("disable", "disabled", "enabled"), ("activate", "active", ""),
        ("deactivate", "deactivated", "active"), ("mute", "muted", ""), ("unmute", "unmuted", "muted"),
        ("complete", "completed", ""), ("finish", "finished", ""), ("resolve", "resolved", ""),
        ("reset", "reset", ""), ("restart", "restarted", ""), ("retry", "retried", ""), ("send", "sent", ""),
        ("resend", "resent", ""), ("subscribe", "subscribed", ""), ("unsubscribe", "unsubscribed", "subscribed"),
        ("block", "blocked", ""), ("unblock", "unblocked", "blocked"), ("confirm", "confirmed", ""),
        ("pin", "pinned", ""), ("unpin", "unpinned", "pinned"), ("refund", "refunded", ""), ("suspend", "suspended", ""),
        ("unsuspend", "unsuspended", "suspended"), ("bookmark", "bookmarked", ""), ("feed", "fed", ""),
        ("void", "voided", ""), ("deny", "denied", ""), ("renew", "renewed", ""), ("reactivate", "active", "inactive"),
    )
}  # fmt: skip

STATES: dict[str, tuple[str, ...]] = {
    "enable": ("enabled", "active", "running"), "disable": ("disabled", "inactive", "disabling"),
    "activate": ("active", "enabled", "running"), "deactivate": ("inactive", "disabled"),
    "cancel": ("cancelled", "canceled"), "start": ("started", "running", "active"), "stop": ("stopped", "inactive"),
    "resume": ("active", "running", "resumed"), "complete": ("completed", "complete", "done"),
    "finish": ("finished", "completed", "done"), "reopen": ("open", "reopened", "active"), "close": ("closed", "done"),
    "suspend": ("suspended", "inactive"), "unsuspend": ("active",), "lock": ("locked",), "unlock": ("unlocked", "active"),
    "block": ("blocked",), "unblock": ("active", "unblocked"), "approve": ("approved", "accepted"),
    "void": ("void", "voided"), "publish": ("published", "live", "active"), "unpublish": ("draft", "unpublished"),
    "pause": ("paused", "on hold"), "resolve": ("resolved", "solved", "closed"), "reject": ("rejected", "declined"),
    "decline": ("declined", "rejected"), "accept": ("accepted",), "deny": ("denied", "rejected"), "renew": ("active", "renewed"),
    "reactivate": ("active", "enabled"), "restore": ("active", "restored"), "archive": ("archived",), "unarchive": ("active", "open"),
}  # fmt: skip
# What leaves no trace in an item that people would look for.
_TRACELESS = frozenset(
    "resend retry restart reset star unstar follow unfollow like unlike bookmark feed subscribe unsubscribe pin unpin mute unmute".split()
)
_OVER = frozenset(
    "cancelled canceled void voided completed complete closed done paid declined rejected refunded archived solved resolved delivered expired terminated disposed withdrawn finished ended failed denied noshow returned past retired closedwon closedlost deleted inactive".split()
)
_OPEN = frozenset(
    "pending requested submitted open new review inreview waiting waitingforapproval sent underreview awaitingapproval applied quoted placed received".split()
)
_BEGUN = frozenset(
    "draft created new planned scheduled pending queued todo notstarted open registered inactive stopped".split()
)
# In which states something can be done; what stands nowhere here needs one that is not over.
_WHEN: dict[str, frozenset[str]] = {
    **dict.fromkeys(("approve", "reject", "accept", "decline", "deny", "confirm"), _OPEN),
    "send": frozenset(("draft", "created", "new", "open", "pending")), "publish": frozenset(("draft", "created", "unpublished", "unlisted", "private", "scheduled")),
    "unpublish": frozenset(("published", "live", "active")), "start": _BEGUN,
    "pause": frozenset(("active", "running", "started", "inprogress", "open", "enabled", "live")),
    "resume": frozenset(("paused", "onhold", "suspended")), "reopen": _OVER, "restore": _OVER, "unarchive": frozenset(("archived",)),
    "refund": frozenset(("paid", "completed", "complete", "succeeded", "settled", "captured", "delivered", "placed")),
    "resend": frozenset(("sent", "delivered", "viewed", "overdue", "pending")), "enable": frozenset(("disabled", "inactive", "paused", "suspended")),
    "activate": frozenset(("inactive", "disabled", "deactivated", "draft", "pending", "paused", "suspended")), "archive": frozenset((*_OVER, "active", "open", "published", "live")),
    "reactivate": frozenset(("inactive", "disabled", "deactivated", "cancelled", "canceled", "expired", "suspended")),
    "unsuspend": frozenset(("suspended",)), "unblock": frozenset(("blocked",)), "unlock": frozenset(("locked",)), "renew": frozenset(("active", "expired", "renewed", "current")),
}  # fmt: skip


def _states(api: Api, shape: str) -> dict[str, list[str]]:
    """Return the properties that hold the state of an item -> what they may hold; nothing where anything may stand."""
    resource = api.resources.get(shape)
    names = {"status", "state", f"{normal(resource.noun)}status" if resource is not None else "status"}
    found = {}
    for name, (schema, root) in api.profiles.get(shape, {}).items():
        merged = merged_of(schema, root)
        if normal(name) in names and kinds_of(merged) <= {"string"}:
            found[name] = [one for one in merged.get("enum", ()) if isinstance(one, str)]
    return found


def _target(deed: Deed, stated: list[str]) -> str:
    """Return what a state is after an action, as the API writes it; "" where it has no word for it."""
    wanted = [normal(one) for one in STATES.get(deed.ask, (deed.done,))]
    fits = [one for word in wanted for one in stated if normal(one) == word]
    return fits[0] if fits else "" if stated else deed.done


def _flags(deed: Deed, names: Mapping[str, Any]) -> dict[str, bool]:
    """Return the truth values that an action sets, of those that an item has."""
    plain = {name: re.sub(r"^(is|has been|was)", "", normal(name)) for name in names}
    opposite = normal(f"un{deed.done}")
    sets = {name: True for name, word in plain.items() if word == normal(deed.done)}
    clears = {name: False for name, word in plain.items() if word in {normal(deed.undoes), opposite} - {""}}
    return {**sets, **clears}


def can_show(api: Api, shape: str, deed: Deed) -> bool:
    """Say whether it shows in an item that an action was done, or need not."""
    states = _states(api, shape)
    booleans = {
        name: True
        for name, (schema, root) in api.profiles.get(shape, {}).items()
        if merged_of(schema, root).get("type") == "boolean"
    }
    if states:
        return any(_target(deed, stated) for stated in states.values()) or deed.ask in _TRACELESS
    return bool(_flags(deed, booleans)) or deed.ask in _TRACELESS


def outcome_of(api: Api, shape: str, deed: Deed, fields: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what an action makes of the fields that tell its outcome; None where it makes no sense now.

    Args:
        api: The API.
        shape: The item's resource.
        deed: The action.
        fields: The item's.
    """
    found: dict[str, Any] = {}
    for name, stated in _states(api, shape).items():
        now, target = fields.get(name), _target(deed, stated)
        if not isinstance(now, str):
            continue
        allowed = _WHEN.get(deed.ask)
        fits = normal(now) in allowed if allowed is not None else normal(now) not in _OVER
        if normal(now) == normal(target) and deed.ask != "renew":
            return None
        if not fits:
            return None
        if target and deed.ask not in _TRACELESS:
            found[name] = target
    flags = _flags(deed, {name: value for name, value in fields.items() if isinstance(value, bool)})
    if flags and all(fields[name] is value for name, value in flags.items()):
        return None
    return {**found, **flags}
