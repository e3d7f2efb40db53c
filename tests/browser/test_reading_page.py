"""The page of a reading in a real browser: fits, counts, keeps, saves, goes on from a file, runs nothing else."""

from __future__ import annotations

import csv
import io
import json
import math
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planarena import Run
from planarena.export import join_trajectories
from planarena.report.reading import draw_trajectories, render_reading

if TYPE_CHECKING:
    from conftest import Browser

_OVERFLOWING = """
return [...document.querySelectorAll('main *')].filter(e => !e.closest('pre') && !e.closest('option')
  && e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML.slice(0, 200));
"""
# A button whose words do not fit it, or two controls on top of each other.
_CROWDED = """
const all = [...document.querySelectorAll('.bar button, .bar input, .judge:first-of-type label, .judge select')];
const broken = all.filter(e => e.scrollWidth > e.clientWidth + 1 && e.tagName === 'BUTTON');
const boxes = [...document.querySelectorAll('.bar button, .bar input')].map(e => e.getBoundingClientRect());
boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
  if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1) broken.push(a);
}));
return broken.length;
"""


def _page(run: Run, path: Path, number: int = 12, seed: int = 0) -> Path:
    path.write_text(
        render_reading("a <run> & more", draw_trajectories(run, number, seed), seed), encoding="utf-8"
    )
    return path


def _open(browser: Browser, page: Path, width: int = 1400) -> None:
    browser.open(Path("/dev/null"))
    browser.open(page, width)
    _wait(browser, "document.querySelector('#reading.ready')")


def _wait(browser: Browser, condition: str) -> None:
    end = time.monotonic() + 20
    while not browser.run(f"return Boolean({condition})"):
        assert time.monotonic() < end, condition
        time.sleep(0.02)


def _judge(browser: Browser, place: int, verdict: str, reason: str = "", note: str = "") -> None:
    browser.run(f"""
const item = document.querySelectorAll('.item')[{place}];
item.querySelector('input[value={verdict}]').click();
const fill = (name, value, event) => {{
  const field = item.querySelector(name); field.value = value; field.dispatchEvent(new Event(event, {{bubbles: true}}));
}};
if ({json.dumps(reason)}) fill('.reason', {json.dumps(reason)}, 'change');
if ({json.dumps(note)}) fill('.note', {json.dumps(note)}, 'input');
""")


def _told(browser: Browser) -> str:
    return str(browser.run("return document.querySelector('.told').textContent"))


