"""The bench with users that a model plays: the gold wins with a good one, what a bad one spoils is no verdict on anybody."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from planarena.bench import DoNothing, GoldPolicy, Task, bench_path, load_tasks, play
from planarena.eval.config import EvalConfig
from planarena.eval.run import evaluate
from planarena.eval.settings import GenerationConfig
from planarena.users import Users

sys.path.append(str(Path(__file__).resolve().parents[2]))
from llm_server import Script, ScriptedServer
from user_model import BadUser, GoodUser


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def tasks() -> Iterator[list[Task]]:
    with bench_path() as path:
        yield load_tasks(path, limit=3)


def served(user: GoodUser) -> ScriptedServer:
    return ScriptedServer(Script(reply=lambda body: json.dumps(user(body))))


def test_the_gold_wins_with_a_good_user(tasks: list[Task]) -> None:
    with served(GoodUser()) as server, Users(f"model:person@{server.url}") as users:
        played = list(play(GoldPolicy(tasks), tasks, users=users))
    assert [one.task.kind for one in played if not one.success] == []
    assert {one.task.talk for one in played} > {"missing_value", "change_of_mind", "rule", "failed_call"}


@pytest.mark.parametrize("fault", ["lied", "other_role", "never_ends", "ended_early"])
def test_what_a_bad_user_spoils_has_its_class_and_is_no_success(tasks: list[Task], fault: str) -> None:
    with served(BadUser(fault)) as server, Users(f"model:person@{server.url}") as users:
        played = list(play(GoldPolicy(tasks), tasks, users=users))
    several = [one for one in played if len(one.task.row.turns) > 1]
    assert len(several) > 8
    # Whose replies are used up before the user is stopped has none left to be heard; whoever asks back once too often
    # is left by the user, and that is no fault of the user's.
    heard = [one for one in several if not one.broken and "?</response>" not in one.texts[-1]]
    assert len(heard) > 8 and {one.spoiled for one in heard} == {fault}
    assert not any(one.success for one in played if one.spoiled)


def test_who_never_asks_hears_what_a_leaking_user_should_hold_back(tasks: list[Task]) -> None:
    held = [task for task in tasks if task.talk == "missing_value"]
    with served(BadUser("leaked")) as server, Users(f"model:person@{server.url}") as users:
        played = list(play(DoNothing(), held, users=users))
    assert [one.spoiled for one in played].count("leaked") > 1


def test_an_evaluation_discards_what_users_spoil_and_says_so(tmp_path: Path, tasks: list[Task]) -> None:
    with served(BadUser("lied")) as server:
        config = EvalConfig(
            suites=("planarena",),
            out=str(tmp_path / "out"),
            responses="gold",
            limit=3,
            generation=GenerationConfig(bench_user=f"model:person@{server.url}"),
        )
        result = evaluate(config).suites["planarena"]
        assert 0 < len(result.verdicts) < len(tasks)
        spoiled = len(tasks) - len(result.verdicts)
        assert all(verdict.correct for verdict in result.verdicts)
        assert any(
            f"{spoiled} conversations were discarded" in note and "lied" in note for note in result.notes
        )
        asked = sum(server.sent.values())
        evaluate(config)
        assert sum(server.sent.values()) == asked
