"""Live tools in builds: a recording server shows that no wrong choice reaches it, and what is changed is changed once."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

import planarena
from planarena.config import AllowedConfig, BuildConfig, ContrastConfig, ExecutionConfig
from planarena.environments import sources
from planarena.errors import ConfigError
from planarena.records import Run, read_rows
from planarena.rows.environments import locate
from planarena.rows.run_reading import ShardReader

sys.path.append(str(Path(__file__).resolve().parents[1]))
from builds import kill_when

ID = {"name": "parcel_id", "in": "path", "required": True, "schema": {"type": "string"}}
PARCEL = {
    "type": "object",
    "required": ["parcel_id", "label"],
    "properties": {
        "parcel_id": {"type": "string"},
        "label": {"type": "string"},
        "weight": {"type": "integer"},
    },
}


def _answer(schema: Any) -> dict[str, Any]:
    return {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}


def _body(*names: str) -> dict[str, Any]:
    kinds = {"label": {"type": "string"}, "weight": {"type": "integer"}, "reason": {"type": "string"}}
    schema = {"type": "object", "required": list(names), "properties": {name: kinds[name] for name in names}}
    return {"required": True, "content": {"application/json": {"schema": schema}}}


DESCRIPTION = {
    "openapi": "3.0.0",
    "info": {"title": "Parcels"},
    "paths": {
        "/parcels": {
            "get": {"operationId": "list_parcels", "responses": _answer({"type": "array", "items": PARCEL})},
            "post": {
                "operationId": "send_parcel",
                "requestBody": _body("label", "weight"),
                "responses": _answer(PARCEL),
            },
        },
        "/parcels/{parcel_id}": {
            "get": {"operationId": "track_parcel", "parameters": [ID], "responses": _answer(PARCEL)},
            "delete": {"operationId": "recall_parcel", "parameters": [ID], "responses": _answer(PARCEL)},
        },
        "/depots": {
            "get": {
                "operationId": "find_depot",
                "parameters": [{"name": "city", "in": "query", "required": True, "schema": {"type": "string"}}],
                "responses": _answer({"type": "object", "properties": {"depot_name": {"type": "string"}}}),
            }
        },
    },
}  # fmt: skip
# All that the user lets be sent: anything else that reaches the server was made up.
SENT = {"label": "birthday present", "weight": 3}
CITIES = ("Lisbon", "Oslo")


class Parcels(ThreadingHTTPServer):
    """Answers with the same parcels always, and remembers every request."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, Any]] = []
        self.delay = 0.0
        super().__init__(("127.0.0.1", 0), _Handler)
        self.base = f"http://127.0.0.1:{self.server_address[1]}"

    def sent(self, *methods: str) -> list[tuple[str, str, Any]]:
        """Return the requests of these methods."""
        return [one for one in self.seen if one[0] in methods]


class _Handler(BaseHTTPRequestHandler):
    server: Parcels

    def _reply(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, self.path, json.loads(raw) if raw else None))
        if self.command != "GET":
            time.sleep(self.server.delay)
        parcels = {f"p{number}": {"parcel_id": f"p{number}", "label": word, "weight": number} for number, word in ((1, "books"), (2, "shoes"))}  # fmt: skip
        value: Any = {"error": "unknown"}
        status = 404
        if self.path == "/parcels":
            made = {"parcel_id": "p9", **SENT}
            status, value = 200, made if self.command == "POST" else list(parcels.values())
        elif self.path.startswith("/parcels/"):
            known = parcels | {"p9": {"parcel_id": "p9", **SENT}}
            name = self.path.rpartition("/")[2]
            status, value = (200, known[name]) if name in known else (404, value)
        elif self.path.startswith("/depots?city="):
            city = self.path.partition("=")[2]
            status, value = (200, {"depot_name": f"{city} North"}) if city in CITIES else (404, value)
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = _reply

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Parcels]:
    with Parcels() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _nothing_allowed() -> Iterator[None]:
    yield
    sources.opening._SHARED.close()


