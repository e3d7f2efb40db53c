"""Words that must not be used: what costs a candidate, never a build."""

from __future__ import annotations

__all__ = ["QueryFaultError"]


class QueryFaultError(Exception):
    """A query that must not be used.

    Args:
        reason: A stable word.
        detail: The evidence.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail
