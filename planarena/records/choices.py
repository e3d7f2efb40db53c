"""The outcomes of choices at decision points by what they mean, for everything that reads the table."""

from __future__ import annotations

__all__ = ["RIGHT_OUTCOMES", "WRONG_OUTCOMES"]

# `inefficient` is what runs of earlier versions say of a wasted call, useful or not.
RIGHT_OUTCOMES = ("frontier", "equivalent", "harmless", "inefficient")
WRONG_OUTCOMES = ("useless", "diverges", "ungrounded", "error")
