"""Builds whose tools a model plays, against a scripted server: marked as such, cached, and never paid for twice."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import pytest

import planarena
from planarena import Run
from planarena.config import (
    AllowedConfig,
    BuildConfig,
    CallsConfig,
    CompositionConfig,
    ContrastConfig,
    ExecutionConfig,
)
from planarena.environments import sources
from planarena.errors import ConfigError, UserError

sys.path.append(str(Path(__file__).resolve().parents[1]))
from builds import command_of, contents, kill_when
from llm_server import Script, ScriptedServer

BOOK = {
    "type": "object",
    "required": ["book_id", "title", "shelf"],
    "properties": {"book_id": {"type": "string"}, "title": {"type": "string"}, "shelf": {"type": "string"}},
}
TITLE = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
BOOK_ID = {"type": "object", "properties": {"book_id": {"type": "string"}}, "required": ["book_id"]}
TOOLS = [
    ("add_book", "Add a book.", TITLE, BOOK, False),
    ("find_book", "Find a book.", TITLE, BOOK, True),
    ("lend_book", "Lend a book.", BOOK_ID, BOOK, False),
    ("describe_book", "Describe a book.", BOOK_ID, BOOK, True),
]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "cache"))
    yield
    _forget()


def _forget() -> None:
    sources.opening._SHARED.close()


def play(body: dict[str, Any]) -> str:
    """Answer as a library whose books differ from world to world, and whose lent books stand on no shelf."""
    asked = json.loads(body["messages"][-1]["content"])
    name, arguments = asked["call"]["name"], asked["call"]["arguments"]

    def number(*words: str) -> str:
        return blake2b(json.dumps([asked["world"], *words]).encode(), digest_size=3).hexdigest()

    title = arguments.get("title") or f"Volume {arguments['book_id']}"
    book = arguments.get("book_id") or f"b-{number(title)}"
    lent = [one[1]["book_id"] for one in asked["before"] if one[0] == "lend_book"]
    away = name == "lend_book" or book in lent
    return json.dumps({"book_id": book, "title": title, "shelf": "lent" if away else f"shelf {number(book)}"})


def _config(tmp_path: Path, server: ScriptedServer, out: str, **changes: Any) -> BuildConfig:
    listed = [
        {"name": name, "description": text, "inputSchema": given, "outputSchema": told, "annotations": {"readOnlyHint": reads}}
        for name, text, given, told, reads in TOOLS
    ]  # fmt: skip
    (tmp_path / "library.json").write_text(json.dumps(listed))
    return BuildConfig(
        out=str(tmp_path / out),
        sources=(str(tmp_path / "library.json"),),
        trajectories=1000,
        scenarios=4,
        chunk_scenarios=1,
        composition=CompositionConfig(per_scenario=4, budget=12),
        contrast=ContrastConfig(candidates=2, trajectories=1, no_calls=1),
        allowed=AllowedConfig(simulate=f"player@{server.url}"),
        execution=ExecutionConfig(workers=changes.pop("workers", 1), **changes),
    )


def _paid(out: Path) -> int:
    with sqlite3.connect(out / "ledger.sqlite") as ledger:
        return int(ledger.execute("SELECT COUNT(*) FROM llm_calls").fetchone()[0])


def _column(run: Run, table: str, name: str) -> set[str]:
    return set(run.table(table).collect()[name])


def test_simulated_results_are_marked_and_paid_for_once(tmp_path: Path) -> None:
    with ScriptedServer(Script(reply=play)) as server:
        config = _config(tmp_path, server, "run")
        run = planarena.build(config)
        counts = run.info["counts"]
        assert counts["gold"] > 4
        assert counts["gold_kind"] == {"simulated": counts["gold"]}
        # The check of an answer calls nothing, so no result of it is made up.
        assert set(counts["executions"]) == {"simulated", "answer_check"}
        made = run.table("executions").collect()
        for kind, result in made.select("execution_kind", "result").rows():
            assert (kind == "answer_check") == ("goal_reached" in (msgspec.json.decode(result) or ()))
        assert _column(run, "tools", "execution_kind") == {"simulated"}
        environments = [msgspec.json.decode(text) for text in _column(run, "scenarios", "environment")]
        assert {one["execution_kind"] for one in environments} == {"simulated"}
        card = (run.path / "README.md").read_text()
        assert "**made up the results**" in card
        assert "a response written by a language model" in card
        assert "Simulated executions prove nothing" in card
        # Values pass from a made-up result into a later call.
        assert counts["gold_data_edge"] > 0
        assert max(server.sent.values()) == 1
        assert _paid(run.path) == len(server.sent) == len(server.arrivals)

        before, asked = contents(run.path), len(server.arrivals)
        planarena.build(config)
        assert contents(run.path) == before
        # Another folder, in a process that remembers nothing: the user's cache answers all of it.
        _forget()
        again = planarena.build(_config(tmp_path, server, "again", workers=2))
        assert len(server.arrivals) == asked
        assert _paid(again.path) == 0
        tables = {name: digest for name, digest in before.items() if name.startswith("tables")}
        assert tables.items() <= contents(again.path).items()


def test_a_killed_build_pays_for_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(Script(reply=play)) as server:
        whole = planarena.build(_config(tmp_path, server, "run"))
        wanted, number = contents(whole.path), len(server.sent)
        _forget()
        monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "other cache"))
        shutil.rmtree(whole.path)
        server.clear()
        config = _config(tmp_path, server, "run")
        kill_when(config, lambda: len(server.sent) >= number // 2)
        assert len(server.sent) < number
        subprocess.run(
            command_of(config), check=True
        )  # not here: this process remembers the chunks of the first run
        assert contents(whole.path) == wanted
        # Only the answer that was on its way when the process died may have been asked for again.
        twice = [digest for digest, times in server.sent.items() if times > 1]
        assert len(twice) <= 1
        assert len(server.sent) == number


def test_a_model_that_refuses_stops_the_build_and_a_budget_is_refused(tmp_path: Path) -> None:
    with ScriptedServer(Script(reply=play, models=frozenset({"another"}))) as server:
        with pytest.raises(UserError, match="player"):
            planarena.build(_config(tmp_path, server, "run"))
        with pytest.raises(ConfigError, match="budget"):
            _config(tmp_path, server, "run", calls=CallsConfig(budget_calls=3))


def test_the_command_line_simulates_where_it_is_told_to(tmp_path: Path) -> None:
    with ScriptedServer(Script(reply=play)) as server:
        config = _config(tmp_path, server, "run")
        command = [
            *(sys.executable, "-m", "planarena", "build", config.sources[0], "--out", config.out, "--json"),
            *("--trajectories", "2", "--scenarios", "1", "--workers", "1"),
        ]
        refused = subprocess.run(command, capture_output=True, text=True, check=False)
        assert refused.returncode == 2
        assert "--simulate" in refused.stdout + refused.stderr
        assert server.arrivals == []
        told = [*command, "--simulate", f"player@{server.url}"]
        done = subprocess.run(told, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert server.arrivals
        assert Run.open(config.out).info["config"]["allowed"]["simulate"] == f"player@{server.url}"
