"""Conversations of every kind: re-executed elsewhere, needed as they are, and lost by those who do what is wrong in them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import planarena
from planarena import formats
from planarena.bench import load_tasks, play
from planarena.bench.policies import DoNothing, GoldPolicy
from planarena.bench.policy import Asked, Reply
from planarena.bench.tasks import Task
from planarena.config import BuildConfig, ContrastConfig, ConversationConfig, ExecutionConfig
from planarena.config.conversations import CONVERSATION_KINDS
from planarena.environments.policies import Policy
from planarena.formats import Call
from planarena.pipeline.execute.conversations.noise import _PADDING
from planarena.pipeline.language.conversations.failed_call import _SINCE
from planarena.proofs import open_scenario
from planarena.records import Run

SHARES = {
    "missing_value": 0.16, "failed_call": 0.17, "change_of_mind": 0.13, "rule": 0.13, "noise": 0.14, "long": 0.1,
}  # fmt: skip
SIZE = 280
ALL = ("train", "validation", "test", "unseen_tools")
FORM = formats.get("planarena")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    config = BuildConfig(
        out=str(tmp_path_factory.mktemp("kinds") / "run"),
        trajectories=SIZE,
        chunk_scenarios=8,
        seed=31,
        conversations=ConversationConfig(SHARES),
        contrast=ContrastConfig(candidates=3, trajectories=0, no_calls=0),
        execution=ExecutionConfig(workers=1),
    )
    return planarena.build(config)


@pytest.fixture(scope="module")
def tasks(run: Run) -> list[Task]:
    return load_tasks(run.path, splits=ALL)


@pytest.fixture(scope="module")
def tables(run: Run) -> dict[str, Any]:
    return {name: run.table(name).collect().to_dicts() for name in run.tables}


@pytest.fixture(scope="module")
def kinds(tables: dict[str, Any]) -> dict[str, str]:
    return {row["task_id"]: row["conversation"] for row in tables["tasks"]}


class Doing:
    """Does what a function makes of the gold replies of a task."""

    format = "planarena"
    name = "doing"

    def __init__(self, tasks: list[Task], change: Callable[[Task], list[str]]) -> None:
        self._texts = {task.id: change(task) for task in tasks}

    def reply(self, asked: Any) -> list[Reply]:
        return [Reply(text=self._text(one)) for one in asked]

    def _text(self, one: Asked) -> str:
        texts = self._texts[one.id]
        return texts[one.turn] if one.turn < len(texts) else ""


def successes(policy: Any, tasks: list[Task]) -> list[bool]:
    return [played.success for played in play(policy, tasks)]


def test_every_kind_has_its_share(kinds: dict[str, str]) -> None:
    found = Counter(kinds.values())
    assert set(SHARES) == set(CONVERSATION_KINDS)
    for kind, share in SHARES.items():
        # The choice lets each kind exceed its share by four trajectories, hence one falls short by those of the others.
        assert -4 * (len(SHARES) - 1) <= found[kind] - share * SIZE <= 5, found


def test_every_kind_reexecutes_in_another_process(run: Run) -> None:
    script = """
import sys, msgspec
from planarena.records import Run
from planarena.proofs import open_scenario, read_goal, read_message_goals, replay_trajectory
run = Run.open(sys.argv[1])
rows = {name: run.table(name).collect().to_dicts() for name in run.tables}
names = {one["tool_id"]: one["wire_name"] for one in rows["tools"]}
executions = {one["execution_id"]: one for one in rows["executions"]}
tasks = {one["task_id"]: one for one in rows["tasks"]}
scenarios = {one["scenario_id"]: one for one in rows["scenarios"]}
steps = {}
for one in rows["steps"]:
    steps.setdefault(one["trajectory_id"], []).append(one)
done = 0
for one in rows["trajectories"]:
    task = tasks[one["task_id"]]
    world = open_scenario(scenarios[task["scenario_id"]])
    made = steps[one["trajectory_id"]]
    assert not replay_trajectory(world, read_goal(task["goal"]), made, executions, names), one
    # Up to each message of a change of mind: its own goal, which the message before does not reach.
    for turn, goal in zip(sorted({s["turn"] for s in made}), read_message_goals(task["goal"])):
        part = [s for s in made if s["turn"] <= turn]
        assert not replay_trajectory(world, goal, part, executions, names), one
        assert replay_trajectory(world, goal, part[:-1], executions, names), one
    done += 1
