"""Aims of our domains: each is drawn, proven and said; fan-out, twins, several in a conversation; the same bytes always."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from random import Random

import msgspec
import pytest

import planarena
from planarena.config import BuildConfig, ContrastConfig, ConversationConfig, ExecutionConfig
from planarena.environments.catalog import ACROSS, goals_of, restore_world
from planarena.environments.domains import COMBINATIONS, DOMAINS
from planarena.environments.goals import Pick, Value, place_of
from planarena.episodes import Episode, reached
from planarena.pipeline.aim_samples import sample_aims
from planarena.pipeline.execute import scenarios
from planarena.pipeline.execute.aims import Misfit
from planarena.pipeline.execute.aims.choosing import choose, draw_plain, fits, near
from planarena.pipeline.execute.scenario_run import execute_every_aim, execute_with_variants
from planarena.pipeline.execute.scenarios import draw_scenario
from planarena.pipeline.language.conversations.rule import from_me
from planarena.pipeline.language.describe import ScenarioLanguage
from planarena.pipeline.products import Executed, Language
from planarena.users.checks import asks_back

sys.path.append(str(Path(__file__).resolve().parents[2]))
from builds import contents

WITH_AIMS = [domain for domain in DOMAINS if goals_of(domain)]


def config(*sources, **composition):
    base = BuildConfig(
        sources=sources or ("builtin",), trajectories=1, conversations=ConversationConfig(shares={})
    )
    composition = msgspec.structs.replace(base.composition, **composition)
    return msgspec.structs.replace(base, composition=composition)


def said_in(scenario, task):
    said = ScenarioLanguage(config(), scenario).describe(task, contrast=False)
    assert isinstance(said, Language), said
    return said


@cache
def scenarios_of(domain, aims=1.0, count=8):
    """Return the first scenarios of a domain whose tasks all follow aims, where it can be."""
    made = config(f"builtin:{domain}", mixed_share=0.0, aims=aims)
    return [
        one for number in range(count) for one in execute_with_variants(made, draw_scenario(made, number))
    ]


def follow_aims(domain):
    return [
        (scenario, task)
        for scenario in scenarios_of(domain)
        for task in scenario.items
        if isinstance(task, Executed) and task.aims
    ]


@pytest.mark.parametrize("domain", WITH_AIMS)
def test_every_question_for_what_is_missing_is_heard_as_one(domain):
    """The scripted user answers what it hears as a question."""
    deaf = [
        question
        for aim in goals_of(domain).values()
        for lacking in aim.lacking.values()
        for question in lacking.asks
        if not asks_back(question)
    ]
    assert deaf == []


# -- every aim ----------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", WITH_AIMS)
def test_every_aim_of_a_domain_is_drawn_proven_and_said(domain):
    left = set(goals_of(domain))
    for numbers in (range(2), range(2, 6), range(6, 20), range(20, 40)):
        if left:
            samples = sample_aims(config(f"builtin:{domain}"), numbers, left)
            left = {one.name for one in samples if not one.told}
    assert left == set()


@pytest.mark.parametrize("name", sorted(goals_of(ACROSS)))
def test_every_aim_across_domains_is_drawn_proven_and_said(monkeypatch, name):
    aim = goals_of(ACROSS)[name]
    groups = [group.domains for group in COMBINATIONS if set(aim.domains) <= set(group.domains)]
    made = config("builtin", tools=(99, 99))
    for number in range(12):
        monkeypatch.setattr(scenarios, "_draw_domains", lambda *_, place=number: groups[place % len(groups)])
        scenario, [(_, item)] = execute_every_aim(made, draw_scenario(made, number), [name])
        if isinstance(item, Executed):
            said = ScenarioLanguage(made, scenario).describe(item, contrast=False)
            if isinstance(said, Language):
                assert said.checks["aims"] == [f"{ACROSS}.{name}"]
                return
    pytest.fail("it suits none of 12 worlds")


# -- what is proven of them ----------------------------------------------------------------------


@pytest.mark.parametrize("domain", ["calendar", "email"])
def test_the_gold_reaches_its_goal_in_another_world_and_every_call_is_needed(domain):
    found = follow_aims(domain)
    assert len(found) > 20
    for scenario, task in found:
        world = restore_world(scenario.domains, json.loads(scenario.seed_state), scenario.facts)
        for left_out in (None, *range(len(task.steps))):
            episode, mark = Episode(world), world.mark()
            made, missing = [], {left_out}
            for number, step in enumerate(task.steps):
                if number in missing or missing & {source for _, source, _ in step.bound}:
                    missing.add(number)
                else:
                    made.append((step.tool, episode.act(step.tool, step.arguments).outcome))
            assert reached(task.goal, world.digest(), made) == (left_out is None), (task.aims, left_out)
            world.rollback(mark)


def test_requests_state_what_no_look_up_finds_and_answers_tell_what_was_asked():
    for scenario, task in follow_aims("calendar"):
        said = said_in(scenario, task)
        assert len(said.turns) == len(task.aims)
        assert said.checks["asked_is_told"]
        for place, source in said.checks["grounded"].items():
            step, argument = place.split("/")
            bound = argument in {name for name, _, _ in task.steps[int(step)].bound}
            assert source.startswith("step") == bound


def test_nobody_acts_on_a_condition_before_they_have_looked():
    decided = 0
    for domain in ("calendar", "kitchen", "restaurant"):
        for scenario, task in follow_aims(domain):
            for aimed in task.aims:
                aim = goals_of(aimed.domain)[aimed.name]
                if aim.if_ is None:
                    continue
                looked = place_of(aim, aim.if_.that[1:]).call
                groups = {name: task.steps[step].group for step, name, _ in aimed.calls}
                acts = [name for name in groups if aim.calls[name].branch]
                assert all(groups[looked] < groups[name] for name in acts), (scenario.domain, aimed.name)
                decided += bool(acts)
    assert decided > 5


def test_all_that_fit_are_done_in_parallel_and_told_in_one_sentence():
    found = [
        (scenario, task)
        for scenario, task in follow_aims("calendar")
        if [one.name for one in task.aims] == ["reminders_for_a_whole_day"]
    ]
    assert found
    for scenario, task in found:
        [look, *alarms] = task.steps
        assert {step.arguments["event_id"] for step in alarms} == {
            one["event_id"] for one in look.result["events"]
        }
        assert {step.group for step in alarms} == {1}
        answer = said_in(scenario, task).response
        for one in look.result["events"]:
            assert answer.count(f'"{one["title"]}"') == 1


def test_twins_say_the_same_and_do_what_their_states_demand():
    every = {one.scenario_id: one for one in scenarios_of("calendar")}
    twins = [
        (every[one.origin], one, task)
        for one in every.values()
        for task in one.items
        if one.origin and isinstance(task, Executed) and task.aims
    ]
    assert twins
    for origin, scenario, task in twins:
        [aimed] = task.aims
        assert scenario.seed_state_hash != origin.seed_state_hash
        values = {one.name: one.value for one in aimed.said}
        first = [
            one
            for one in origin.items
            if isinstance(one, Executed)
            and one.aims
            and one.aims[0].name == aimed.name
            and {said.name: said.value for said in one.aims[0].said} == values
        ]
        assert [one.aims[0].branch for one in first] == [{"then": "else", "else": "then"}[aimed.branch]]
        assert first[0].aims[0].way == aimed.way >= 0
        assert len(first[0].steps) != len(task.steps)
        said_in(scenario, task)


def talks_of(domain, kind, count=6):
    """Return conversations of one kind in the first scenarios of a domain, each with its scenario."""
    made = msgspec.structs.replace(
        config(f"builtin:{domain}", mixed_share=0.0), conversations=ConversationConfig({kind: 0.6})
    )
    return [
        (scenario, task)
        for number in range(count)
        for scenario in execute_with_variants(made, draw_scenario(made, number))
        for task in scenario.items
        if isinstance(task, Executed) and task.talk.kind == kind
    ]


def test_several_aims_make_several_messages_each_in_the_state_at_its_time():
    found = talks_of("calendar", "long")
    assert found
    for scenario, task in found:
        assert sorted(task.turn_of) == list(task.turn_of)
        assert [one.turn for one in task.aims] == list(range(len(task.aims)))
        assert len({one.name for one in task.aims}) == len(task.aims)
        said_in(scenario, task)


@pytest.mark.parametrize("domain", ["banking", "boards"])
def test_what_an_earlier_message_has_looked_up_is_not_looked_up_again(domain):
    found = talks_of(domain, "long")
    assert found
    taken = 0
    for _, task in found:
        calls = [(step.tool, json.dumps(step.arguments, sort_keys=True)) for step in task.steps]
        assert len(set(calls)) == len(calls)
        taken += sum(
            task.turn_of[source] < task.turn_of[number]
            for number, step in enumerate(task.steps)
            for _, source, _ in step.bound
        )
        # Its own calls only: what is taken from before belongs to the aim of that message.
        for one in task.aims:
            assert {task.turn_of[step] for step, _, _ in one.calls} <= {one.turn}
    assert taken


def test_a_message_leaves_out_what_its_aim_can_be_said_without_and_the_question_asks_for_it():
    found = talks_of("banking", "missing_value")
    assert found
    for scenario, task in found:
        said = said_in(scenario, task)
        lacks, gives = task.talk.acts
        [aimed] = [one for one in task.aims if one.turn == gives.turn]
        [value] = [one for one in aimed.said if (lacks.step, lacks.argument) in one.places]
        lacking = goals_of(aimed.domain)[aimed.name].lacking[value.name]
        assert said.turn_responses[lacks.turn] in lacking.asks
        assert json.loads(msgspec.json.encode(said.brief))["messages"][gives.turn]["label"] == lacking.label
        if isinstance(value.value, str) and value.value.isalpha():
            assert value.value not in re.findall(r"\w+", said.turns[lacks.turn])
            assert value.value.lower() in said.turns[gives.turn].lower()


def test_a_rule_is_answered_with_what_the_aim_would_have_done():
    found = [one for one in talks_of("banking", "rule") if one[1].talk.acts]
    assert found
    kinds = set()
    for scenario, task in found:
        said = said_in(scenario, task)
        first = task.talk.acts[0]
        kinds.add(first.what)
        answer = (*said.turn_responses, said.response)[first.turn]
        assert answer.endswith((".", "?"))
        if first.what == "forbids":
            # Nothing of it is done.
            assert first.turn not in task.turn_of
            assert from_me(first.value).split(",")[0][1:] in answer
        else:
            assert "?" in answer or "confirm" in answer
    assert len(kinds) == 2


def test_the_share_of_aims_is_a_setting():
    for aims, least, most in ((0.0, 0.0, 0.0), (0.67, 0.6, 0.8), (1.0, 0.95, 1.0)):
        tasks = [
            task
            for one in scenarios_of("calendar", aims, 3)
            for task in one.items
            if isinstance(task, Executed) and not one.origin
        ]
        assert least <= sum(bool(task.aims) for task in tasks) / len(tasks) <= most


def test_a_domain_without_aims_is_drawn_as_before():
    bare = next((domain for domain in DOMAINS if not goals_of(domain)), None)
    if bare is None:
        pytest.skip("all of ours have aims")
    assert any(isinstance(task, Executed) for one in scenarios_of(bare, 1.0, 1) for task in one.items)


def test_workers_change_no_byte(tmp_path):
    roots = []
    for workers in (1, 2):
        out = tmp_path / str(workers)
        planarena.build(
            BuildConfig(
                sources=("builtin:calendar", "builtin:email"),
                out=str(out),
                trajectories=24,
                chunk_scenarios=2,
                contrast=ContrastConfig(candidates=0, trajectories=0, no_calls=0),
                execution=ExecutionConfig(workers=workers),
            )
        )
        roots.append(contents(out))
    assert roots[0] == roots[1]


# -- choosing -------------------------------------------------------------------------------------

ROWS = [
    {"id": 1, "price": 30, "name": "A"},
    {"id": 2, "price": 10, "name": "B"},
    {"id": 3, "price": 10, "name": "A"},
]


def chosen(rows=ROWS, where=None, **pick):
    return choose(Pick("/rows", **pick), rows, where or {}, lambda _: False, Random(1))


def test_picks_mean_one_record_or_none():
    assert chosen(most="price") == [0]
    assert chosen(named="name") == [1]  # the others share theirs
    assert chosen(place="last") == [2]
    assert chosen(where={"price": {"below": 20}}, all=True) == [1, 2]
    assert chosen(where={"name": "B"}) == [1]
    for wrong in (
        {"least": "price"},
        {"where": {"name": "A"}},
        {"where": {"name": "C"}},
        {"where": {"id": 1}, "all": True},
    ):
        with pytest.raises(Misfit):
            chosen(**wrong)
    with pytest.raises(Misfit):
        choose(Pick("/rows", place="first"), ROWS, {}, lambda _: True, Random(1))
    with pytest.raises(Misfit):
        chosen(rows=None)


def test_tests_compare_like_with_like():
    assert fits(3, {"above": 2, "at_most": 3}) and not fits(3, {"above": 3})
    assert fits("2026-05-02T10:00", {"starts": "2026-05-02", "below": "2026-05-03"})
    assert not fits("3", {"above": 2}) and not fits(None, {"below": 5})
    assert fits(["a"], {"contains": "a"}) and fits("x", {"in": ["x", "y"]}) and fits(None, {"not": 1})


def test_values_are_drawn_within_what_is_said():
    rng = Random(3)
    for _ in range(30):
        assert draw_plain(Value(number=(4, 8, 2)), "", rng) in {4, 6, 8}
        assert draw_plain(Value(days=(1, 2), at=("09:30",)), "2026-02-28T08:00", rng) in {
            "2026-03-01T09:30",
            "2026-03-02T09:30",
        }
        assert near(Value(near="$a/b", by=(0.8, 1.2), round=10), 100, rng) in {80, 120}
    assert draw_plain(Value(near="$a/b"), "", rng) is None
    with pytest.raises(Misfit):
        near(Value(near="$a/b"), "much", rng)
