"""The report of a build: what it counts, hostile text stays text, nothing fetched, equal bytes."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from planarena import Run
from planarena.export import join_trajectories
from planarena.report import render_report
from planarena.report.examples import render_example


class _Page(HTMLParser):
    """Collects elements, attributes and text, and checks that elements close in order."""

    VOID = frozenset({"meta", "link", "br", "img", "line", "rect", "path"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "\n".join(self.texts)


@pytest.fixture(scope="module")
def page(built_run: Run) -> _Page:
    return _Page(render_report(built_run))


def test_every_count_is_shown(built_run: Run, page: _Page) -> None:
    counts = built_run.info["counts"]
    texts = set(page.texts)
    for name in ("gold_length", "gold_chain"):
        for number in counts[name].values():
            assert str(number) in texts
    for key, number in counts["discard"].items():
        assert set(key.split(":")) <= texts
        assert str(number) in texts
    for name in ("gold_domain", "stop"):
        assert set(counts[name]) <= texts
    assert {"Apache-2.0", "real"} <= texts


def test_examples_differ_in_length_and_domain(built_run: Run, page: _Page) -> None:
    graphs = [value for tag, name, value in page.attributes if (tag, name) == ("svg", "class")]
    assert graphs.count("graph") == 12
    lengths = {text for text in page.texts if re.fullmatch(r"\d actions?", text)}
    assert len(lengths) == len(built_run.info["counts"]["gold_length"])
    assert set(built_run.info["counts"]["gold_domain"]) <= set(page.texts)
    by_id = {
        row["trajectory_id"][:12]: row
        for row in built_run.table("trajectories").collect().iter_rows(named=True)
    }
    shown = [by_id[text] for text in page.texts if text in by_id]
    assert len(shown) == 12
    for row in shown:
        assert row["plan"] in page.text
        assert row["response"] in page.text


def test_nothing_is_fetched_and_no_script_can_run(page: _Page) -> None:
    assert not {"script", "link", "img", "iframe", "object", "embed", "form"} & set(page.tags)
    for _, name, value in page.attributes:
        assert name not in {"src", "href", "srcset", "action"}
        assert not name.startswith("on")
        assert "http" not in value or "http-equiv" in name
        assert "url(" not in value or value.startswith("url(#arrow-")
    policy = [value for _, name, value in page.attributes if name == "content"]
    assert any(value.startswith("default-src 'none'") for value in policy)


def test_hostile_text_stays_text(hostile_run: Run, hostile: str) -> None:
    text = render_report(hostile_run)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)
    page = _Page(text)
    assert not {"script", "img"} & set(page.tags)
    assert all(not name.startswith("on") for _, name, _ in page.attributes)
    seen = hostile.replace("\x1b", "\\x1b").replace("\x07", "\\x07").replace("\x9b", "\\x9b")
    assert page.text.count(seen.replace("\u202e", "\\u202e")) > 100
    styles = [value for _, name, value in page.attributes if name == "style"]
    assert all(re.fullmatch(r"[a-z-]+:\s?\d+px", value) for value in styles)


def test_a_long_observation_is_cut_and_says_so(built_run: Run) -> None:
    one = next(join_trajectories(built_run))
    long = one.actions[0]._replace(observation={"text": "x" * 200_000})
    shown = render_example(one._replace(actions=(long,)))
    assert len(shown) < 40_000
    assert "more characters" in shown


def test_same_run_same_bytes(built_run: Run) -> None:
    text = render_report(Run.open(built_run.path))
    assert render_report(built_run) == text
    assert (built_run.path / "report.html").read_text() == text
