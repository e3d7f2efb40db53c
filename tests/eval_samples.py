"""Small questions in the shapes that API-Bank, MMLU-Pro and math sets are published in; written for these tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_RULES = """

**Steps for Each Turn**
1. **Think:** Recall what is known.

**Output Format**
```plaintext
<think> Your thoughts and reasoning </think>
<tool_call>
{"name": "Tool name", "parameters": {"Parameter name": "Parameter content", "... ...": "... ..."}}
</tool_call>
<response> AI's final response </response>
```
"""
_ASK = "<user> Make one tool call for what I need.</user>\n"


def api_bank(folder: Path) -> Path:
    """Three levels: a plain dialogue, one with an earlier call and its result, one with short descriptions."""
    folder.mkdir(parents=True)
    described = (
        "Use the following tools:\n"
        "1. Name: FindRoom\nDescription: Finds a free room.\nParameters: {'seats': {'type': 'int', 'description': "
        "'How many.'}, 'day': {'type': 'str', 'description': 'Format: %Y-%m-%d'}}\n"
        "2. Name: BookRoom\nDescription: Books a room.\nParameters: {'room': {'type': 'str', 'description': "
        "'Its name.'}, 'guests': {'type': 'list(str)', 'description': 'Who comes.'}}"
    )
    short = "1. SendNote: Sends a note.\nParameters: {'to': {'type': 'str', 'description': 'A name.'}}"
    first = "**Dialogue Records History**\n<user>A room for 4 on 2024-05-01.</user>\n\n"
    second = (
        first
        + '<tool_call>\n{"name": "FindRoom", "parameters": {"seats": 4, "day": "2024-05-01"}}\n</tool_call>\n'
        "<obs> {'room': 'Elm'} </obs>\n<response>Elm is free.</response>\n\n<user>Take it for Ada and Bo.</user>\n\n"
    )
    rows: dict[str, list[dict[str, Any]]] = {
        "level-1-api.json": [
            {
                "system": described + _RULES,
                "user": first + _ASK,
                "answer": [{"name": "FindRoom", "parameters": {"seats": 4, "day": "2024-05-01"}}],
            },
            {
                "system": described + _RULES,
                "user": second + _ASK,
                "answer": [{"name": "BookRoom", "parameters": {"room": "Elm", "guests": ["Ada", "Bo"]}}],
            },
        ],
        "level-3-api.json": [
            {
                "system": short + _RULES,
                "user": "**Dialogue Records History**\n<user>Write to Cy.</user>\n\n" + _ASK,
                "answer": {"name": "SendNote", "parameters": {"to": "Cy"}},
            }
        ],
    }
    for name, listed in rows.items():
        (folder / name).write_text(json.dumps(listed))
    return folder


def mmlu_pro(folder: Path, categories: tuple[str, ...] = ("law", "physics")) -> Path:
    """Two questions of each category, and five worked examples of each."""
    folder.mkdir(parents=True)
    tests, examples = [], []
    for category in categories:
        for number in range(2):
            tests.append(
                {
                    "question_id": f"{category}-{number}",
                    "question": f"Which {category} statement number {number} holds?",
                    "options": ["none", "the first", "the second", "both"],
                    "answer": "ABCD"[number + 1],
                    "cot_content": "",
                    "category": category,
                }
            )
        for number in range(5):
            examples.append(
                {
                    "question_id": f"example-{category}-{number}",
                    "question": f"An example {number} of {category}?",
                    "options": ["yes", "no"],
                    "answer": "A",
                    "cot_content": "A: Let's think step by step. It is so. The answer is (A).",
                    "category": category,
                }
            )
    (folder / "test.jsonl").write_text("\n".join(map(json.dumps, tests)))
    (folder / "validation.jsonl").write_text("\n".join(map(json.dumps, examples)))
    return folder


def problems(path: Path) -> Path:
    """Three problems with integer answers."""
    rows = [{"id": f"sum-{n}", "problem": f"What is {n} + {n}?", "answer": 2 * n} for n in range(3)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path
