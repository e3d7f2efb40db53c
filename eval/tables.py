"""From verdicts to rows: one row a category, with its interval, and what is missing or unreadable."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import msgspec

from planarena.eval.responses import Response
from planarena.eval.results import CategoryRow, Overall, SuiteResult, Verdict
from planarena.eval.statistics import mean_interval, pass_all, pass_any

__all__ = ["build_rows", "finish", "item_means", "micro_average", "over_samples", "unjudged"]


def unjudged(
    key: str, category: str, outputs: Mapping[str, list[Response]], sample: int, *, text: bool = True
) -> Verdict | None:
    """Return the verdict on an output that is not there or cannot be read; None where there is one to judge.

    Args:
        key: The item.
        category: Its category.
        outputs: By item.
        sample: Which of its outputs.
        text: The output has to be a text.
    """
    listed = outputs.get(key, [])
    if sample >= len(listed):
        return Verdict(key, category, False, "no response", sample=sample)
    problem = listed[sample].problem
    if not problem and text and not isinstance(listed[sample].value, str):
        problem = "not text"
    return Verdict(key, category, False, f"unreadable: {problem}", sample=sample) if problem else None


def item_means(verdicts: list[Verdict]) -> dict[str, float]:
    """The mean over samples of each item, in [0, 1]."""
    sums: dict[str, list[int]] = {}
    for verdict in verdicts:
        entry = sums.setdefault(verdict.id, [0, 0])
        entry[0] += verdict.correct
        entry[1] += 1
    return {key: correct / count for key, (correct, count) in sums.items()}


def build_rows(
    verdicts: list[Verdict], items: Mapping[str, int], skipped: Mapping[str, str]
) -> list[CategoryRow]:
    """Make the rows of a suite.

    Args:
        verdicts: Every verdict.
        items: Items by category, in the order of the rows.
        skipped: Categories that were not run, with the reason.
    """
    grouped: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        grouped[verdict.category].append(verdict)
    rows = []
    for category, count in items.items():
        if category in skipped or not grouped[category]:
            rows.append(CategoryRow(category, count, not_run=skipped.get(category, "no items")))
            continue
        group = grouped[category]
        means = list(item_means(group).values())
        low, high = mean_interval(means)
        present = [verdict.tokens for verdict in group if verdict.reason != "no response"]
        rows.append(
            CategoryRow(
                category=category,
                items=len(means),
                correct=sum(means),
                accuracy=sum(means) / len(means),
                low=low,
                high=high,
                missing=sum(verdict.reason == "no response" for verdict in group),
                unreadable=sum(verdict.reason.startswith("unreadable") for verdict in group),
                tokens=sum(present) / len(present) if present else None,
            )
        )
    return rows


def micro_average(name: str, formula: str, verdicts: list[Verdict]) -> Overall:
    """The share of all items, each category weighing by its items."""
    means = list(item_means(verdicts).values())
    if not means:
        return Overall(name, formula, None)
    low, high = mean_interval(means)
    return Overall(name, formula, sum(means) / len(means), low, high)


def finish(
    *,
    suite: str,
    revision: str,
    headline: str,
    overall: list[Overall],
    rows: list[CategoryRow],
    verdicts: list[Verdict],
    outputs: Mapping[str, list[Response]],
    columns: dict[str, float] | None = None,
    notes: list[str] | None = None,
    sandbox: str = "",
    whole: Mapping[str, int] | None = None,
    units: str = "items",
    weighted: bool = False,
) -> SuiteResult:
    """Put a suite's result together, with token means and the count of reasons.

    Args:
        suite: Its name.
        revision: Which questions.
        headline: The overall value to quote.
        overall: Every overall value.
        rows: By category.
        verdicts: Of every output.
        outputs: By item.
        columns: Further columns.
        notes: What a reader must know.
        sandbox: How outputs that are executed were confined.
        whole: The items of the published benchmark by category, where they are known.
        units: What they are called.
        weighted: The overall values are weighted sums that say themselves what they lack.
    """
    part, absent = _part(rows, whole, units)
    if not weighted:
        overall = [_incomplete(value, absent) for value in overall]
    present = [verdict.tokens for verdict in verdicts if verdict.reason != "no response"]
    counted = [response.counted for listed in outputs.values() for response in listed]
    everyone: dict[bool, str] = {True: "the outputs' file", False: "words and signs, no tokenizer"}
    source = (
        everyone[counted[0]]
        if counted and len(set(counted)) == 1
        else "partly the file, partly words and signs"
    )
    given: dict[str, Any] = {
        "tokens": sum(present) / len(present) if present else None,
        "tokens_from": source if present else "",
        "reasons": dict(Counter(verdict.reason for verdict in verdicts if not verdict.correct).most_common()),
    }
    return SuiteResult(
        suite,
        revision,
        headline,
        overall,
        rows,
        verdicts,
        columns or {},
        notes=notes or [],
        sandbox=sandbox,
        part=part,
        samples=1 + max((verdict.sample for verdict in verdicts), default=0),
        several=over_samples(verdicts),
        **given,
    )


def over_samples(verdicts: list[Verdict]) -> dict[str, Overall]:
    """avg@k, pass@k and pass^k over all items, for the powers of 2 up to K and K itself; nothing for one sample.

    An item with fewer outputs than K counts in the values of as many as it has.
    """
    counted: dict[str, tuple[int, int]] = {}
    for verdict in verdicts:
        right, count = counted.get(verdict.id, (0, 0))
        counted[verdict.id] = (right + verdict.correct, count + 1)
    most = max((count for _, count in counted.values()), default=0)
    if most < 2:
        return {}
    found: dict[str, Overall] = {}
    sizes = sorted(
        {2**power for power in range(most.bit_length()) if 2**power <= most}
        | {most, *range(1, min(most, 4) + 1)}
    )
    for k in sizes:
        enough = [(right, count) for right, count in counted.values() if count >= k]
        for name, words, rule in (
            ("avg@", "mean share of right outputs", lambda c, n, _: c / n),
            ("pass@", "any of k outputs is right", pass_any),
            ("pass^", "all of k outputs are right", pass_all),
        ):
            values = [rule(right, count, k) for right, count in enough]
            low, high = mean_interval(values)
            found[f"{name}{k}"] = Overall(f"{name}{k}", words, sum(values) / len(values), low, high)
    return found


def _part(
    rows: list[CategoryRow], whole: Mapping[str, int] | None, units: str
) -> tuple[str, tuple[str, ...]]:
    """Say which part of a benchmark the rows are, and which categories are not in it."""
    skipped = tuple(row.category for row in rows if row.accuracy is None)
    run = sum(row.items for row in rows if row.accuracy is not None)
    if whole is None:
        return ("", skipped)
    known = {row.category for row in rows}
    if not known <= set(whole):
        return f"{run} {units} of another set than the published {sum(whole.values())}", skipped
    absent = tuple(
        name for name in whole if not any(row.category == name and row.accuracy is not None for row in rows)
    )
    return ("" if run == sum(whole.values()) else f"{run} of {sum(whole.values())} {units}", absent)


def _incomplete(value: Overall, absent: tuple[str, ...]) -> Overall:
    """Name what an overall value lacks, where its formula does not know."""
    if value.not_run or not absent or value.value is None:
        return value
    return msgspec.structs.replace(value, not_run=absent)
