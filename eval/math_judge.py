r"""Who compares mathematical answers: math-verify in a process of its own, or rules of ours where it is not installed.

One comparison: `\frac{1}{2}` and `0.5` are the same, `x=3` and `3` are, `(1,2)` and `[1,2]` are not.
"""

from __future__ import annotations

import json
import re
import select
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

from planarena.errors import UserError

__all__ = ["MathJudge"]

_SECONDS, _STARTING = 5.0, 60.0
_MOST_CHARACTERS = 2_000
# Towers of powers and numbers of hundreds of digits are no answers, and computing them takes all there is.
_TOWER = re.compile(r"\^\s*\{?[^{}^]{0,20}\^|\*\*[^*]{0,20}\*\*|\d{300}|!\s*!")
# After so many that had to be stopped, the others are judged by the rules: hostile outputs must not take hours.
_MOST_STOPPED = 8


class MathJudge:
    """Compares answers. Use it in `with`.

    Args:
        choice: "auto", "math-verify" or "rules".
        rules: The comparison where math-verify is not used, and before it is asked.

    Attributes:
        name: Who judges, with its version.
        note: What a reader must know; empty where there is nothing.

    Raises:
        UserError: math-verify was asked for by name and is not installed.
    """

    def __init__(self, choice: str, rules: Callable[[str, str], bool]) -> None:
        self._rules, self._stopped = rules, 0
        self._process: subprocess.Popen[str] | None = None
        there = choice != "rules" and find_spec("math_verify") is not None
        self.verifies = there
        self.note = ""
        if there:
            self.name = f"math-verify {metadata.version('math-verify')}"
        elif choice == "math-verify":
            raise UserError(
                "math-verify is not installed",
                where="judge",
                fix="pip install 'planarena[eval]', or --set judge=rules",
            )
        else:
            self.name = "planarena's own rules"
            if choice == "auto":
                self.note = (
                    "WARNING: math-verify is not installed, so answers were compared by planarena's own rules, which miss "
                    "equivalences such as roots, intervals and sums; install planarena[eval] for published scores"
                )

    def agree(self, given: str, gold: str) -> bool:
        """Say whether two answers are the same."""
        if self._rules(given, gold):
            return True
        if not self.verifies or not given.strip() or len(given) > _MOST_CHARACTERS or _TOWER.search(given):
            return False
        if self._stopped >= _MOST_STOPPED:
            self.note = f"WARNING: {self._stopped} comparisons did not end and were stopped; the rest went by own rules"
            return False
        return self._ask(given, gold)

    def _ask(self, given: str, gold: str) -> bool:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(Path(__file__).with_name("_math_service.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            if self._answer(_STARTING) is None:
                raise UserError(
                    "math-verify does not start", where="judge", fix="install it again, or --set judge=rules"
                )
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps([given, gold]) + "\n")
            self._process.stdin.flush()
            found = self._answer(_SECONDS)
        except OSError:
            found = None
        if found is None:
            self._stopped += 1
            self.close()
            return False
        return bool(found)

    def _answer(self, seconds: float) -> Any:
        assert self._process is not None
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        line = self._process.stdout.readline() if ready else ""
        return json.loads(line) if line else None

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except OSError:  # what it was still to be told
                        continue
            self._process = None

    def __enter__(self) -> MathJudge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
