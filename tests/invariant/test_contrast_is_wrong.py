"""Every negative is wrong by proof, and no right choice is called wrong."""

from __future__ import annotations

import itertools
from collections import Counter

import msgspec
import pytest

import planarena
from planarena.config import BuildConfig, ExecutionConfig
from planarena.environments.domains import DOMAINS
from planarena.environments.wording import parse_pointer
from planarena.episodes import Episode, reached
from planarena.proofs import open_scenario, read_goal
from planarena.tasks.algebra import order_of, parse
from planarena.tasks.atoms import Binding, Call

decode = msgspec.json.decode
WRONG = {"diverges", "ungrounded", "error"}
RIGHT = {"frontier", "equivalent", "inefficient"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    config = BuildConfig(
        out=str(tmp_path_factory.mktemp("contrast") / "run"),
        trajectories=40 * len(DOMAINS),
        chunk_scenarios=len(DOMAINS),
        execution=ExecutionConfig(workers=1),
    )
    return planarena.build(config)


class Task:
    """A gold trajectory with its program, read from the tables."""

    def __init__(self, stored, trajectory):
        self.row = trajectory
        task = stored["tasks"][trajectory["task_id"]]
        self.scenario = stored["scenarios"][task["scenario_id"]]
        self.goal = read_goal(task["goal"])
        self.steps = stored["steps"][trajectory["trajectory_id"]]
        self.program = []
        for step in self.steps:
            arguments, bound = decode(step["arguments"]), decode(step["bound_from"])
            taken = {pointer[1:]: source for pointer, source in bound.items()}
            self.program.append(
                Call(
                    step["tool"],
                    {name: value for name, value in arguments.items() if name not in taken},
                    tuple(Binding(name, s["step"], parse_pointer(s["pointer"])) for name, s in taken.items()),
                )
            )
        names, masks = order_of(parse(task["canonical"]))
        # The canonical expression names atoms; steps follow it by tool and arguments through the stored order.
        self.expression = names, masks
        self.canonical = task["canonical"]


@pytest.fixture(scope="module")
def stored(run):
    tables = {name: run.table(name).collect().to_dicts() for name in run.tables}
    steps = {}
    for step in tables["steps"]:
        steps.setdefault(step["trajectory_id"], []).append(step)
    return {
        **tables,
        "steps": steps,
        "scenarios": {row["scenario_id"]: row for row in tables["scenarios"]},
        "tasks": {row["task_id"]: row for row in tables["tasks"]},
        "by_id": {row["trajectory_id"]: row for row in tables["trajectories"]},
        "executions": {row["execution_id"]: row for row in tables["executions"]},
    }


@pytest.fixture(scope="module")
def worlds(stored):
    return {key: open_scenario(row) for key, row in stored["scenarios"].items()}


def points(stored):
    for point in stored["decision_points"]:
        trajectory = stored["by_id"][point["trajectory_id"]]
        if trajectory["n_actions"]:
            yield Task(stored, trajectory), point["step"], decode(point["candidates"])


def continuation_reaches(world, task, step, choice):
    """Make the prefix, then the choice, then every remaining gold step; say whether the goal is reached."""
    start = world.mark()
    episode = Episode(world, task.program)
    observed = [(call.tool, episode.perform(place)) for place, call in enumerate(task.program[:step])]
    if choice is not None:
        observed.append((choice["tool"], world.call(choice["tool"], choice["arguments"])))
    for place in range(step, len(task.program)):
        observed.append((task.program[place].tool, episode.perform(place)))
    success = reached(task.goal, world.digest(), observed)
    world.rollback(start)
    return success


def test_every_negative_is_wrong_when_executed_again(stored, worlds):
    seen = Counter()
    for task, step, candidates in points(stored):
        world = worlds[task.scenario["scenario_id"]]
        known = {repr(value) for value in decode(task.scenario["context"]).values()}
        for call in task.program:
            known |= {repr(value) for value in call.literals.values()}
        for candidate in candidates:
            outcome = candidate["outcome"]
            assert outcome in WRONG | RIGHT
            seen[outcome] += 1
            if outcome == "error":
                start = world.mark()
                episode = Episode(world, task.program)
                episode.perform_all(range(step))
                assert world.call(candidate["tool"], candidate["arguments"]).status != "ok"
                world.rollback(start)
            elif outcome == "diverges" and candidate["tool"]:
                assert not continuation_reaches(world, task, step, candidate)
            elif outcome == "inefficient":
                assert continuation_reaches(world, task, step, candidate)
            elif outcome == "ungrounded":
                second = candidate.get("beside", {}).get("arguments", {})
                values = [*candidate["arguments"].values(), *second.values()]
                assert any(repr(value) not in known for value in values)
    assert min(seen[name] for name in WRONG) > 50, seen


def test_the_gold_step_is_always_among_the_candidates_and_every_point_has_negatives(stored):
    for task, step, candidates in points(stored):
        gold = task.steps[step]
        first = candidates[0]
        assert (first["tool"], first["arguments"], first["outcome"]) == (
            gold["tool"],
            decode(gold["arguments"]),
            "frontier",
        )
        # A lone call without arguments has no value to get wrong and no later step to come too early.
        fewest = 3 if len(task.steps) > 1 or first["arguments"] else 2
        assert sum(candidate["outcome"] not in {"frontier"} for candidate in candidates) >= fewest
        assert any(candidate["outcome"] in WRONG for candidate in candidates)


def linear_extensions(before):
    n = len(before)
    for order in itertools.permutations(range(n)):
        place = {item: rank for rank, item in enumerate(order)}
        if all(place[i] < place[j] for j in range(n) for i in range(n) if before[j] >> i & 1):
            yield order


def before_of(stored, task):
    """Rebuild the partial order over steps from the canonical expression and the atoms' arguments."""
    atoms = {row["atom_id"]: row for row in stored["atomic_tasks"]}
    names, masks = task.expression
    place = {}
    for name in names:
        atom = atoms[name]
        arguments = decode(atom["arguments"])
        needs = {k for k, v in arguments.items() if isinstance(v, dict) and "$need" in v}
        literals = {k: v for k, v in arguments.items() if k not in needs}
        fits = [
            number
            for number, (step, call) in enumerate(zip(task.steps, task.program, strict=True))
            if step["tool_id"] == atom["tool_id"]
            and call.literals == literals
            and {binding.argument for binding in call.bound} == needs
            and number not in place.values()
        ]
        place[name] = fits[0]
    before = [0] * len(names)
    for name, mask in zip(names, masks, strict=True):
        before[place[name]] = sum(1 << place[names[i]] for i in range(len(names)) if mask >> i & 1)
    return before


def test_every_step_that_may_come_next_in_some_order_is_called_frontier_and_reaches_the_goal(stored, worlds):
    checked = 0
    for task, step, candidates in points(stored):
        if not 2 <= len(task.program) <= 4:
            continue
        world = worlds[task.scenario["scenario_id"]]
        before = before_of(stored, task)
        called = {
            (candidate["tool"], repr(candidate["arguments"]))
            for candidate in candidates
            if candidate["outcome"] == "frontier"
        }
        wrong = {
            (candidate["tool"], repr(candidate["arguments"]))
            for candidate in candidates
            if candidate["outcome"] in WRONG and candidate["mutation"] != "parallel_dependents"
        }
        for order in linear_extensions(before):
            if order[:step] != tuple(range(step)):
                continue
            following = task.steps[order[step]]
            key = following["tool"], repr(decode(following["arguments"]))
            assert key in called
            assert key not in wrong
            start = world.mark()
            episode = Episode(world, task.program)
            observed = [(task.program[place].tool, episode.perform(place)) for place in order]
            assert reached(task.goal, world.digest(), observed)
            world.rollback(start)
            checked += 1
    assert checked > 300


def test_relevance_is_a_share_and_higher_for_siblings_than_for_strangers(stored):
    by_kind = {"wrong_tool": [], "unrelated_tool": [], "wrong_value": []}
    for _, _, candidates in points(stored):
        assert candidates[0]["relevance"] == 1.0
        for candidate in candidates:
            assert 0.0 <= candidate["relevance"] <= 1.0
            assert candidate["relevance_method"] == "overlap-1"
            if candidate["mutation"] in by_kind:
                by_kind[candidate["mutation"]].append(candidate["relevance"])
    mean = {name: sum(values) / len(values) for name, values in by_kind.items()}
    assert mean["wrong_value"] > mean["wrong_tool"] > mean["unrelated_tool"]


def test_every_contrastive_trajectory_fails_its_own_task_and_departs_where_it_says(stored, worlds):
    contrastive = [row for row in stored["trajectories"] if row["kind"] == "contrastive"]
    assert len(contrastive) > 200
    for row in contrastive:
        task = stored["tasks"][row["task_id"]]
        world = worlds[task["scenario_id"]]
        steps = stored["steps"].get(row["trajectory_id"], [])
        gold = stored["steps"][row["parent_id"]]
        start = world.mark()
        observed = []
        for number, step in enumerate(steps):
            execution = stored["executions"][step["execution_id"]]
            outcome = world.call(step["tool"], decode(step["arguments"]))
            assert outcome.status == execution["status"]
            assert world.digest() == execution["state_after"]
            observed.append((step["tool"], outcome))
            if number < row["diverge_step"]:
                assert (step["tool"], step["arguments"]) == (gold[number]["tool"], gold[number]["arguments"])
        assert not reached(read_goal(task["goal"]), world.digest(), observed)
        world.rollback(start)
        if len(steps) > row["diverge_step"]:
            departing, right = steps[row["diverge_step"]], gold[row["diverge_step"]]
            assert (departing["tool"], departing["arguments"]) != (right["tool"], right["arguments"])
        assert row["reaches_goal"] is False
        assert row["mutation"]


def test_requests_without_a_call_withhold_what_they_say(stored, worlds):
    categories = Counter()
    for row in stored["trajectories"]:
        task = stored["tasks"][row["task_id"]]
        if task["category"] == "call":
            continue
        categories[task["category"]] += 1
        assert row["n_actions"] == 0
        assert row["response"]
        assert row["trajectory_id"] not in stored["steps"]
        withheld = decode(task["withheld_tool_ids"])
        assert bool(withheld) == (task["category"] in {"tool_missing", "trap"})
        assert set(withheld) <= set(decode(stored["scenarios"][task["scenario_id"]]["tool_ids"]))
    assert set(categories) == {"tool_missing", "trap", "parameter_missing", "no_tool_needed"}


def test_outcomes_keep_the_mix_asked_for(run):
    counts = run.info["counts"]["candidates"]
    mix = BuildConfig().contrast.outcome_mix
    total = sum(counts[name] for name in mix)
    for name, share in mix.items():
        assert abs(counts[name] / total - share) <= 0.02, (name, counts)
