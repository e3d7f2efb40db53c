"""What mkdocs calls while it builds the site: pages that are made, links that are turned, equations, code beside them."""

from __future__ import annotations

import ast
import json
import os
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent.parent
# Pages of the root, and of the domains, that the site shows, too: where they stand there.
ROOT_PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "README.md": "index.md",
}
DOMAINS = ROOT / "planarena" / "environments" / "domains"
_LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
_FENCE = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)[ \t]*$)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^\$\$\n?(.*?)\n?\$\$$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"\$`([^`]+)`\$")
# Marks for the tests; a file that the reader writes has its name above it.
_RUNNABLE = re.compile(r"^(```\w+) runnable(?: full)?(?: file=(\S+))?$", re.MULTILINE)
_CODE = re.compile(r"^<!-- code: (\S+?):(\S+) -->$", re.MULTILINE)


def on_config(config: Any) -> Any:
    """Fill the parts of the navigation that are made, and put pages that it forgets under "More"."""
    packages = [{name.removeprefix("planarena."): f"reference/python/{name}.md"} for name in _public_names()]
    domains = [f"reference/domains/{name}.md" for name in _domains()]
    made = {"reference/python/": packages, "reference/domains/": domains}
    known: set[str] = set()

    def fill(entries: list[Any]) -> list[Any]:
        filled: list[Any] = []
        for entry in entries:
            for title, value in entry.items() if isinstance(entry, dict) else [(None, entry)]:
                inner = fill(value) if isinstance(value, list) else made.get(value, value)
                known.update([inner] if isinstance(inner, str) else ())
                filled.append(inner if title is None else {title: inner})
        return filled

    config.nav = fill(config.nav)
    docs = Path(config.docs_dir)
    pages = sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))
    if more := [page for page in pages if page not in known]:
        config.nav.append({"More": more})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made: commands, names, domains, and those of the repository's root."""
    commands = os.environ.get("PLANARENA_COMMANDS")
    if not commands:
        raise PluginError("run `make site`: it writes the reference of the command line first")
    texts = {"reference/commands.md": Path(commands).read_text(encoding="utf-8")}
    for source, place in ROOT_PAGES.items():
        if place != "index.md":
            texts[place] = _turn_links((ROOT / source).read_text(encoding="utf-8"), ROOT, place)
    for name in _domains():
        text = (DOMAINS / name / "README.md").read_text(encoding="utf-8")
        texts[f"reference/domains/{name}.md"] = _turn_links(
            text, DOMAINS / name, f"reference/domains/{name}.md"
        )
    for package, names in _public_names().items():
        texts[f"reference/python/{package}.md"] = _package_page(package, names)
    for place, text in texts.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001
    """Turn links into the repository, and write equations and the code beside them."""
    path = page.file.src_uri
    if page.file.generated_by is None:
        markdown = _turn_links(markdown, (Path(config.docs_dir) / path).parent, path)
    if '<div class="beside"' in markdown:
        page.meta["hide"] = ["navigation", "toc"]  # the width is for the equations and their code
    parts = _FENCE.split(markdown)
    parts[::2] = [_render(part) for part in parts[::2]]
    return _RUNNABLE.sub(
        lambda found: f'{found[1]} title="{found[2]}"' if found[2] else found[1], "".join(parts)
    )


def _render(text: str) -> str:
    text = _BLOCK.sub(lambda found: f'<div class="equation">{_mathml(found[1], "block")}</div>', text)
    text = _INLINE.sub(lambda found: _mathml(found[1], "inline"), text)
    return _CODE.sub(lambda found: f"```python\n{_source(found[1], found[2])}\n```", text)


def _mathml(latex: str, display: Any) -> str:
    return convert(" ".join(latex.split()), display=display)


def _source(file: str, name: str) -> str:
    """Return the source of a function without its docstring; `Class.method` names a method."""
    text = (ROOT / file).read_text(encoding="utf-8")
    body: list[ast.stmt] = ast.parse(text).body
    node: ast.stmt | None = None
    for part in name.split("."):
        node = next((one for one in body if getattr(one, "name", None) == part), None)
        if node is None:
            raise PluginError(f"{file} has no {name}")
        body = node.body  # type: ignore[attr-defined]
    assert node is not None
    lines = text.splitlines()
    start, end = node.lineno, node.end_lineno or node.lineno
    kept = lines[start - 1 : end]
    if ast.get_docstring(node) is not None:  # type: ignore[arg-type]
        first = body[0]
        kept = lines[start - 1 : first.lineno - 1] + lines[first.end_lineno or first.lineno : end]
    indent = len(kept[0]) - len(kept[0].lstrip())
    return "\n".join([f"# {file}", *(line[indent:] for line in kept)])


def _turn_links(text: str, folder: Path, place: str) -> str:
    """Point links at where their targets stand on the site; a target that is not on it becomes its path."""

    def turn(found: re.Match[str]) -> str:
        target = found[2]
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        goal = (folder / target).resolve()
        if goal.is_relative_to(ROOT):
            inner = goal.relative_to(ROOT).as_posix()
            site = ROOT_PAGES.get(inner) or (
                inner.removeprefix("docs/") if inner.startswith("docs/") else None
            )
            if goal.parent.parent == DOMAINS and goal.name == "README.md":
                site = f"reference/domains/{goal.parent.name}.md"
            if inner == "LICENSE":
                site = "contributing.md"
            if site:
                back = os.path.relpath(site, Path(place).parent)
                return f"{found[1]}{back}{found[3]}"
        return found[0]

    parts = _FENCE.split(text)
    parts[::2] = [_LINK.sub(turn, part) for part in parts[::2]]
    return "".join(parts)


def _public_names() -> dict[str, list[str]]:
    path = ROOT / "tests" / "packaging" / "public_names.json"
    names: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return names


def _domains() -> list[str]:
    return sorted(path.parent.name for path in DOMAINS.glob("*/README.md"))


def _package_page(package: str, names: list[str]) -> str:
    """Return the page of a package: its docstring, then each public name by where it is written."""
    lines = [f"# {package}", "", f"::: {package}", "    options:", "      members: false",
             "      show_root_heading: false", "      show_root_toc_entry: false", "      show_source: false", ""]  # fmt: skip
    for name in names:
        if name.startswith("__"):
            continue
        lines += [f"::: {package}.{name}", ""]
    return "\n".join(lines)
