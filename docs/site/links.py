"""Dead links: of a built site, and of the Markdown pages that it is built from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["dead_links", "dead_markdown_links", "fetched_from_elsewhere", "heading_ids"]

_MARKDOWN = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
# What a page loads by itself, unlike a link that a reader follows.
_LOADING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.ids: set[str] = set()
        self.targets: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        self.targets += [found[name] for name in ("href", "src") if name in found]
        if tag in _LOADING and _LOADING[tag] in found and found.get("rel") != "canonical":
            self.loaded.append(found[_LOADING[tag]])


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def dead_links(site: Path) -> list[str]:
    """Return every internal link of a built site that leads to no file or to no anchor, as `page: target`."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    dead = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links start at a root that only a server has
            continue
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or target.startswith(("data:", "mailto:")):
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if goal.is_dir():
                goal /= "index.html"
            anchor = unquote(parts.fragment)
            there = goal.is_file() and (
                not anchor or goal not in pages or anchor.startswith("__") or anchor in pages[goal].ids
            )
            if not there:
                dead.append(f"{path.relative_to(site)}: {target}")
    return dead


def fetched_from_elsewhere(site: Path) -> list[str]:
    """Return what pages of a built site load by themselves from another host."""
    return [
        f"{path.relative_to(site)}: {target}"
        for path in sorted(site.rglob("*.html"))
        for target in _read(path).loaded
        if urlsplit(target).netloc
    ]


def heading_ids(text: str) -> set[str]:
    """Return the anchors of a Markdown page's headings, as GitHub and the site make them."""
    found: dict[str, int] = {}
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
        name = re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", plain))
        found[name] = found.get(name, -1) + 1
        if found[name]:
            found[f"{name}-{found[name]}"] = 0
    return set(found)


def dead_markdown_links(pages: Iterable[Path]) -> list[str]:
    """Return every relative link of Markdown pages that leads to no file or to no heading, as `page: target`."""
    dead = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for target in _MARKDOWN.findall(_FENCE.sub("", text)):
            path, _, anchor = target.partition("#")
            if "://" in target or target.startswith("mailto:"):
                continue
            goal = (page.parent / unquote(path)).resolve() if path else page
            if not goal.exists() or (
                anchor
                and goal.suffix == ".md"
                and unquote(anchor) not in heading_ids(goal.read_text(encoding="utf-8"))
            ):
                dead.append(f"{page.name}: {target}")
    return dead
