"""Drafting without running code: names, answers that are no files, budgets, what a second call does again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest

from planarena.drafting import DraftConfig, draft_all, read_topics
from planarena.drafting import drafter as drafter_module
from planarena.drafting.judging import Verdict
from planarena.drafting.parts import Design, check_design, read_words, stub_words, tools_in
from planarena.drafting.settings import names_of
from planarena.environments.check import Finding
from planarena.errors import ConfigError, RunError, UserError
from planarena.llm import Budget, BudgetSpent

sys.path.insert(0, str(Path(__file__).parents[2]))
from draft_model import DraftModel, template
from llm_server import Script, ScriptedServer


class Judge:
    """Finds nothing, or what it is told to; the one that runs code has tests of its own."""

    def __init__(self) -> None:
        self.folders: list[Path] = []
        self.finds: dict[str, list[Finding]] = {}

    def __call__(self, folder, tasks=0, *, acts=True, start_seconds=15.0):
        self.folders.append(folder)
        found = self.finds.get(folder.name, [])
        return Verdict(tuple(found), {"2": 5, "3": 5, "4": 5} if tasks and not found else {})


@pytest.fixture
def judge(monkeypatch):
    made = Judge()
    monkeypatch.setattr(drafter_module, "judge", made)
    return made


@pytest.fixture(scope="module")
def server():
    with ScriptedServer(Script(reply=DraftModel())) as running:
        yield running


def config_of(server, out, *topics, **settings):
    return DraftConfig(topics=topics or ("A corner shop",), model=f"m@{server.url}", out=str(out), **settings)


def test_a_draft_that_passes_is_moved_into_place_with_its_provenance(server, judge, tmp_path):
    (report,), spent = draft_all(config_of(server, tmp_path / "out"))
    assert (report.status, report.name, report.tools) == ("made", "corner_shop", 8)
    assert [part.part for part in report.parts] == [
        "design",
        "tools",
        "world",
        "words 1 of 2",
        "words 2 of 2",
        "whole",
    ]
    assert all(part.passed for part in report.parts)
    assert spent.calls == 5
    folder = tmp_path / "out" / "corner_shop"
    assert {path.name for path in folder.iterdir()} == {
        "environment.py", "world.py", "words.yaml", "seeds.yaml", "README.md", "provenance.json",
    }  # fmt: skip
    stated = json.loads((folder / "provenance.json").read_text())
    assert stated["topic"] == "A corner shop"
    assert stated["model"] == f"m@{server.url}"
    assert "language model" in stated["licence"]
    assert {label.partition("@")[0] for label in stated["prompts"]} >= {
        "draft_design",
        "draft_tools",
        "draft_words",
    }
    assert "Drafted by" in (folder / "README.md").read_text()
    # Each state was judged in a folder of its own: nothing of an earlier one can be read again.
    assert len(set(judge.folders)) == len(judge.folders)


def test_the_second_call_asks_and_judges_nothing(server, judge, tmp_path):
    first = draft_all(config_of(server, tmp_path / "out"))
    sent, judged = sum(server.sent.values()), len(judge.folders)
    assert draft_all(config_of(server, tmp_path / "out")) == first
    assert (sum(server.sent.values()), len(judge.folders)) == (sent, judged)


def test_what_is_lost_is_drafted_again_without_paying(server, judge, tmp_path):
    draft_all(config_of(server, tmp_path / "out"))
    sent = sum(server.sent.values())
    (tmp_path / "out" / "corner_shop.draft.json").unlink()
    import shutil

    shutil.rmtree(tmp_path / "out" / "corner_shop")
    (report,), spent = draft_all(config_of(server, tmp_path / "out"))
    assert report.status == "made"
    assert sum(server.sent.values()) == sent
    assert spent.calls == 5  # of both calls: what was paid for before counts


def test_a_budget_holds_over_several_calls(server, judge, tmp_path):
    with pytest.raises(BudgetSpent):
        draft_all(config_of(server, tmp_path / "out", budget=Budget(calls=2)))
    with pytest.raises(BudgetSpent):
        draft_all(config_of(server, tmp_path / "out", budget=Budget(calls=2)))
    sent = sum(server.sent.values())
    reports, spent = draft_all(config_of(server, tmp_path / "out", budget=Budget(calls=5)))
    assert [one.status for one in reports] == ["made"]
    assert spent.calls == 5
    assert sum(server.sent.values()) == sent + 3


def test_findings_are_repaired_so_often_and_then_given_up(server, judge, tmp_path):
    fault = Finding("opens", "corner_shop", "is broken", "correct it")
    judge.finds["corner_shop"] = [fault]
    (report,), _ = draft_all(config_of(server, tmp_path / "out", repairs=2))
    assert report.status == "given_up"
    assert report.parts[-1].part == "tools"
    assert report.parts[-1].answers == 3
    assert report.parts[-1].findings == ((fault,),) * 3
    assert not (tmp_path / "out" / "corner_shop").exists()
    # Nothing is tried again unless it is asked for, and then with other answers.
    judge.finds.clear()
    assert draft_all(config_of(server, tmp_path / "out", repairs=2))[0][0].status == "given_up"
    (again,), _ = draft_all(config_of(server, tmp_path / "out", repairs=2, retry_failed=True))
    assert (again.status, again.sample) == ("made", 1)


def test_an_answer_of_another_shape_gives_the_draft_up(judge, tmp_path):
    with ScriptedServer(Script(reply=lambda body: json.dumps({"files": {"../../evil.py": "x"}}))) as server:
        (report,), _ = draft_all(config_of(server, tmp_path / "out"))
    assert report.status == "given_up"
    assert report.parts[-1].part == "design"
    assert "schema" in report.parts[-1].fault
    assert not list(tmp_path.rglob("evil.py"))


def test_files_of_other_names_are_refused(judge, tmp_path):
    def spoil(body):
        answer = json.loads(DraftModel()(body))
        if "files" in answer:
            answer["files"]["../../../evil.py"] = "x = 1"
        return json.dumps(answer)

    with ScriptedServer(Script(reply=spoil)) as server:
        (report,), _ = draft_all(config_of(server, tmp_path / "out"))
    assert (report.status, report.parts[-1].part) == ("given_up", "tools")
    assert not list(tmp_path.rglob("evil.py"))


def test_several_topics_are_drafted_in_their_order_whoever_is_first(server, judge, tmp_path):
    topics = ("The desk of a library", "A bakery by the sea", "the library desk")
    judge.finds["bakery_sea"] = [Finding("code", "environment.py", "no", "yes")]
    reports, _ = draft_all(config_of(server, tmp_path / "out", *topics, workers=3, repairs=0))
    assert [one.name for one in reports] == ["desk_library", "bakery_sea", "library_desk"]
    assert [one.status for one in reports] == ["made", "given_up", "made"]


def test_a_folder_of_another_topic_is_not_written_over(server, judge, tmp_path):
    out = tmp_path / "out"
    (out / "corner_shop").mkdir(parents=True)
    with pytest.raises(RunError, match="holds corner_shop already"):
        draft_all(config_of(server, out))
    draft_all(config_of(server, tmp_path / "other"))
    with pytest.raises(RunError, match="another topic"):
        draft_all(config_of(server, tmp_path / "other", "the corner shop"))


def test_settings_that_mean_nothing_are_refused(tmp_path):
    for change in ({"topics": ()}, {"topics": ("12",)}, {"tools": (9, 3)}, {"workers": 0}, {"repairs": -1}):
        config = DraftConfig(**{"topics": ("A shop",), "model": "m", "out": str(tmp_path), **change})
        with pytest.raises(ConfigError):
            config.check()
    assert names_of(("The front desk of a car rental", "front desk, car rental", "42!")) == [
        "front_desk_car_rental", "front_desk_car_rental_2", "environment",
    ]  # fmt: skip
    file = tmp_path / "topics.txt"
    file.write_text("# what people do\nA shop\n\nA zoo\nA shop\n")
    assert read_topics(file, 0) == ("A shop", "A zoo")
    assert read_topics(file, 1) == ("A shop",)
    with pytest.raises(UserError, match="holds 2 topics"):
        read_topics(file, 3)


def test_a_design_is_held_to_its_rules():
    model = DraftModel()
    good = msgspec.convert(model._design(), Design)
    assert check_design(good, (8, 14)) == []
    tool = good.tools[0]
    for tools, word in (
        ((*good.tools, tool), "stands there twice"),
        (good.tools[:3], "has 3"),
        (tuple(msgspec.structs.replace(one, effect="read") for one in good.tools), "look-ups and changes"),
        ((*good.tools[:-1], msgspec.structs.replace(tool, name="Do It")), "no lower-case word"),
        ((*good.tools[:-1], msgspec.structs.replace(tool, name="list")), "no verb and noun"),
    ):
        found = check_design(msgspec.structs.replace(good, tools=tools), (8, 14))
        assert any(word in one.what for one in found), word
    fields = tuple(msgspec.structs.replace(one, hidden=False) for one in good.tables[0].fields)
    table = msgspec.structs.replace(good.tables[0], fields=fields)
    assert any(
        "no id" in one.what for one in check_design(msgspec.structs.replace(good, tables=(table,)), (8, 14))
    )


def test_words_are_read_as_data():
    words, found = read_words("a_b: {ask: [x]}\nc_d: {ask: [y]}\n", ["a_b", "c_d"])
    assert (words, found) == ({"a_b": {"ask": ["x"]}, "c_d": {"ask": ["y"]}}, [])
    for text, word in (
        ("!!python/object/apply:os.system [ls]", "no YAML"),
        ("- 1", "no mapping"),
        ("a_b: {}\n", "has no words"),
        ("a_b: {}\nc_d: {}\ne_f: {}\n", "none of the tools"),
        ("a: &a [*a]", "no YAML"),
    ):
        assert any(word in one.what for one in read_words(text, ["a_b", "c_d"])[1]), text
    assert "a_b" in stub_words("shop", ["a_b"])
    assert tools_in(template("environment.py.txt", "shop"))[:2] == ["list_items", "look_up_item"]
    assert tools_in("def (") == []
