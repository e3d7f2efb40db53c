"""The documentation: links lead somewhere, the navigation names pages that exist, the references hold everything."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from planarena import managed
from planarena.cli import COMMANDS, _load
from planarena.errors import EnvironmentUnavailableError

# Pages that the site makes: docs/site/hooks.py.
MADE = ("reference/", "changelog.md", "security.md", "contributing.md")


def _load_tool(root: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{name}", root / f"docs/site/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def links(root: Path) -> ModuleType:
    return _load_tool(root, "links")


def test_markdown_links_and_anchors_lead_somewhere(root: Path, links: ModuleType) -> None:
    pages = [
        *root.glob("*.md"),
        *root.glob("docs/**/*.md"),
        *root.glob("planarena/environments/domains/*/*.md"),
    ]
    assert len(pages) > 40
    assert links.dead_markdown_links(pages) == []


def test_the_checkers_find_what_is_dead(links: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# Two words, `code`\n\n## Again\n\n## Again\n```\n# no heading\n```\n")
    (tmp_path / "a.md").write_text(
        "[x](b.md#two-words-code) [x](b.md#again-1) [x](b.md) ![x](no.png) [x](b.md#no-heading) "
        "[x](gone.md) [x](#nothing) [x](https://example.com/gone)\n```\n[x](in-code.md)\n```\n"
    )
    found = links.dead_markdown_links([tmp_path / "a.md"])
    assert found == ["a.md: no.png", "a.md: b.md#no-heading", "a.md: gone.md", "a.md: #nothing"]
    (tmp_path / "two.html").write_text('<h1 id="there">x</h1>')
    (tmp_path / "one.html").write_text(
        '<a href="two.html#there"></a><a href="two.html#gone"></a><a href="three.html"></a><img src="x.png">'
        '<a href="https://example.com"></a><script src="https://cdn.example.com/x.js"></script>'
    )
    assert links.dead_links(tmp_path) == [
        "one.html: two.html#gone", "one.html: three.html", "one.html: x.png",
    ]  # fmt: skip
    assert links.fetched_from_elsewhere(tmp_path) == ["one.html: https://cdn.example.com/x.js"]


def _pages(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from [value] if isinstance(value, str) else _pages(value)


def test_the_navigation_names_every_page_once(root: Path) -> None:
    """A page that it forgets is not lost: the site shows it under "More". Still, give it a place."""
    config = yaml.safe_load((root / "mkdocs.yml").read_text(encoding="utf-8"))
    named = list(_pages(config["nav"]))
    assert len(named) == len(set(named))
    gone = [page for page in named if not (root / "docs" / page).is_file() and not page.startswith(MADE)]
    assert gone == []
    assert config["theme"]["font"] is False
    assert config["strict"] is True


def test_the_reference_of_commands_holds_every_option(root: Path) -> None:
    text = _load_tool(root, "commands").write_reference()
    for name in COMMANDS:
        command = _load(name)
        inner: dict[str, Any] = getattr(command, "commands", {}) or {"": command}
        for word, one in inner.items():
            title = f"planarena {name} {word}".rstrip()
            section = re.split(r"^##+ ", text.partition(f"# {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
            assert section.strip(), title
            options = [option for param in one.params for option in param.opts if option.startswith("-")]
            assert [option for option in options if f"`{option}`" not in section] == [], title


def test_equations_stand_beside_code_that_exists(root: Path) -> None:
    text = (root / "docs/equations.md").read_text(encoding="utf-8")
    named = re.findall(r"^<!-- code: (\S+?):(\S+) -->$", text, re.MULTILINE)
    assert len(named) >= 15
    assert text.count('<div class="beside"') == text.count("</div>") == len(named)
    for file, name in named:
        body: list[Any] = ast.parse((root / file).read_text(encoding="utf-8")).body
        for part in name.split("."):
            body = next(one.body for one in body if getattr(one, "name", None) == part)
        assert body


@pytest.mark.full
def test_the_site_builds_without_a_network(root: Path, links: ModuleType, tmp_path: Path) -> None:
    """Strictly, in a network namespace that has no way out; and its pages load nothing from elsewhere."""
    try:
        managed.environment("docs", lock=root / "requirements/docs.lock")
    except EnvironmentUnavailableError as error:
        pytest.skip(f"mkdocs cannot be installed here: {error.what}")
    alone = ["unshare", "--net", "--map-root-user"]
    if not shutil.which("unshare") or subprocess.run([*alone, "true"], check=False).returncode:
        alone = []
    done = subprocess.run(
        [*alone, sys.executable, "docs/site/build.py", "--out", str(tmp_path / "site")],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    site = tmp_path / "site"
    assert links.fetched_from_elsewhere(site) == []
    index = (site / "index.html").read_text()
    assert "fonts.googleapis" not in index
    assert (site / "equations.html").read_text().count("<math") >= 20
    assert "$$" not in (site / "equations.html").read_text()
    assert 'id="planarena.trainers.train"' in (site / "reference/python/planarena.trainers.html").read_text()
    assert "planarena audit push" in (site / "reference/commands.html").read_text()
    assert "runnable" not in (site / "tutorials/train.html").read_text()
    assert (site / "search/search_index.json").stat().st_size > 100_000
