"""What a comparison is made of: a row for each evaluation, a table for each suite."""

from __future__ import annotations

import msgspec

__all__ = ["ComparisonRow", "ComparisonTable"]


class ComparisonRow(msgspec.Struct, frozen=True):
    """One model's values.

    Attributes:
        name: The evaluation's folder, or the model as a paper prints it.
        values: In [0, 1] by column; absent where it was not run or not printed.
        low: Lower end of the headline's 95 % interval.
        high: Upper end.
        points: How far the overall value is above the first evaluation's, on the items that both have; with the ends
            of its 95 % interval (paired bootstrap within categories). None where they share no item.
        difference: Item by item from the first evaluation (see `paired_difference`): the mean over items, which weighs
            them evenly, and McNemar's exact test. The overall value of a weighted formula moves otherwise.
        p: Of that test, corrected for the number of suites (Holm 1979).
        source: Empty for ours, "published: AWPO, table 2" for a paper's.
        note: What the value leaves out.
    """

    name: str
    values: dict[str, float]
    low: float | None = None
    high: float | None = None
    points: tuple[float, float, float] | None = None
    difference: dict[str, float | int] | None = None
    p: float | None = None
    source: str = ""
    note: str = ""


class ComparisonTable(msgspec.Struct, frozen=True):
    """One suite under one overall formula."""

    suite: str
    formula: str
    columns: list[str]
    rows: list[ComparisonRow]
