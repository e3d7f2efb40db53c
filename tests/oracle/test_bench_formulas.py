"""The overall formulas against every row that the papers print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planarena.eval.bfcl.categories import COUNTS
from planarena.eval.bfcl.formulas import FORMULAS, columns, overall, weights
from planarena.eval.published import PUBLISHED, PublishedTable
from planarena.eval.results import CategoryRow


def _tables(paper: str, suite: str = "bfcl-v3") -> PublishedTable:
    return next(table for table in PUBLISHED if (table.paper, table.suite) == (paper, suite))


def _rows(shares: dict[str, float]) -> dict[str, CategoryRow]:
    return {
        name: CategoryRow(name, COUNTS[name], share * COUNTS[name], share) for name, share in shares.items()
    }


@pytest.mark.parametrize("name", FORMULAS)
def test_weights_sum_to_one(name: str) -> None:
    # Twenty additions of doubles below one.
    assert sum(weights(name).values()) == pytest.approx(1.0, abs=1e-14)


def test_dupo_and_awpo_print_the_v3_mean() -> None:
    """Overall = mean(Live, Non-Live with irrelevance, Multi-Turn): the implied irrelevance is a count of 240.

    The other formulas fail the same check, so it can tell them apart.
    """
    rows = [row for paper in ("DUPO", "AWPO") for row in _tables(paper).rows]
    assert len(rows) == 33
    for _, (printed, non_live, live, multi_turn, *_rest) in rows:
        with_irrelevance = 3 * printed - live - multi_turn
        implied = (5 * with_irrelevance - 4 * non_live) / 100 * 240
        # Each printed value is rounded by up to 0.005 points: 5 (3 + 1 + 1) + 4 of them, in 240ths of a percent.
        rounding = 0.005 * (5 * 5 + 4) / 100 * 240
        assert abs(implied - round(implied)) <= rounding
        assert -rounding <= implied <= 240 + rounding
        shares = _shares_of(non_live, live, multi_turn, round(implied) / 240)
        value = overall("v3", _rows(shares)).value
        assert value is not None
        # Rounding of the three columns (each a third) and of the value, and of irrelevance to a count.
        assert 100 * value == pytest.approx(printed, abs=0.005 * 2 + rounding / 2.4 / 15 + 1e-9)


def _shares_of(non_live: float, live: float, multi_turn: float, irrelevance: float) -> dict[str, float]:
    """Categories that have the printed columns: the formulas see columns only through their categories."""
    shares = dict.fromkeys(weights("v3"), 0.0)
    for name in shares:
        if name.startswith("live"):
            shares[name] = live / 100
        elif name.startswith("multi_turn"):
            shares[name] = multi_turn / 100
        else:
            shares[name] = irrelevance if name == "irrelevance" else non_live / 100
    return shares


def test_no_other_formula_gives_the_rows_of_000_and_001() -> None:
    for paper in ("DUPO", "AWPO"):
        for _, (printed, non_live, live, multi_turn, *_rest) in _tables(paper).rows:
            shares = _shares_of(non_live, live, multi_turn, 0.9)
            for name in ("v4", "v4-without-agentic", "by-instance"):
                value = overall(name, _rows(shares)).value
                assert value is not None
                assert abs(100 * value - printed) > 0.5


def test_paper_002_prints_v4_without_agentic() -> None:
    """46 of 48 rows follow from their columns within .017; the 14B SFT row is off by three points."""
    misfits = {}
    rows = _tables("ToolUPT").rows
    assert len(rows) == 48
    for name, (printed, non_live, live, multi_turn, _, irrelevance) in rows:
        shares = dict.fromkeys(weights("v4-without-agentic"), 0.0)
        for key in shares:
            if "irrelevance" in key:
                shares[key] = irrelevance / 100
            elif key.startswith("live"):
                shares[key] = live / 100
            else:
                shares[key] = (multi_turn if key.startswith("multi_turn") else non_live) / 100
        value = overall("v4-without-agentic", _rows(shares)).value
        assert value is not None
        if abs(100 * value - printed) > 0.017:
            misfits[name] = 100 * value - printed
    assert len(misfits) == 2
    # 47.77 printed, 44.77 from the columns: a misprint of one digit.
    assert misfits["Qwen2.5-14B SFT"] == pytest.approx(-3.0, abs=0.017)


def test_paper_003_prints_the_share_of_instances() -> None:
    table = _tables("CHORD")
    for _, (printed, live, non_live) in table.rows:
        shares = {
            name: (live if name.startswith("live") else non_live) / 100 for name in weights("by-instance")
        }
        value = overall("by-instance", _rows(shares)).value
        assert value is not None
        # One decimal each: the value's own rounding and the weighted rounding of its two parts.
        assert 100 * value == pytest.approx(printed, abs=0.05 + 0.05 + 1e-9)
    counted = sum(COUNTS[name] for name in weights("by-instance") if name.startswith("live"))
    assert (counted, sum(COUNTS[name] for name in weights("by-instance"))) == (1351, 2351)
    # Each printed share of Live is a count of 1351 within its rounding, which is the detail that table 10 shows.
    shares = {
        "live_simple": 0.713,
        "live_multiple": 0.698,
        "live_parallel": 0.625,
        "live_parallel_multiple": 0.625,
    }
    assert 100 * columns(_rows(shares))["Live (AST)"] == pytest.approx(69.9, abs=0.1)


def test_v4_counts_what_was_not_run_as_zero() -> None:
    shares = {name: 1.0 for name in weights("v4") if not name.startswith(("memory", "web_search"))}
    value = overall("v4", _rows(shares))
    assert value.value == pytest.approx(0.6, abs=1e-14)
    assert set(value.not_run) == {name for name in weights("v4") if name.startswith(("memory", "web_search"))}


# How the papers' files are numbered.
_FILES = {"DUPO": "000", "AWPO": "001", "ToolUPT": "002", "CHORD": "003", "GEAR": "004"}


def test_published_rows_are_as_the_papers_print_them(shared: Path) -> None:
    """Every published row's numbers stand in this order in a line of the paper."""
    texts = {}
    for table in PUBLISHED:
        if table.paper not in texts:
            found = sorted((shared / "papers").glob(f"{_FILES[table.paper]}_*.txt"))
            if not found:
                pytest.skip("no papers beside this checkout")
            lines = found[0].read_text().splitlines()
            texts[table.paper] = [
                re.findall(r"(?<![\w.])\d+(?:\.\d+)?", re.sub(r"<[^>]*>", "", line)) for line in lines
            ]
        for name, values in table.rows:
            assert any(_holds(numbers, values, table) for numbers in texts[table.paper]), (table.paper, name)


def _holds(numbers: list[str], values: tuple[float, ...], table: PublishedTable) -> bool:
    have = [float(number) for number in numbers]
    wanted = list(values)
    if table.paper == "CHORD":  # Live, Non-Live, Overall; or a row that ends in the average
        wanted = [*wanted[1:], wanted[0]]
    return any(have[start : start + len(wanted)] == wanted for start in range(len(have)))
