"""ToolRL's reward: format 0 or 1 plus correctness in [-3, 3] (arXiv 2504.13958 and its public code)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from planarena import formats
from planarena.formats import Call, Gold, Parsed
from planarena.formats.toolrl import call_lines
from planarena.trainers.rewards.matching import jaccard, multiset_iou
from planarena.trainers.rewards.score import Context, Reward, Score, sourced

__all__ = ["Detail", "ToolRL", "call_share"]

Detail = Literal["fine", "intermediate", "refined", "coarse"]


def _argument_score(gold: dict[str, Any], predicted: dict[str, Any], detail: Detail) -> float:
    if detail == "refined":
        overlap = 1.0 if gold.keys() == predicted.keys() else 0.0
    else:
        overlap = jaccard(gold, predicted)
    return overlap + sum([key in predicted and bool(predicted[key] == value) for key, value in gold.items()])


def _raw(calls: Sequence[Call]) -> list[dict[str, Any]]:
    return [{"name": call.name, "parameters": call.arguments} for call in calls]


def call_share(predicted: Sequence[Any], gold: Sequence[dict[str, Any]], detail: Detail = "fine") -> float:
    """Return the share of the greatest score that the predicted calls reach, in [0, 1].

    score = IoU of the multisets of names + per gold call the best unused prediction of its name, greedily,
    by (IoU of parameter names + number of equal values); greatest = 1 + sum over gold calls (1 + its
    number of parameters). Values are equal as Python's `==` has it, so 1 equals 1.0, as in the public code.

    Args:
        predicted: JSON values, meant to be objects with "name" and "parameters".
        gold: Objects with "name" and "parameters".
        detail: The public code's variants: `coarse` all or nothing; `refined` names and keys exactly;
            `intermediate` a gold call counts 1 if an equal call was predicted, else 0.

    Raises:
        KeyError: When a key is missing where it is read.
        TypeError: When a value has the wrong type where it is read.
        AttributeError: Likewise.
    """
    if list(predicted) == list(gold):
        return 1.0
    if detail == "coarse":
        return 0.0
    wanted, got = [call["name"] for call in gold], [call["name"] for call in predicted]
    if detail == "refined":
        score = 1.0 if wanted == got else 0.0
    else:
        score = multiset_iou(wanted, got)
    most = 1.0
    used: set[int] = set()
    for reference in gold:
        parameters = reference["parameters"]
        most += 1.0 if detail == "intermediate" else 1.0 + len(parameters)
        best, best_score = -1, 0.0
        for index, call in enumerate(predicted):
            if index in used or call["name"] != reference["name"]:
                continue
            if detail == "intermediate":
                value = 1.0 if call == reference else 0.0
            else:
                value = _argument_score(parameters, _object(call["parameters"]), detail)
            if value > best_score:
                best, best_score = index, value
        if best >= 0:
            used.add(best)
            score += best_score
    return score / most


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("parameters are no object")
    return value


class ToolRL(Reward, frozen=True, kw_only=True):
    """R = R_format (0 or 1) + R_correct in [-3, 3]; equal to the public code with its flags as options.

    Correctness counts only where the gold calls: a spurious call costs the format point alone. In the
    format `toolrl` the block is read line by line, and a key is missed only where it is read, as there.
    Deviations: (1) NaN and infinities, integers beyond 64 bits and blocks nested deeper than 100 are no
    JSON. (2) `refined` compares keys without their order. (3) In other formats the calls are those
    that the format reads. (4) A prediction is taken as it stands: cutting it out of the chat template and
    stripping it is the engine's part.
    """

    name: ClassVar[str] = "toolrl"

    format: str = "toolrl"
    detail: Annotated[Detail, sourced("ToolRL, flags off", "how finely calls are compared")] = "fine"
    correct_max: Annotated[float, sourced("ToolRL; CORRECTMAX1 is 1", "R_correct lies in +- this", gt=0)] = (
        3.0
    )
    schedule: Annotated[
        Literal["none", "linear", "two_stage"],
        sourced("ToolRL, flags off", "SCHEDULEREWARD and MAX1STEP30MAX3: scales over training steps"),
    ] = "none"
    length: Annotated[
        Literal["none", "fixed", "scheduled"],
        sourced("ToolRL, flags off", "WITHLENGTH and SCHEDULELENGTH: 0..1 for words of thought"),
    ] = "none"

    def _bounds(self, step: int) -> tuple[float, float, float, float]:
        """Return least and greatest format reward and correctness at a training step."""
        format_low, format_high = 0.0, 1.0
        low, high = -self.correct_max, self.correct_max
        if self.schedule == "two_stage":
            if step >= 30:
                format_high /= 2
            else:
                low, high = low / 3, high / 3
        elif self.schedule == "linear":
            done = step / 150
            format_high = max(2 - (2 - format_high) * done, 1.0)
            format_low = min(-2 + (2 + format_low) * done, -1.0)
            high = min((high - 2) * done + 2, 3.0)
            low = max((low + 2) * done - 2, -3.0)
        return format_low, format_high, low, high

    def _score(self, parsed: Parsed, gold: Gold, context: Context) -> Score:
        format_low, format_high, low, high = self._bounds(context.training_step)
        fault = formats.get(parsed.format).check(parsed, gold.category)
        r_format = format_low if fault else format_high
        r_correct = 0.0
        if gold.calls:
            r_correct = low
            predicted = call_lines(parsed.text) if parsed.format == "toolrl" else _raw(parsed.calls)
            if predicted is not None and not (parsed.broken and parsed.format != "toolrl"):
                try:
                    share = call_share(predicted, _raw(gold.calls), self.detail)
                    r_correct = (high - low) * share + low
                except (KeyError, TypeError, AttributeError):
                    r_correct = low
        parts = {"format": r_format, "correct": r_correct}
        total = r_format + r_correct
        if self.length != "none":
            parts["length"] = self._length(parsed.text, context.training_step)
            total += parts["length"]
        return Score(total=total, parts=parts)

    def _length(self, text: str, step: int) -> float:
        if "<think>" not in text or "</think>" not in text:
            return 0.0
        words = len(text.rsplit("<think>", 1)[-1].split("</think>", 1)[0].split())
        enough = 512.0 if self.length == "fixed" else (640 - 384) * step / 105 + 384
        return min(round(words / enough, 2), 1.0)
