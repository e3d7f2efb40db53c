"""Every negative is wrong by proof, and no right choice is called wrong."""

from __future__ import annotations

import itertools
from collections import Counter

import msgspec
import pytest

import planarena
from planarena.config import TRIVIAL_KINDS, BuildConfig, ExecutionConfig
from planarena.environments.domains import DOMAINS
from planarena.environments.wording import parse_pointer
from planarena.episodes import Episode, reached
from planarena.proofs import open_scenario, read_goal, read_message_goals
from planarena.records import RIGHT_OUTCOMES, WRONG_OUTCOMES
from planarena.tasks.algebra import order_of, parse
from planarena.tasks.atoms import Binding, Call

decode = msgspec.json.decode
WRONG = set(WRONG_OUTCOMES)
RIGHT = set(RIGHT_OUTCOMES) - {"inefficient"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    config = BuildConfig(
        out=str(tmp_path_factory.mktemp("contrast") / "run"),
        trajectories=40 * len(DOMAINS),
        chunk_scenarios=len(DOMAINS),
        execution=ExecutionConfig(workers=1),
    )
    return planarena.build(config)


def task_facts(scenario):
    return " ".join(str(value) for value in decode(scenario["context"]).values())


class Task:
    """A gold trajectory with its program, read from the tables."""

    def __init__(self, stored, trajectory):
        self.row = trajectory
        task = stored["tasks"][trajectory["task_id"]]
        self.scenario = stored["scenarios"][task["scenario_id"]]
        self.goal = read_goal(task["goal"])
        self.goals = read_message_goals(task["goal"])
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
        query = stored["queries"][trajectory["query_id"]]
        self.turns = decode(query["turns"])
        self.said = " ".join([*self.turns, *decode(query["context"]), task_facts(self.scenario)])
        self.canonical = task["canonical"]

    def at(self, step):
        """What counts at a step: where a later message takes back what an earlier one asked for, the goal of its own."""
        if self.goals and step < len(self.steps):
            turn = self.steps[step]["turn"]
            turns = sorted({one["turn"] for one in self.steps})
            self.goal = self.goals[turns.index(turn)]
            self.program = self.program[: sum(one["turn"] <= turn for one in self.steps)]
        return self


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
        "queries": {row["query_id"]: row for row in tables["queries"]},
        "executions": {row["execution_id"]: row for row in tables["executions"]},
    }


@pytest.fixture(scope="module")
def worlds(stored):
    return {key: open_scenario(row) for key, row in stored["scenarios"].items()}


def points(stored, answers=False):
    """The choices at calls and at the end, or those at questions and answers before it."""
    for point in stored["decision_points"]:
        trajectory = stored["by_id"][point["trajectory_id"]]
        if trajectory["n_actions"] and (point["turn"] >= 0) == answers:
            task = Task(stored, trajectory)
            if answers:
                yield task, point["turn"], point["step"], decode(point["candidates"])
            else:
                yield task.at(point["step"]), point["step"], decode(point["candidates"])


def continuation_reaches(world, task, step, *choice):
    """Make the prefix, then the calls chosen, then every remaining gold step; say whether the goal is reached.

    A first call that is the gold step stands for it.
    """
    start = world.mark()
    episode = Episode(world, task.program)
    observed = [(call.tool, episode.perform(place)) for place, call in enumerate(task.program[:step])]
    stands = None
    for number, one in enumerate(choice):
        if len(choice) > 1 and not number:
            gold = task.steps[step]
            if (one["tool"], one["arguments"]) == (gold["tool"], decode(gold["arguments"])):
                stands = step
        outcome = world.call(one["tool"], one["arguments"])
        if stands is not None and not number:
            episode.results[step] = outcome.result
        observed.append((one["tool"], outcome))
    for place in range(step, len(task.program)):
        if place != stands:
            observed.append((task.program[place].tool, episode.perform(place)))
    success = reached(task.goal, world.digest(), observed)
    world.rollback(start)
    return success


def spoils(world, task, step, *choice):
    """Say whether the state is another one than the gold's when the message at hand has been served."""
    start = world.mark()
    turn = task.steps[step]["turn"]
    states = []
    for made in ((), choice):
        episode = Episode(world, task.program)
        episode.perform_all(range(step))
        for one in made:
            world.call(one["tool"], one["arguments"])
        for place in range(step, len(task.program)):
            if task.steps[place]["turn"] == turn:
                episode.perform(place)
        states.append(world.digest())
        world.rollback(start)
    return states[0] != states[1]


