"""Ids of offers: they say what is offered and for when, and are never stored, so that a search changes nothing."""

from __future__ import annotations

from collections.abc import Callable

from planarena.environments.contract import ToolError

__all__ = ["join_offer", "split_offer"]


def join_offer(room: str, start: str, length: int) -> str:
    """Return the id of an offer: which room, from when, and for how many nights or minutes."""
    return f"{room}.{start}.{length}"


def split_offer(offer_id: str, parse: Callable[[str], object]) -> tuple[str, str, int]:
    """Return the room, the start and the length of an offer.

    Args:
        offer_id: As somebody gives it.
        parse: Reads a start and raises `ValueError` where it is none.

    Raises:
        ToolError: It is no id of an offer.
    """
    try:
        room, start, length = offer_id.split(".")
        parse(start)
        return room, start, int(length)
    except ValueError:
        raise ToolError("not_found", f"There is no room offer with id {offer_id}.") from None
