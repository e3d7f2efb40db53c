"""Calls a second through a session in process, on one core: `python tests/bench/bench_session.py`.

Builds a small run over four built-in domains, makes the gold calls of every task again and again, and exits 1 below
20,000 calls a second. A call includes the check of its arguments, the hashes of the state before and after, and what
is kept to go back; a reset is counted beside it.
"""

from __future__ import annotations

import sys
import tempfile
import time

import planarena
from planarena.config import BuildConfig, ExecutionConfig
from planarena.session import Session, read_tasks

FEWEST = 20_000
DOMAINS = ("banking", "calendar", "email", "travel")


def main() -> int:
    """Print the table."""
    slowest = float("inf")
    print(f"{'domain':10} {'tasks':>6} {'calls/s':>10} {'resets/s':>10}")
    for domain in DOMAINS:
        with tempfile.TemporaryDirectory() as folder:
            config = BuildConfig(
                out=f"{folder}/run",
                sources=(f"builtin:{domain}",),
                trajectories=40,
                execution=ExecutionConfig(workers=1),
            )
            tasks = read_tasks(planarena.build(config).path)
            session, calls, acting, resetting, resets = Session(tasks), 0, 0.0, 0.0, 0
            while acting < 1.0:
                for task in tasks:
                    begun = time.perf_counter()
                    session.reset(task)
                    session.world.digest()
                    reset = time.perf_counter()
                    start = session.snapshot()
                    for _ in range(10):
                        for decision in task.gold:
                            for call in decision:
                                session.call(call.name, call.arguments)
                                calls += 1
                        session.restore(start)
                    acting += time.perf_counter() - reset
                    resetting, resets = resetting + reset - begun, resets + 1
            rate = calls / acting
            slowest = min(slowest, rate)
            print(f"{domain:10} {len(tasks):6} {rate:10,.0f} {resets / resetting:10,.0f}")
    print(f"at least {FEWEST:,} a second: {'yes' if slowest >= FEWEST else 'NO'}")
    return int(slowest < FEWEST)


if __name__ == "__main__":
    sys.exit(main())
