"""Environment folders as sources: the sandbox and this process give the same, also when the sandbox is ended."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from random import Random
from typing import Any

import polars
import pytest

import planarena
from planarena.cli import main
from planarena.config import AllowedConfig, BuildConfig, ContrastConfig, ExecutionConfig
from planarena.environments import sandbox
from planarena.environments.sandbox.worker import Worker
from planarena.environments.sources import SourceOptions
from planarena.environments.sources.folder.source import FolderUnit, open_folder_source
from planarena.errors import SourceError

needs_sandbox = pytest.mark.skipif(
    sandbox.missing() is not None, reason=f"no sandbox here: {sandbox.missing()}"
)
SALT = "0000000000000007"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    assert main(["env", "new", "shop", "--dir", str(tmp_path)]) == 0
    return tmp_path / "shop"


def calls_of(unit: FolderUnit, steps: int) -> list[Any]:
    """Propose, call, undo at random; return everything that was seen."""
    world, rng, seen = unit.open(SALT).world, Random(5), []
    marks, known = [world.mark()], {"item_id": ["itm_0"], "order_id": ["ord_0"]}
    world.remember(True)
    for _ in range(steps):
        name = rng.choice(list(unit.operations))
        arguments = dict(rng.choice(world.propose(name, rng)))
        for argument, values in known.items():
            if argument in unit.operations[name].tool.required:
                arguments[argument] = rng.choice(values)
        outcome = world.call(name, arguments)
        touched = world.footprint()
        seen.append(
            (name, arguments, outcome.status, outcome.payload, touched.reads, touched.writes, world.digest())
        )
        for row in [
            outcome.result or {},
            *(outcome.result or {}).get("items", []),
            *(outcome.result or {}).get("orders", []),
        ]:
            for argument, values in known.items():
                values += [row[argument]] if argument in row else []
        marks.append(world.mark())
        if rng.random() < 0.2:
            place = rng.randrange(len(marks))
            world.rollback(marks[place])
            del marks[place + 1 :]
        if rng.random() < 0.1:
            seen.append((world.store.dump(), world.store.recompute_digest()))
            assert world.store.recompute_digest() == world.digest()
    return seen


@needs_sandbox
def test_the_sandbox_and_this_process_give_the_same(shop: Path) -> None:
    inside, here = (
        open_folder_source(str(shop), SourceOptions(trusted=trusted)) for trusted in (False, True)
    )
    try:
        found = calls_of(inside, 250)
        assert found == calls_of(here, 250)
        assert {one[2] for one in found if len(one) > 2} == {"ok", "tool_error"}
    finally:
        inside.close()


@needs_sandbox
def test_a_sandbox_that_is_ended_goes_on_where_it_was(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = SourceOptions()
    unit = open_folder_source(str(shop), options)
    undisturbed = calls_of(unit, 60)
    unit.close()
    asked, real = [0], Worker.call

    def call(self: Worker, method: str, value: Any = None, *, seconds: float | None = None) -> Any:
        asked[0] += 1
        if asked[0] % 17 == 0 and self._sandbox is not None:
            os.kill(self._sandbox.process.pid, signal.SIGKILL)
        return real(self, method, value, seconds=seconds)

    monkeypatch.setattr(Worker, "call", call)
    unit = open_folder_source(str(shop), options)
    try:
        assert calls_of(unit, 60) == undisturbed
        assert unit._host is not None
        assert unit._host.worker.starts > 3
    finally:
        unit.close()


@needs_sandbox
def test_many_worlds_share_one_sandbox(shop: Path) -> None:
    """More than it keeps: the oldest is given up and made again, with what was done in it."""
    unit = open_folder_source(str(shop), SourceOptions())
    try:
        worlds = [unit.open(f"{number:016x}").world for number in range(1, 21)]
        made = []
        for world in worlds:
            kind = world.propose("list_items", Random(1))[0]
            item = world.call("list_items", kind).result["items"][0]
            assert world.call("restock_item", {"item_id": item["item_id"], "quantity": 5}).status == "ok"
            made.append((kind, item))
        for world, (kind, item) in zip(worlds, made, strict=True):
            again = world.call("list_items", kind).result["items"]
            assert [one["stock"] for one in again if one["item_id"] == item["item_id"]] == [item["stock"] + 5]
            assert world.store.recompute_digest() == world.digest()
    finally:
        unit.close()


@needs_sandbox
def test_what_is_remembered_is_not_run_and_a_proof_runs_it(shop: Path) -> None:
    unit = open_folder_source(str(shop), SourceOptions())
    try:
        world = unit.open(SALT).world
        kind = world.propose("list_items", Random(1))[0]
        assert unit._host is not None
        worker = unit._host.worker
        world.remember(True)
        first = world.call("list_items", kind)
        asked = worker._number
        assert world.call("list_items", kind) == first
        assert worker._number == asked
        assert world.remember(False) is True
        assert world.call("list_items", kind) == first
        assert worker._number == asked + 1
    finally:
        unit.close()


def test_a_tool_that_fails_unforeseen_leaves_nothing(shop: Path) -> None:
    text = (shop / "environment.py").read_text()
    old = 'return self.state.patch("items", item_id, price=float(price))'
    assert old in text
    (shop / "environment.py").write_text(text.replace(old, f"{old[7:]}\n        return {{}}[price]"))
    results = []
    for trusted in (True, False) if sandbox.missing() is None else (True,):
        unit = open_folder_source(str(shop), SourceOptions(trusted=trusted))
        world = unit.open(SALT).world
        item = world.call("list_items", world.propose("list_items", Random(1))[0]).result["items"][0]
        before = world.digest()
        outcome = world.call("change_price", {"item_id": item["item_id"], "price": 7.0})
        assert (outcome.status, world.digest(), world.store.recompute_digest()) == (
            "tool_error",
            before,
            before,
        )
        results.append(outcome)
        unit.close()
    assert all(one == results[0] for one in results)
    assert results[0].error == {"code": "KeyError", "message": "7.0"}


def test_what_is_no_environment_is_refused_with_what_to_do(shop: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no environment\.py") as caught:
        open_folder_source(str(tmp_path / "nowhere"), SourceOptions())
    assert "planarena env new" in str(caught.value.fix)
    (shop / "words.yaml").unlink()
    with pytest.raises(SourceError, match=r"has no words\.yaml") as caught:
        open_folder_source(str(shop), SourceOptions())
    assert "docs/wording.md" in str(caught.value.fix)


def tables_of(folder: Path) -> dict[str, polars.DataFrame]:
    return {
        table.name: polars.read_parquet(table / "*.parquet")
        for table in sorted((folder / "tables").iterdir())
    }


@needs_sandbox
def test_builds_are_equal_trusted_sandboxed_and_with_the_sandbox_ended(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Named from beside it: what is drawn hangs on how a source is called.
    monkeypatch.chdir(shop.parent)

    def build(name: str, trusted: bool) -> dict[str, polars.DataFrame]:
        allowed = AllowedConfig(trusted=trusted)
        none = ContrastConfig(candidates=0, trajectories=0, no_calls=0)
        planarena.build(
            BuildConfig(
                sources=(f"env:{shop.name}",),
                out=str(tmp_path / name),
                trajectories=6,
                seed=4,
                contrast=none,
                allowed=allowed,
                execution=ExecutionConfig(workers=1),
            )
        )
        return tables_of(tmp_path / name)

    trusted = build("trusted", True)
    sandboxed = build("sandboxed", False)
    asked, real = [0], Worker.call

    def call(self: Worker, method: str, value: Any = None, *, seconds: float | None = None) -> Any:
        asked[0] += 1
        if asked[0] in {40, 150} and self._sandbox is not None:
            os.kill(self._sandbox.process.pid, signal.SIGKILL)
        return real(self, method, value, seconds=seconds)

    monkeypatch.setattr(Worker, "call", call)
    ended = build("ended", False)
    assert asked[0] > 150
    assert trusted["trajectories"].height
    # What an answer tells is looked up again at the end of its message, inside a sandbox as outside.
    assert "stale_answer" in trusted["discards"]["reason"].to_list()
    for name, table in trusted.items():
        assert table.equals(sandboxed[name]), name
        assert table.equals(ended[name]), name
