"""The report of a build: what it counts, hostile text stays text, nothing fetched, equal bytes."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest

from planarena import Run
from planarena.report import render_report
from planarena.rows.importers import import_traces


class _Page(HTMLParser):
    """Collects elements, attributes and text, and checks that elements close in order."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "line", "rect", "path"})

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
        if self.open and self.open[-1] not in {"style", "script"}:
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


def test_contrast_and_origin_are_told(built_run: Run, page: _Page) -> None:
    counts = built_run.info["counts"]
    texts = set(page.texts)
    for name in ("contrastive_mutation", "candidates", "no_call_category", "gold_register", "scenario_split"):
        assert counts[name]
        assert set(counts[name]) <= texts
    for name in ("contrastive", "no_call", "decision_points"):
        assert str(counts[name]) in texts
    assert "Queries were not checked" in texts
    assert "No language model was called; nothing was spent." in texts


def test_contamination_and_cost_are_told_where_there_are_any(
    built_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = {
        **built_run.info,
        "contamination": {"bfcl": "3 queries share 13 words"},
        "cost": {"usd": 1.5, "llm_calls": 40, "tokens": 9000},
    }
    run = Run(built_run.path)
    monkeypatch.setattr(type(run), "info", info)
    texts = set(_Page(render_report(run)).texts)
    assert {"bfcl", "3 queries share 13 words", "40", "9000", "1.50 USD"} <= texts
    assert "Queries were not checked" not in texts


def test_the_policy_allows_this_script_and_this_style_alone(built_run: Run, page: _Page) -> None:
    assert not {"link", "img", "iframe", "object", "embed", "form"} & set(page.tags)
    for _, name, value in page.attributes:
        assert name not in {"src", "srcset", "action", "style"}
        assert not name.startswith("on")
        assert name != "href" or value.startswith("#")
        assert "http" not in value or "http-equiv" in name
        assert "url(" not in value or value.startswith("url(#arrow-")
    text = render_report(built_run)
    policy = next(value for _, name, value in page.attributes if name == "content")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        (inside,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert rules[rule] == f"'sha256-{b64encode(sha256(inside.encode()).digest()).decode()}'"
    # Whatever else is a script element is of a type that nothing runs, and holds base64 alone.
    others = re.findall(r"<script (.*?)>(.*?)</script>", text, re.DOTALL)
    assert len(others) == len(re.findall("<script", text)) - 1
    for attributes, inside in others:
        assert re.fullmatch(r'type="text/plain" id="(list|block)-[\d-]+"', attributes)
        assert re.fullmatch(r"[A-Za-z0-9+/=]*", inside)


def test_hostile_text_stays_text(hostile_run: Run, hostile: str) -> None:
    text = render_report(hostile_run)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)
    page = _Page(text)
    assert "img" not in page.tags
    assert all(not name.startswith("on") for _, name, _ in page.attributes)
    seen = hostile.replace("\x1b", "\\x1b").replace("\x07", "\\x07").replace("\x9b", "\\x9b")
    # Every name in run.json and every licence; what trajectories say is compressed.
    assert page.text.count(seen.replace("\u202e", "\\u202e")) > 40


def test_same_run_same_bytes(built_run: Run) -> None:
    text = render_report(Run.open(built_run.path))
    assert render_report(built_run) == text
    assert (built_run.path / "report.html").read_text() == text


def test_an_import_claims_nothing_that_it_did_not_measure(tmp_path: Path) -> None:
    calls = [{"id": "call_0", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}]
    messages = [
        {"role": "user", "content": "Look it up."},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call_0", "content": "{}"},
        {"role": "assistant", "content": "Done."},
    ]
    tool = {"type": "function", "function": {"name": "look_up", "description": "d", "parameters": {}}}
    (tmp_path / "set.jsonl").write_text(json.dumps({"messages": messages, "tools": [tool]}) + "\n")
    made = import_traces(tmp_path / "set.jsonl", "openai", tmp_path / "run", split_of=lambda _: "train")
    page = _Page(render_report(Run.open(made.path)))
    assert "Import of 1 gold trajectories" in page.texts
    assert "nothing was executed or proven" in page.text
    assert "All 1 trajectories" in page.text
    for absent in ("with a data edge", "with an order edge", "decision points", "Initial states"):
        assert absent not in page.text
