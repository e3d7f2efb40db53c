"""The readers of files that others write: a table. A new one is one line of READERS: its name, a file, and the command."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import eval_samples  # noqa: E402

__all__ = ["READERS", "Reader", "sheet_answers"]


class Reader(NamedTuple):
    """A reader.

    Attributes:
        file: The file's name, below the case's folder.
        good: (folder to prepare, a finished build) -> the content of a good file.
        words: (that file, a new output path, the build) -> the command's words.
    """

    file: str
    good: Callable[[Path, Path], bytes]
    words: Callable[[Path, Path, Path], list[str]]


def _lines(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _imports() -> dict[str, Reader]:
    samples = json.loads((HERE.parent / "unit/rows/import_samples.json").read_text())
    return {
        f"import {name}": Reader(
            "rows.jsonl",
            lambda _, __, rows=rows: _lines(rows),
            lambda file, out, _, name=name: ["import", str(file), "--format", name, "--out", str(out)],
        )
        for name, rows in samples.items()
    }


def _fixed(text: str | bytes) -> Callable[[Path, Path], bytes]:
    return lambda _, __: text if isinstance(text, bytes) else text.encode()


def _made(make: Callable[[Path], Path], name: str) -> Callable[[Path, Path], bytes]:
    def good(folder: Path, _: Path) -> bytes:
        made = make(folder / name.split("/")[0]) if "/" in name else make(folder / name)
        return (made if made.is_file() else folder / name).read_bytes()

    return good


_TOOLS = json.dumps(
    [
        {
            "name": "find_room",
            "description": "Finds a room.",
            "parameters": {
                "type": "object",
                "properties": {
                    "seats": {"type": "integer", "minimum": 1},
                    "day": {"type": "string", "pattern": "^[0-9-]+$"},
                },
                "required": ["seats"],
            },
        },
        {
            "type": "function",
            "function": {
                "name": "book",
                "description": "Books.",
                "parameters": {"type": "object", "properties": {}},
            },
        },
        {
            "name": "mcp_tool",
            "description": "d",
            "inputSchema": {"type": "object", "properties": {"a": {"enum": ["x", "y"]}}},
        },
    ]
)
_OPENAPI = """openapi: 3.0.3
info: {title: Shop, version: "1"}
servers: [{url: https://shop.example/v1}]
paths:
  /items/{id}:
    get:
      operationId: getItem
      summary: Get an item.
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: ok, content: {application/json: {schema: {$ref: "#/components/schemas/Item"}}}}}
  /items:
    post:
      operationId: addItem
      summary: Add an item.
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Item"}}}}
      responses: {"201": {description: made, content: {application/json: {schema: {$ref: "#/components/schemas/Item"}}}}}
components:
  schemas:
    Item: {type: object, required: [id, name], properties: {id: {type: string}, name: {type: string}, price: &p {type: number}, cost: *p}}
"""


def sheet_answers(folder: Path, run: Path) -> bytes:
    """A sheet's lines, filled in."""
    from planarena.cli import main

    sheet = folder / "sheet"
    if not sheet.is_dir():
        assert main(["audit", "export", str(run), "--limit", "3", "--out", str(sheet)]) == 0
    lines = [json.loads(line) for line in (sheet / "trajectories.jsonl").read_text().splitlines()]
    for line in lines:
        line["annotator"] = "ann"
        line["answers"] |= {"query_ok": "yes", "goal_ok": "yes"}
    return _lines(lines)


def _audit(file: Path, out: Path, run: Path) -> list[str]:
    import shutil

    # Answers are kept beside the run: each mutant gets a run of its own.
    shutil.copytree(run, out)
    return ["audit", "import", str(out), str(file)]


def _rows(folder: Path, run: Path) -> bytes:
    from planarena.cli import main

    out = folder / "openai"
    if not out.is_dir():
        assert main(["export", str(run), "--format", "openai", "--out", str(out)]) == 0
    return (out / "train.jsonl").read_bytes()


def _eval(suite: str) -> Callable[[Path, Path, Path], list[str]]:
    def words(file: Path, out: Path, _: Path) -> list[str]:
        data = file if file.parent.name in {"", "files"} else file.parent
        return ["eval", suite, "--responses", "gold", "--data", f"{suite}={data}", "--out", str(out)]

    return words


def _responses(file: Path, out: Path, _: Path) -> list[str]:
    data = eval_samples.problems(file.parent / "problems.jsonl")
    return ["eval", "math", "--responses", str(file), "--data", f"math={data}", "--out", str(out)]


