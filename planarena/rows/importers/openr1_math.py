"""OpenR1-Math: problems with answers and verified reasoning, for the format `math` (CHORD section 4.1).

`{"problem", "answer", "solution", "generations", "correctness_math_verify", "is_reasoning_complete"}`. The
demonstration is the first complete generation that was verified; a problem without one keeps its answer as gold.
"""

from __future__ import annotations

import re
from typing import Any

from planarena.rows.dialogue import Decision, Turn
from planarena.rows.importers.assistant import as_text
from planarena.rows.importers.trace import ImportOptions, Trace, TraceError

__all__ = ["LICENCE", "read"]

LICENCE = "Apache-2.0"

_THINK = re.compile(r"<think>(.*?)</think>", re.DOTALL)
_INTEGER = re.compile(r"\$?\s*[-+]?\d+\s*\$?")


def read(record: dict[str, Any], options: ImportOptions, number: int) -> Trace:
    """Read one record.

    Raises:
        TraceError: It cannot be used.
    """
    del number
    problem = as_text(record.get("problem", record.get("question")), "a problem").strip()
    answer = as_text(record.get("answer"), "an answer").strip()
    if not problem:
        raise TraceError("no problem")
    if not answer:
        raise TraceError("no gold action", "the record has no answer")
    if options.integer_answers and not _INTEGER.fullmatch(answer):
        raise TraceError("an answer that is no integer", answer[:100])
    decision = Decision(text=answer.strip("$ ") or answer, rationale=_rationale(record))
    return Trace(turns=(Turn(problem, (decision,)),), category="no_tool_needed")


def _rationale(record: dict[str, Any]) -> str:
    generations = record.get("generations")
    if not isinstance(generations, list):
        return ""
    verified = record.get("correctness_math_verify") or [True] * len(generations)
    complete = record.get("is_reasoning_complete") or [True] * len(generations)
    for text, right, whole in zip(generations, verified, complete, strict=False):
        if right and whole and isinstance(text, str):
            thought = _THINK.search(text)
            return (thought[1] if thought else text).strip()
    return ""
