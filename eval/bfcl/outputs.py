"""BFCL outputs as they come: function-calling results, prompted text, tagged text, custom questions."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from planarena.errors import UserError
from planarena.eval.bfcl.categories import COUNTS, FORMATS, current_name
from planarena.eval.conversation import calls_of_reply
from planarena.eval.responses import read_rows
from planarena.formats import Reading, read_output

__all__ = ["INFERENCE_ERROR", "majority", "output_of", "read_questions", "to_structure"]

_FILE = re.compile(r"(?:BFCL_v\d+_|gorilla_openfunctions_v\d+_test_)(\w+)\.json$")
_COUNTED = re.compile(r"[ _]\d+$")


# What bfcl-eval's decoder takes for calls, though brackets or quotes are missing.
_CALL = re.compile(r"[`\s\[]{0,20}[A-Za-z_][\w.]{0,200}\(")
INFERENCE_ERROR = "Error during inference"


def majority(outputs: Iterable[Any], form: str = "auto") -> tuple[str, dict[str, int]]:
    """Say how most outputs write their calls, and how many each way.

    Args:
        outputs: As they came.
        form: How they are read; see `planarena.formats.read_output`.

    Returns:
        "server" where most outputs are calls as a server gives them, "json" where most are in a vendor's form, else
        "text"; and the outputs by way. It decides nothing but how text without any mark is read: beside a server's
        calls, JSON or Python in a text is what the model said.
    """
    ways: Counter[str] = Counter(_way(value, form) for value in outputs)
    marked = ways.total() - ways["python"] - ways["plain"]
    most = "text" if marked <= ways["python"] else "server" if 2 * ways["structure"] > marked else "json"
    return most, dict(ways.most_common())


def _way(value: Any, form: str) -> str:
    """How one output writes calls: the first of its steps that has any decides."""
    if isinstance(value, list):
        ways = (_way(item, form) for item in value[:50])
        return next((way for way in ways if way != "plain"), "plain")
    if isinstance(value, dict):
        return "structure"
    if not isinstance(value, str):
        return "plain"
    way = read_output(value, form).written
    return "python" if way == "plain" and _CALL.match(value) else way


def to_structure(value: Any, category: str, most: str, form: str = "auto") -> tuple[Any, str]:
    """Bring one output into bfcl-eval's own structure, whatever the others look like.

    Args:
        value: The output.
        category: Its item's.
        most: How most outputs write calls, for text that carries no marks.
        form: How it is read; "text" leaves text to bfcl-eval's own decoder, "json" too where it has no marks.

    Returns:
        The structure, and "json" (a list of calls of a function-calling model) or "text".
    """
    text = "text" if most == "text" else "json"
    if category in FORMATS:
        return value, text  # each prompt format has a way of its own to write calls
    if category.startswith(("memory", "web_search")) and not isinstance(value, list):
        value = [[value]]
    if form == "text" or (form == "python" and isinstance(value, str)):
        return value, "text"
    made = _untag(value, form, bare=most != "server" or form != "auto")
    structured = _holds_calls(made)
    if structured and isinstance(made, list):
        made = _with_python(made, form) if category.startswith("multi_turn") else made
    return made, "json" if structured else text


def _holds_calls(value: Any) -> bool:
    if isinstance(value, list):
        return any(_holds_calls(item) for item in value)
    return isinstance(value, dict)


def _untag(value: Any, form: str, bare: bool) -> Any:
    if isinstance(value, list):
        return [_untag(item, form, bare) for item in value]
    if isinstance(value, dict):
        if set(value) == {"name", "arguments"}:
            arguments = value["arguments"]
            return {str(value["name"]): arguments if isinstance(arguments, str) else json.dumps(arguments)}
        if "tool_calls" not in value and value.get("role") != "assistant":
            return value
    elif not isinstance(value, str):
        return value
    reading = read_output(value, form)
    if reading.written in ("plain", "python"):
        return value
    if not bare and isinstance(value, str) and reading.written in ("xlam", "llama") and "<|" not in value:
        return value
    if reading.calls:
        return _listed(reading)
    return value if reading.problem else reading.content


def _listed(reading: Reading) -> list[dict[str, str]]:
    return [{call.name: json.dumps(call.arguments)} for call in reading.calls]


def _with_python(value: Any, form: str) -> Any:
    """Steps in Python's syntax beside steps that are calls already: of one dialogue, read as one."""
    if isinstance(value, list):
        return [_with_python(item, form) for item in value]
    if isinstance(value, str) and (reading := read_output(value, form)).written == "python":
        return _listed(reading)
    return value


def output_of(form: str, text: str) -> Any:
    """A reply as scoring reads it: the calls of a native message as bfcl-eval writes them, else the text."""
    if form != "native":
        return text
    calls = calls_of_reply(form, text)
    if not calls:
        try:
            content = json.loads(text).get("content")
        except (ValueError, AttributeError, RecursionError):
            return text
        return content if isinstance(content, str) else ""
    return [{str(call["function"]["name"]): str(call["function"]["arguments"] or "{}")} for call in calls]


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
