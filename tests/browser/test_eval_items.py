"""The page of items in a real browser: fits wide and narrow windows, filters, shows two models, runs nothing."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planarena.eval.items_page import render_items

if TYPE_CHECKING:
    from conftest import Browser

HOSTILE = "</script><script>document.title='ran'</script><img src=x onerror=alert(1)> \x1b[31m\u202e \"quoted\" \\ back"


def rows(count: int, seed: int, length: int = 200) -> list[dict[str, Any]]:
    made = []
    for n in range(count):
        right = (n * 7 + seed) % 3 != 0
        made.append(
            {
                "suite": "bfcl-v4" if n % 2 else "math", "id": f"item_{n}", "sample": 0, "category": f"kind {n % 5}",
                "correct": right, "reason": "" if right else f"wrong:{n % 4}", "detail": HOSTILE if n == 3 else "",
                "answer": None, "tokens": n, "prompt": [{"role": "user", "content": f"Question {n}? " + "word " * (length // 5)}],
                "tools": [{"name": f"tool_{n}", "parameters": {"x": "y"}}], "gold": [{"f": {"x": [n]}}],
                "output": HOSTILE if n == 3 else f"model {seed} says {n} " + "z" * length, "written": "hermes",
                "calls": [{"name": "f", "arguments": {"x": n}}], "thought": "", "unread": "", "seconds": 0.25,
            }
        )  # fmt: skip
    return made


def open_items(browser: Browser, page: Path, width: int = 1400) -> None:
    browser.open(Path("/dev/null"))
    browser.open(page, width)
    end = time.monotonic() + 20
    while not browser.run("return document.body.classList.contains('ready')"):
        assert time.monotonic() < end
        time.sleep(0.02)


def choose(browser: Browser, name: str, value: str) -> str:
    return str(
        browser.run(
            f"const f = document.querySelector('[name={name}]'); f.value = {json.dumps(value)};"
            "f.dispatchEvent(new Event(f.tagName === 'INPUT' ? 'input' : 'change'));"
            "return document.querySelector('.count').textContent"
        )
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("items") / "items.html"
    path.write_text(render_items(["one", "two <b>"], [rows(120, 0), rows(110, 1)]), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [1400, 390])
def test_it_fits_and_runs_nothing_of_the_outputs(browser: Browser, page: Path, width: int) -> None:
    browser.complaints()
    open_items(browser, page, width)
    for n in (3, 0, 115):
        suite = "bfcl-v4" if n % 2 else "math"
        browser.run(f"location.hash = 'i=' + encodeURIComponent('{suite}/item_{n}/0')")
        time.sleep(0.1)
        text = browser.run("return document.querySelector('#detail').innerText")
        assert f"Question {n}?" in text
        assert browser.run("return document.documentElement.scrollWidth") <= width
        if n == 3:
            assert text.count("<script>document.title='ran'</script>") == 4
            assert "\\u001b[31m\\u202e" in text
    assert "has no output of this item" in text
    assert browser.run("return document.title") == "Items of one and two <b>"
    assert browser.run("return document.querySelectorAll('img, iframe').length") == 0
    assert browser.complaints() == []


def test_filters_find_what_the_rows_hold(browser: Browser, page: Path) -> None:
    open_items(browser, page)
    first, second = rows(120, 0), rows(110, 1)
    both = [(a["correct"], b["correct"]) for a, b in zip(first, second, strict=False)]
    for verdict, wanted in (
        ("both right", (True, True)),
        ("first right alone", (True, False)),
        ("both wrong", (False, False)),
    ):
        count = both.count(wanted)
        told = choose(browser, "verdict", verdict)
        assert told == (
            f"1 to {min(count, 100)} of {count} (all: 120)" if count else "Nothing fits these filters."
        )
    assert choose(browser, "verdict", "in one alone") == "1 to 10 of 10 (all: 120)"
    choose(browser, "verdict", "")
    assert choose(browser, "category", "kind 2") == "1 to 24 of 24 (all: 120)"
    choose(browser, "category", "")
    reason = sum(
        "wrong:1" in (a["reason"], b["reason"] if b else "")
        for a, b in zip(first, [*second, *[None] * 10], strict=True)
    )
    assert choose(browser, "reason", "wrong:1").endswith(f"of {reason} (all: 120)")
    choose(browser, "reason", "")
    assert choose(browser, "text", "MODEL 1 SAYS 77 ").startswith("1 to 1 of 1")
    assert choose(browser, "text", '"quoted" \\ back').startswith("1 to 1 of 1")
    assert choose(browser, "text", "</script><script>").startswith("1 to 1 of 1")
    assert choose(browser, "text", "no such words") == "Nothing fits these filters."


def test_five_thousand_items_open_and_filter(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "large.html"
    path.write_text(
        render_items(["one", "two"], [rows(6000, 0, 1500), rows(6000, 1, 1500)]), encoding="utf-8"
    )
    begun = time.monotonic()
    open_items(browser, path)
    opened = time.monotonic() - begun
    assert "5000 of 6000 items" in browser.run("return document.querySelector('#told').textContent")
    while not browser.run("return document.body.classList.contains('searchable')"):
        time.sleep(0.02)
    took = []
    for name, value in (
        ("category", "kind 1"),
        ("verdict", "both wrong"),
        ("text", "says 49"),
        ("text", "says 498"),
    ):
        script = (
            f"const f = document.querySelector('[name={name}]'); f.value = {json.dumps(value)}; const t = performance.now();"
            "f.dispatchEvent(new Event(f.tagName === 'INPUT' ? 'input' : 'change')); return performance.now() - t"
        )
        took.append(browser.run(script))
    print(
        f"opened in {opened:.2f} s, filters {[round(one) for one in took]} ms, {path.stat().st_size / 1e6:.1f} MB"
    )
    # Printed and not asserted: others run beside these tests.
    shown = browser.run("return document.querySelector('.count').textContent")
    assert shown.startswith("1 to ") or shown == "Nothing fits these filters."
