"""Rewards per second on one core, from text: parsing, matching and the score itself.

`python tests/bench/bench_rewards.py` prints the table and exits 1 when a reward misses its bound: 20,000
calls a second, except for the LCS alignment, which is quadratic in the length and printed without one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from planarena import formats
from planarena.formats import Call, Gold
from planarena.trainers import rewards
from planarena.trainers.rewards import Context

LEAST = 20_000
CALLS = (
    Call("search_flights", {"origin": "Berlin", "destination": "Lisbon", "date": "2025-04-12", "seats": 2}),
    Call("get_weather", {"city": "Lisbon", "days": 3}),
)
WRONG = (
    Call("search_flights", {"origin": "Berlin", "destination": "Porto", "date": "2025-04-12", "seats": 2}),
    Call("get_weather", {"city": "Lisbon", "days": 3}),
    Call("book_hotel", {"city": "Lisbon"}),
)
PLAN = "First look for flights to Lisbon on that day, and for the weather there; book when both are fine."
TOKENS = list(range(120))
CONTEXT = Context(
    similarity=0.8,
    reasoning=0.77,
    rubric=0.6,
    step=2,
    steps=5,
    length=120,
    tokens=[*TOKENS[:40], 7, *TOKENS[40:]],
    gold_tokens=TOKENS,
)
OPTIONS: dict[str, dict[str, Any]] = {"overlong": {"max_length": 128, "cache": 16}}


def rate(call: Callable[[], object], repeat: int = 200, seconds: float = 0.4) -> float:
    """Return calls per second of processor time, the best of three rounds."""
    best = 0.0
    for _ in range(3):
        count, begun = 0, time.process_time()
        spent = 0.0
        while spent < seconds / 3:
            for _ in range(repeat):
                call()
            count += repeat
            spent = time.process_time() - begun
        best = max(best, count / spent)
    return best


def measure_reward(name: str) -> float:
    reward = rewards.get(name, OPTIONS.get(name, {}))
    form = formats.get(reward.format)
    if name == "math":
        gold = Gold(response="39")
        texts = {
            "right": form.render(plan=PLAN, response="39"),
            "wrong": form.render(plan=PLAN, response="40"),
        }
    else:
        gold = Gold(calls=CALLS)
        texts = {"right": form.render(plan=PLAN, calls=CALLS), "wrong": form.render(plan=PLAN, calls=WRONG)}
    slowest = float("inf")
    for case, text in texts.items():
        found = rate(lambda text=text: reward.score(text, gold, CONTEXT))
        slowest = min(slowest, found)
        print(f"reward {name:16} {case:6} {found:10,.0f} calls/s")
    return slowest


def measure_alignment(length: int) -> None:
    tokens = list(range(length))
    context = Context(tokens=[5, *tokens[1:-3], 9, 9], gold_tokens=tokens)
    text = formats.get("toolupt").render(calls=CALLS)
    for alignment in ("positional", "lcs"):
        reward = rewards.get("toolupt", {"alignment": alignment})
        found = rate(lambda reward=reward: reward.score(text, Gold(calls=CALLS), context), repeat=2)
        print(f"reward toolupt {alignment}, {length} tokens {found:10,.0f} calls/s (no bound)")


def measure_parser(name: str) -> None:
    form = formats.get(name)
    text = form.render(plan=PLAN, response="39") if name == "math" else form.render(plan=PLAN, calls=CALLS)
    print(f"parser {name:16} {rate(lambda: form.parse(text)):17,.0f} calls/s")


def main() -> int:
    slow = [name for name in rewards.names() if measure_reward(name) < LEAST]
    for length in (128, 1024):
        measure_alignment(length)
    for name in formats.names():
        measure_parser(name)
    if slow:
        print(f"below {LEAST:,} calls a second: {', '.join(slow)}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
