"""Deterministic scorers for when there is no model: worse than a judge, but defined, free and never steered.

`offline/1` names these definitions; a change of any number is a new version.
"""

from __future__ import annotations

from planarena.formats import Call
from planarena.judges.items import JudgedAction
from planarena.judges.overlap import calls_similarity, mentioned, same, text_similarity

__all__ = [
    "OFFLINE",
    "execution_strategy",
    "offline_rubric",
    "offline_similarity",
    "parameter_setting",
    "tool_selection",
]

OFFLINE = "offline/1"
WEIGHTS = {
    "reasoning_path": 0.35,
    "tool_selection": 0.30,
    "parameter_setting": 0.25,
    "execution_strategy": 0.10,
}
"""Weights of the four dimensions (AWPO Figure 2)."""


def offline_similarity(action: JudgedAction) -> float:
    """Return the similarity of a candidate to the true action, in [0, 1] (in place of DUPO Eq. 18).

    The weighted mean of the parts that count: calls (0.6) and response (0.3) when either of the two has
    them, plan (0.1) when the true action has one; `calls_similarity`, `text_similarity`. A broken call
    counts 0 as calls. 1 when no part counts.
    """
    candidate, gold = action.candidate, action.gold
    parts: list[tuple[float, float]] = []
    if gold.calls or candidate.calls or candidate.broken:
        parts.append((0.6, 0.0 if candidate.broken else calls_similarity(candidate.calls, gold.calls)))
    if gold.response is not None or candidate.response is not None:
        parts.append((0.3, text_similarity(candidate.response or "", gold.response or "")))
    if gold.plan:
        parts.append((0.1, text_similarity(candidate.plan or "", gold.plan)))
    if not parts:
        return 1.0
    return sum(weight * score for weight, score in parts) / sum(weight for weight, _ in parts)


def tool_selection(candidate: tuple[Call, ...], gold: tuple[Call, ...]) -> float:
    """Return 2 LCS / (n + m) of the sequences of names: names, order and coverage; 1 without calls."""
    if not candidate and not gold:
        return 1.0
    row = [0] * (len(gold) + 1)
    for call in candidate:
        diagonal = 0
        for place, reference in enumerate(gold, 1):
            above = row[place]
            row[place] = diagonal + 1 if call.name == reference.name else max(above, row[place - 1])
            diagonal = above
    return 2 * row[-1] / (len(candidate) + len(gold))


def parameter_setting(candidate: tuple[Call, ...], gold: tuple[Call, ...]) -> float:
    """Return the mean over calls of (equal values) / (union of keys), matched in order by name.

    Each call of the gold takes the first unused call of its name; the mean is over the larger number of
    calls, unmatched ones count 0, a matched pair without keys 1. 1 without calls.
    """
    if not candidate and not gold:
        return 1.0
    left = list(candidate)
    total = 0.0
    for reference in gold:
        found = next((call for call in left if call.name == reference.name), None)
        if found is None:
            continue
        left.remove(found)
        keys = reference.arguments.keys() | found.arguments.keys()
        shared = reference.arguments.keys() & found.arguments.keys()
        equal = sum(same(reference.arguments[key], found.arguments[key]) for key in shared)
        total += equal / len(keys) if keys else 1.0
    return total / max(len(candidate), len(gold))


def execution_strategy(action: JudgedAction) -> float:
    """Return the share of three signs: the output keeps its grammar, repeats no call, calls no more than the gold."""
    candidate = action.candidate
    repeats = any(
        call.name == other.name and same(call.arguments, other.arguments)
        for place, call in enumerate(candidate.calls)
        for other in candidate.calls[:place]
    )
    return (candidate.valid + (not repeats) + (len(candidate.calls) <= len(action.gold.calls))) / 3


def offline_rubric(action: JudgedAction) -> float:
    """Return the weighted sum of the four dimensions of AWPO Figure 2, in [0, 1], before caps and snapping.

    reasoning path: without a rationale `mentioned(thought, gold calls)`, with one the mean of that and the
    text similarity to it; 0 without a thought. A broken call counts as no call at all.
    """
    thought = action.candidate.plan or ""
    calls, gold = action.candidate.calls, action.gold.calls
    reasoning = 0.0
    if thought.strip():
        reasoning = mentioned(thought, gold)
        if action.rationale:
            reasoning = (reasoning + text_similarity(thought, action.rationale)) / 2
    broken = action.candidate.broken
    return (
        WEIGHTS["reasoning_path"] * reasoning
        + WEIGHTS["tool_selection"] * (0.0 if broken else tool_selection(calls, gold))
        + WEIGHTS["parameter_setting"] * (0.0 if broken else parameter_setting(calls, gold))
        + WEIGHTS["execution_strategy"] * execution_strategy(action)
    )
