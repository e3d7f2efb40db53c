"""The viewer in a real browser: no script error, no request beyond loopback, it follows a training, keys work."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from planarena import Run

if TYPE_CHECKING:
    from conftest import Browser

TOKEN = "token-of-a-test"


@pytest.fixture(scope="module")
def site(built_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A viewer on loopback over a run and a training that can be written to; it ends with the tests."""
    folder = tmp_path_factory.mktemp("view")
    (folder / "run").symlink_to(built_run.path)
    training = folder / "training"
    training.mkdir()
    (training / "run.json").write_text('{"kind": "training", "status": "running", "steps": 9}')
    (training / "metrics.jsonl").write_text(
        '{"step": 1, "reward/mean": 0.25}\n{"step": 2, "reward/mean": 0.5}\n'
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "planarena",
        "view",
        str(folder),
        str(built_run.path),
        "--port",
        str(port),
    ]
    environment = {
        "PLANARENA_VIEW_TOKEN": TOKEN,
        "PATH": "/usr/bin:/bin",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": ":".join(sys.path),
    }
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert f"?token={TOKEN}" in said, said
        yield f"http://127.0.0.1:{port}", training
        process.terminate()


def visit(browser: Browser, url: str, width: int = 1400) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.command("Emulation.setDeviceMetricsOverride", metrics)
    browser._call("POST", "/url", {"url": url})


def test_pages_fit_make_no_error_and_ask_nobody_else(browser: Browser, site: tuple[str, Path]) -> None:
    address, _ = site
    visit(browser, f"{address}/?token={TOKEN}")
    assert "token" not in browser.run("return location.href")
    home = browser.run("return document.body.innerHTML")
    run, training = re.search(r'href="/run/(\w+)"', home), re.search(r'href="/training\?t=(\w+)"', home)
    assert run is not None and training is not None
    visit(browser, f"{address}/run/{run[1]}?kind=contrastive")
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
            visit(browser, address + path, width)
            wide = browser.run("return document.documentElement.scrollWidth")
            assert wide <= width, (path, width, wide)
            asked = browser.run("return performance.getEntriesByType('resource').map((one) => one.name)")
            assert asked and all(one.startswith((address, "data:")) for one in asked), asked
    assert browser.complaints() == []


def test_a_graph_is_drawn_and_keys_move(browser: Browser, site: tuple[str, Path]) -> None:
    address, _ = site
    visit(browser, f"{address}/?token={TOKEN}")
    run = re.search(r'href="/run/(\w+)"', browser.run("return document.body.innerHTML"))
    assert run is not None
    visit(browser, f"{address}/run/{run[1]}?kind=gold&category=call&sort=longest")
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


def test_what_a_training_writes_is_shown_while_one_looks(browser: Browser, site: tuple[str, Path]) -> None:
    address, training = site
    visit(browser, f"{address}/?token={TOKEN}")
    key = re.search(r'href="/training\?t=(\w+)"', browser.run("return document.body.innerHTML"))
    assert key is not None
    visit(browser, f"{address}/training?t={key[1]}")
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
