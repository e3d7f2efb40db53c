"""What scoring gives: a verdict for every item, rows by category, overall values by formula."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["CategoryRow", "Overall", "SuiteResult", "Verdict"]


class Verdict(msgspec.Struct, frozen=True):
    """The outcome of one output.

    Attributes:
        id: The item.
        category: The row that it counts in.
        correct: Whether the benchmark's rule accepts it.
        reason: Why not, as a short class ("value_error:string", "no response"); empty where correct.
        detail: The checker's words, cut.
        sample: Which of the item's K outputs.
        tokens: Length of the output.
        guessed: Nothing could be extracted, and a random option was taken.
        answer: What was extracted, where the benchmark extracts.
        marks: Further verdicts on the same output under other rules ("strict").
        counts: Numbers that the suite reports of the item ("calls").
    """

    id: str
    category: str
    correct: bool
    reason: str = ""
    detail: str = ""
    sample: int = 0
    tokens: int = 0
    guessed: bool = False
    answer: str | None = None
    marks: dict[str, bool] = {}
    counts: dict[str, int] = {}


class CategoryRow(msgspec.Struct, frozen=True):
    """One row of a suite.

    Attributes:
        category: Its name.
        items: Items that it has.
        correct: The sum of the items' means over samples; a whole number for one sample.
        accuracy: In [0, 1]; None where it was not run.
        low: Lower end of the 95 % interval.
        high: Upper end.
        missing: Items without an output; they count as wrong.
        unreadable: Outputs that could not be read; they count as wrong.
        tokens: Mean tokens of an output that is there.
        not_run: Why nothing was scored; empty where something was.
    """

    category: str
    items: int
    correct: float = 0.0
    accuracy: float | None = None
    low: float | None = None
    high: float | None = None
    missing: int = 0
    unreadable: int = 0
    tokens: float | None = None
    not_run: str = ""


class Overall(msgspec.Struct, frozen=True):
    """One overall value.

    Attributes:
        name: The formula's name.
        formula: The formula, in words.
        value: In [0, 1]; None where nothing it needs was run.
        low: Lower end of the 95 % interval.
        high: Upper end.
        not_run: Categories that it needs and that were not run.
    """

    name: str
    formula: str
    value: float | None
    low: float | None = None
    high: float | None = None
    not_run: tuple[str, ...] = ()


class SuiteResult(msgspec.Struct, frozen=True):
    """Everything about one suite of one evaluation.

    Attributes:
        suite: Its name.
        revision: Which questions it was computed on.
        headline: The name of the overall value to quote.
        overall: Every overall value.
        categories: The rows.
        verdicts: One for each output, in the benchmark's order.
        columns: Further columns that papers print, by name.
        tokens: Mean tokens of an output that is there.
        tokens_from: Who counted them.
        reasons: Wrong outputs by reason.
        notes: What a reader must know.
        sandbox: How outputs that are executed were confined; empty where none is.
        base: The difference from the base, where one was named.
        measures: Further numbers by name, each with what it is.
        part: Which part of the benchmark this is; empty for the whole.
        samples: Outputs of each item.
        several: Over the samples of an item: "avg@k", "pass@k" and "pass^k" for k from 1 on, with one output none.
    """

    suite: str
    revision: str
    headline: str
    overall: list[Overall]
    categories: list[CategoryRow]
    verdicts: list[Verdict]
    columns: dict[str, float] = {}
    tokens: float | None = None
    tokens_from: str = ""
    reasons: dict[str, int] = {}
    notes: list[str] = []
    sandbox: str = ""
    base: dict[str, Any] | None = None
    measures: dict[str, tuple[float, str]] = {}
    part: str = ""
    samples: int = 1
    several: dict[str, Overall] = {}
