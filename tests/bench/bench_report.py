"""The report of a large build: writing, opening and filtering it, next to the report of an eighth of it.

`python tests/bench/bench_report.py [TRAJECTORIES]`, on a quiet machine with chromium and chromedriver. The ratios
say how each grows with the size; eight is linear.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from planarena import BuildConfig, Run, build
from planarena.config import ExecutionConfig
from planarena.report import render_report

sys.path.append(str(Path(__file__).resolve().parents[1]))
from audit_server import Browser
from report_filters import FILTERS

_READY = "return document.querySelector('#trajectories')?.classList.contains('ready') ?? false"
_SHARE = 8


def measure(run: Run, browser: Browser) -> dict[str, float]:
    """Return the size, the time of one writing, and the least of three times of opening and of the slowest filter."""
    page = run.path / "report.html"
    found = {"bytes": float(page.stat().st_size)}
    start = time.process_time()
    render_report(run).encode()
    found["write, CPU s"] = time.process_time() - start
    opened, slowest = [], []
    for _ in range(3):
        browser.open("about:blank")
        start = time.monotonic()
        browser.open(page.as_uri())
        while not browser.run(_READY):
            time.sleep(0.005)
        opened.append(time.monotonic() - start)
        slowest.append(max(browser.run(FILTERS).values()))
    return found | {"open, s": min(opened), "slowest filter, ms": min(slowest)}


def main() -> None:
    """Print it all."""
    whole = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        small, large = (
            measure(
                build(
                    BuildConfig(
                        out=f"{folder}/{number}", trajectories=number, execution=ExecutionConfig(workers=2)
                    )
                ),
                browser,
            )
            for number in (whole // _SHARE, whole)
        )
    print(f"{'':20}{whole // _SHARE:>14,}{whole:>14,}   ratio (wanted at {whole:,}: 3 s, 200 ms)")
    for name, value in large.items():
        digits = 0 if name == "bytes" else 3
        print(f"{name:20}{small[name]:>14,.{digits}f}{value:>14,.{digits}f}   {value / small[name]:.2f}")


if __name__ == "__main__":
    main()
