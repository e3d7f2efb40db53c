"""Budgets in USD, tokens and calls: nothing is begun that might exceed them."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec

from planarena.llm.errors import BudgetSpent

__all__ = ["Budget", "Spent"]

_Limit = Annotated[float, msgspec.Meta(ge=0)]


class Spent(msgspec.Struct, frozen=True):
    """What was paid for: calls answered, tokens in and out, USD as far as prices are known."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.calls + other.calls, self.tokens + other.tokens, self.usd + other.usd)

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.calls - other.calls, self.tokens - other.tokens, self.usd - other.usd)


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Most to spend; None sets no limit. Cached answers cost nothing.

    Attributes:
        usd: US dollars; needs the price of every model used.
        tokens: Prompt and answer tokens.
        calls: Answers, with those that came whole and cannot be read; refused, failed and broken attempts are not counted.
    """

    usd: _Limit | None = None
    tokens: _Limit | None = None
    calls: _Limit | None = None


class BudgetTracker:
    """Keeps a budget over concurrent calls: each reserves what it may cost and settles what it did cost.

    Args:
        budget: The limits.
        spent: What earlier runs spent of it.
    """

    def __init__(self, budget: Budget, spent: Spent | None = None) -> None:
        self.budget = budget
        self.spent = spent or Spent()
        self._reserved = Spent()
        self._changed = asyncio.Event()

    def _over(self, total: Spent) -> str:
        for name in ("usd", "tokens", "calls"):
            limit = getattr(self.budget, name)
            if limit is not None and getattr(total, name) > limit * (1 + 1e-9):
                return name
        return ""

    async def reserve(self, cost: Spent) -> None:
        """Set the expected cost of a call aside, after waiting for calls under way if they may leave enough.

        Raises:
            BudgetSpent: Not enough is left.
        """
        while over := self._over(self.spent + self._reserved + cost):
            if self._over(self.spent + cost) or self._reserved.calls == 0:
                raise self._error(over)
            self._changed.clear()
            await self._changed.wait()
        self._reserved += cost

    def settle(self, reserved: Spent, cost: Spent) -> None:
        """Replace a reservation by the real cost; nothing for an attempt that failed."""
        self._reserved -= reserved
        self.spent += cost
        self._changed.set()

    def _error(self, name: str) -> BudgetSpent:
        limit, used = getattr(self.budget, name), getattr(self.spent, name)
        unit = {"usd": "USD", "tokens": "tokens", "calls": "calls"}[name]
        return BudgetSpent(
            f"the budget of {limit:g} {unit} is spent: {used:.10g} used, and the next call may need more than is left",
            kind="budget_spent",
            fix=f"raise it with --budget-{name} and run the same command again: answers paid for are kept",
        )
