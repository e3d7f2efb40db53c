"""The report of a build in a real browser: opens from disk, fits wide and narrow windows, shows and filters."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planarena import Run
from planarena.export import join_trajectories
from planarena.report import render_report

if TYPE_CHECKING:
    from conftest import Browser

_OVERFLOWING = """
return [...document.querySelectorAll('main *')].filter(e => {
  if (e.closest('.scroll') || e.closest('pre') || e.closest('svg') || e.closest('option')) return false;
  return e.getBoundingClientRect().right > innerWidth + 0.5;
}).map(e => e.outerHTML.slice(0, 200));
"""
_MEETING = """
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
_TOO_LONG = (
    "return [...document.querySelectorAll('g.step')].filter(g => "
    "g.querySelector('.name').getBBox().width > g.querySelector('rect').width.baseVal.value - 32)"
    ".map(g => g.textContent)"
)


def _wait(browser: Browser, condition: str) -> None:
    end = time.monotonic() + 20
    while not browser.run(f"return Boolean({condition})"):
        assert time.monotonic() < end, condition
        time.sleep(0.02)


def open_report(browser: Browser, page: Path, width: int = 1280) -> None:
    browser.open(Path("/dev/null"))  # the same address with another fragment would not load again
    browser.open(page, width)
    _wait(browser, "document.querySelector('#trajectories.ready')")


def show(browser: Browser, trajectory_id: str) -> str:
    """Open a trajectory with all that it folds, and return its text."""
    browser.run(f"location.hash = 't={trajectory_id}'")
    _wait(browser, f"document.querySelector('.detail').dataset.id?.startsWith('{trajectory_id}')")
    browser.run("document.querySelectorAll('.detail details').forEach(one => one.open = true)")
    text: str = browser.run("return document.querySelector('.detail').innerText")
    return text


def listed(browser: Browser) -> list[str]:
    """The ids on the page of the list."""
    ids: list[str] = browser.run(
        "return [...document.querySelectorAll('button.row')].map(one => one.dataset.id)"
    )
    return ids


def choose(browser: Browser, **values: str) -> str:
    """Set filters by name, or the search with `text`, and return what the list counts."""
    for name, value in values.items():
        place = ".search" if name == "text" else ".sort" if name == "sort" else f"select[name={name}]"
        browser.run(
            f"const field = document.querySelector('#trajectories {place}'); field.value = {json.dumps(value)};"
            "field.dispatchEvent(new Event(field.tagName === 'INPUT' ? 'input' : 'change'));"
        )
    return count(browser)


def count(browser: Browser) -> str:
    text: str = browser.run("return document.querySelector('#trajectories .count').textContent")
    return text


@pytest.fixture(scope="module")
def joined(built_run: Run) -> dict[str, Any]:
    return {one.row.trajectory_id: one for one in join_trajectories(built_run)}


def _kind(one: Any) -> str:
    return "no call" if one.row.kind == "gold" and one.task.category != "call" else str(one.row.kind)


def _last(one: Any) -> int:
    """The last step whose choices are shown: after a wrong one the states are no longer those of the gold one."""
    return int(one.row.diverge_step) if one.row.kind == "contrastive" else len(one.actions)


@pytest.mark.parametrize("width", [1280, 420])
def test_nothing_reaches_out_of_the_window(browser: Browser, built_run: Run, width: int) -> None:
    browser.complaints()
    open_report(browser, built_run.path / "report.html", width)
    for trajectory_id in listed(browser)[:12]:
        show(browser, trajectory_id)
        assert browser.run(_OVERFLOWING) == []
        assert browser.run("return document.documentElement.scrollWidth") <= width
        assert browser.run(_TOO_LONG) == []
        assert browser.run(_MEETING) == []
    assert browser.complaints() == []


