"""Argilla's page in a headless Chromium, as two annotators use it; and the sheet, in the same browser."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))
from audit_server import Browser, client, dataset_id, place_of, records_of, shared_server, small_run

from planarena import Run
from planarena.annotation import Plan, export_run, import_answers, pull_run, push_run
from planarena.annotation.argilla import Argilla
from planarena.annotation.embedded import read_credentials
from planarena.annotation.forms import form
from planarena.annotation.items import escape
from planarena.export.trajectories import join_trajectories

pytestmark = pytest.mark.slow

ENTER, RIGHT = "\ue006", "\ue014"
# Attacks that ran, or hid what they said, in some field of Argilla: they would rename the page.
HOSTILE = (
    "<script>top.document.title = 'owned'</script>",
    "<img src=x onerror=\"top.document.title = 'owned'\">",
    '{"x":"<tag>"}',
    "</script><script>top.document.title = 'owned'</script>",
    "{{constructor.constructor('return top')().document.title}}",
    "**bold** <b>tag</b> &lt;entity&gt; `code`",
)
FRAMES = """
    return [...document.querySelectorAll('iframe')].map((one) => one.contentDocument?.body?.innerText).join('\\n')
"""


@pytest.fixture(scope="module")
def browser():
    with Browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def pushed(tmp_path_factory):
    data = shared_server()
    path = small_run(tmp_path_factory.mktemp("page") / "page")
    push_run(Run.open(path), place_of(data), Plan(limit=8, blind=1.0))
    return data, path


def enter(browser, data, person, name, query=""):
    """Log in as somebody, if it is not them already, and open a dataset."""
    url = place_of(data).url
    browser.log_in(url, person, read_credentials(data).annotators[person].password)
    show(browser, data, name, query)


def show(browser, data, name, query=""):
    browser.open(f"{place_of(data).url}/dataset/{dataset_id(data, name)}/annotation-mode{query}")
    browser.element("form.questions-form, form")
    browser.until("return document.querySelectorAll('iframe').length > 0")
    # The template holds these words, too, before it is filled in.
    browser.until(
        f"const told = (() => {{ {FRAMES} }})(); return told.includes('Known before') && !told.includes('#if')"
    )


def choose(browser, question, option):
    """Click an option of a question as a person finds it: by what stands there."""
    browser.until(
        """
        const groups = [...document.querySelectorAll('form label')].filter((one) => one.innerText.trim().replace(/^\\d+\\s*/, '').startsWith(arguments[1]));
        const found = groups.find((one) => {
          let box = one;
          while (box && !box.innerText.includes(arguments[0])) box = box.parentElement;
          return box && !/\\d\\. /.test(box.innerText.replace(arguments[0], ''));
        });
        if (!found) return false;
        const box = document.getElementById(found.getAttribute('for'));
        if (!box || !box.checked) found.click();
        return true;
        """,
        question,
        option,
    )


def submit(browser):
    browser.until(
        """
        const button = [...document.querySelectorAll('button')].find((one) => one.innerText.trim().endsWith('Submit'));
        if (!button || button.disabled) return false;
        button.click();
        return true;
        """
    )


def submitted(data, name, person):
    with client(data) as http:
        people = {one["id"]: one["username"] for one in http.get("/api/v1/users").json()["items"]}
    return {
        one["external_id"]: {key: value["value"] for key, value in given["values"].items()}
        for one in records_of(data, name)
        for given in one["responses"]
        if people[given["user_id"]] == person and given["status"] == "submitted"
    }


def await_answers(data, name, person, number):
    import time

    end = time.monotonic() + 20
    while len(found := submitted(data, name, person)) < number:
        assert time.monotonic() < end, found
        time.sleep(0.2)
    return found


def test_two_annotators_answer_and_their_answers_come_back(browser, pushed):
    data, path = pushed
    name = "page-trajectories"
    enter(browser, data, "ann", name)
    text = browser.text()
    for question in form("trajectories").questions:
        assert question.title in text
    assert "1 of 8" in text
    choose(browser, "1. Does the query", "Yes")
    choose(browser, "2. Does the trajectory", "No")
    choose(browser, "3. Does the final answer", "No")
    choose(browser, "4. Issues", "Wrong value")
    choose(browser, "5. First wrong step", "1")
    picture = os.environ.get("PLANARENA_TEST_PICTURES")
    if picture:
        browser.picture(Path(picture) / "argilla.png")
    browser.until(
        "return document.querySelectorAll('form [contenteditable=true], form textarea').length >= 2"
    )
    for place, said in enumerate(('{"name": "x", "arguments": {}}', "said by ann")):
        browser.run(
            "const one = document.querySelectorAll('form [contenteditable=true], form textarea')[arguments[0]]; one.scrollIntoView(); one.focus()",
            place,
        )
        browser.keys(*said)
    submit(browser)
    (values,) = await_answers(data, name, "ann", 1).values()
    assert values == {
        "query_ok": "yes", "goal_ok": "no", "answer_ok": "no", "issues": ["wrong_value"], "first_wrong_step": "1",
        "corrected_call": '{"name": "x", "arguments": {}}', "comment": "said by ann",
    }  # fmt: skip
    browser.until("return /Submitted 1$/.test(TEXT())")

    # Bob gets the record that ann has answered first: it is nearest to its target.
    (about,) = submitted(data, name, "ann")
    enter(browser, data, "bob", name)
    choose(browser, "1. Does the query", "Yes")
    choose(browser, "2. Does the trajectory", "Yes")
    submit(browser)
    assert list(await_answers(data, name, "bob", 1)) == [about]

    pulled = pull_run(Run.open(path), place_of(data))
    assert pulled.answers == {"trajectories": 2}
    audits = {row["annotator"]: row for row in Run.open(path).table("audits").collect().to_dicts()}
    assert (audits["ann"]["goal_ok"], audits["bob"]["goal_ok"]) == (False, True)
    assert json.loads(audits["ann"]["issues"]) == ["wrong_answer", "wrong_value"]
    assert (audits["ann"]["comment"], audits["ann"]["first_wrong_step"]) == ("said by ann", 0)
    assert pulled.disagreements == 1


def test_number_keys_enter_and_arrows_work(browser, pushed):
    data, _ = pushed
    name = "page-trajectories"
    enter(browser, data, "eve", name)
    before = browser.run(FRAMES)
    browser.keys(RIGHT)
    browser.until(
        f"return (() => {{ {FRAMES} }})() !== arguments[0] && TEXT().includes('2 of')",
        before,
    )
    browser.run("document.querySelector('form input[id^=query_ok]').focus()")
    browser.keys("2")
    browser.until(
        "return document.activeElement.id.startsWith('goal_ok')"
    )  # a choice leads to the next question
    browser.keys("2")
    browser.until("return ['query_ok_no', 'goal_ok_no'].every((one) => document.getElementById(one).checked)")
    browser.keys(ENTER)
    (values,) = await_answers(data, name, "eve", 1).values()
    assert (values["query_ok"], values["goal_ok"]) == ("no", "no")


def test_search_filter_sort_and_guidelines_work(browser, pushed):
    data, path = pushed
    joined = {one.row.trajectory_id: one for one in join_trajectories(Run.open(path))}
    mine = [joined[one["external_id"]] for one in records_of(data, "page-trajectories")]
    enter(browser, data, "eve", "page-trajectories", "?page=1&status=pending")
    pending = 8 - len(submitted(data, "page-trajectories", "eve"))
    word = max((word for one in mine for word in one.turns[0].split() if word.isalpha()), key=len)
    browser.run(
        "[...document.querySelectorAll('button, .search-bar, [class*=search]')].find((one) => one.querySelector('svg') && /search/i.test(one.className + one.title)).click()"
    )
    browser.type("input[type=search], .search-area input, input[placeholder*=earch]", word + ENTER)
    hits = browser.until(
        "const found = TEXT().match(/1 of (\\d+)/); return found && Number(found[1]) < arguments[0] ? Number(found[1]) : 0",
        pending,
    )
    assert 0 < hits < pending
    browser.until(
        "return location.search.includes('query=') || location.search.includes('search=') || location.search.includes('_search=')"
    )

    domain = mine[0].scenario.domain
    wanted = sum(one.scenario.domain == domain for one in mine)
    scope = f"?page=1&status=submitted&filters=metadata.domain.{domain}"
    assert scope
    enter(browser, data, "eve", "page-trajectories", "?page=1&status=pending")
    browser.run(
        "[...document.querySelectorAll('button, span, p')].find((one) => one.innerText.trim() === 'Filters').click()"
    )
    browser.until("return TEXT().includes('Metadata')")
    browser.run(
        "[...document.querySelectorAll('*')].filter((one) => one.children.length === 0 && one.innerText && one.innerText.trim() === 'Metadata')[0].click()"
    )
    browser.until("return TEXT().includes('Parallel groups') && TEXT().includes('Domain')")
    shown = browser.text()
    assert "Mutation" not in shown and "Generator" not in shown
    assert wanted

    browser.open(browser.run("return location.origin + location.pathname"))
    browser.until("return TEXT().toUpperCase().includes('GUIDELINES')")
    browser.run(
        "[...document.querySelectorAll('*')].filter((one) => one.children.length === 0 && /guidelines/i.test(one.innerText || ''))[0].click()"
    )
    browser.until("return TEXT().includes('Judging a trajectory')")


def test_a_trajectory_reads_step_by_step_and_nothing_scrolls_sideways(browser, pushed):
    data, path = pushed
    joined = {one.row.trajectory_id: one for one in join_trajectories(Run.open(path))}
    enter(browser, data, "eve", "page-trajectories")
    told = browser.run(FRAMES)
    fits = [
        one
        for one in joined.values()
        if one.responses[-1] in told and all(each.tool.wire_name in told for each in one.actions)
    ]
    assert fits, told
    for one in fits:
        for action in one.actions[:1]:  # a task may need no call at all
            assert (
                told.index(action.tool.wire_name) < told.index("Observation") < told.index(one.responses[-1])
            )
    for width in (1440, 1100):
        browser._post("/window/rect", {"width": width, "height": 900})
        sizes = browser.until(
            "const all = [document, ...[...document.querySelectorAll('iframe')].map((one) => one.contentDocument)]; return all.map((one) => [one.documentElement.scrollWidth, one.documentElement.clientWidth])"
        )
        assert all(whole <= seen for whole, seen in sizes), sizes
    browser._post("/window/rect", {"width": 1440, "height": 1000})
    # A fold opens and its frame grows with it.
    folds = browser.run(
        """
        for (const frame of document.querySelectorAll('iframe')) {
          const fold = frame.contentDocument.querySelector('details');
          if (fold) { const before = frame.clientHeight; fold.querySelector('summary').click(); window.__frame = frame; window.__before = before; return true; }
        }
        return false;
        """
    )
    assert folds
    browser.until(
        "const inner = window.__frame.contentDocument.documentElement; return window.__frame.clientHeight > window.__before || inner.scrollHeight <= window.__frame.clientHeight || getComputedStyle(inner).overflowY !== 'hidden'"
    )


def test_hostile_values_show_verbatim_and_run_nothing(browser, pushed, tmp_path):
    data, path = pushed
    run = Run.open(path)
    from planarena.annotation.offering import choose as chosen
    from planarena.annotation.offering import trajectory_ids, trajectory_items

    (item,) = trajectory_items(run, chosen(trajectory_ids(run), 1), 0.0)
    every = "\n".join(HOSTILE)
    step = {
        "number": 1, "tool": escape(HOSTILE[0]), "plan": escape(HOSTILE[1]), "origins": [escape(HOSTILE[2])],
        "arguments": {"text": escape(every), "fold": False, "lines": 1, "brief": ""}, "failed": escape(HOSTILE[3]),
        "observation": {"text": escape(every), "fold": False, "lines": 9, "brief": escape(every)},
    }  # fmt: skip
    turn = {
        "said": escape(every),
        "groups": [{"parallel": False, "title": "", "steps": [step]}],
        "response": escape(every),
    }
    fields = {
        "query": escape(every),
        "plan": escape(every),
        "trajectory": {"known": [{"name": "x", "value": escape(every)}], "turns": [turn]},
        "tools": {"tools": [{"name": escape(every), "description": escape(every), "schema": escape(every)}]},
    }
    hostile = item._replace(fields=fields, suggestions=())
    with Argilla(place_of(data)) as argilla:
        dataset = argilla.ensure_dataset("hostile-trajectories", form("trajectories"), 1)
        argilla.push(dataset, [hostile])
    enter(browser, data, "ann", "hostile-trajectories")
    browser.until("return document.querySelectorAll('iframe').length >= 2")
    page, frames = browser.text(), browser.run(FRAMES)
    for text in HOSTILE:
        assert page.count(text) >= 2, f"{text!r} in query and plan"
        assert frames.count(text) >= 5, f"{text!r} in the trajectory"
    assert "owned" not in browser.run(
        "return document.title + [...document.querySelectorAll('iframe')].map((one) => one.contentDocument.title)"
    )
    inner = browser.run(
        "return [...document.querySelectorAll('iframe')].map((one) => [one.contentDocument.querySelectorAll('.pa script, .pa img, .pa b b, tag').length])"
    )
    assert all(number == 0 for (number,) in inner)
    assert browser.run("return document.querySelectorAll('form img[src=x], .record img[src=x]').length") == 0


def test_the_sheet_works_without_a_server(browser, tmp_path):
    path = small_run(tmp_path / "run")
    run = Run.open(path)
    page = export_run(run, tmp_path / "sheet", Plan(limit=3, blind=1.0, overlap=1))[0]
    browser.open(page.as_uri())
    browser.until("return document.getElementById('progress').innerText === '0 of 3 done'")
    assert browser.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    browser.type("#annotator", "ann")
    # What is not answered cannot be done.
    browser.run("document.querySelector('.finished').click()")
    browser.until(
        "return document.querySelector('.finished').checked === false && document.querySelector('fieldset.open') !== null"
    )
    browser.run(
        """
        for (const article of [...document.querySelectorAll('article')].slice(0, 2)) {
          for (const name of ['query_ok', 'goal_ok']) article.querySelector(`[data-question=${name}][value=yes]`).click();
          article.querySelector('[data-question=comment]').value = 'fine "so" <far>';
          article.querySelector('.finished').click();
        }
        """
    )
    browser.until("return document.getElementById('progress').innerText === '2 of 3 done'")
    browser.open(page.as_uri())  # what was answered is kept
    browser.until("return document.getElementById('progress').innerText === '2 of 3 done'")
    browser.run("document.getElementById('save').click()")
    import time

    end = time.monotonic() + 20
    while not (found := list(browser.downloads.glob("*.jsonl"))):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert found[0].name == "answers-trajectories-ann.jsonl"
    pulled = import_answers(run, found)
    assert pulled.labels == {"positive": 2}
    rows = run.table("audits").collect().to_dicts()
    assert {(row["annotator"], row["comment"], row["blind"]) for row in rows} == {
        ("ann", 'fine "so" <far>', True)
    }


def test_the_sheet_shows_hostile_values_and_runs_nothing(browser, tmp_path):
    from planarena.annotation.forms import Item
    from planarena.annotation.sheet import write_sheet

    every = escape("\n".join(HOSTILE))
    block = {"text": every, "fold": False, "lines": 1, "brief": ""}
    step = {
        "number": 1,
        "tool": every,
        "plan": every,
        "origins": [every],
        "failed": every,
        "arguments": block,
        "observation": block,
        "call": every,
    }
    node = {"number": 1, "name": every, "failed": False, "x": 1, "y": 1, "text_x": 2, "text_y": 2}
    fields = {
        "graph": {"width": 9, "height": 9, "words": every, "edges": [], "nodes": [node]},
        "query": every, "plan": every, "tools": {"tools": [{"name": every, "description": every, "schema": every}]},
        "trajectory": {"known": [], "turns": [{"said": every, "response": every,
                       "groups": [{"parallel": False, "title": "", "steps": [step]}]}]},
    }  # fmt: skip
    item = Item("ab", fields, {"version": "v", "guidelines": "g", "blind": "yes"}, ())
    page, lines = write_sheet(tmp_path, form("trajectories"), [item], HOSTILE[0])
    browser.open(page.as_uri())
    browser.until("return document.getElementById('progress').innerText === '0 of 1 done'")
    text = browser.text()
    for one in HOSTILE:
        assert text.count(one) >= 8
    assert (
        "owned" not in browser.run("return document.title")
        or browser.run("return document.title") == HOSTILE[0]
    )
    assert browser.run("return document.querySelectorAll('main script, main img').length") == 0
    # For programs the same texts are as they were.
    assert json.loads(lines.read_text())["shown"]["query"] == "\n".join(HOSTILE)
