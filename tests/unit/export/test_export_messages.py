"""Chat messages of a trajectory: turns, groups, ids, the context, several user turns, no call at all."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planarena import Run
from planarena.errors import RunError
from planarena.export import JoinedTrajectory, join_trajectories, render_messages, render_tool
from planarena.records import read_rows, write_shard


@pytest.fixture(scope="module")
def trajectories(built_run: Run) -> list[JoinedTrajectory]:
    return list(join_trajectories(built_run))


def _calls(messages: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return [message["tool_calls"] for message in messages if message.get("tool_calls")]


def _grouped(trajectories: list[JoinedTrajectory]) -> JoinedTrajectory:
    return next(
        one
        for one in trajectories
        if len(one.turns) == 1
        and len({action.group for action in one.actions}) > 1
        and len({action.group for action in one.actions}) < len(one.actions)
    )


def test_joining_keeps_every_row(built_run: Run, trajectories: list[JoinedTrajectory]) -> None:
    table = built_run.table("trajectories").collect()
    assert [one.row.trajectory_id for one in trajectories] == table["trajectory_id"].to_list()
    assert sum(len(one.actions) for one in trajectories) == built_run.table("steps").collect().height
    for one in trajectories:
        assert [action.number for action in one.actions] == list(range(one.row.n_actions))
        known = {tool.tool_id for tool in one.tools}
        if one.row.kind == "gold":
            assert {action.tool.tool_id for action in one.actions} <= known


def test_withheld_tools_are_not_on_offer(built_run: Run, tmp_path: Path) -> None:
    shutil.copytree(built_run.path, tmp_path / "run")
    run = Run.open(tmp_path / "run")
    for path in run.shards("tasks"):
        rows = read_rows(path, "tasks")
        scenarios = {
            row.scenario_id: row for row in read_rows(run.path / f"tables/scenarios/{path.name}", "scenarios")
        }
        held = [json.loads(scenarios[row.scenario_id].tool_ids)[1] for row in rows]
        changed = [
            msgspec.structs.replace(row, withheld_tool_ids=json.dumps([tool]))
            for row, tool in zip(rows, held, strict=True)
        ]
        write_shard(run.path, "tasks", path.stem, changed)
    for one in join_trajectories(run):
        offered = json.loads(one.scenario.tool_ids)
        assert [tool.tool_id for tool in one.tools] == [offered[0], *offered[2:]]


def test_a_tool_that_does_not_exist_keeps_its_name(trajectories: list[JoinedTrajectory]) -> None:
    invented = [action for one in trajectories for action in one.actions if not action.tool.tool_id]
    assert invented
    for action in invented:
        assert action.status != "ok"
        assert action.tool.wire_name in action.observation["message"]


def test_calls_of_a_group_share_a_turn(trajectories: list[JoinedTrajectory]) -> None:
    for one in trajectories:
        sizes = [len(calls) for calls in _calls(render_messages(one))]
        groups = [(action.turn, action.group) for action in one.actions]
        assert sizes == [groups.count(group) for group in sorted(set(groups))]
    assert max(_sizes(trajectories)) > 1


def _sizes(trajectories: list[JoinedTrajectory]) -> list[int]:
    return [len(calls) for one in trajectories for calls in _calls(render_messages(one))]


def test_one_call_per_turn_says_the_same_calls(trajectories: list[JoinedTrajectory]) -> None:
    one = _grouped(trajectories)
    together = [call for calls in _calls(render_messages(one)) for call in calls]
    single = _calls(render_messages(one, one_call_per_turn=True))
    assert all(len(calls) == 1 for calls in single)
    assert [calls[0] for calls in single] == together


def test_every_call_is_answered_right_after_its_turn(trajectories: list[JoinedTrajectory]) -> None:
    for one in trajectories:
        messages = render_messages(one)
        open_calls: list[str] = []
        seen: list[str] = []
        for message in messages:
            if message["role"] == "tool":
                assert message["tool_call_id"] == open_calls.pop(0)
            else:
                assert not open_calls
                open_calls = [call["id"] for call in message.get("tool_calls", ())]
                seen += open_calls
        assert seen == [f"call{number:05d}" for number in range(len(one.actions))]
        # What Mistral's templates ask of an id.
        assert all(len(name) == 9 and name.isalnum() for name in seen)
        assert messages[-1] == {"role": "assistant", "content": one.row.response}


def test_arguments_and_observations_are_the_executed_ones(trajectories: list[JoinedTrajectory]) -> None:
    for one in trajectories:
        messages = render_messages(one)
        calls = [call["function"] for group in _calls(messages) for call in group]
        assert [json.loads(call["arguments"]) for call in calls] == [
            action.arguments for action in one.actions
        ]
        assert [call["name"] for call in calls] == [action.tool.wire_name for action in one.actions]
        results = [json.loads(message["content"]) for message in messages if message["role"] == "tool"]
        assert results == [action.observation for action in one.actions]


def test_chat_templates_get_objects_and_no_null(trajectories: list[JoinedTrajectory]) -> None:
    for one in trajectories:
        as_api = render_messages(one)
        for_templates = render_messages(one, style="template")
        assert len(as_api) == len(for_templates)
        named = iter(one.actions)
        for api, template in zip(as_api, for_templates, strict=True):
            assert "name" not in api
            if api["role"] == "tool":
                assert template == {**api, "name": next(named).tool.wire_name}
            elif "tool_calls" in api:
                assert (api["content"], template["content"]) == (None, "")
                for said, given in zip(api["tool_calls"], template["tool_calls"], strict=True):
                    assert isinstance(said["function"]["arguments"], str)
                    assert json.loads(said["function"]["arguments"]) == given["function"]["arguments"]
            else:
                assert template == api


def test_system_message_is_optional(trajectories: list[JoinedTrajectory]) -> None:
    one = trajectories[0]
    assert render_messages(one, context=False)[0]["role"] == "user"
    stated = render_messages(one, system="Be brief.")[0]
    assert stated["role"] == "system"
    assert stated["content"].startswith("Be brief.\n\nContext:\n")
    for value in one.context.values():
        assert str(value) in stated["content"]
    assert render_messages(one, system="Be brief.", context=False)[0]["content"] == "Be brief."


def test_several_user_turns_have_their_own_calls_and_answers(trajectories: list[JoinedTrajectory]) -> None:
    one = _grouped(trajectories)
    first = one.actions[0].group
    split = one._replace(
        turns=("First this.", "Then that."),
        responses=("Done.", "All done."),
        actions=tuple(action._replace(turn=int(action.group != first)) for action in one.actions),
    )
    messages = render_messages(split, context=False)
    second = messages.index({"role": "user", "content": "Then that."})
    assert messages[0] == {"role": "user", "content": "First this."}
    assert messages[second - 1] == {"role": "assistant", "content": "Done."}
    early = [call for calls in _calls(messages[:second]) for call in calls]
    late = [call for calls in _calls(messages[second:]) for call in calls]
    assert len(early) == sum(action.group == first for action in one.actions)
    assert len(early) + len(late) == len(one.actions)
    with pytest.raises(RunError, match="2 user turns and 1 answers"):
        render_messages(split._replace(responses=("Done.",)))


def test_no_call_is_just_an_answer(trajectories: list[JoinedTrajectory]) -> None:
    one = next(trajectory for trajectory in trajectories if len(trajectory.turns) == 1)
    messages = render_messages(one._replace(actions=()), context=False)
    assert [message["role"] for message in messages] == ["user", "assistant"]


def test_an_error_is_observed_as_an_error(trajectories: list[JoinedTrajectory]) -> None:
    one = next(one for one in trajectories if one.actions and one.actions[0].turn == 0)
    failed = one.actions[0]._replace(status="tool_error", observation={"code": "sold_out"})
    messages = render_messages(one._replace(actions=(failed,)), context=False)
    assert messages[2]["content"] == '{"code":"sold_out"}'


def test_tools_lose_our_annotations_and_nothing_else(trajectories: list[JoinedTrajectory]) -> None:
    for one in trajectories:
        for tool in one.tools:
            shown = render_tool(tool)
            text = json.dumps(shown)
            assert "x-semantic" not in text
            assert "x-hidden" not in text
            assert "x-surface" not in text
            source = msgspec.json.decode(tool.input_schema)
            parameters = shown["function"]["parameters"]
            assert parameters["required"] == source["required"]
            assert set(parameters["properties"]) == set(source["properties"])
    assert "x-semantic" in trajectories[0].tools[0].input_schema  # there is something to lose