def test_every_candidate_was_executed_from_the_state_of_the_right_one(stored, worlds):
    seen = Counter()
    for task, step, candidates in points(stored):
        world = worlds[task.scenario["scenario_id"]]
        start = world.mark()
        episode = Episode(world, task.program)
        observed = [(call.tool, episode.perform(place)) for place, call in enumerate(task.program[:step])]
        here = world.mark()
        for candidate in candidates:
            execution = stored["executions"][candidate["execution_id"]]
            assert execution["state_before"] == world.digest()
            if not candidate["tool"]:
                seen["answers"] += 1
                assert execution["execution_kind"] == "answer_check"
                assert execution["state_after"] == execution["state_before"]
                checked = decode(execution["result"])
                goal = step == len(task.steps) and reached(task.goal, world.digest(), observed)
                assert checked["goal_reached"] == goal
                right = candidate["outcome"] == "frontier"
                assert right == (goal and not checked["untold"])
                assert right == (candidate["response"] == task.row["response"])
                continue
            taken = episode.act(candidate["tool"], candidate["arguments"])
            assert taken.outcome.status == execution["status"]
            assert taken.state_after == execution["state_after"]
            assert decode(execution["result"]) == taken.outcome.result
            seen["calls"] += 1
            if "beside" in candidate:
                second = candidate["beside"]
                execution = stored["executions"][second["execution_id"]]
                taken = episode.act(second["tool"], second["arguments"])
                assert (taken.outcome.status, taken.state_after) == (
                    execution["status"],
                    execution["state_after"],
                )
                seen["second calls"] += 1
            world.rollback(here)
        world.rollback(start)
    assert min(seen.values()) > 100, seen


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
            if not candidate["tool"]:
                assert outcome in {"diverges", "frontier"}
                continue
            chosen = [candidate, candidate["beside"]] if "beside" in candidate else [candidate]
            if outcome == "error":
                start = world.mark()
                episode = Episode(world, task.program)
                episode.perform_all(range(step))
                statuses = [world.call(one["tool"], one["arguments"]).status for one in chosen]
                assert set(statuses) != {"ok"}
                world.rollback(start)
            elif outcome == "diverges":
                # A later message may ask for a write that covers it up: what counts is its own message.
                assert not continuation_reaches(world, task, step, *chosen) or spoils(
                    world, task, step, *chosen
                )
            elif outcome in {"useless", "harmless"}:
                assert continuation_reaches(world, task, step, *chosen)
            elif outcome == "ungrounded":
                assert any(repr(value) not in known for value in candidate["arguments"].values())
    assert min(seen[name] for name in WRONG - {"ungrounded"}) > 500, seen
    assert seen["ungrounded"] > 5
    assert seen["harmless"] > 5


def test_what_is_useless_shows_nothing_that_is_needed_and_what_is_harmless_does(stored):
    """Told from the tables alone: a look-up helps where it is a later step or shows an id that one takes."""
    helped = Counter()
    for task, step, candidates in points(stored):
        turn = task.steps[min(step, len(task.steps) - 1)]["turn"]
        left = [one for one in task.steps[step:] if one["turn"] == turn]
        results = {one["step"]: stored["executions"][one["execution_id"]]["result"] for one in left}
        later = [(one["tool"], one["arguments"], results[one["step"]]) for one in left]
        before = [stored["executions"][one["execution_id"]]["result"] for one in task.steps[:step]]
        needed = {
            value
            for one in left
            for pointer, source in decode(one["bound_from"]).items()
            if source["step"] >= step
            and isinstance(value := decode(one["arguments"])[pointer[1:]], str)
            and value[4:5] != "-"
            and not any(f'"{value}"' in shown for shown in (*before, *task.turns))
        }
        for candidate in candidates:
            if candidate["outcome"] not in {"useless", "harmless"} or not candidate["tool"]:
                continue
            execution = stored["executions"][candidate["execution_id"]]
            if execution["state_after"] != execution["state_before"] or "beside" in candidate:
                continue
            arguments = msgspec.json.encode(candidate["arguments"], order="sorted").decode()
            call = candidate["tool"], arguments, execution["result"]
            # A look-up of another thing helps nobody, whatever it happens to show.
            another = any(
                one["tool"] == candidate["tool"]
                and any(candidate["arguments"].get(k, v) != v for k, v in decode(one["arguments"]).items())
                and results[one["step"]] != execution["result"]
                for one in left
            )
            shows = not another and any(f'"{value}"' in execution["result"] for value in needed)
            helps = call in later or shows
            told = any(value in task.said for value in needed)
            assert helps == (candidate["outcome"] == "harmless") or told, (
                task.row["trajectory_id"],
                step,
                candidate,
                needed,
            )
            helped[helps] += 1
    assert min(helped.values()) > 5, helped


