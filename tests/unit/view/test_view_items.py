"""Evaluations: every item, filters, two models; rows of any kind are shown or left out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HOSTILE = (
    '</script><script>alert(1)</script><img src=x onerror=alert(1)> \x1b[31m\u202e "quoted" \\ back \ud800'
)


def rows(count: int, seed: int) -> list[dict[str, Any]]:
    made = []
    for n in range(count):
        right = (n * 7 + seed) % 3 != 0
        made.append(
            {
                "suite": "bfcl-v4" if n % 2 else "math", "id": f"item_{n}", "sample": 0, "category": f"kind {n % 5}",
                "correct": right, "reason": "" if right else f"wrong:{n % 4}", "detail": HOSTILE if n == 3 else "",
                "answer": None, "tokens": n, "prompt": [{"role": "user", "content": f"Question {n}?"}],
                "tools": [{"name": f"tool_{n}"}], "gold": [{"f": {"x": [n]}}], "output": HOSTILE if n == 3 else f"{seed} says {n}",
                "written": "hermes", "calls": [{"name": "f", "arguments": {"x": n}}], "thought": "", "unread": "", "seconds": 0.25,
            }
        )  # fmt: skip
    return made


def write(folder: Path, listed: list[Any]) -> Path:
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(
        '{"kind": "evaluation", "suites": ["math"], "config": {"model": "m<b>"}}'
    )
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in listed))
    return folder


@pytest.fixture
def evaluations(tmp_path: Path) -> list[Path]:
    return [
        write(tmp_path / "both" / "one", rows(130, 0)),
        write(tmp_path / "both" / "two <b>", rows(120, 1)),
    ]


def names(page: str) -> list[str]:
    return re.findall(r"<b>(item_\d+)</b>", page)


def test_two_models_side_by_side_with_every_filter(
    evaluations: list[Path], client_of: Callable[..., Any]
) -> None:
    client = client_of(evaluations[0].parent)
    keys = ",".join(client.key(path) for path in evaluations)
    one, two = ({row["id"]: row for row in rows(count, seed)} for count, seed in ((130, 0), (120, 1)))
    for query, fits in (
        ("", lambda id: True),
        (
            "&verdict=first+right+alone",
            lambda id: one[id]["correct"] and id in two and not two[id]["correct"],
        ),
        ("&verdict=in+one+alone", lambda id: id not in two),
        (
            "&suite=math&category=kind+2",
            lambda id: one[id]["suite"] == "math" and one[id]["category"] == "kind 2",
        ),
        ("&reason=wrong%3A1", lambda id: "wrong:1" in (one[id]["reason"], two.get(id, {}).get("reason"))),
        ("&q=question+77", lambda id: "Question 77?" in one[id]["prompt"][0]["content"]),
    ):
        found, page = [], 0
        while True:
            html = client.page(f"/items?e={keys}{query}&page={page}")
            found += names(html)
            page += 1
            if 'rel="next"' not in html:
                break
        assert found == [id for id in one if fits(id)], query


def test_an_item_shows_prompt_gold_output_calls_and_both_verdicts(
    evaluations: list[Path], client_of: Callable[..., Any]
) -> None:
    client = client_of(evaluations[0].parent)
    keys = ",".join(client.key(path) for path in evaluations)
    listing = client.page(f"/items?e={keys}&q=question+3%3F")
    path = re.search(r'data-row href="(/items/[^"?]+)', listing)
    assert path is not None
    page = client.page(f"{path[1]}?e={keys}")
    for text in (
        "Question 3?",
        "tool_3",
        "wrong:3",
        "&lt;/script&gt;&lt;script&gt;alert(1)",
        "\\x1b[31m\\u202e",
    ):
        assert text in page, text
    assert "<img" not in page and page.count("<script") == 1
    whole = client.get(f"{path[1]}/whole/1?e={keys}")
    assert whole.headers["content-type"].startswith("text/plain") and '"x": 3' in whole.text
    assert client.get(f"{path[1]}/whole/2?e={keys}").status_code == 404


def test_rows_of_any_kind_are_no_fault(tmp_path: Path, client_of: Callable[..., Any]) -> None:
    odd = [
        5,
        None,
        {"id": 3},
        {"suite": "s", "id": "a", "prompt": 5, "tools": {"x": 1}, "calls": "x", "seconds": "x", "tokens": []},
    ]
    odd += [
        {
            "suite": "s",
            "id": "b",
            "prompt": [5, {"role": 7}],
            "calls": [7, {"name": None}],
            "gold": {"a": [None]},
            "output": [[{"role": "user"}]],
            "reason": 4,
            "detail": {},
        }
    ]
    odd += [
        {
            "suite": "s",
            "id": "d",
            "output": {"a": 2**80},
            "gold": 2**70,
            "calls": [{"arguments": {"a": 2**70}}],
        }
    ]
    folder = write(tmp_path / "odd", odd)
    client = client_of(tmp_path)
    key = client.key(folder)
    listing = client.page(f"/items?e={key}")
    paths = re.findall(r'data-row href="([^"]+)"', listing)
    assert len(paths) == 2  # the reason of "b" is no text, so that its line cannot be read
    for path in paths:
        client.page(path)
    assert "4 lines that cannot be read" in listing
    assert not client.guard.faults
