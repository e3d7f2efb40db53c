"""The report of a build in a real browser: opens from disk, fits wide and narrow windows, runs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from planarena import Run
from planarena.report import render_report

if TYPE_CHECKING:
    from conftest import Browser

_OVERFLOWING = """
return [...document.querySelectorAll('main *')].filter(e => {
  if (e.closest('.scroll') || e.closest('pre') || e.closest('svg')) return false;
  return e.getBoundingClientRect().right > innerWidth + 0.5;
}).map(e => e.outerHTML.slice(0, 200));
"""


@pytest.mark.parametrize("width", [1280, 420])
def test_nothing_reaches_out_of_the_window(browser: Browser, built_run: Run, width: int) -> None:
    browser.complaints()
    browser.open(built_run.path / "report.html", width)
    assert browser.run("return document.querySelectorAll('svg.graph').length") == 12
    assert browser.run(_OVERFLOWING) == []
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.complaints() == []


def test_names_fit_into_their_boxes_and_labels_do_not_meet(browser: Browser, built_run: Run) -> None:
    browser.open(built_run.path / "report.html")
    too_long = browser.run(
        "return [...document.querySelectorAll('g.step')].filter(g => "
        "g.querySelector('.name').getBBox().width > g.querySelector('rect').width.baseVal.value - 32)"
        ".map(g => g.textContent)"
    )
    assert too_long == []
    meeting = browser.run(
        """
        const met = [];
        for (const graph of document.querySelectorAll('svg.graph')) {
          const boxes = [...graph.querySelectorAll('text.flow')].map(t => t.getBBox());
          boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
            const x = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
            const y = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
            if (x > 2 && y > 4) met.push([x, y]);
          }));
        }
        return met;
        """
    )
    assert meeting == []


def test_colours_follow_the_reader(browser: Browser, built_run: Run) -> None:
    shades = {}
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.command("Emulation.setEmulatedMedia", {"features": [feature]})
        browser.open(built_run.path / "report.html")
        style = "getComputedStyle(document.body)"
        shades[scheme] = browser.run(f"return [{style}.backgroundColor, {style}.color]")
    browser.command("Emulation.setEmulatedMedia", {"features": []})
    assert shades["light"][0] > shades["dark"][0]
    assert shades["light"][1] != shades["dark"][1]


@pytest.mark.parametrize("width", [1280, 420])
def test_hostile_text_runs_nothing(browser: Browser, hostile_run: Run, tmp_path: Path, width: int) -> None:
    page = tmp_path / "report.html"
    page.write_text(render_report(hostile_run), encoding="utf-8")
    browser.complaints()
    # An alert would make the next command fail: WebDriver reports an unexpected dialog.
    browser.open(page, width)
    assert browser.run("return document.querySelectorAll('script, img, iframe').length") == 0
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    assert browser.run("return document.body.innerText.includes('<script>alert(1)</script>')")
    assert browser.run(_OVERFLOWING) == []
    assert browser.complaints() == []
