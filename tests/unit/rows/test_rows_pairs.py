"""Preference pairs: one state, one right action, one wrong; shown by executing both."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from planarena import Run
from planarena.environments import World
from planarena.records import RIGHT_OUTCOMES, canonical_json, read_rows, write_shard
from planarena.rows import (
    Dialogue,
    PairOptions,
    PreferencePair,
    RowOptions,
    load_pairs,
    load_rows,
    open_environment,
)
from planarena.rows.run_reading import read_dialogues

ALL = RowOptions(splits=())


@pytest.fixture(scope="module")
def pairs(built_run: Run) -> list[PreferencePair]:
    return list(load_pairs(built_run.path, ALL))


def test_pairs_stand_where_rows_stand(built_run: Run, pairs: list[PreferencePair]) -> None:
    rows = {(row.trajectory_id, row.step): row for row in load_rows(built_run.path, ALL)}
    assert len(pairs) > 100
    assert len({pair.pair_id for pair in pairs}) == len(pairs)
    for pair in pairs:
        row = rows[pair.trajectory_id, pair.step]
        assert (pair.prompt, pair.chosen, pair.anchor) == (row.prompt, row.target, row.anchor)
        assert pair.rejected != pair.chosen
        assert pair.rejected_action.plan == pair.chosen_action.plan


def test_executing_both_shows_which_is_wrong(built_run: Run, pairs: list[PreferencePair]) -> None:
    rows = {(row.trajectory_id, row.step): row for row in load_rows(built_run.path, ALL)}
    tasks = {row["task_id"]: row["conversation"] for row in built_run.table("tasks").collect().to_dicts()}
    kinds = {
        row["trajectory_id"]: tasks[row["task_id"]]
        for row in built_run.table("trajectories").collect().to_dicts()
    }
    seen: Counter[str] = Counter()
    for pair in pairs[::7]:
        row = rows[pair.trajectory_id, pair.step]
        assert row.environment is not None
        right, wrong = open_environment(row.environment), open_environment(row.environment)
        made = [right.episode.act(call.name, call.arguments).outcome for call in pair.chosen_action.calls]
        # A call of the gold fails where what it shows is what the conversation is about.
        failed = [one.error for one in made if one.status != "ok"]
        assert not failed or kinds[pair.trajectory_id] == "failed_call"
        if failed:
            continue
        statuses = [
            wrong.episode.act(call.name, call.arguments).outcome.status for call in pair.rejected_action.calls
        ]
        if pair.outcome == "error":
            assert set(statuses) != {"ok"}
            seen["error"] += 1
        assert isinstance(right.world, World)
    assert seen["error"] > 5


def test_outcomes_that_are_right_are_never_rejected(built_run: Run, pairs: list[PreferencePair]) -> None:
    # Values that nobody could know are rare among the wrong choices. Where a contrastive trajectory departs, the
    # choice mostly stands at the decision point already.
    assert {pair.outcome for pair in pairs} - {"ungrounded", "contrastive"} == {
        "useless",
        "diverges",
        "error",
    }
    right: set[tuple[str, int, str]] = set()
    for path in built_run.shards("decision_points"):
        for point in read_rows(path, "decision_points"):
            for candidate in json.loads(point.candidates):
                if candidate["outcome"] in RIGHT_OUTCOMES:
                    right.add(
                        (
                            point.trajectory_id,
                            point.step,
                            canonical_json([candidate["tool"], candidate["arguments"]]),
                        )
                    )
    step_of = {
        (dialogue.trajectory_id, place.number + 1): decision.steps[0]
        for dialogue in map(Dialogue.one_call_per_turn, read_dialogues(built_run))
        for place, decision in dialogue.decisions()
        if decision.steps
    }
    seen = 0
    for pair in load_pairs(built_run.path, RowOptions(splits=(), one_call_per_turn=True)):
        step = step_of.get((pair.trajectory_id, pair.step))
        if len(pair.rejected_action.calls) == 1 and step is not None:
            call = pair.rejected_action.calls[0]
            assert (pair.trajectory_id, step, canonical_json([call.name, call.arguments])) not in right
            seen += 1
    assert seen > 100


def test_choices(built_run: Run) -> None:
    more = load_pairs(built_run.path, ALL, PairOptions(outcomes=("useless",), contrastive=False))
    assert {pair.outcome for pair in more} == {"useless"}
    few = list(load_pairs(built_run.path, ALL, PairOptions(per_decision=1)))
    assert max(Counter((pair.trajectory_id, pair.step) for pair in few).values()) == 1
    best: dict[tuple[str, int], float] = {}
    for pair in load_pairs(built_run.path, ALL):
        key = pair.trajectory_id, pair.step
        best[key] = max(best.get(key, -1.0), pair.relevance)
    assert all(pair.relevance == best[pair.trajectory_id, pair.step] for pair in few)


def test_answers_are_chosen_and_rejected_too(built_run: Run, pairs: list[PreferencePair]) -> None:
    dialogues = {dialogue.trajectory_id: dialogue for dialogue in read_dialogues(built_run)}
    seen: Counter[str] = Counter()
    for pair in pairs:
        dialogue = dialogues[pair.trajectory_id]
        if dialogue.category != "call":
            # No call is right: whatever is called there is rejected, and an answer that is not the right one.
            assert not pair.chosen_action.calls
            assert pair.chosen_action.response
            seen["irrelevance with a call" if pair.rejected_action.calls else "irrelevance"] += 1
        elif not pair.chosen_action.calls:
            if pair.step < pair.steps:
                # A question, or an answer that something did not work: more comes after it.
                said = [turn.decisions[-1].text for turn in dialogue.turns[:-1]]
                assert pair.chosen_action.response in said
                seen["question"] += 1
                continue
            seen["answer"] += 1
            assert pair.rejected_action.calls or pair.rejected_action.response != pair.chosen_action.response
        elif not pair.rejected_action.calls:
            assert pair.rejected_action.response
            seen["answered instead of calling"] += 1
        elif pair.mutation == "omitted_call":
            assert len(pair.rejected_action.calls) == len(pair.chosen_action.calls) - 1
            assert all(call in pair.chosen_action.calls for call in pair.rejected_action.calls)
            seen["omitted call"] += 1
    assert seen["irrelevance with a call"] > 3
    assert min(seen["answer"], seen["answered instead of calling"]) > 50
    assert seen["omitted call"] > 0
    assert seen["question"] > 5


def test_runs_of_earlier_versions_are_read(built_run: Run, tmp_path: Path) -> None:
    for path in (built_run.path / "tables").rglob("*.parquet"):
        target = tmp_path / "tables" / path.parent.name / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    (tmp_path / "run.json").write_bytes((built_run.path / "run.json").read_bytes())
    answers = wasted = 0
    for path in (tmp_path / "tables" / "decision_points").glob("*.parquet"):
        rows = []
        for point in read_rows(path, "decision_points"):
            candidates = json.loads(point.candidates)
            for one in candidates:
                answers += one.pop("response", None) is not None
                one.get("beside", {}).pop("execution_id", None)
                wasted += one["outcome"] in ("useless", "harmless")
                one["outcome"] = (
                    "inefficient" if one["outcome"] in ("useless", "harmless") else one["outcome"]
                )
            rows.append(msgspec.structs.replace(point, candidates=canonical_json(candidates)))
        write_shard(tmp_path, "decision_points", path.stem, rows)
    assert min(answers, wasted) > 20
    old = list(load_pairs(tmp_path, ALL, PairOptions(contrastive=False)))
    assert {pair.outcome for pair in old} - {"ungrounded"} == {"diverges", "error"}
    assert all(pair.rejected_action.calls for pair in old)
    named = load_pairs(tmp_path, ALL, PairOptions(outcomes=("inefficient",), contrastive=False))
    assert {pair.outcome for pair in named} == {"inefficient"}


def test_contrastive_trajectories_compare_at_the_step_where_they_depart(built_run: Run) -> None:
    only = list(load_pairs(built_run.path, ALL, PairOptions(outcomes=())))
    assert {pair.outcome for pair in only} == {"contrastive"}
    early = [pair for pair in only if pair.mutation == "early_stop"]
    assert all(pair.rejected_action.calls == () and pair.rejected_action.response for pair in early)


def test_a_trajectory_from_another_state_gives_no_pair(built_run: Run, tmp_path: Path) -> None:
    for path in (built_run.path / "tables").rglob("*.parquet"):
        target = tmp_path / "tables" / path.parent.name / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    (tmp_path / "run.json").write_bytes((built_run.path / "run.json").read_bytes())
    changed = 0
    for path in (tmp_path / "tables" / "steps").glob("*.parquet"):
        wrong = {
            row.trajectory_id: row
            for row in read_rows(tmp_path / "tables" / "trajectories" / path.name, "trajectories")
            if row.kind == "contrastive" and row.diverge_step > 0
        }
        rows = []
        for step in read_rows(path, "steps"):
            if step.trajectory_id in wrong and step.step == 0:
                step = msgspec.structs.replace(step, arguments='{"changed":true}')
                changed += 1
            rows.append(step)
        write_shard(tmp_path, "steps", path.stem, rows)
    found = load_pairs(tmp_path, ALL, PairOptions(outcomes=()))
    before = list(load_pairs(built_run.path, ALL, PairOptions(outcomes=())))
    after = list(found)
    assert changed > 0
    assert found.counts["contrastive from another state"] > 0
    assert len(after) < len(before)


def test_a_run_without_contrast_says_so(tmp_path: Path) -> None:
    from planarena.errors import UserError
    from planarena.rows.importers import import_traces

    path = tmp_path / "a.jsonl"
    path.write_text(
        json.dumps({"query": "x", "tools": '[{"name": "f"}]', "answers": '[{"name": "f", "arguments": {}}]'})
    )
    import_traces(path, "xlam", tmp_path / "run")
    with pytest.raises(UserError, match="gives no preference pair"):
        list(load_pairs(tmp_path / "run", ALL))
