"""The viewer in a real browser: no script error, no request beyond loopback, it follows a training, keys work."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Browser, Site


def test_pages_fit_make_no_error_and_ask_nobody_else(browser: Browser, site: Site) -> None:
    address = site.address
    browser.visit(f"{address}/?token={site.token}")
    assert "token" not in browser.run("return location.href")
    home = browser.run("return document.body.innerHTML")
    run, training = re.search(r'href="/run/(\w+)"', home), re.search(r'href="/training\?t=(\w+)"', home)
    assert run is not None and training is not None
    browser.visit(f"{address}/run/{run[1]}?kind=contrastive")
    row = browser.run("return document.querySelector('[data-row]').getAttribute('href')")
    browser.complaints()
    for path in (
        "/",
        f"/run/{run[1]}",
        f"/run/{run[1]}/scorecard",
        row,
        f"/training?t={training[1]}",
        f"/play/{run[1]}",
    ):
        for width in (390, 2000):
            browser.visit(address + path, width)
            wide = browser.run("return document.documentElement.scrollWidth")
            assert wide <= width, (path, width, wide)
            asked = browser.run("return performance.getEntriesByType('resource').map((one) => one.name)")
            assert asked and all(one.startswith((address, "data:")) for one in asked), asked
    assert browser.complaints() == []


def test_a_graph_is_drawn_and_keys_move(browser: Browser, site: Site) -> None:
    address = site.address
    browser.visit(f"{address}/?token={site.token}")
    run = re.search(r'href="/run/(\w+)"', browser.run("return document.body.innerHTML"))
    assert run is not None
    browser.visit(f"{address}/run/{run[1]}?kind=gold&category=call&sort=longest")
    press = "dispatchEvent(new KeyboardEvent('keydown', {{key: '{}', bubbles: true}}))"
    key = "(document.activeElement ?? document.body)." + press
    browser.run(key.format("j") + ";" + key.format("j"))
    places = browser.run(
        "return [...document.querySelectorAll('[data-row]')].indexOf(document.activeElement)"
    )
    assert places == 1
    browser.run(key.format("k") + "; document.activeElement.click()")
    steps = browser.run("return document.querySelectorAll('.graph g.step').length")
    listed = browser.run("return document.querySelectorAll('li.v-step').length")
    assert steps == listed > 1
    here = browser.run("return location.href")
    browser.run(key.format("j"))
    assert browser.run("return location.href") != here
    browser.run(key.format("k"))
    assert browser.run("return location.href") == here
    browser.run(key.format("?"))
    assert browser.run("return document.querySelector('dialog').open")
    assert browser.complaints() == []


def test_what_a_training_writes_is_shown_while_one_looks(browser: Browser, site: Site) -> None:
    address, training = site.address, site.training
    browser.visit(f"{address}/?token={site.token}")
    key = re.search(r'href="/training\?t=(\w+)"', browser.run("return document.body.innerHTML"))
    assert key is not None
    browser.visit(f"{address}/training?t={key[1]}")
    shown = "return document.querySelector('.v-status b').textContent"
    assert browser.run(shown) == "step 2 of 9"
    with (training / "metrics.jsonl").open("a") as sink:
        sink.write(json.dumps({"step": 3, "reward/mean": 0.75}) + "\n")
    written = time.monotonic()
    # The page asks once a second; how long a loaded machine takes to answer is no promise of the page.
    while browser.run(shown) != "step 3 of 9":
        assert time.monotonic() - written < 60
        time.sleep(0.02)
    assert "0.75 at step 3" in browser.run("return document.querySelector('.v-panels').innerHTML")
    assert browser.complaints() == []
