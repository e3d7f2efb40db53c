"""A process that compares mathematical answers with math-verify: a JSON line in, a JSON line out.

Its own process, because sympy may compute without end in code that no signal interrupts; whoever asks kills it.
"""

from __future__ import annotations

import json
import logging
import resource
import sys
import warnings

_MEMORY = 2 << 30


def main() -> None:
    """Answer [given, gold] with whether they are the same, until the input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    sys.set_int_max_str_digits(4_300)
    from math_verify import parse, verify

    sys.stdout.write("true\n")  # ready
    sys.stdout.flush()
    for line in sys.stdin:
        given, gold = json.loads(line)
        try:
            right = parse(f"\\boxed{{{gold}}}", parsing_timeout=2)
            wrong = parse(f"\\boxed{{{given}}}", parsing_timeout=2)
            same = bool(right and wrong and verify(right, wrong, timeout_seconds=2))
        except (Exception, RecursionError, MemoryError):
            same = False
        sys.stdout.write(json.dumps(same) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