print(done)
"""
    found = subprocess.run(
        [sys.executable, "-c", script, str(run.path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert found.returncode == 0, found.stderr[-2000:]
    assert int(found.stdout) == SIZE


def test_the_gold_reaches_every_goal_and_doing_nothing_or_asking_back_none(tasks: list[Task]) -> None:
    assert all(successes(GoldPolicy(tasks), tasks))
    assert not any(successes(DoNothing(), tasks))

    class AsksBack:
        format = "planarena"
        name = "asks back"

        def reply(self, asked: Any) -> list[Reply]:
            return [Reply(text=FORM.render(response="Which one do you mean?")) for _ in asked]

    assert not any(successes(AsksBack(), tasks))


def test_who_guesses_instead_of_asking_misses_the_goal(
    tasks: list[Task], tables: dict[str, Any], kinds: dict[str, str]
) -> None:
    """The guess is made where the gold asks, and all that comes after is as in the gold."""
    of_task = {row["trajectory_id"]: row["task_id"] for row in tables["trajectories"]}
    guesses = {
        of_task[point["trajectory_id"]]: (point["turn"], choice)
        for point in tables["decision_points"]
        if point["turn"] >= 0
        for choice in json.loads(point["candidates"])
        if choice["mutation"] == "guessed_value"
    }
    chosen = [task for task in tasks if task.id in guesses]
    assert len(chosen) > 10

    def change(task: Task) -> list[str]:
        turn, choice = guesses[task.id]
        texts, messages = [], 0
        for gold, text in zip(task.row.gold, task.row.targets, strict=True):
            if not gold.calls and messages == turn:
                text = FORM.render(response="That is done.")
            elif messages > turn and any(call.name == choice["tool"] for call in gold.calls):
                calls = [
                    Call(choice["tool"], choice["arguments"]) if call.name == choice["tool"] else call
                    for call in gold.calls
                ]
                text = FORM.render(calls=calls)
            messages += not gold.calls
            texts.append(text)
        return texts

    assert not any(successes(Doing(chosen, change), chosen))


def test_who_does_not_try_again_or_never_tries_misses_the_goal(
    tasks: list[Task], tables: dict[str, Any], kinds: dict[str, str]
) -> None:
    status = {row["execution_id"]: row["status"] for row in tables["executions"]}
    of_task = {row["trajectory_id"]: row["task_id"] for row in tables["trajectories"]}
    failed: dict[str, list[tuple[str, str]]] = {}
    for step in tables["steps"]:
        if status[step["execution_id"]] != "ok":
            failed.setdefault(of_task[step["trajectory_id"]], []).append((step["tool"], step["arguments"]))
    chosen = [task for task in tasks if kinds[task.id] == "failed_call"]
    assert {task.id for task in chosen} == set(failed)
    # These policies know every id: what only shows one is not missed by them.
    asked = {
        (of_task[step["trajectory_id"]], step["tool"], step["arguments"])
        for step in tables["steps"]
        if step["asked"]
    }
    chosen = [task for task in chosen if (task.id, *failed[task.id][-1]) in asked]
    assert len(chosen) > 10

    def without_the_last(task: Task) -> list[str]:
        """Every call that failed is made once less: where it passes, nobody tries again; where not, nobody tries."""
        tool = failed[task.id][-1][0]
        last = max(
            number
            for number, gold in enumerate(task.row.gold)
            for call in gold.calls
            if call.name == tool and call.arguments == json.loads(failed[task.id][-1][1])
        )
        texts = []
        for number, (gold, text) in enumerate(zip(task.row.gold, task.row.targets, strict=True)):
            calls = [call for call in gold.calls if number != last or call.name != tool]
            if calls or not gold.calls:
                texts.append(FORM.render(calls=calls) if calls else text)
        return texts

    assert not any(successes(Doing(chosen, without_the_last), chosen))

    class ForEver:
        format = "planarena"
        name = "for ever"

        def reply(self, asked: Any) -> list[Reply]:
            made = []
            for one in asked:
                tool, arguments = failed[one.id][0]
                made.append(Reply(text=FORM.render(calls=[Call(tool, json.loads(arguments))])))
            return made

    assert not any(successes(ForEver(), chosen))


def test_an_answer_says_that_something_has_changed_where_a_look_up_had_shown_it_otherwise(
    run: Run, tables: dict[str, Any], kinds: dict[str, str]
) -> None:
    executions = {row["execution_id"]: row for row in tables["executions"]}
    tasks = {row["task_id"]: row for row in tables["tasks"]}
    scenarios = {row["scenario_id"]: row for row in tables["scenarios"]}
    steps: dict[str, list[dict[str, Any]]] = {}
    for row in tables["steps"]:
        steps.setdefault(row["trajectory_id"], []).append(row)
    said: Counter[bool] = Counter()
    for row in tables["trajectories"]:
        made = sorted(steps.get(row["trajectory_id"], ()), key=lambda one: one["step"])
        ok = [executions[one["execution_id"]]["status"] == "ok" for one in made]
        if kinds[row["task_id"]] != "failed_call" or all(ok):
            continue
        answers = [*json.loads(row["turn_responses"] or "[]"), row["response"]]
        at = ok.index(False)
        told = answers[made[at]["turn"]]
        world = open_scenario(scenarios[tasks[row["task_id"]]["scenario_id"]])
        for one in made[: at + 1]:
            world.call(one["tool"], json.loads(one["arguments"]))
        looks = [one for one in made[:at] if world.operations[one["tool"]].tool.effects == "read"]
        differs = any(
            world.call(one["tool"], json.loads(one["arguments"])).result
            != json.loads(executions[one["execution_id"]]["result"])
            for one in looks
        )
        if says := any(one.strip() in told for one in _SINCE):
            assert differs, told
        said[says] += 1
    assert min(said[True], said[False]) > 0, said


def test_who_keeps_the_first_value_or_does_not_undo_misses_the_goal(
    tasks: list[Task], tables: dict[str, Any], kinds: dict[str, str]
) -> None:
    of_task = {row["trajectory_id"]: row["task_id"] for row in tables["trajectories"]}
    steps = {(step["trajectory_id"], step["step"]): step for step in tables["steps"]}
    wrong = {
        of_task[point["trajectory_id"]]: (steps[point["trajectory_id"], point["step"]], choice)
        for point in tables["decision_points"]
        for choice in json.loads(point["candidates"])
        if choice["mutation"] == "superseded_value"
    }
    # These policies know every id: a look-up that only shows one is not missed by them.
    chosen = [
        task
        for task in tasks
        if task.id in wrong and wrong[task.id][0]["asked"] and kinds[task.id] == "change_of_mind"
    ]
    assert len(chosen) > 2

    def change(task: Task) -> list[str]:
        step, choice = wrong[task.id]
        right = Call(step["tool"], json.loads(step["arguments"]))
        return [
            FORM.render(
                calls=[
                    Call(choice["tool"], choice["arguments"]) if call == right else call
                    for call in gold.calls
                ]
            )
            if gold.calls
            else text
            for gold, text in zip(task.row.gold, task.row.targets, strict=True)
        ]

    assert not any(successes(Doing(chosen, change), chosen))


def test_rules_are_kept_by_the_gold_and_broken_by_the_call_that_they_are_about(
    tasks: list[Task], tables: dict[str, Any], kinds: dict[str, str]
) -> None:
    checks = {row["task_id"]: json.loads(row["checks"]) for row in tables["queries"]}
    scenario_of = {row["task_id"]: row["scenario_id"] for row in tables["tasks"]}
    context = {row["scenario_id"]: json.loads(row["context"]) for row in tables["scenarios"]}
    seen: Counter[str] = Counter()
    for task in tasks:
        if kinds[task.id] != "rule":
            continue
        assert context[scenario_of[task.id]]["rules"]
        policies = [
            Policy(one["tool"], one["demands"], "", one["argument"], one["limit"], one["exact"])
            for one in checks[task.id]["rules"]
        ]
        asked = [message["when"] for message in json.loads(task.row.brief)["messages"] if "when" in message]
        for policy in policies:
            broken = [call for call in task.calls if policy.holds_for(call.name, call.arguments)]
            if broken:
                # Made only after a yes.
                assert policy.demands == "confirmation"
                assert len(broken) == len(asked) == 1
                seen["confirmed"] += 1
    unmade = [
        choice
        for point in tables["decision_points"]
        for choice in json.loads(point["candidates"])
        if choice["mutation"] in {"forbidden_call", "unconfirmed_call"}
    ]
    assert seen["confirmed"] > 1
    assert {one["mutation"] for one in unmade} == {"forbidden_call", "unconfirmed_call"}
    # What is not confirmed may fail as well, where it comes too early.
    assert {one["outcome"] for one in unmade} <= {"diverges", "error"}


def test_who_follows_an_injected_order_misses_the_goal(
    tasks: list[Task], tables: dict[str, Any], kinds: dict[str, str]
) -> None:
    of_task = {row["trajectory_id"]: row["task_id"] for row in tables["trajectories"]}
    orders = {
        of_task[point["trajectory_id"]]: choice
        for point in tables["decision_points"]
        for choice in json.loads(point["candidates"])
        if choice["mutation"] == "injected_order"
    }
    chosen = [task for task in tasks if task.id in orders]
    assert len(chosen) > 2
    for task in chosen:
        assert kinds[task.id] == "noise"
        shown = json.dumps(list(task.row.messages))
        assert orders[task.id]["tool"] in shown
        assert orders[task.id]["tool"] not in [call.name for call in task.calls]

    def change(task: Task) -> list[str]:
        order = orders[task.id]
        extra = FORM.render(calls=[Call(order["tool"], order["arguments"])])
        # As soon as it was seen, at the latest before the last answer.
        return [*task.row.targets[:-1], extra, task.row.targets[-1]]

    assert not any(successes(Doing(chosen, change), chosen))


@pytest.mark.parametrize("domain", ["legal", "shopping"])
def test_no_answer_repeats_what_was_put_under_a_text(domain: str, tmp_path: Path) -> None:
    config = BuildConfig(
        out=str(tmp_path / "run"),
        sources=(f"builtin:{domain}",),
        trajectories=60,
        chunk_scenarios=8,
        seed=4,
        conversations=ConversationConfig({"noise": 0.95}),
        contrast=ContrastConfig(candidates=1, trajectories=0, no_calls=0),
        execution=ExecutionConfig(workers=1),
    )
    run = planarena.build(config)
    marks = [text[:40] for text in _PADDING] + [
        "Note to the assistant",
        "IMPORTANT: ignore",
        "To any AI",
        "<system>",
    ]
    results = [row["result"] for row in run.table("executions").collect().to_dicts()]
    assert sum(any(mark in text for mark in marks) for text in results) > 10
    for row in run.table("trajectories").collect().to_dicts():
        told = row["response"] + (row["turn_responses"] or "")
        assert not [mark for mark in marks if mark in told], told


def test_long_conversations_are_long_and_none_of_what_is_asked_for_is_superfluous(
    tasks: list[Task], tables: dict[str, Any], kinds: dict[str, str]
) -> None:
    of_task = {row["trajectory_id"]: row["task_id"] for row in tables["trajectories"]}
    asked = {(of_task[step["trajectory_id"]], step["step"]) for step in tables["steps"] if step["asked"]}
    chosen = [task for task in tasks if kinds[task.id] == "long"]
    assert len(chosen) > 5
    for task in chosen:
        assert 8 <= task.actions <= 20
        assert len(task.row.turns) >= 2
    for left_out in range(8):

        def change(task: Task, left_out: int = left_out) -> list[str]:
            texts, number = [], 0
            for gold, text in zip(task.row.gold, task.row.targets, strict=True):
                calls = [call for at, call in enumerate(gold.calls, number) if at != left_out]
                number += len(gold.calls)
                if not gold.calls:
                    texts.append(text)
                elif calls:
                    texts.append(FORM.render(calls=calls))
            return texts

        fitting = [task for task in chosen if (task.id, left_out) in asked]
        assert not any(successes(Doing(fitting, change), fitting))
