"""Without a server: the sheet, answers from files, and corrected calls that become gold candidates."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import msgspec
import polars as pl
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))
from audit_server import small_run

from planarena import Run
from planarena.annotation import Plan, export_run, import_answers
from planarena.annotation.forms import ISSUES
from planarena.annotation.readings import _MEANS
from planarena.annotation.sheet import read_sheet
from planarena.cli import main
from planarena.errors import RunError, UserError
from planarena.export.trajectories import join_trajectories
from planarena.proofs import open_scenario, read_goal, replay_trajectory
from planarena.view.marks import FAULT_WORDS, Marks


def filled(path, target, person, values):
    """Fill the lines of a sheet in: `values` returns the answers of an item, or None to leave it out."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line["annotator"] = person
        line["answers"] |= values(line["item_id"]) or {}
    target.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return target


def good(_name):
    return {"query_ok": "yes", "goal_ok": "yes"}


def test_the_sheet_is_one_file_that_fetches_nothing(tmp_path):
    run = Run.open(small_run(tmp_path / "run"))
    files = export_run(run, tmp_path / "sheet", Plan(limit=5))
    assert [one.name for one in files] == [
        "trajectories.html", "trajectories.jsonl", "decisions.html", "decisions.jsonl",
    ]  # fmt: skip
    page = files[0].read_text()
    assert page.count("<article ") == 5
    assert not re.search(r"""(src|href)\s*=\s*["']?http""", page)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert (
        "default-src 'none'" in policy
        and "script-src 'sha256-" in policy
        and "unsafe-inline" not in policy.split("script-src")[1]
    )
    for word in ("contrastive", "hallucinated", "early_stop", "neighbour_value", "diverges", "frontier"):
        assert word not in page
        assert word not in files[2].read_text()
    assert export_run(run, tmp_path / "again", Plan(limit=5))[0].read_bytes() == files[0].read_bytes()


def test_answers_from_two_files_give_labels_and_agreement(tmp_path, capsys):
    path = small_run(tmp_path / "run")
    run = Run.open(path)
    sheet = export_run(run, tmp_path / "sheet", Plan(limit=6))[1]
    names = [json.loads(line)["item_id"] for line in sheet.read_text().splitlines()]
    ann = filled(sheet, tmp_path / "ann.jsonl", "ann", good)
    bob = filled(
        sheet,
        tmp_path / "bob.jsonl",
        "bob",
        lambda name: good(name) if name != names[0] else {"query_ok": "yes", "goal_ok": "no"},
    )
    assert main(["audit", "import", str(path), str(ann), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["waiting"] == 6
    assert main(["audit", "import", str(path), str(bob), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["waiting"], found["disagreements"], found["labels"]) == (
        0,
        1,
        {"positive": 5, "negative": 1},
    )
    assert found["agreement"]["goal_ok"]["all"]["percent"] == pytest.approx(5 / 6, abs=1e-12)
    assert main(["audit", "import", str(path), str(bob)]) == 0
    assert "1 to decide: planarena audit push" in capsys.readouterr().out
    assert main(["audit", "export", str(path), "--adjudicate", "--out", str(tmp_path / "judge")]) == 0
    judge = filled(tmp_path / "judge/adjudication.jsonl", tmp_path / "eve.jsonl", "eve", good)
    last = import_answers(run, [judge])
    assert (last.disagreements, last.labels) == (0, {"positive": 6})


def test_a_later_answer_of_the_same_person_counts(tmp_path):
    run = Run.open(small_run(tmp_path / "run"))
    sheet = export_run(run, tmp_path / "sheet", Plan(limit=2, overlap=1))[1]
    for goal, at in (("no", "2026-01-01T00:00:00"), ("yes", "2026-01-02T00:00:00")):
        lines = [
            json.loads(line)
            for line in filled(sheet, tmp_path / "a.jsonl", "ann", good).read_text().splitlines()
        ]
        for line in lines:
            line["submitted_at"] = at
            line["answers"]["goal_ok"] = goal
        (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        found = import_answers(run, [tmp_path / "a.jsonl"])
    assert found.labels == {"positive": 2}
    assert run.table("audits").collect().height == 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("no json", "no line of answers"),
        ('{"form": "x", "item_id": "a", "answers": {"query_ok": "yes"}}', "no line of answers"),
        (
            '{"form": "../../etc/passwd", "item_id": "a", "answers": {"query_ok": "yes"}}',
            "no line of answers",
        ),
        (
            '{"form": "trajectories", "item_id": "a", "answers": {"query_ok": "yes", "goal_ok": "yes"}}',
            "--annotator",
        ),
        (
            '{"form": "trajectories", "item_id": "a", "annotator": "ann", "answers": {"query_ok": "yes"}}',
            "'goal_ok' is not answered",
        ),
        (
            '{"form": "trajectories", "item_id": "a", "annotator": "ann", "answers": {"query_ok": "yes", "goal_ok": "maybe"}}',
            "no answer to 'goal_ok'",
        ),
    ],
)
def test_damaged_lines_are_refused_with_their_place(tmp_path, line, says):
    path = tmp_path / "a.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(UserError, match=re.escape(says)):
        read_sheet(path)


def test_answers_to_another_run_are_refused_one_by_one(tmp_path):
    run = Run.open(small_run(tmp_path / "run"))
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"form": "trajectories", "item_id": "ff", "annotator": "ann", "answers": {"query_ok": "yes", "goal_ok": "yes"}}\n'
    )
    found = import_answers(run, [path])
    assert found.refused == ["trajectories ff: not of this run"]
    assert found.labels == {}


