"""What a rule allows in the place of what it forbids: the gold refuses, hears what will do, and does that."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

import planarena
from planarena import formats
from planarena.bench import GoldPolicy, Reply, Task, load_tasks, play
from planarena.config import BuildConfig, ContrastConfig, ConversationConfig, ExecutionConfig
from planarena.environments.policies import Policy
from planarena.formats import Call
from planarena.records import Run

FORM = formats.get("planarena")
DOMAINS = ("banking", "energy", "files", "smart_home", "hr", "support")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    config = BuildConfig(
        out=str(tmp_path_factory.mktemp("rules") / "run"),
        sources=tuple(f"builtin:{name}" for name in DOMAINS),
        trajectories=100,
        chunk_scenarios=8,
        seed=11,
        conversations=ConversationConfig({"rule": 0.9}),
        contrast=ContrastConfig(candidates=0, trajectories=0, no_calls=0),
        execution=ExecutionConfig(workers=1),
    )
    return planarena.build(config)


def test_what_is_allowed_is_done_and_what_is_forbidden_never_reaches_the_goal(run: Run) -> None:
    checks = {row["task_id"]: json.loads(row["checks"]) for row in run.table("queries").collect().to_dicts()}
    tasks = load_tasks(Path(run.path), splits=("train", "validation", "test", "unseen_tools"))
    assert all(one.success for one in play(GoldPolicy(tasks), tasks))
    found: dict[str, tuple[Task, int, Policy]] = {}
    for task in tasks:
        aims = checks[task.id].get("aims", ())
        if aims and not any(one == other for one, other in pairwise(aims)):
            continue  # what was asked for is allowed, and nothing was refused before
        for one in checks[task.id].get("rules", ()):
            policy = Policy(one["tool"], one["demands"], "", one["argument"], one["limit"], one["exact"])
            assert not (
                policy.demands == "refusal"
                and any(policy.holds_for(call.name, call.arguments) for call in task.calls)
            )
            for number, gold in enumerate(task.row.gold):
                for call in gold.calls:
                    value = call.arguments.get(policy.argument)
                    at_limit = call.name == policy.tool and policy.demands == "refusal" and policy.argument
                    # A message before asked for more, and was refused.
                    allowed = "commenter" if policy.exact else policy.limit
                    if at_limit and value == allowed:
                        found[task.id] = (task, number, policy)
    assert len(found) >= 3
    assert len({policy.tool for _, _, policy in found.values()}) >= 2

    class Breaks:
        """Does in the place of the allowed call what the rule forbids."""

        format = "planarena"
        name = "breaks the rule"

        def reply(self, asked: object) -> list[Reply]:
            replies = []
            for one in asked:  # type: ignore[attr-defined]
                task, number, policy = found[one.id]
                text = task.row.targets[one.turn] if one.turn < len(task.row.targets) else ""
                if one.turn == number:
                    calls = [
                        Call(
                            call.name,
                            {
                                **call.arguments,
                                policy.argument: policy.limit if policy.exact else policy.limit + 1,
                            },
                        )
                        if call.name == policy.tool
                        else call
                        for call in task.row.gold[number].calls
                    ]
                    text = FORM.render(calls=calls)
                replies.append(Reply(text=text))
            return replies

    class BreaksFirst(Breaks):
        """Does first what is forbidden, and then what is allowed."""

        name = "breaks the rule first"

        def reply(self, asked: object) -> list[Reply]:
            broken = super().reply(asked)
            replies = []
            for one, reply in zip(asked, broken, strict=True):  # type: ignore[call-overload]
                task, number, _ = found[one.id]
                late = one.turn > number
                text = (
                    task.row.targets[one.turn - 1]
                    if late and one.turn <= len(task.row.targets)
                    else reply.text
                )
                replies.append(Reply(text=text))
            return replies

    chosen = [task for task, _, _ in found.values()]
    for policy_ in (Breaks(), BreaksFirst()):
        assert not any(one.success for one in play(policy_, chosen)), policy_.name