def test_the_gold_step_is_always_among_the_candidates_and_every_point_has_negatives(stored):
    bare_answers: list[bool] = []
    for task, step, candidates in points(stored):
        first = candidates[0]
        assert first["outcome"] == "frontier"
        if step == len(task.steps):
            assert (first["tool"], first["response"]) == ("", task.row["response"])
        else:
            gold = task.steps[step]
            assert (first["tool"], first["arguments"]) == (gold["tool"], decode(gold["arguments"]))
            assert first["execution_id"] == gold["execution_id"]
        # A call without arguments has no value to get wrong, and a lone one no later step to come too early.
        bare = step < len(task.steps) and not decode(task.steps[step]["arguments"])
        # An answer that tells one thing has little to be wrong about.
        answers = step == len(task.steps)
        wrong = sum(one["outcome"] in WRONG for one in candidates)
        assert wrong >= (2 if len(task.steps) > 1 and not bare and not answers else 1)
        if answers and len(task.steps) > 1:
            bare_answers.append(wrong < 2)
        kinds = [one["mutation"] for one in candidates if one["outcome"] in WRONG]
        assert len(set(kinds)) > 1 or len(task.steps) == 1 or bare or answers, (
            task.row["trajectory_id"],
            step,
            candidates,
        )
    assert sum(bare_answers) <= 0.03 * len(bare_answers), len(bare_answers)


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
        calls = [(one["tool"], one["arguments"]) for one in task.steps]
        # What is called again after it failed, or after it was taken back, has its place by more than tool and values.
        if not 2 <= len(task.program) == len(task.steps) <= 4 or len(calls) > len(set(calls)):
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
            if candidate["outcome"] in WRONG and "beside" not in candidate
        }
        for order in linear_extensions(before):
            if step == len(task.steps) or order[:step] != tuple(range(step)):
                continue
            following = task.steps[order[step]]
            if following["turn"] != task.steps[step]["turn"]:
                continue  # nobody has asked for it yet
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


def test_relevance_ranks_what_is_right_above_what_is_wrong_and_neighbours_above_strangers(stored):
    by_kind = {"neighbour_value": [], "near_tool": [], "wrong_lookup": []}
    for _, _, candidates in points(stored):
        right = [one["relevance"] for one in candidates if one["outcome"] in RIGHT]
        wrong = [one["relevance"] for one in candidates if one["outcome"] in WRONG]
        assert candidates[0]["relevance"] == 1.0
        assert min(right) > max(wrong)
        for candidate in candidates:
            assert 0.0 <= candidate["relevance"] <= 1.0
            assert candidate["relevance_method"] == "left-1"
            if candidate["mutation"] in by_kind and candidate["outcome"] in WRONG:
                by_kind[candidate["mutation"]].append(candidate["relevance"])
    mean = {name: sum(values) / len(values) for name, values in by_kind.items()}
    assert mean["neighbour_value"] > mean["near_tool"] > mean["wrong_lookup"]


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


def test_where_no_call_is_right_every_call_is_wrong(stored):
    seen = Counter()
    for point in stored["decision_points"]:
        row = stored["by_id"][point["trajectory_id"]]
        if row["n_actions"]:
            continue
        category = stored["tasks"][row["task_id"]]["category"]
        first, *others = decode(point["candidates"])
        assert (first["tool"], first["response"], first["outcome"]) == ("", row["response"], "frontier")
        assert others
        withheld = decode(stored["tasks"][row["task_id"]]["withheld_tool_ids"])
        for one in others:
            assert one["outcome"] in WRONG
            assert one["execution_id"] in stored["executions"]
            assert one["relevance"] < first["relevance"]
            assert one["tool_id"] not in withheld
            seen[category, bool(one["tool"])] += 1
    assert {category for category, called in seen if called} == {
        *("tool_missing", "trap", "parameter_missing", "no_tool_needed")
    }


