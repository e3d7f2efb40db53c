"""The table of docs/reliability.md from the lines that a run with FAULTS_FIGURES=FILE wrote: `python figures.py FILE...`."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any


def main() -> None:
    """Print the table."""
    suites: dict[str, dict[tuple[str, str], dict[str, Any]]] = defaultdict(dict)
    for name in sys.argv[1:]:
        for number, line in enumerate(Path(name).read_text().splitlines()):
            row = json.loads(line)
            # The last run of a case counts; cases that are repeated at other moments are all kept.
            key = (
                ""
                if row["suite"] in {"model servers", "large files", "foreign files", "the suite itself"}
                else f"{name}:{number}"
            )
            suites[row["suite"]][row["case"], key] = row
    print(
        "| suite | cases | ended by themselves | nothing lost | contained | tracebacks | bytes of a key | slowest |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for suite, rows in suites.items():
        found = list(rows.values())

        def count(test: Any, listed: list[dict[str, Any]] = found) -> int:
            return sum(int(row.get("cases", 1)) for row in listed if test(row))

        keys = sum(row["key"] for row in found) if any("key" in row for row in found) else "-"
        print(
            f"| {suite} | {count(lambda _: True):,} | {count(lambda row: row['ended']):,} | {count(lambda row: not row['lost']):,} | "
            f"{count(lambda row: row['contained']):,} | {sum(int(row['traceback']) for row in found)} | {keys} | "
            f"{max(row['seconds'] for row in found):.1f} s |"
        )


if __name__ == "__main__":
    main()
