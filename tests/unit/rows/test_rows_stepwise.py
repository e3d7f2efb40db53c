"""Step-wise rows and episodes of a real build, in every format; and every layout of a prompt, word by word."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from planarena import Run, formats
from planarena.environments import World
from planarena.episodes import reached
from planarena.errors import UserError
from planarena.formats import Call
from planarena.records import write_shard
from planarena.records.tables import LabelRow
from planarena.rows import (
    Decision,
    Dialogue,
    Observation,
    RowOptions,
    TrainingRow,
    Turn,
    load_episodes,
    load_rows,
    open_environment,
)
from planarena.rows.prompts import Prompter
from planarena.rows.run_reading import read_dialogues
from planarena.rows.stepwise import StepExtractor

ALL = RowOptions(splits=())
# Faults that are something said, not a call.
ANSWERS = (
    "early_stop",
    "gave_up",
    "ignored_error",
    "omitted_call",
    "incomplete_answer",
    "false_answer",
    "needless_question",
)
TOOL_USE = tuple(name for name in formats.names() if name != "math")


def by_trajectory(rows: list[TrainingRow]) -> dict[str, list[TrainingRow]]:
    found: dict[str, list[TrainingRow]] = defaultdict(list)
    for row in rows:
        found[row.trajectory_id].append(row)
    return found


@pytest.fixture(scope="module")
def rows(built_run: Run) -> list[TrainingRow]:
    return list(load_rows(built_run.path, ALL))


@pytest.mark.parametrize("name", TOOL_USE)
def test_every_target_keeps_its_format_and_says_the_gold(built_run: Run, name: str) -> None:
    form = formats.get(name)
    found = list(load_rows(built_run.path, RowOptions(format=name, splits=())))
    assert len({row.row_id for row in found}) == len(found)
    for row in found:
        parsed = form.parse(row.target)
        assert form.check(parsed, row.gold.category) == ""
        assert (parsed.calls, parsed.response) == (row.gold.calls, row.gold.response)
        assert row.prompt[-1]["role"] in ("user", "tool")


def test_steps_count_from_one_to_n(rows: list[TrainingRow], built_run: Run) -> None:
    grouped = by_trajectory(rows)
    dialogues = {dialogue.trajectory_id: dialogue for dialogue in read_dialogues(built_run)}
    assert set(grouped) == set(dialogues)
    for name, found in grouped.items():
        assert [row.step for row in found] == list(range(1, len(found) + 1))
        assert {row.steps for row in found} == {len(found)}
        calls = [call for row in found for call in row.gold.calls]
        assert calls == [call for _, d in dialogues[name].decisions() for call in d.calls]
        assert all(row.polarity == "positive" for row in found)


def test_the_history_holds_what_came_before_and_nothing_after(rows: list[TrainingRow]) -> None:
    for found in by_trajectory(rows).values():
        for before, after in pairwise(found):
            assert after.prompt[: len(before.prompt)] == before.prompt
            assert after.prompt[len(before.prompt)] == {"role": "assistant", "content": before.target}
            results = [m for m in after.prompt[len(before.prompt) + 1 :] if m["role"] == "tool"]
            assert len(results) == len(before.gold.calls)


def test_a_policy_can_act_where_a_row_stands(rows: list[TrainingRow]) -> None:
    last = [found[-1] for found in by_trajectory(rows).values()][:12]
    middle = [row for row in rows if row.step == 3][:12]
    for row in last + middle:
        assert row.environment is not None
        opened = open_environment(row.environment)
        assert isinstance(opened.world, World)
        assert opened.world.digest() == row.anchor
        assert len(opened.observed) == len(row.environment.calls)
    for row in last:
        # Before the final answer everything is done.
        opened = open_environment(row.environment)  # type: ignore[arg-type]
        assert reached(opened.goal, opened.world.digest(), opened.observed)


def test_episodes_reach_their_goals_in_their_environments(built_run: Run) -> None:
    episodes = list(load_episodes(built_run.path, ALL))
    assert [episode.trajectory_id for episode in episodes] == [
        d.trajectory_id for d in read_dialogues(built_run)
    ]
    acted = [episode for episode in episodes if any(gold.calls for gold in episode.gold)][:15]
    for episode in acted:
        assert episode.environment is not None
        assert episode.environment.calls == ()
        opened = open_environment(episode.environment)
        assert not reached(opened.goal, opened.world.digest(), [])
        observed = [
            (call.name, opened.episode.act(call.name, call.arguments).outcome)
            for gold in episode.gold
            for call in gold.calls
        ]
        assert reached(opened.goal, opened.world.digest(), observed)
        said = [message["content"] for message in episode.messages if message["role"] == "assistant"]
        assert said == list(episode.targets)
        users = [message["content"] for message in episode.messages if message["role"] == "user"]
        assert users == list(episode.turns)


def test_plans(built_run: Run) -> None:
    plans = {dialogue.trajectory_id: dialogue.plan for dialogue in read_dialogues(built_run)}
    found = {
        plan: list(load_rows(built_run.path, RowOptions(plan=plan, splits=())))
        for plan in ("global", "step", "none")
    }  # type: ignore[arg-type]
    for whole, line, none in zip(*found.values(), strict=True):
        if whole.step == 1 and plans[whole.trajectory_id]:
            assert whole.gold.plan == plans[whole.trajectory_id]
        if whole.step > 1:
            assert whole.gold == line.gold
        assert none.gold.plan is None
        assert "<plan>" not in none.target
        assert all("<plan>" not in message["content"] for message in none.prompt)
    assert any("<plan>" in row.target for row in found["step"])


def test_signatures_get_shorter(built_run: Run) -> None:
    long, short, bare = (
        next(iter(load_rows(built_run.path, RowOptions(signatures=way, splits=()))))  # type: ignore[arg-type]
        for way in ("json", "compact", "names")
    )
    sizes = [len(row.prompt[0]["content"]) for row in (long, short, bare)]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3
    for tool in long.tools:
        lines = [
            line
            for line in bare.prompt[0]["content"].splitlines()
            if line.startswith(tool["function"]["name"] + "(")
        ]
        assert len(lines) == 1
    assert long.tools == short.tools == bare.tools


def test_one_call_per_turn(built_run: Run) -> None:
    found = list(load_rows(built_run.path, RowOptions(one_call_per_turn=True, answers=False, splits=())))
    gold = list(read_dialogues(built_run))
    assert len(found) == sum(len(d.calls) for dialogue in gold for _, d in dialogue.decisions())
    assert {len(row.gold.calls) for row in found} == {1}
    assert any(not row.anchor for row in found)  # inside of a turn the state is not recorded


def test_native_messages_are_whole(built_run: Run) -> None:
    for row in load_rows(built_run.path, RowOptions(format="native", splits=())):
        open_calls: list[str] = []
        for message in row.prompt:
            if message["role"] == "assistant":
                assert open_calls == []
                open_calls = [call["id"] for call in message.get("tool_calls", ())]
            elif message["role"] == "tool":
                open_calls.remove(message["tool_call_id"])
        assert open_calls == []
        assert "get_" not in str(row.prompt[0]["content"])  # the tools travel beside the messages


def test_negatives_are_the_first_wrong_step(built_run: Run) -> None:
    found = list(load_rows(built_run.path, RowOptions(kinds=("contrastive",), splits=())))
    wrong = {d.trajectory_id: d for d in read_dialogues(built_run, kinds=("contrastive",))}
    assert {row.trajectory_id for row in found} == set(wrong)
    assert len(found) == len(wrong)
    for row in found:
        assert row.polarity == "negative"
        dialogue = wrong[row.trajectory_id]
        steps = {
            step: call for _, d in dialogue.decisions() for step, call in zip(d.steps, d.calls, strict=True)
        }
        if dialogue.diverge_step in steps:
            assert steps[dialogue.diverge_step] in row.gold.calls
        else:
            assert dialogue.mutation in ANSWERS
            assert row.gold.response


def test_what_people_judged_wrong_is_left_out(built_run: Run, tmp_path: Path) -> None:
    for path in (built_run.path / "tables").rglob("*.parquet"):
        target = tmp_path / "tables" / path.parent.name / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    (tmp_path / "run.json").write_bytes((built_run.path / "run.json").read_bytes())
    judged = next(iter(read_dialogues(built_run))).trajectory_id
    write_shard(tmp_path, "labels", "00000", [LabelRow(judged, "negative", "majority", 1.0)])
    found = load_rows(tmp_path, ALL)
    assert judged not in {row.trajectory_id for row in found}
    assert found.counts["judged negative"] == 1


# -- layouts, word by word ---------------------------------------------------------------------------


def dialogue(**changes: object) -> Dialogue:
    first = Decision(
        calls=(Call("find", {"q": "a"}), Call("count", {})),
        observations=(Observation([1]), Observation({"code": "no"}, ok=False)),
        plan="Find it.\nCount it.",
        rationale="Because.",
    )
    second = Decision(calls=(Call("find", {"q": "b"}),), observations=(None,), text="One more.")
    whole = Dialogue(
        trajectory_id="t",
        scenario_id="s",
        task_id="k",
        context={"now": "noon", "instructions": "Be kind."},
        said_before=("I like blue.",),
        plan="1. Find.\n2. Count.",
        turns=(
            Turn("Find $a and count.", (first, Decision(text="Found."))),
            Turn("And b?", (second, Decision(text="No b."))),
        ),
    )
    return msgspec.structs.replace(whole, **changes)


def test_layout_chat() -> None:
    moments = list(Prompter(RowOptions()).moments(dialogue()))
    assert [message["role"] for message in moments[-1].prompt] == (
        ["system", "user", "assistant", "tool", "tool", "assistant", "user", "assistant", "tool"]
    )
    system = moments[0].prompt[0]["content"]
    assert system.endswith("# Known beforehand\nBe kind.\n- now: noon\n- said before: I like blue.")
    assert "# Tools\n(none)\n" in system
    assert moments[-1].prompt[2]["content"] == (
        '<plan>1. Find.\n2. Count.</plan>\n<tool_call>\n{"name": "find", "arguments": {"q": "a"}}\n'
        '{"name": "count", "arguments": {}}\n</tool_call>'
    )
    assert [m["content"] for m in moments[-1].prompt[3:5]] == ["[1]", '{"code":"no"}']
    # What is said along with calls becomes the plan, where calls and words exclude each other.
    assert moments[-1].prompt[7]["content"].startswith("<plan>One more.</plan>")
    assert moments[-1].prompt[8]["content"] == "(not recorded)"


def test_layout_of_user_role_results() -> None:
    moment = list(Prompter(RowOptions(observations="user")).moments(dialogue()))[1]
    assert moment.prompt[-1] == {"role": "user", "content": 'Result of count: {"code":"no"}'}


def test_layout_packed() -> None:
    moments = list(Prompter(RowOptions(format="toolupt")).moments(dialogue()))
    assert [len(moment.prompt) for moment in moments] == [2, 2, 2, 2]
    assert moments[0].prompt[1]["content"] == (
        "[Earlier Conversation]\n(none)\n\n[Request]\nFind $a and count.\n\n[Calls So Far]\n(none)\n\n[Reply]"
    )
    assert moments[3].prompt[1]["content"] == (
        "[Earlier Conversation]\nuser: Find $a and count.\n"
        'Call 1: {"name":"find","params":{"q":"a"}}, {"name":"count","params":{}}\n'
        'Result 1: [1], {"code":"no"}\nassistant: Found.\n\n'
        "[Request]\nAnd b?\n\n[Calls So Far]\nassistant: One more.\n"
        'Call 1: {"name":"find","params":{"q":"b"}}\nResult 1: (not recorded)\n\n[Reply]'
    )


def test_layout_records() -> None:
    moments = list(Prompter(RowOptions(format="toolrl")).moments(dialogue()))
    assert moments[1].prompt[1]["content"] == (
        "**Records of the dialogue**\n<user> Find $a and count. </user>\n<think>Because.</think>\n<tool_call>\n"
        '{"name": "find", "parameters": {"q": "a"}}\n{"name": "count", "parameters": {}}\n</tool_call>\n'
        '<obs> [1] </obs>\n<obs> {"code":"no"} </obs>'
    )
    assert (moments[2].gold.calls, moments[2].gold.response) == ((Call("find", {"q": "b"}),), "One more.")


def test_rationale_goes_where_a_format_thinks() -> None:
    for name, plan in (("planarena", "1. Find.\n2. Count."), ("chord", "Because."), ("toolupt", None)):
        assert next(Prompter(RowOptions(format=name)).moments(dialogue())).gold.plan == plan
    row = next(StepExtractor(RowOptions(splits=())).rows(dialogue()))
    assert row.rationale == "Because."


def test_history_only_decisions_give_no_row() -> None:
    found = list(StepExtractor(RowOptions(splits=())).rows(dialogue(first_decision=2)))
    assert [row.step for row in found] == [3, 4]
    split = list(
        StepExtractor(RowOptions(splits=(), one_call_per_turn=True)).rows(dialogue(first_decision=1))
    )
    assert [row.step for row in split] == [3, 4, 5]


def test_mathematics() -> None:
    problem = dialogue(
        plan="", context={}, said_before=(), turns=(Turn("1+1?", (Decision(text="2", rationale="Add."),)),)
    )
    row = next(StepExtractor(RowOptions(format="math", splits=())).rows(problem))
    assert row.target == "<think>\nAdd.\n</think>\n\\boxed{2}"
    assert "\\boxed{}" in row.prompt[0]["content"]


def test_what_a_format_cannot_say_is_counted() -> None:
    tags = dialogue(turns=(Turn("x", (Decision(text="see </response>"),)), Turn("y", (Decision(text="z"),))))
    cutter = StepExtractor(RowOptions(splits=()))
    assert list(cutter.rows(tags)) == []
    assert cutter.counts["unsayable: the response holds the tag </response>"] == 2
    math = StepExtractor(RowOptions(format="math", splits=()))
    assert list(math.rows(dialogue())) == []
    assert any(key.startswith("unsayable") for key in math.counts)


def test_long_prompts_can_be_left_out(built_run: Run, rows: list[TrainingRow]) -> None:
    sizes = sorted(sum(len(message["content"]) for message in row.prompt) for row in rows)
    limit = sizes[len(sizes) // 2]
    found = load_rows(built_run.path, RowOptions(longest_prompt=limit, splits=()))
    assert len(list(found)) == sum(size <= limit for size in sizes)
    assert found.counts["prompt too long"] == sum(size > limit for size in sizes)


def test_templates_and_formats_are_checked() -> None:
    for options, said in (
        (RowOptions(template="planarea"), "did you mean planarena"),
        (RowOptions(template="toolupt"), "describes toolupt, not planarena"),
        (RowOptions(format="tolrl"), "there is no format"),
    ):
        with pytest.raises(UserError, match=said):
            options.check()


def test_rows_are_json(rows: list[TrainingRow]) -> None:
    row = rows[0]
    assert msgspec.json.decode(msgspec.json.encode(row), type=TrainingRow) == row
    written = json.loads(msgspec.json.encode(row))
    assert [call["name"] for call in written["gold"]["calls"]] == [call.name for call in row.gold.calls]
