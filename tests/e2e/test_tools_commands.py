"""`planarena tools` and builds from sources, through the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars
import pytest

from planarena.cli import main
from planarena.environments import sandbox

sys.path.append(str(Path(__file__).resolve().parents[1]))
from python_scaffold import SCAFFOLD

needs_sandbox = pytest.mark.skipif(
    sandbox.missing() is not None, reason=f"no sandbox here: {sandbox.missing()}"
)


def _body(schema: Any) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _answer(schema: Any, status: str = "200") -> dict[str, Any]:
    return {"responses": {status: {"description": "", "content": {"application/json": {"schema": schema}}}}}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    order = {
        "type": "object",
        "required": ["id"],
        "properties": {"id": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "string"}},
    }
    new = {
        "type": "object",
        "required": ["title"],
        "properties": {"title": {"type": "string"}, "status": {"type": "string", "enum": ["open", "sent"]}},
    }
    paths = {
        "/books": {
            "post": {"operationId": "createBook", **_body(new), **_answer(order, "201")},
            "get": {"operationId": "listBooks", **_answer({"type": "array", "items": order})},
        },
        "/books/{bookId}": {
            "parameters": [{"name": "bookId", "in": "path", "required": True, "schema": {"type": "string"}}],
            "get": {"operationId": "getBook", **_answer(order)},
            "patch": {
                "operationId": "changeBook",
                **_body(
                    {
                        "type": "object",
                        "required": ["status"],
                        "properties": {"status": {"type": "string", "enum": ["open", "sent"]}},
                    }
                ),
                **_answer(order),
            },
            "delete": {"operationId": "deleteBook", "responses": {"204": {"description": ""}}},
        },
        "/broken": {
            "get": {
                "parameters": [{"name": "x", "in": "query", "schema": {"$ref": "http://127.0.0.1:1/x.json"}}],
                "responses": {},
            }
        },
    }
    file = tmp_path / "shop.json"
    file.write_text(
        json.dumps({"openapi": "3.0.0", "info": {"title": "Shop", "version": "1"}, "paths": paths})
    )
    return file


def test_list_check_import_and_call(shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = f"openapi:{shop}"
    assert main(["tools", "list", source, "--json"]) == 0
    assert [tool["wire_name"] for tool in json.loads(capsys.readouterr().out)] == [
        "listBooks",
        "createBook",
        "getBook",
        "deleteBook",
        "changeBook",
    ]
    assert main(["tools", "check", source]) == 2
    shown = capsys.readouterr()
    assert "leaves the source folder" in shown.err
    assert "5 usable tools, 1 problems" in shown.out
    bench = tmp_path / "bench.json"
    bench.write_text(
        json.dumps(
            [
                {
                    "name": "get_book",
                    "parameters": {"type": "dict", "properties": {"book_id": {"type": "string"}}},
                }
            ]
        )
    )
    out = tmp_path / "tools.json"
    assert main(["tools", "import", source, "--out", str(out), "--against", f"bfcl={bench}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "tools": 4,
        "repaired": 0,
        "flagged": 0,
        "dropped": 1,
        "out": str(out),
    }
    assert main(["tools", "check", str(out)]) == 0
    capsys.readouterr()
    assert main(["tools", "import", source, "--out", str(out)]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["tools", "call", source, "createBook", '{"title": "lamp"}']) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["result"]["title"] == "lamp"
    assert made["execution_kind"] == "emulated"
    assert main(["tools", "call", source, "getBook", '{"bookId": "none"}']) == 1
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["call", "builtin:banking", "get_bank_acount"], "did you mean get_bank_account?"),
        (["call", "builtin:banking", "get_bank_account", "{"], "not JSON"),
        (["call", "builtin:banking", "get_bank_account", "[]"], "no object"),
        (["list", "openapi:/no/such/file"], "no such file"),
        (["list", "python:no_such_module_here"], "no module"),
        (["list", "ftp:thing"], "no source of the kind"),
        (["import", "builtin", "--out", "x.json", "--against", "bfcl"], "NAME=PATH"),
        (["new", "Bad Name"], "tools new has moved"),
        (["check", "mcp:/no/such/servers.json"], "cannot be read"),
    ],
)
def test_mistakes_are_told(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["tools", *arguments]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert "fix:" in shown
    assert "Traceback" not in shown


def test_a_tool_list_alone_executes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "list.json"
    file.write_text(
        json.dumps([{"name": "a", "description": "x", "parameters": {"type": "object", "properties": {}}}])
    )
    assert main(["tools", "call", str(file), "a"]) == 2
    assert "nothing here can execute" in capsys.readouterr().err
    assert main(["build", str(file), "--out", str(tmp_path / "run")]) == 2
    assert "nothing here can execute" in capsys.readouterr().err


def _build(source: str, out: Path) -> Path:
    # A process of its own: a build's workers and its source's worker end with it.
    command = [
        sys.executable,
        "-m",
        "planarena",
        "build",
        source,
        "--out",
        str(out),
        "--trajectories",
        "12",
        "--workers",
        "1",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return out


def _read(run: Path, table: str) -> polars.DataFrame:
    return polars.read_parquet(sorted(str(file) for file in (run / "tables" / table).glob("*.parquet")))


@pytest.mark.slow
def test_a_build_from_openapi_is_emulated_and_says_so_and_repeats(shop: Path, tmp_path: Path) -> None:
    source = f"openapi:{shop}"
    first, second = _build(source, tmp_path / "a"), _build(source, tmp_path / "b")
    gold = _read(first, "trajectories").filter(polars.col("kind") == "gold")
    assert gold.height >= 12
    assert set(_read(first, "executions")["execution_kind"]) == {"emulated", "answer_check"}
    environment = json.loads(_read(first, "scenarios")["environment"][0])
    assert (environment["kind"], environment["state_observable"], environment["safety"]) == (
        "openapi",
        True,
        "snapshot",
    )
    for table in ("trajectories", "steps", "executions", "queries"):
        assert _read(first, table).equals(_read(second, table)), table


@pytest.mark.slow
@needs_sandbox
def test_trajectories_are_built_from_a_module_of_functions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.chmod(0o755)
    file = tmp_path / "own" / "garden_shed.py"
    file.parent.mkdir()
    file.write_text(SCAFFOLD.replace("@TITLE@", "Garden shed"))
    for path in (file, file.parent, tmp_path.parent):
        path.chmod(0o755)
    assert main(["tools", "new", "garden_shed"]) == 2
    assert "planarena env new garden_shed" in capsys.readouterr().err
    assert main(["tools", "check", f"python:{file}"]) == 0
    capsys.readouterr()
    assert main(["tools", "call", f"python:{file}", "get_item", '{"item_id": "item-desk"}']) == 0
    assert json.loads(capsys.readouterr().out)["result"]["name"] == "desk"
    run = _build(f"python:{file}", tmp_path / "run")
    assert set(_read(run, "executions")["execution_kind"]) == {"real", "answer_check"}
    steps = _read(run, "steps").group_by("trajectory_id").len()
    assert (steps["len"] >= 2).any()
