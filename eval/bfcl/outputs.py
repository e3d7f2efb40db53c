"""BFCL outputs as they come: function-calling results, prompted text, tagged text, custom questions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from planarena.errors import UserError
from planarena.eval.bfcl.categories import COUNTS, FORMATS, current_name
from planarena.eval.responses import read_rows
from planarena.eval.tagged import all_tagged_calls

__all__ = ["detect_calls", "read_questions", "to_structure"]

_FILE = re.compile(r"(?:BFCL_v\d+_|gorilla_openfunctions_v\d+_test_)(\w+)\.json$")
_COUNTED = re.compile(r"[ _]\d+$")


def detect_calls(values: Iterable[Any]) -> str:
    """Say how a model writes its calls: "json" where any output holds a mapping or a tag, else "text"."""
    return "json" if any(_has_json(value) for value in values) else "text"


def _has_json(value: Any) -> bool:
    if isinstance(value, list):
        return any(_has_json(item) for item in value)
    return isinstance(value, dict) or (isinstance(value, str) and "<tool_call>" in value)


def to_structure(value: Any, category: str, calls: str) -> Any:
    """Bring an output into bfcl-eval's own structure.

    Tagged text becomes the list of calls of a function-calling model; a plain answer to an agentic question
    becomes one turn of one message. Everything else stays as it is.
    """
    if category.startswith(("memory", "web_search")) and isinstance(value, str):
        return [[value]]
    if category in FORMATS:
        return value  # each prompt format has a way of its own to write calls
    return _untag(value) if calls == "json" else value


def _untag(value: Any) -> Any:
    if isinstance(value, list):
        return [_untag(item) for item in value]
    if isinstance(value, str) and "<tool_call>" in value:
        return [{call["name"]: json.dumps(call["arguments"])} for call in all_tagged_calls(value)]
    if isinstance(value, dict) and set(value) == {"name", "arguments"}:
        arguments = value["arguments"]
        return {str(value["name"]): arguments if isinstance(arguments, str) else json.dumps(arguments)}
    return value


def read_questions(folder: Path) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """Read questions and answers of another revision from a folder as bfcl-eval publishes it.

    Args:
        folder: Question files (`BFCL_v4_simple_python.json`, `gorilla_openfunctions_v1_test_simple.json`) and
            a folder `possible_answer` with the same names. Categories that are not scored here are passed over.

    Returns:
        By category (id, {"question": ..., "answer": ...}) in the files' order.

    Raises:
        UserError: A folder without such files, or an item without an answer.
    """
    if not folder.is_dir():
        raise UserError("there is no such folder", where=str(folder), fix="check the path")
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for file in sorted(folder.glob("*.json")):
        match = _FILE.search(file.name)
        category = current_name(match.group(1)) if match is not None else ""
        if category not in COUNTS or category in FORMATS:  # the latter's file lists ids of others
            continue
        answers = {}
        if "relevance" not in category:
            listed = folder / "possible_answer" / file.name
            answers = {row["id"]: row["ground_truth"] for row in _whole(listed, "id", "ground_truth")}
        items = []
        for question in _whole(file, "id"):
            functions = question.get("function", [])
            question["function"] = [functions] if isinstance(functions, dict) else functions
            key = question["id"]
            if key not in answers and "relevance" not in category:
                raise UserError(
                    f"the question {key} has no answer", where=str(file), fix="complete possible_answer/"
                )
            items.append(
                (key, {"question": question, "answer": _answer(answers.get(key), question["function"])})
            )
        found[category] = items
    if not found:
        raise UserError(
            "holds no BFCL question files",
            where=str(folder),
            fix="give a folder of BFCL_v*_CATEGORY.json files with a folder possible_answer beside them",
        )
    return found


def _whole(file: Path, *keys: str) -> list[dict[str, Any]]:
    rows = []
    for row, problem in read_rows(file):
        if row is None or problem or not row.keys() >= set(keys):
            why = problem or f"it has no {' and '.join(keys)}"
            raise UserError(f"holds a line that cannot be read ({why})", where=str(file), fix="mend the file")
        rows.append(row)
    return rows


def _answer(answer: Any, functions: list[dict[str, Any]]) -> Any:
    """Old answers are one mapping whose names carry a count where a function is called more than once."""
    if not isinstance(answer, dict):
        return answer
    known = {function["name"] for function in functions}
    return [{name if name in known else _COUNTED.sub("", name): value} for name, value in answer.items()]