def _config(tmp_path: Path, server: Parcels, **changes: Any) -> BuildConfig:
    (tmp_path / "api.json").write_text(json.dumps(DESCRIPTION))
    live = {
        "openapi": "api.json",
        "base": server.base,
        "allow_private": True,
        "read_only": changes.pop("read_only", False),
        "tools": {
            "find_depot": {"examples": [{"city": city} for city in CITIES]},
            "track_parcel": {"examples": [{"parcel_id": "p1"}]},
            "send_parcel": {"examples": [SENT], "ask": ["send a parcel labelled {label} of {weight} kg"]},
            "recall_parcel": {"examples": [{}], "ask": ["recall {parcel_id}"]},
        },
    }
    (tmp_path / "live.json").write_text(json.dumps(live))
    return BuildConfig(
        out=str(tmp_path / "run"),
        sources=(f"http:{tmp_path / 'live.json'}",),
        trajectories=changes.pop("trajectories", 24),
        chunk_scenarios=2,
        scenarios=changes.pop("scenarios", 2),
        contrast=ContrastConfig(no_calls=4),
        allowed=AllowedConfig(effects=changes.pop("effects", False)),
        execution=ExecutionConfig(workers=1),
    )


def _rows(run: Run, table: str) -> list[Any]:
    return [row for path in run.shards(table) for row in read_rows(path, table)]  # type: ignore[arg-type]


def _gold_calls(run: Run) -> set[tuple[str, str]]:
    """Return the requests that gold trajectories consist of, as (tool, arguments)."""
    gold = {row.trajectory_id for row in _rows(run, "trajectories") if row.kind == "gold"}
    return {(row.tool, row.arguments) for row in _rows(run, "steps") if row.trajectory_id in gold}


def _outcomes(run: Run) -> Counter[str]:
    found: Counter[str] = Counter()
    executions = {row.execution_id: row for row in _rows(run, "executions")}
    steps = {(row.trajectory_id, row.execution_id) for row in _rows(run, "steps")}
    for row in _rows(run, "decision_points"):
        for one in msgspec.json.decode(row.candidates):
            if one["mutation"]:
                found[one["outcome"]] += 1
                if not one["tool"]:
                    # An answer calls nothing: what is stored is the check of it.
                    assert executions[one["execution_id"]].execution_kind == "answer_check"
                elif one["execution_id"]:
                    # Refused by its schema or by name before anything was sent; or another step of the same gold
                    # trajectory, which is told from its record.
                    gold = (row.trajectory_id, one["execution_id"]) in steps
                    assert gold or executions[one["execution_id"]].status == "schema_error", one
    parents = {row.trajectory_id: row.parent_id for row in _rows(run, "trajectories") if row.parent_id}
    assert parents
    for name, execution in steps:
        if name in parents:
            told = (parents[name], execution) in steps
            made = executions[execution]
            # An answer calls nothing: what is stored is the check of it.
            assert told or made.status == "schema_error" or made.execution_kind == "answer_check", execution
    return found


def test_no_wrong_choice_reaches_a_live_tool(tmp_path: Path, server: Parcels) -> None:
    run = planarena.build(_config(tmp_path, server))
    assert run.info["counts"]["gold"] >= 6
    assert server.sent("POST", "DELETE") == []
    # Wrong choices are there, and not one was executed: what was asked of the server is what gold asks.
    outcomes = _outcomes(run)
    assert outcomes["diverges"] > 0
    assert outcomes["error"] > 0
    cities = {path for _, path, _ in server.seen if path.startswith("/depots")}
    assert cities == {f"/depots?city={city}" for city in CITIES}
    parcels = {path for _, path, _ in server.seen if path.startswith("/parcels/")}
    assert parcels <= {"/parcels/p1", "/parcels/p2"}
    assert _gold_calls(run)
    before = len(server.seen)
    # Nor does a policy act there: rows of a live scenario have no environment.
    reader = ShardReader(run)
    (path, *_) = run.shards("trajectories")
    assert all(locate(reader, reader.dialogue(row)) is None for row in reader.open(path))
    assert len(server.seen) == before


def test_a_service_that_is_declared_to_be_read_only_is_asked_wrong_things_too(
    tmp_path: Path, server: Parcels
) -> None:
    """The other side of the test above: with the same tools, only the declaration makes wrong choices run."""
    run = planarena.build(_config(tmp_path, server, read_only=True, effects=True))
    executions = {row.execution_id: row for row in _rows(run, "executions")}
    executed = [
        one
        for row in _rows(run, "decision_points")
        for one in msgspec.json.decode(row.candidates)
        if one["mutation"]
        and one["execution_id"]
        and executions[one["execution_id"]].status != "schema_error"
    ]
    assert executed
    assert server.sent("POST", "DELETE") == []