def test_damaged_notes_of_the_audit_are_told(tmp_path):
    path = small_run(tmp_path / "run")
    (path / "audit").mkdir()
    (path / "audit/answers.jsonl").write_text('{"form": 1}\n')
    with pytest.raises(RunError, match="pull or import again"):
        import_answers(Run.open(path), [])


def correct(run, tmp_path, name, step, call):
    """Import one answer with a corrected call and return what became of it."""
    answers = {"query_ok": "yes", "goal_ok": "no", "first_wrong_step": str(step + 1), "corrected_call": call}
    line = {"form": "trajectories", "item_id": name, "annotator": "ann", "answers": answers}
    (tmp_path / "one.jsonl").write_text(json.dumps(line) + "\n")
    (run.path / "audit/answers.jsonl").unlink(missing_ok=True)
    (outcome,) = import_answers(run, [tmp_path / "one.jsonl"], min_answers=1).corrections
    return outcome


def test_corrected_calls_run_again_and_become_gold_candidates(tmp_path):
    run = Run.open(small_run(tmp_path / "run", 40))
    steps = {(row["trajectory_id"], row["step"]): row for row in run.table("steps").collect().to_dicts()}
    tools = {row["tool_id"]: row["wire_name"] for row in run.table("tools").collect().to_dicts()}
    wrong = run.table("trajectories").collect().to_dicts()
    chosen = {}
    for row in wrong:
        at = (row["trajectory_id"], row["diverge_step"])
        if row["kind"] == "contrastive" and at in steps and (row["parent_id"], row["diverge_step"]) in steps:
            chosen.setdefault(row["mutation"], row)
    assert len(chosen) >= 3, chosen.keys()
    for row in chosen.values():
        gold = steps[row["parent_id"], row["diverge_step"]]
        call = {"name": tools[gold["tool_id"]], "arguments": json.loads(gold["arguments"])}
        outcome = correct(run, tmp_path, row["trajectory_id"], row["diverge_step"], json.dumps(call))
        assert outcome.new_id, (row["mutation"], outcome.reason)
        made = Run.open(run.path / "audit/corrections")
        (joined,) = join_trajectories(made)
        assert (joined.row.kind, joined.row.source, joined.row.parent_id) == (
            "gold",
            "correction",
            row["trajectory_id"],
        )
        parent = next(one for one in wrong if one["trajectory_id"] == row["parent_id"])
        assert joined.row.response == parent["response"]
        faults = replayed(made, joined.row.trajectory_id)
        assert faults == [], faults
        # The corrections are a run of their own: they go to annotators as any other.
        assert export_run(made, tmp_path / "next", Plan())[0].is_file()


