"""CHORD's rewards (paper CHORD appendix A.2): binary for tool use, four levels for mathematics."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, ClassVar

from planarena import formats
from planarena.formats import Call, Gold, Parsed
from planarena.trainers.rewards.matching import call_key
from planarena.trainers.rewards.score import Context, Reward, Score, sourced

__all__ = ["Binary", "MathAnswer", "answers_equal", "calls_equal"]

_WRAPPED = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}")
_DROPPED = re.compile(r"\\[,;:!$]|\\(?:left|right)(?![a-zA-Z])|[\s$]")
_NUMBER = re.compile(r"([+-]?)(\d+|\d{1,3}(?:,\d{3})+)?(?:\.(\d*))?")


def calls_equal(predicted: Sequence[Call], gold: Sequence[Call]) -> bool:
    """Whether two actions call the same: equal multisets of (name, canonical arguments).

    The calls of one action are parallel, so their order carries no meaning.
    """
    return Counter(map(call_key, predicted)) == Counter(map(call_key, gold))


class Binary(Reward, frozen=True, kw_only=True):
    """1 for a completely correct action, else 0 (CHORD A.2; ToolUPT's "Naive GRPO").

    Deviations: (1) "completely correct" includes the format, `require_format` leaves it out.
    (2) For a gold without calls an output is correct that keeps the format and does not call.
    """

    name: ClassVar[str] = "binary"

    format: str = "chord"
    require_format: Annotated[bool, sourced("ours", "a correct call in a wrong format is worth 0")] = True

    def _score(self, parsed: Parsed, gold: Gold, context: Context) -> Score:
        del context
        format_ok = not formats.get(parsed.format).check(parsed, gold.category)
        right = not parsed.broken and calls_equal(parsed.calls, gold.calls)
        total = 1.0 if right and (format_ok or not self.require_format) else 0.0
        return Score(
            total=total, parts={"format": 1.0 if format_ok else 0.0, "correct": 1.0 if right else 0.0}
        )


def _normal_answer(answer: str) -> str:
    text = _WRAPPED.sub(r"\1", answer)
    text = _DROPPED.sub("", text).rstrip(".")
    match = _NUMBER.fullmatch(text)
    if match is None or (match[2] is None and not match[3]):
        return text
    whole = (match[2] or "0").replace(",", "").lstrip("0") or "0"
    fraction = (match[3] or "").rstrip("0")
    sign = "-" if match[1] == "-" and (whole != "0" or fraction) else ""
    return f"{sign}{whole}.{fraction}" if fraction else sign + whole


def answers_equal(answer: str, gold: str) -> bool:
    r"""Whether two final answers are the same number, or else the same text.

    White space, dollar signs, thin spaces, \text{} and a final full stop do not count; numbers compare by
    value, so 1,000 equals 1000 and 39.0 equals 39. The paper's problems all have integer answers.
    """
    return _normal_answer(answer) == _normal_answer(gold)


class MathAnswer(Reward, frozen=True, kw_only=True):
    """1 correct; 0 wrong but formatted; -0.1 wrong and unformatted; -1 cut at the limit without an answer.

    CHORD A.2. Deviation: (1) a correct answer in a wrong format is worth 1, which the paper's order of
    cases implies and does not say.
    """

    name: ClassVar[str] = "math"
    needs: ClassVar[tuple[str, ...]] = ("truncated",)

    format: str = "math"
    correct: Annotated[float, sourced("CHORD A.2", "a correct answer")] = 1.0
    formatted: Annotated[float, sourced("CHORD A.2", "a wrong answer in the format")] = 0.0
    unformatted: Annotated[float, sourced("CHORD A.2", "a wrong answer not in the format")] = -0.1
    overlong: Annotated[float, sourced("CHORD A.2", "no answer within the token limit")] = -1.0

    def _score(self, parsed: Parsed, gold: Gold, context: Context) -> Score:
        answered = parsed.response is not None
        right = parsed.response is not None and gold.response is not None
        right = right and answers_equal(parsed.response or "", gold.response or "")
        if right:
            total = self.correct
        elif context.truncated and not answered:
            total = self.overlong
        else:
            total = self.formatted if parsed.valid else self.unformatted
        return Score(
            total=total, parts={"format": 1.0 if parsed.valid else 0.0, "correct": 1.0 if right else 0.0}
        )