def test_allowed_effects_happen_once_for_each_gold_trajectory(tmp_path: Path, server: Parcels) -> None:
    run = planarena.build(_config(tmp_path, server, effects=True))
    trajectories = _rows(run, "trajectories")
    goals = {row.task_id: msgspec.json.decode(row.goal) for row in _rows(run, "tasks")}
    executions = {row.execution_id: row for row in _rows(run, "executions")}
    steps = _rows(run, "steps")
    changing = {"send_parcel": "POST", "recall_parcel": "DELETE"}
    kept: Counter[str] = Counter()
    for row in trajectories:
        mine = [one for one in steps if one.trajectory_id == row.trajectory_id]
        changes = [one for one in mine if one.tool in changing]
        if row.kind == "contrastive":
            continue
        unproven = bool(changes)
        assert goals[row.task_id].get("unproven", False) is unproven
        if mine:
            assert row.minimal is not unproven
            assert {executions[one.execution_id].proven for one in mine} == {not unproven}
        for one in changes:
            kept[changing[one.tool]] += 1
    records = [json.loads(path.read_text()) for path in (run.path / "for_good").glob("*.json")]
    made = Counter(changing[one[0]] for record in records for one in record["attempts"] if one[0] in changing)
    # As many requests as records say, at least one for each that was kept, and never one that the user did not write.
    assert Counter(method for method, _, _ in server.sent("POST", "DELETE")) == made
    assert made["POST"] >= kept["POST"] > 0
    assert made["DELETE"] >= kept["DELETE"] > 0
    assert all(body == SENT for _, _, body in server.sent("POST"))
    assert {path for _, path, _ in server.sent("DELETE")} <= {"/parcels/p1", "/parcels/p2", "/parcels/p9"}
    assert len(records) <= 24
    assert run.info["counts"]["gold_unproven"] == sum(row.kind == "gold" and not row.minimal for row in trajectories)  # fmt: skip
    assert "**change things for good**" in (run.path / "README.md").read_text()
    assert "executed them **once**" in (run.path / "README.md").read_text()
    _outcomes(run)  # no wrong choice was executed

    # A second run, and one whose products were thrown away, change nothing: neither bytes nor the world.
    seen = server.sent("POST", "DELETE")
    files = {path: path.read_bytes() for path in (run.path / "tables").rglob("*.parquet")}
    planarena.build(_config(tmp_path, server, effects=True))
    assert server.sent("POST", "DELETE") == seen
    (run.path / "ledger.sqlite").unlink()
    for path in sorted((run.path / "work").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    assert {path: path.read_bytes() for path in files} == files


def test_a_killed_build_changes_nothing_twice(tmp_path: Path, server: Parcels) -> None:
    """Kill -9 in the middle of calls that change things; the build that goes on repeats none of them."""
    config = _config(tmp_path, server, effects=True)
    server.delay = 0.15
    kill_when(
        config, lambda: len(server.sent("POST", "DELETE")) >= 3
    )  # within the delay: the call is under way
    server.delay = 0.0
    early = server.sent("POST", "DELETE")
    assert len(early) >= 3
    begun = list((tmp_path / "run" / "for_good").glob("*.json"))
    torn = [path for path in begun if json.loads(path.read_text())["attempts"] is None]
    assert len(torn) == 1
    run = planarena.build(config)
    records = {path: json.loads(path.read_text())["attempts"] for path in (run.path / "for_good").glob("*.json")}  # fmt: skip
    assert [path for path, attempts in records.items() if attempts is None] == torn
    told = sum(one[0] in {"send_parcel", "recall_parcel"} for attempts in records.values() for one in attempts or ())  # fmt: skip
    # The torn one had sent at least one; all others are told by exactly one record each.
    assert len(server.sent("POST", "DELETE")) - told in {1, 2}
    reasons = Counter(row.reason for row in _rows(run, "discards"))
    assert reasons["interrupted"] == 1
    assert run.info["counts"]["gold"] > 0


def test_what_is_executed_for_good_is_not_spread_over_machines() -> None:
    with pytest.raises(ConfigError, match="one process"):
        BuildConfig(allowed=AllowedConfig(effects=True), execution=ExecutionConfig(engine="ray"))
