"""A query by a model is used only if a reader finds in it what the task asks for, and another model can serve it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from planarena.config import BuildConfig, CompositionConfig, ModelsConfig
from planarena.data import load_yaml
from planarena.generate.model_brief import TaskBrief
from planarena.generate.model_checks import check_written_query
from planarena.generate.model_records import Written
from planarena.generate.model_texts import TextFaultError
from planarena.generate.model_writer import Meter, TaskWriter
from planarena.llm import SyncGateway, read_model
from planarena.pipeline.execute.chunk import execute_chunk
from planarena.pipeline.language.describe import describe_chunk
from planarena.pipeline.models.phase import brief_of
from planarena.pipeline.models.round_trip import RoundTrip
from planarena.pipeline.products import Discard, Executed, ExecutedScenario

sys.path.append(str(Path(__file__).resolve().parents[2]))
from llm_build_model import GoodModel, errand, material_of, part_of
from llm_server import Script, ScriptedServer


class Case(NamedTuple):
    scenario: ExecutedScenario
    task: Executed
    brief: TaskBrief


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    config = BuildConfig(
        sources=("builtin:travel", "builtin:email", "builtin:banking"),
        chunk_scenarios=4,
        composition=CompositionConfig(per_scenario=8, budget=30),
    )
    executed = execute_chunk(config, 0, None)
    found = []
    for scenario, words in zip(executed.scenarios, describe_chunk(config, executed).items, strict=True):
        for task, said in zip(scenario.items, words, strict=True):
            if not isinstance(task, Discard) and not isinstance(said, Discard):
                found.append(Case(scenario, task, brief_of(config, scenario, task, said)))
    return found


@pytest.fixture(scope="module")
def case(cases: list[Case]) -> Case:
    """A task of one message that asks for two different tools and needs a look-up that nobody asks for."""
    return next(
        case
        for case in cases
        if len(case.brief.turns) == 1
        and len({errand_of(case.brief, step) for step in case.brief.reported[0]}) > 1
        and len(case.brief.reported[0]) < len(case.brief.steps)
    )


def errand_of(brief: TaskBrief, step: int) -> str:
    return errand(brief.steps[step].operation.tool.description)


def query_of(brief: TaskBrief) -> list[str]:
    return GoodModel().query(json.loads(json.dumps(brief.for_query(1))))["versions"][0]


class Author(GoodModel):
    """Writes the versions that it is given, and all else well."""

    def __init__(self, *versions: list[str]) -> None:
        super().__init__()
        self.versions = versions

    def query(self, task: dict[str, Any]) -> dict[str, Any]:
        return {"versions": self.versions}


Ask = Callable[..., Written]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    """Have a scripted server write for a task; only its words are asked for."""
    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "cache"))

    def write(case: Case, reply: Callable[[dict[str, Any]], Any], **changes: Any) -> Written:
        with ScriptedServer(Script(reply=reply)) as server:
            model = read_model(f"m@{server.url}")
            if changes.get("round_trip"):
                changes["round_trip"] = model.name
            config = ModelsConfig(
                proposers=(model.name,), candidates=0, trajectories=False, rationales=False, **changes
            )
            with SyncGateway([model]) as gateway:
                writer = TaskWriter(Meter(gateway.gateway, lambda: None), config, case.brief, "one")
                if config.round_trip:
                    writer.serve = RoundTrip(*case).serve
                return gateway.submit(writer.write(0, 0, ())).result()

    yield write


def verdicts(written: Written, part: str) -> list[str]:
    return [one.verdict for one in written.proposals if one.part == part]


def test_a_good_query_passes_and_is_recorded(case: Case, ask: Ask) -> None:
    good = query_of(case.brief)
    written = ask(case, Author(good))
    assert list(written.turns) == good
    assert written.checks["actions_agree"]
    assert verdicts(written, "query") == ["kept"]
    assert verdicts(written, "actions") == ["agrees"]
    assert not written.failures


def test_a_query_with_the_wrong_actions_is_refused_by_its_class(case: Case, ask: Ask) -> None:
    brief, (good,) = case.brief, query_of(case.brief)
    wanted = errand_of(brief, brief.reported[0][0])
    others = {errand(tool.description) for tool in brief.tools.values()}
    other = next(iter(sorted(others - {errand_of(brief, step) for step in range(len(brief.steps))})))
    serving = next(step for step in range(len(brief.steps)) if step not in brief.reported[0])
    value = next(
        way
        for step in brief.for_query(1)["steps"]
        for stated in step["values"]
        for way in stated["say"][:1]
        if len(way) > 4 and way not in str([brief.told, brief.facts])
    )
    wrong = {
        "action_missing": good.replace(wanted, "nothing at all"),
        "action_forbidden": good.replace(wanted, f"never {wanted}"),
        "action_added": f"{good} Oh, and {other}.",
        "invented_number": f"{good} All of it for 98765.",
    }
    for reason, text in wrong.items():
        written = ask(case, Author([text]))
        assert not written.turns, reason
        # It was shown its fault, and wrote the same again.
        assert verdicts(written, "query") == [reason, reason]
        assert [failure.kind for failure in written.failures if failure.part == "query"] == [reason]
    stated = {way for step in brief.for_query(1)["steps"] for one in step["values"] for way in one["say"]}
    silenced = good
    for way in sorted((way for way in stated if value.casefold() in way.casefold()), key=len, reverse=True):
        silenced = silenced.replace(way, "Zanzibar")
    refused = ask(case, Author([silenced.replace(value, "Zanzibar")]))
    assert set(verdicts(refused, "query")) <= {"ungrounded", "reference_lost"}
    assert not verdicts(refused, "actions"), "a query that fails the free checks is not read for money"
    # What only serves may be asked for as well.
    assert ask(case, Author([f"{good} And {errand_of(brief, serving)}."])).turns


def test_the_next_version_is_read_where_the_best_is_refused(case: Case, ask: Ask) -> None:
    (good,) = query_of(case.brief)
    bad = good.replace(errand_of(case.brief, case.brief.reported[0][0]), "nothing at all")
    written = ask(case, Author([bad], [good], [f"Hello. {good}"]))
    assert written.turns == (good,)
    assert verdicts(written, "query") == ["action_missing", "kept", "not_best"]
    assert len(verdicts(written, "actions")) == 2


def test_a_reader_that_quotes_what_nobody_said_decides_nothing(case: Case, ask: Ask) -> None:
    good = Author(query_of(case.brief))

    def reply(body: dict[str, Any]) -> str:
        if part_of(body) != "actions":
            return good(body)
        listed = good.actions(material_of(body))["actions"]
        return json.dumps({"actions": [{**one, "quote": "as agreed"} for one in listed]})

    written = ask(case, reply)
    assert not written.turns
    assert {(one.part, one.kind) for one in written.failures} == {
        ("actions", "bad_quote"),
        ("query", "unjudged"),
    }


def test_a_goal_style_query_need_not_speak_of_what_only_serves(cases: list[Case]) -> None:
    passed = 0
    for case in cases:
        brief = case.brief
        asked = {step + 1 for reported in brief.reported for step in reported}
        material = brief.for_query(1)
        if len(asked) == len(brief.steps) or len(brief.turns) > 1:
            continue
        values = [way for step in material["steps"] for value in step["values"] for way in value["say"]]
        aims = [step["does"] for step in material["steps"] if step["step"] in asked]
        try:
            check_written_query(brief, [f"{'; '.join(aims)}. Details: {', '.join(values)}."])
        except TextFaultError as fault:
            # One of several was meant: then it has to be said which.
            assert fault.reason == "reference_lost"
        else:
            passed += 1
    assert passed >= 2


class Solver:
    """Serves a query by the gold's calls, `spare` calls more or fewer."""

    def __init__(self, case: Case, spare: int = 0) -> None:
        self.author, self.case, self.spare = Author(query_of(case.brief)), case, spare

    def __call__(self, body: dict[str, Any]) -> Any:
        if part_of(body) != "round_trip":
            return self.author(body)
        brief, messages = self.case.brief, body["messages"]
        made = sum(message["role"] == "tool" for message in messages)
        spoken = sum(message["role"] == "user" for message in messages)
        calls = [step for step in brief.steps if brief.turn_of[step.number] < spoken]
        calls = calls[: self.spare] if self.spare < 0 else [*calls, *[brief.steps[0]] * self.spare]
        if made >= len(calls):
            return "That is done."
        step = calls[made]
        return {"calls": [{"name": step.operation.tool.wire_name, "arguments": step.arguments}]}


