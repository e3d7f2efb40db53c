"""Budgets over concurrent calls."""

from __future__ import annotations

import asyncio

import pytest

from planarena.llm import Budget, BudgetSpent, Spent
from planarena.llm.budget import BudgetTracker


@pytest.mark.parametrize(
    ("budget", "cost", "calls"),
    [
        (Budget(calls=10), Spent(1, 5, 0.1), 10),
        (Budget(tokens=52), Spent(1, 5, 0.1), 10),
        (Budget(usd=1.0), Spent(1, 5, 0.1), 10),
        (Budget(usd=1.0, calls=3), Spent(1, 5, 0.1), 3),
        (Budget(calls=0), Spent(1, 5, 0.1), 0),
    ],
)
def test_no_more_than_the_budget_is_begun_and_all_of_it_is_used(
    budget: Budget, cost: Spent, calls: int
) -> None:
    async def work() -> tuple[BudgetTracker, int]:
        purse, done = BudgetTracker(budget), 0

        async def one() -> None:
            nonlocal done
            await purse.reserve(cost)
            await asyncio.sleep(0.001)
            purse.settle(cost, cost)
            done += 1

        outcomes = await asyncio.gather(*(one() for _ in range(30)), return_exceptions=True)
        assert all(outcome is None or isinstance(outcome, BudgetSpent) for outcome in outcomes)
        return purse, done

    purse, done = asyncio.run(work())
    assert done == calls
    assert purse.spent.calls == calls


def test_failed_attempts_give_their_reservation_back() -> None:
    async def work() -> None:
        purse = BudgetTracker(Budget(calls=2))
        for _ in range(20):
            await purse.reserve(Spent(1, 10, 0))
            purse.settle(Spent(1, 10, 0), Spent())
        assert purse.spent == Spent()

    asyncio.run(work())


def test_a_call_waits_for_what_others_may_leave() -> None:
    async def work() -> None:
        purse = BudgetTracker(Budget(tokens=100))
        await purse.reserve(Spent(1, 90, 0))
        second = asyncio.create_task(purse.reserve(Spent(1, 50, 0)))
        await asyncio.sleep(0.01)
        assert not second.done()
        purse.settle(Spent(1, 90, 0), Spent(1, 20, 0))
        await asyncio.wait_for(second, 1)

    asyncio.run(work())


def test_earlier_runs_count_and_the_fix_is_named() -> None:
    async def work() -> None:
        purse = BudgetTracker(Budget(usd=1.0), Spent(7, 100, 0.95))
        with pytest.raises(BudgetSpent, match="--budget-usd") as caught:
            await purse.reserve(Spent(1, 1, 0.1))
        assert caught.value.stops
        assert "0.95 used" in str(caught.value)

    asyncio.run(work())