def _save(browser: Browser, folder: Path, form: str) -> str:
    browser.command("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    browser.run(f"document.querySelector('.save[data-form={form}]').click()")
    end = time.monotonic() + 20
    while not (found := list(folder.glob(f"*.{form}"))):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found[0].read_bytes().decode()


def _wilson(hits: int, number: int) -> tuple[float, float]:
    """Return the shares whose test would not reject: the roots of (hits/n - p)^2 = z^2 p (1 - p) / n."""
    share, square = hits / number, 1.959963984540054**2
    a, b, c = 1 + square / number, -(2 * share + square / number), share**2
    root = math.sqrt(b * b - 4 * a * c)
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


@pytest.mark.parametrize("width", [1400, 390])
def test_nothing_reaches_out_of_the_window(
    browser: Browser, built_run: Run, tmp_path: Path, width: int
) -> None:
    browser.complaints()
    _open(browser, _page(built_run, tmp_path / "page.html"), width)
    _judge(browser, 0, "fail", "wording", "x" * 300)
    assert browser.run(_OVERFLOWING) == []
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.run(_CROWDED) == 0
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    assert browser.complaints() == []


def test_judgements_are_counted_kept_and_saved(browser: Browser, built_run: Run, tmp_path: Path) -> None:
    page = _page(built_run, tmp_path / "page.html", seed=1)
    drawn = [one.row.trajectory_id for one in draw_trajectories(built_run, 12, 1)]
    _open(browser, page)
    assert _told(browser) == "0 of 12 judged"
    note = '=1+1, "quoted"\nand a line'
    for place in range(3):
        _judge(browser, place, "pass")
    _judge(browser, 3, "fail", "untold", note)
    low, high = _wilson(3, 4)
    assert _told(browser) == (
        f"4 of 12 judged · 3 pass, 1 fail · 75.0 % pass (95 %: {100 * low:.1f} % to {100 * high:.1f} %)"
    )
    # To name a reason is to fail it; what was judged may be judged anew.
    browser.run(
        "const s = document.querySelectorAll('.item')[4].querySelector('.reason'); s.value = 'call';"
        "s.dispatchEvent(new Event('change', {bubbles: true}))"
    )
    _judge(browser, 2, "fail")
    assert _told(browser).startswith("5 of 12 judged · 2 pass, 3 fail · 40.0 % pass")
    _open(browser, page)  # another look at the same page
    assert _told(browser).startswith("5 of 12 judged · 2 pass, 3 fail")

    saved: dict[str, Any] = json.loads(_save(browser, tmp_path, "json"))
    assert saved["kind"] == "planarena-reading"
    assert (saved["run"], saved["seed"], saved["drawn"]) == ("a <run> & more", 1, 12)
    assert (saved["judged"], saved["passed"], saved["failed"], saved["pass_share"]) == (5, 2, 3, 0.4)
    assert saved["wilson_95"] == pytest.approx(_wilson(2, 5))
    assert [one["trajectory_id"] for one in saved["judgements"]] == drawn
    assert [one["verdict"] for one in saved["judgements"]][:6] == ["pass", "pass", "fail", "fail", "fail", ""]
    assert saved["judgements"][3] | {"number": 4, "reason": "untold", "note": note} == saved["judgements"][3]
    rows = list(csv.reader(io.StringIO(_save(browser, tmp_path, "csv"), newline="")))
    assert rows[0] == ["number", "trajectory_id", "verdict", "reason", "note", "reader", "seed"]
    # No spreadsheet takes the note for a formula.
    assert rows[4] == ["4", drawn[3], "fail", "untold", f"'{note}", "", "1"]
    assert len(rows) == 13


def test_a_saved_file_is_gone_on_from_and_a_strange_one_is_refused(
    browser: Browser, built_run: Run, tmp_path: Path
) -> None:
    _open(browser, _page(built_run, tmp_path / "page.html", 5, 2))
    first = browser.run("return document.querySelector('.item').dataset.id")

    def load(text: str) -> str:
        browser.run(f"""
const data = new DataTransfer(); data.items.add(new File([{json.dumps(text)}], 'saved.json'));
document.querySelector('.said[role=status]').textContent = '';
const input = document.querySelector('.file'); input.files = data.files; input.dispatchEvent(new Event('change', {{bubbles: true}}));
""")
        _wait(browser, "document.querySelector('.said[role=status]').textContent")
        return str(browser.run("return document.querySelector('.said[role=status]').textContent"))

    judgements = [
        {"trajectory_id": first, "verdict": "fail", "reason": "no such reason", "note": "<b>kept</b>"},
        {"trajectory_id": "ffff", "verdict": "pass"},
        None,
    ]
    for strange in ("no JSON", "[]", "null", '{"kind": "another"}'):
        assert load(strange) == "That is no saved reading."
    assert _told(browser) == "0 of 5 judged"
    told = load(json.dumps({"kind": "planarena-reading", "judgements": judgements, "reader": "Ann"}))
    assert told == "1 of 5 were in the file."
    assert _told(browser).startswith("1 of 5 judged · 0 pass, 1 fail · 0.0 % pass")
    assert browser.run(
        "const i = document.querySelector('.item'); return [i.querySelector('.reason').value, i.querySelector('.note').value,"
        " document.querySelector('.reader').value]"
    ) == ["", "<b>kept</b>", "Ann"]


@pytest.mark.parametrize("width", [1400, 390])
def test_hostile_text_runs_nothing(browser: Browser, hostile_run: Run, tmp_path: Path, width: int) -> None:
    # Drawn by hand: the name of the category is poisoned too.
    drawn = list(islice((one for one in join_trajectories(hostile_run) if one.row.kind == "gold"), 8))
    page = tmp_path / "page.html"
    page.write_text(render_reading(hostile_run.info["stop_reason"], drawn, 0), encoding="utf-8")
    browser.complaints()
    _open(browser, page, width)
    text = browser.run("return document.querySelector('main').innerText")
    assert text.count("<script>alert(1)</script>") > 10
    assert not set("\x1b\x07\x9b\u202e") & set(text)
    assert browser.run(_OVERFLOWING) == []
    assert browser.run("return document.querySelectorAll('script').length") == 1
    assert browser.run("return document.querySelectorAll('img, iframe').length") == 0
    assert browser.complaints() == []
