"""Actions on items that people ask for by name: how to ask, what is then so."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DEEDS", "STATES", "Deed"]


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
        ("close", "closed", "open"), ("reopen", "open", "closed"), ("publish", "published", ""),
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
}  # fmt: skip
