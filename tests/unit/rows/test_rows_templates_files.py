"""The prompt templates as resources: all are listed, load, and fill their slots."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planarena import formats
from planarena.rows import template_names
from planarena.rows.templates import default_template, template


def test_every_file_is_listed(root: Path) -> None:
    assert set(template_names()) == {path.stem for path in (root / "data/prompts/rows").glob("*.yaml")}


@pytest.mark.parametrize("name", formats.names())
def test_every_format_has_a_template_without_open_slots(name: str) -> None:
    found = template(default_template(name), name)
    tool = {
        "type": "function",
        "function": {"name": "f", "description": "", "parameters": {"type": "object"}},
    }
    for plan in (True, False):
        text = found.render_system(formats.get(name), [tool], {"now": "noon"}, plan=plan, signatures=None)
        assert not re.search(r"\$\w", text)
        assert text.endswith("- now: noon")
    if name not in ("math", "native"):
        # A model that is shown another format's tags cannot keep its own.
        written = formats.get(name).render(calls=(), response="x")
        tags = set(re.findall(r"</?\w+>", written)) - {"<think>", "</think>"}
        assert all(tag in text for tag in tags)


@pytest.mark.parametrize("name", ["planarena", "parameters", "params", "answer", "think"])
def test_the_words_follow_the_variant(name: str) -> None:
    form = formats.get(name)
    text = template("planarena", name).render_system(form, [], {}, plan=True, signatures=None)
    assert f'"{form.arguments_key}":' in text  # type: ignore[attr-defined]
    assert f"<{form.plan_tag}>" in text  # type: ignore[attr-defined]
    assert f"<{form.response_tag}>" in text  # type: ignore[attr-defined]
