"""Every kind of page in light and dark: axe-core finds nothing serious (contrast, names, keyboard, structure)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planarena import Run, managed
from planarena.errors import EnvironmentUnavailableError
from planarena.eval import EvalConfig, evaluate
from planarena.report.reading import draw_trajectories, render_reading

if TYPE_CHECKING:
    from conftest import Browser, Site

pytestmark = pytest.mark.full
_LOOK = """axe.run().then((found) => JSON.stringify(found.violations.map(
    (one) => [one.impact, one.id, one.nodes.map((node) => node.html)])))"""


@pytest.fixture(scope="module")
def axe(root: Path) -> str:
    try:
        place = managed.environment("axe", lock=root / "requirements/axe.lock")
    except EnvironmentUnavailableError as error:
        pytest.skip(f"axe-core cannot be installed here: {error.what}")
    (script,) = place.path.rglob("axe.min.js")
    return script.read_text()


@pytest.fixture(scope="module")
def addresses(
    browser: Browser, site: Site, built_run: Run, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """The viewer's pages and those that commands write."""
    browser.visit(f"{site.address}/?token={site.token}")
    home = browser.run("return document.body.innerHTML")
    run, training = (re.search(rf'href="({part})"', home) for part in (r"/run/\w+", r"/training\?t=\w+"))
    assert run is not None and training is not None
    browser.visit(f"{site.address}{run[1]}?kind=contrastive")
    row = browser.run("return document.querySelector('[data-row]').getAttribute('href')")
    folder = tmp_path_factory.mktemp("pages")
    evaluate(EvalConfig(suites=("planarena",), out=str(folder / "scores"), responses="gold", limit=1))
    drawn = draw_trajectories(built_run, 5, 0)
    (folder / "reading.html").write_text(render_reading(built_run.path.name, drawn, 0), encoding="utf-8")
    viewed = ("/", run[1], f"{run[1]}/scorecard", row, training[1], run[1].replace("run", "play"))
    files = (
        built_run.path / "report.html", folder / "scores/report.html", folder / "scores/items.html",
        folder / "reading.html",
    )  # fmt: skip
    return [*(site.address + path for path in viewed), *(file.as_uri() for file in files)]


def violations(browser: Browser, axe: str) -> Iterator[list[Any]]:
    browser.command("Runtime.evaluate", {"expression": axe})
    wanted = {"expression": _LOOK, "awaitPromise": True, "returnByValue": True}
    yield from json.loads(browser.command("Runtime.evaluate", wanted)["result"]["value"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_barrier(browser: Browser, axe: str, addresses: list[str], scheme: str) -> None:
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.command("Emulation.setEmulatedMedia", {"features": media})
    found = {}
    for address in addresses:
        browser.visit(address)
        wrong = [one for one in violations(browser, axe) if one[0] in ("serious", "critical")]
        if wrong:
            found[address] = wrong
    assert not found


def test_a_barrier_is_found(browser: Browser, axe: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><html><body><p style='color:#eee;background:#fff'>hard to read</p>")
    browser.visit(page.as_uri())
    assert {"color-contrast", "html-has-lang"} <= {one[1] for one in violations(browser, axe)}