_RESPONSES = _lines([{"id": f"sum-{n}", "output": f"It is \\boxed{{{2 * n}}}."} for n in range(3)])
_SUITE_ITEM = {
    "id": "a", "category": "c", "prompt": "Get x.", "expected": [{"name": "get", "arguments": {"path": "x"}}],
    "tools": [{"name": "get", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}],
}  # fmt: skip


def _suite_items(folder: Path, _: Path) -> bytes:
    (folder / "suite").mkdir(exist_ok=True)
    (folder / "suite/suite.yaml").write_text("rule: calls\n")
    return _lines([_SUITE_ITEM])


def _suite_yaml(folder: Path, _: Path) -> bytes:
    (folder / "suite").mkdir(exist_ok=True)
    (folder / "suite/items.jsonl").write_bytes(_lines([_SUITE_ITEM]))
    return b"rule: calls\nname: mine\norder: any\nsystem: Be brief.\nseconds: 5\n"


def _suite(file: Path, out: Path, _: Path) -> list[str]:
    return ["eval", f"suite:{file.parent}", "--responses", "gold", "--out", str(out)]


_CONFIG = "trajectories: 5\nseed: 3\nsources: [builtin:email]\ncomposition: {budget: 20, tools: [3, 6]}\nsplit: {test: 0.1}\n"
_MCP = json.dumps({"mcpServers": {"a": {"command": "python", "args": ["-m", "x"], "env": {"A": "b"}}}})
_HTTP = json.dumps({"openapi": "api.yaml", "base": "https://shop.example/v1", "hosts": ["shop.example"]})


def _http(folder: Path, _: Path) -> bytes:
    (folder / "api.yaml").write_text(_OPENAPI)
    return _HTTP.encode()


def _environment(name: str) -> Reader:
    """A file of an environment's folder that is data."""

    def good(folder: Path, _: Path) -> bytes:
        from planarena.cli import main

        if not (folder / "myenv").is_dir():
            assert main(["env", "new", "library", "--dir", str(folder / "myenv")]) == 0
        return (folder / "myenv/library" / name).read_bytes()

    return Reader(
        f"myenv/library/{name}", good, lambda file, _, __: ["env", "check", str(file.parent), "--trusted"]
    )


READERS: dict[str, Reader] = {
    **_imports(),
    "tools list JSON": Reader("tools.json", _fixed(_TOOLS), lambda file, _, __: ["tools", "list", str(file)]),
    "tools import JSON": Reader("tools.json", _fixed(_TOOLS), lambda file, out, _: ["tools", "import", str(file), "--out", str(out)]),
    "tools check openapi": Reader("api.yaml", _fixed(_OPENAPI), lambda file, _, __: ["tools", "check", f"openapi:{file}"]),
    "tools check mcp": Reader("servers.json", _fixed(_MCP), lambda file, _, __: ["tools", "check", f"mcp:{file}"]),
    "tools check http": Reader("config.json", _http, lambda file, _, __: ["tools", "check", f"http:{file}"]),
    "eval --responses": Reader("answers.jsonl", _fixed(_RESPONSES), _responses),
    "eval --data math": Reader("problems.jsonl", _made(eval_samples.problems, "problems.jsonl"), _eval("math")),
    "eval --data mmlu-pro": Reader("mmlu/test.jsonl", _made(eval_samples.mmlu_pro, "mmlu/test.jsonl"), _eval("mmlu-pro")),
    "eval --data api-bank": Reader("apibank/level-1-api.json", _made(eval_samples.api_bank, "apibank/level-1-api.json"), _eval("api-bank")),
    "eval suite items": Reader("suite/items.jsonl", _suite_items, _suite),
    "eval suite yaml": Reader("suite/suite.yaml", _suite_yaml, _suite),
    "audit import": Reader("answers.jsonl", sheet_answers, _audit),
    "build --config": Reader("some.yaml", _fixed(_CONFIG), lambda file, out, _: ["build", "--config", str(file), "--out", str(out), "--dry-run"]),
    "train --data": Reader("rows.jsonl", _rows, lambda file, out, _: ["train", "--algorithm", "sft", "--data", str(file), "--out", str(out), "--steps", "1", "--model", "nowhere"]),
    "build against": Reader("bench/tools.json", _fixed(_TOOLS), lambda file, out, _: ["tools", "import", str(HERE.parent / "faults/tools.json"), "--against", f"x={file.parent}", "--out", str(out)]),
    "env words.yaml": _environment("words.yaml"),
    "env seeds.yaml": _environment("seeds.yaml"),
}  # fmt: skip
READERS["build against"] = READERS["build against"]._replace(
    words=lambda file, out, _: [
        "tools",
        "import",
        str(file),
        "--against",
        f"x={file.parent}",
        "--out",
        str(out),
    ]
)