def test_kinds_keep_to_their_weights_and_trivial_ones_are_few(stored):
    weights = BuildConfig().contrast.kinds
    counts = Counter(
        one["mutation"]
        for point in stored["decision_points"]
        if stored["by_id"][point["trajectory_id"]]["n_actions"] and point["turn"] < 0
        for one in decode(point["candidates"])
        if one["outcome"] in WRONG
    )
    total = counts.total()
    assert set(counts) == set(weights)
    assert sum(counts[kind] for kind in TRIVIAL_KINDS) / total <= 0.1
    for kind in TRIVIAL_KINDS:
        assert counts[kind] / total <= weights[kind] / sum(weights.values()) + 0.005
    # Most points allow none of the kinds that only turns of conversations bring: their weight goes to the others.
    turns = ("ignored_error", "gave_up", "superseded_value", "forbidden_call", "injected_order")
    everywhere = sum(weight for kind, weight in weights.items() if kind not in turns)
    # Kinds that nearly every point allows come as often as they should, or stand in for those that few allow.
    for kind in (
        "neighbour_value",
        "near_tool",
        "id_as_name",
        "wrong_format",
        "repeated_call",
        "wrong_lookup",
    ):
        # What a later message asks for is no wrong choice: in conversations half of the points have no near tool left.
        # A call that takes only ids from look-ups has no value whose format could be wrong.
        least = 0.6 if kind in {"near_tool", "wrong_format"} else 0.75
        assert least <= counts[kind] / total / (weights[kind] / everywhere) <= 1.5, (kind, counts)


def test_contrastive_trajectories_are_realistic(stored):
    counts = Counter(row["mutation"] for row in stored["trajectories"] if row["kind"] == "contrastive")
    assert sum(counts[kind] for kind in TRIVIAL_KINDS) / counts.total() <= 0.15
    assert counts["ignored_error"] > 10
    for row in stored["trajectories"]:
        if row["mutation"] == "ignored_error":
            steps = stored["steps"][row["trajectory_id"]]
            failed = [stored["executions"][one["execution_id"]] for one in steps]
            errors = [decode(one["error"])["message"] for one in failed if one["status"] != "ok"]
            assert errors
            assert not any(message in row["response"] for message in errors)


def test_at_a_question_every_other_choice_is_wrong_when_executed_again(stored, worlds):
    """No value but the one that the user gives leads to the goal, and nothing said before tells it."""
    seen = Counter()
    for task, turn, step, (right, *others) in points(stored, answers=True):
        said = decode(task.row["turn_responses"])
        assert (right["tool"], right["response"], right["outcome"]) == ("", said[turn], "frontier")
        assert others
        assert all(one["relevance"] < right["relevance"] and one["outcome"] in WRONG for one in others)
        world = worlds[task.scenario["scenario_id"]]
        start = world.mark()
        Episode(world, task.program).perform_all(range(step))
        for one in (right, *others):
            execution = stored["executions"][one["execution_id"]]
            assert execution["state_before"] == world.digest()
            if one["tool"]:
                here = world.mark()
                outcome = world.call(one["tool"], one["arguments"])
                assert (outcome.status, world.digest()) == (execution["status"], execution["state_after"])
                world.rollback(here)
            seen[one["mutation"]] += 1
        world.rollback(start)
        for one in others:
            if one["mutation"] == "guessed_value":
                asked = next(
                    number
                    for number, call in enumerate(task.steps)
                    if call["turn"] == turn + 1
                    and call["tool"] == one["tool"]
                    and len(set(decode(call["arguments"]).items()) ^ set(one["arguments"].items())) == 2
                )
                guessed = Call(one["tool"], one["arguments"], ())
                program = [*task.program[:asked], guessed, *task.program[asked + 1 :]]
                episode = Episode(world, program)
                observed = [(call.tool, episode.perform(place)) for place, call in enumerate(program)]
                assert not reached(task.goal, world.digest(), observed)
                world.rollback(start)
    assert min(seen[kind] for kind in ("", "guessed_value", "needless_question", "needless_refusal")) > 10, (
        seen
    )
    assert seen["ignored_error"]