def test_a_round_trip_must_reach_the_goal(case: Case, ask: Ask) -> None:
    gold = len(case.brief.steps)
    written = ask(case, Solver(case), round_trip="m")
    assert written.checks["round_trip"] == "reached"
    assert verdicts(written, "round_trip") == ["reached"]
    trip = next(one for one in written.proposals if one.part == "round_trip")
    assert [call["status"] for call in trip.content["calls"]] == ["ok"] * gold

    missed = ask(case, Solver(case, spare=-1), round_trip="m")
    assert not missed.turns
    assert set(verdicts(missed, "round_trip")) == {"missed"}
    assert set(verdicts(missed, "query")) == {"round_trip_missed"}

    endless = ask(case, Solver(case, spare=100), round_trip="m")
    trip = next(one for one in endless.proposals if one.part == "round_trip")
    assert len(trip.content["calls"]) == 2 * gold


def test_a_task_that_nobody_wants_costs_no_words(case: Case, ask: Ask) -> None:
    good = GoodModel()

    def reply(body: dict[str, Any]) -> str:
        if part_of(body) == "plausible":
            return json.dumps({"plausible": False, "kind": "undoes", "reason": "It undoes itself."})
        return good(body)

    written = ask(case, reply, plausibility=True)
    assert (written.refused, written.requests) == ("undoes", 1)
    assert verdicts(written, "plausible") == ["implausible"]
    assert not good.asked
    assert ask(case, Author(query_of(case.brief)), plausibility=True).turns


def test_speakers_are_drawn_from_many(cases: list[Case]) -> None:
    people = load_yaml("prompts/people.yaml")
    assert len(set(people["personas"])) >= 40
    assert len(set(people["motives"])) >= 30
    drawn = {(case.brief.persona, case.brief.motive) for case in cases}
    assert len(drawn) > 0.8 * len(cases)
    material = cases[0].brief.for_query(1)
    assert material["persona"] in people["personas"]
    assert material["motive"] in people["motives"]
    assert material["scenario"]