def replayed(run, name):
    """Execute a trajectory of a run again from its tables."""
    rows = {table: run.table(table).collect().to_dicts() for table in run.tables}
    trajectory = next(one for one in rows["trajectories"] if one["trajectory_id"] == name)
    task = next(one for one in rows["tasks"] if one["task_id"] == trajectory["task_id"])
    scenario = next(one for one in rows["scenarios"] if one["scenario_id"] == task["scenario_id"])
    mine = sorted((one for one in rows["steps"] if one["trajectory_id"] == name), key=lambda one: one["step"])
    executions = {one["execution_id"]: one for one in rows["executions"]}
    tools = {one["tool_id"]: one["wire_name"] for one in rows["tools"]}
    return replay_trajectory(open_scenario(scenario), read_goal(task["goal"]), mine, executions, tools)


def test_corrections_that_do_not_help_are_refused_with_the_reason(tmp_path):
    run = Run.open(small_run(tmp_path / "run", 40))
    executions = {row["execution_id"]: row for row in run.table("executions").collect().to_dicts()}
    # The wrong call must have run: a failed one that is left as it was is no correction.
    ran = {
        (row["trajectory_id"], row["step"])
        for row in run.table("steps").collect().to_dicts()
        if executions[row["execution_id"]]["status"] == "ok"
    }
    row = next(
        one
        for one in join_trajectories(run)
        if one.row.kind == "contrastive" and (one.row.trajectory_id, one.row.diverge_step) in ran
    )
    name, step = row.row.trajectory_id, row.row.diverge_step
    action = row.actions[step]
    same = json.dumps({"name": action.tool.wire_name, "arguments": action.arguments})
    cases = [
        (step, same, "the goal is not reached"),
        (step, "book it", "is not JSON"),
        (step, json.dumps({"name": "no_such_tool", "arguments": {}}), "there is no tool"),
        (step, json.dumps({"name": action.tool.wire_name, "arguments": {"surely_not": 1}}), "arguments:"),
        (15, same, "no such step"),
    ]
    for at, call, says in cases:
        outcome = correct(run, tmp_path, name, at, call)
        assert outcome.new_id == ""
        assert says in outcome.reason, outcome
        assert not (run.path / "audit/corrections").exists()
    stored = [msgspec.json.decode(one) for one in run.table("audits").collect()["correction"]]
    assert stored == [{"name": action.tool.wire_name, "arguments": action.arguments}]


def test_marks_of_the_viewer_become_answers_and_labels(tmp_path):
    path = small_run(tmp_path / "run")
    run = Run.open(path)
    first, second = run.table("trajectories").filter(pl.col("kind") == "gold").collect()["trajectory_id"][:2]
    marks = Marks(path)
    marks.mark("ann", first, "pass", note="as I would say it")
    marks.mark("ann", second, "fail", "untold", "the price is missing")
    marks.mark("bob", second, "fail", "wording")
    found = import_answers(run, sorted((path / "readings").glob("*.json")), min_answers=1)
    assert found.refused == []
    rows = {(row["trajectory_id"], row["annotator"]): row for row in run.table("audits").collect().to_dicts()}
    assert rows.keys() == {(first, "ann"), (second, "ann"), (second, "bob")}
    assert rows[first, "ann"]["goal_ok"] is rows[first, "ann"]["query_ok"] is True
    assert rows[second, "ann"]["goal_ok"] is False
    assert rows[second, "ann"]["comment"] == "untold: the price is missing"
    assert rows[second, "bob"]["query_ok"] is False
    labels = {row["trajectory_id"]: row["label"] for row in run.table("labels").collect().to_dicts()}
    assert labels == {first: "positive", second: "negative"}


def test_every_reason_of_a_reading_has_a_meaning_among_the_issues():
    assert _MEANS.keys() == FAULT_WORDS
    assert {issue for _, _, issue in _MEANS.values()} <= ISSUES.keys()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"kind": "planarena-reading", "judgements": [1]}', "is no reading"),
        ('{"kind": "planarena-reading", "judgements": []}', "--annotator"),
    ],
)
def test_damaged_readings_are_refused(tmp_path, text, says):
    path = tmp_path / "ann.json"
    path.write_text(text)
    with pytest.raises(UserError, match=re.escape(says)):
        import_answers(Run.open(small_run(tmp_path / "run")), [path])