def test_every_trajectory_shows_what_the_tables_hold(
    browser: Browser, built_run: Run, joined: dict[str, Any]
) -> None:
    open_report(browser, built_run.path / "report.html")
    points: dict[str, list[int]] = {}
    for row in built_run.table("decision_points").collect().to_dicts():
        points.setdefault(row["trajectory_id"], []).append(row["step"])
    shown = {}
    # Some of each kind, over the whole run.
    for kind in ("gold", "contrastive", "no call"):
        names = [name for name, one in joined.items() if _kind(one) == kind]
        shown |= dict.fromkeys(names[:: max(1, len(names) // 6)], kind)
    for name, kind in shown.items():
        one, text = joined[name], show(browser, name)
        words = " ".join(text.split())
        for told in (*one.turns, *one.responses, one.row.plan, one.scenario.title, name, one.scenario.domain):
            assert " ".join(told.split()) in words
        for action in one.actions:
            assert f"{action.number + 1}. {action.tool.wire_name}" in text
            assert " ".join(action.plan.split()) in words
        graph = "return document.querySelectorAll('.detail g.step').length"
        assert browser.run(graph) == len(one.actions)
        codes = browser.run(
            "return [...document.querySelectorAll('.detail ol.steps > li > pre, .detail ol.steps > li > "
            "details:not(.choices) > pre')].map(one => one.textContent)"
        )
        values = [value for action in one.actions for value in (action.arguments, action.observation)]
        assert [json.loads(code) for code in codes] == values
        if kind == "contrastive":
            assert "Wrong from here: " + one.row.mutation.replace("_", " ") in text
            marked = browser.run("return [...document.querySelectorAll('li.wrong')].length")
            assert marked == 1
        if kind == "no call":
            assert "No call is right here." in text
        steps = len([number for number in points.get(one.row.parent_id or name, ()) if number <= _last(one)])
        assert len(re.findall(r"\d+ choices? here, \d+ right", text)) == steps


def test_filters_find_what_the_tables_hold(browser: Browser, built_run: Run, joined: dict[str, Any]) -> None:
    open_report(browser, built_run.path / "report.html")

    def expect(fits: Callable[[Any], bool], **values: str) -> None:
        wanted = sorted(name for name, one in joined.items() if fits(one))
        assert wanted, values
        told = choose(browser, **values)
        whole = "" if len(wanted) == len(joined) else f" (all: {len(joined)})"
        assert told == f"1 to {min(50, len(wanted))} of {len(wanted)}{whole}"
        found = listed(browser)
        while browser.run(
            "const next = document.querySelector('.next'); if (next.disabled) return false; next.click(); return true"
        ):
            found += listed(browser)
        assert sorted(found) == wanted
        browser.run("document.querySelector('.clear').click()")
        assert count(browser) == f"1 to 50 of {len(joined)}"

    expect(lambda one: one.scenario.domain == "travel", domain="travel")
    expect(lambda one: _kind(one) == "contrastive", kind="contrastive")
    expect(lambda one: len(one.actions) == 3, length="3")
    expect(lambda one: one.task.expression.count(",") and "||" not in one.task.expression, form="serial")
    # Which changes a small run has depends on the words that its seed draws: the filter is tried with one it has.
    change = sorted({one.row.mutation for one in joined.values()} - {""})[0]
    expect(lambda one: one.row.mutation == change, mutation=change)
    expect(
        lambda one: "flight" in " ".join(one.turns).lower() or "flight" in one.task.expression, text="FLIGHT"
    )
    expect(
        lambda one: one.scenario.domain == "files" and len(one.actions) == 2 and _kind(one) == "gold",
        domain="files",
        length="2",
        kind="gold",
    )
    points = built_run.table("decision_points").collect().to_dicts()
    outcomes: dict[str, set[str]] = {}
    for row in points:
        found = {choice["outcome"] for choice in json.loads(row["candidates"])}
        outcomes.setdefault(row["trajectory_id"], set()).update(found)
    told = choose(browser, outcome="useless", kind="gold")
    gold = [name for name, one in joined.items() if _kind(one) == "gold" and "useless" in outcomes[name]]
    assert told.split(" of ")[1] == f"{len(gold)} (all: {len(joined)})"
    assert choose(browser, text="no such words anywhere") == "Nothing fits these filters."
    assert listed(browser) == []


def test_the_longest_come_first_when_asked(browser: Browser, built_run: Run, joined: dict[str, Any]) -> None:
    open_report(browser, built_run.path / "report.html")
    choose(browser, sort="longest")
    lengths = [len(joined[name].actions) for name in listed(browser)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] == max(len(one.actions) for one in joined.values())


def test_an_address_opens_a_trajectory(browser: Browser, built_run: Run, joined: dict[str, Any]) -> None:
    name = list(joined)[-1]
    open_report(browser, built_run.path / "report.html")
    show(browser, name[:12])
    assert browser.run("return document.querySelector('.detail').dataset.id") == name
    # From a wrong one to the one that it departs from, and back by the browser's own button.
    wrong = next(name for name, one in joined.items() if one.row.kind == "contrastive")
    show(browser, wrong)
    browser.run("document.querySelector('.detail button.other').click()")
    parent = joined[wrong].row.parent_id
    _wait(browser, f"document.querySelector('.detail').dataset.id === '{parent}'")
    browser.run("history.back()")
    _wait(browser, f"document.querySelector('.detail').dataset.id === '{wrong}'")
    browser.run("location.hash = 't=ffffffffffffffff'")
    _wait(browser, "document.querySelector('.detail').innerText.includes('not on the page')")


def test_numbers_stay_as_they_are(browser: Browser, root: Path) -> None:
    source = (root / "planarena/report/blocks.js").read_text()
    values = [
        '{"big":9223372036854775807,"tiny":1e-7,"text":"a \\\\\\"{[,:]} b","empty":{},"none":[]}',
        json.dumps({"list": list(range(60)), "inner": [{"a": "x" * 90}, [], {}]}, separators=(",", ":")),
    ]
    for value in values:
        shown = browser.run(f"{source}\nreturn layOut({json.dumps(value)})")
        assert json.loads(shown) == json.loads(value)
        assert "".join(shown.split()) == "".join(value.split())
    assert "9223372036854775807" in browser.run(f"{source}\nreturn layOut({json.dumps(values[0])})")
    cut = browser.run(f"{source}\nreturn layOut({json.dumps(values[1][:200] + chr(0) + '77')})")
    assert cut.endswith("\n… 77 more characters")


def test_colours_follow_the_reader(browser: Browser, built_run: Run) -> None:
    shades = {}
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.command("Emulation.setEmulatedMedia", {"features": [feature]})
        open_report(browser, built_run.path / "report.html")
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
    open_report(browser, page, width)
    for name in listed(browser)[:10]:
        text = show(browser, name)
        assert text.count("<script>alert(1)</script>") > 10
        assert "\\x1b[31m\\x07\\x9b2J\\u202e" in text
        assert not set("\x1b\x07\x9b\u202e") & set(text)
        assert browser.run(_OVERFLOWING) == []
    choose(browser, text="</script><script>")
    assert listed(browser)
    # The data and the one script of the page itself, and nothing that the data brought.
    own = "return [...document.querySelectorAll('script')].filter(one => one.type !== 'text/plain').length"
    assert browser.run(own) == 1
    assert browser.run("return document.querySelectorAll('img, iframe').length") == 0
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    assert browser.complaints() == []


def test_the_policy_stops_other_scripts_and_requests(
    browser: Browser, built_run: Run, tmp_path: Path
) -> None:
    """What would happen if a value ever escaped its escaping."""
    page = tmp_path / "report.html"
    text = render_report(built_run)
    escaped = (
        "<script>document.title = 'ran'</script><img src='http://127.0.0.1:9/x'><b style='color: red'>b</b>"
    )
    page.write_text(text.replace("<h1>", escaped + "<h1>"), encoding="utf-8")
    browser.complaints()
    open_report(browser, page)
    assert browser.run("return document.title") != "ran"
    assert (
        browser.run("return getComputedStyle(document.querySelector('main > b')).color") != "rgb(255, 0, 0)"
    )
    assert len(browser.complaints()) >= 3
