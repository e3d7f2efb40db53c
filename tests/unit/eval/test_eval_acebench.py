"""ACEBench in miniature: invented items, answers and scenarios in the layout of its repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from planarena.bench import Asked, Reply
from planarena.environments import sandbox
from planarena.eval import EvalConfig, evaluate
from planarena.eval.acebench.checker import check_calls, check_state, process_share
from planarena.eval.acebench.reading import read_calls
from planarena.eval.models import choosing
from planarena.eval.settings import GenerationConfig
from planarena.formats import Call, write_output

FUNCTION = {
    "name": "Dinner_plan",
    "parameters": {
        "type": "object",
        "properties": {
            "dish": {"type": "string"},
            "guests": {"type": "integer"},
            "extras": {"type": "array", "items": {"type": "string"}},
            "place": {"type": "object", "properties": {"room": {"type": "string"}}},
        },
        "required": ["dish"],
    },
}
ANSWER = {"dish": "green soup", "guests": 4, "extras": ["bread"], "place": {"room": "the hall"}}
LAMP = """
class BaseApi:
    def __init__(self):
        self.wifi = False
        self.logged_in = True
    def _load_scenario(self, scenario, long_context=False):
        self.wifi = scenario.get("wifi", False)
        self.logged_in = scenario.get("logged_in", True)
    def turn_on_wifi(self):
        self.wifi = True
        return {"status": True}
    def hang(self):
        while True:
            pass
"""
NOTES = """
from model_inference.multi_turn.scenariosen.phone_platform.base_api import BaseApi
class MessageApi(BaseApi):
    def __init__(self):
        super().__init__()
        self.inbox = {}
    def send(self, to, text):
        if not self.wifi:
            return {"status": False, "message": "no wifi"}
        self.inbox[len(self.inbox) + 1] = {"to": to, "text": text}
        return {"status": True}
"""
AGENT = {
    "question": "Tell Ann that tea is ready.",
    "initial_config": {"BaseApi": {"wifi": False, "logged_in": True}},
    "involved_classes": ["BaseApi", "MessageApi"],
    "function": [
        {"name": "turn_on_wifi", "parameters": {"type": "dict", "properties": {}}},
        {"name": "send", "parameters": {"type": "dict", "properties": {"to": {"type": "string"}, "text": {"type": "string"}}}},
    ],
}  # fmt: skip
STATE = [
    {"BaseApi": {"wifi": True, "logged_in": True}},
    {"MessageApi": {"inbox": {"1": {"to": "Ann", "text": "Tea"}}}},
]


def make(path: Path) -> Path:
    rows = {
        "normal_similar_api": [({"question": "user: Dinner.\n", "function": [FUNCTION], "time": "noon"}, {"Dinner_plan": ANSWER})],
        "normal_multi_turn_user_switch": [
            ({"question": "user: Dinner.\n", "function": [FUNCTION]}, {"Dinner_plan": ANSWER}),
            ({"question": "user: And another.\n", "function": [FUNCTION]}, [{"Dinner_plan_1": ANSWER, "Dinner_plan_2": {"dish": "cake"}}, {"Dinner_plan": {"dish": "pie"}}]),
        ],
        "special_incomplete": [({"question": "user: Dinner.\n", "function": [FUNCTION]}, {"Dinner_plan": ["dish"]})],
        "special_irrelevant": [({"question": "user: Fly.\n", "function": [FUNCTION]}, "Due to the limitations of the function, I cannot solve this problem.")],
        "agent_multi_step": [(AGENT, STATE)],
        "agent_multi_turn": [(AGENT, STATE)],
    }  # fmt: skip
    place = path / "data_all" / "data_en"
    (place / "possible_answer").mkdir(parents=True)
    for name, listed in rows.items():
        ids = [
            f"{name}_0_{number}" if "multi_turn_user" in name else f"{name}_{number}"
            for number in range(len(listed))
        ]
        asked = [{"id": key, **row} for key, (row, _) in zip(ids, listed, strict=True)]
        right = [
            {
                "id": key,
                "ground_truth": answer,
                "mile_stone": ["[turn_on_wifi()]", "[send(to='Ann', text='Tea')]"],
            }
            for key, (_, answer) in zip(ids, listed, strict=True)
        ]
        (place / f"data_{name}.json").write_text("\n".join(map(json.dumps, asked)))
        (place / "possible_answer" / f"data_{name}.json").write_text("\n".join(map(json.dumps, right)))
    for kind in ("multi_step", "multi_turn"):
        scenario = path / "model_inference" / kind / "scenariosen" / "phone_platform"
        scenario.mkdir(parents=True)
        (scenario / "base_api.py").write_text(LAMP)
        (scenario / "message.py").write_text(NOTES)
    return path


def scored(tmp_path: Path, outputs: Any, **options: Any) -> Any:
    data = tmp_path / "data"
    if not data.exists():
        make(data)
    if isinstance(outputs, dict):
        source = tmp_path / "outputs.jsonl"
        source.write_text("\n".join(json.dumps({"id": key, "result": one}) for key, one in outputs.items()))
        outputs = str(source)
    config = EvalConfig(
        suites=("acebench",),
        out=str(tmp_path / "out"),
        responses=outputs,
        data={"acebench": str(data)},
        **options,
    )
    return evaluate(config).suites["acebench"]


def needs_sandbox() -> None:
    if (why := sandbox.missing()) is not None:
        pytest.skip(f"no sandbox here: {why}")


def test_gold_is_right_everywhere_and_what_is_lacking_is_named(tmp_path: Path) -> None:
    result = scored(tmp_path, "gold")
    assert all(one.correct for one in result.verdicts)
    values = {one.name: one.value for one in result.overall}
    assert values["agent"] == 1.0
    assert values["special"] == pytest.approx(2 / 3)
    assert set(result.overall[0].not_run) >= {"normal_preference", "special_error_param"}
    assert result.columns["exact"] == 1.0


def test_rules_are_the_benchmarks_and_exact_is_stricter() -> None:
    def check(arguments: dict[str, Any], name: str = "Dinner_plan") -> str:
        return check_calls([FUNCTION], [(name, arguments)], {"Dinner_plan": ANSWER})

    assert check(ANSWER) == ""
    assert check({**ANSWER, "dish": "a Green-Soup, please"}) == ""  # contains it, signs and case aside
    assert check({**ANSWER, "guests": 5}) == ""  # of a number the type alone is looked at
    assert check({**ANSWER, "guests": "5"}) == "wrong type of guests"
    assert check({**ANSWER, "dish": "stew"}) == "wrong value of dish"
    assert check({**ANSWER, "extras": ["butter"]}) == "wrong value of extras"
    assert check({**ANSWER, "place": {"room": "a tent"}}) == "wrong value of place"
    assert check({**ANSWER, "place": {"room": "the hall", "floor": 1}}) == "wrong value of place"
    assert check({**ANSWER, "more": 1}) == "more is not asked for"
    assert check({key: value for key, value in ANSWER.items() if key != "dish"}) == "lacks dish"
    assert check({}) == "wrong parameters"
    assert check(ANSWER, "Supper_plan") == "wrong functions"
    assert check_calls([FUNCTION], [], {"Dinner_plan": ANSWER}) == "another number of calls"


def test_outputs_of_every_kind_are_judged(tmp_path: Path) -> None:
    needs_sandbox()
    right = ", ".join(f"{key}={value!r}" for key, value in ANSWER.items())
    result = scored(
        tmp_path,
        {
            "normal_similar_api_0": write_output("mistral", [Call("Dinner_plan", ANSWER)]),
            "normal_multi_turn_user_switch_0_0": f"[Dinner_plan({right})]",
            "normal_multi_turn_user_switch_0_1": "[Dinner_plan(dish='pasta')]",
            "special_incomplete_0": "Missing necessary parameters (dish) for the api (Dinner_plan)",
            "special_irrelevant_0": f"[Dinner_plan({right})]",
            "agent_multi_step_0": ["[turn_on_wifi()]", "[send(to='Ann', text='Tea')]", "finish conversation"],
            "agent_multi_turn_0": ["[send(to='Ann', text='Tea')]", "finish conversation"],
        },
    )
    reasons = {one.id: one.reason for one in result.verdicts}
    assert reasons == {
        "normal_similar_api_0": "",
        "normal_multi_turn_user_switch_0_0": "",
        "normal_multi_turn_user_switch_0_1": "another number of calls",  # by the first of two answers
        "special_incomplete_0": "",
        "special_irrelevant_0": "says nothing of it",
        "agent_multi_step_0": "",
        "agent_multi_turn_0": "BaseApi.wifi differs",
    }
    # A dialogue is right in all of its steps or not at all.
    assert result.columns["whole dialogues: normal_multi_turn_user_switch"] == 0.0
    assert (
        result.columns["process of agents"] == 0.5
    )  # a first milestone that is missing hides those behind it


def test_states_and_milestones() -> None:
    assert check_state(STATE, STATE) == ""
    assert check_state(STATE[:1], STATE) == "another number of classes"
    other = [STATE[0], {"MessageApi": {"inbox": {"1": {"to": "Bob", "text": "Tea"}}}}]
    assert check_state(other, STATE) == "MessageApi.inbox differs"
    assert process_share(["a", "x", "b"], ["a", "b"]) == 1.0
    assert process_share(["b", "a"], ["a", "b"]) == 0.5
    assert process_share(["b"], [["a", "b"], ["b"]]) == 1.0


def test_hostile_agents_are_contained(tmp_path: Path) -> None:
    needs_sandbox()
    flag = tmp_path / "escaped"
    result = scored(
        tmp_path,
        {
            "agent_multi_step_0": ["[hang()]"],
            "agent_multi_turn_0": [
                f"[send(to=__import__('os').system('touch {flag}'), text='x')]",
                "[__init__()]",
            ],
            "normal_similar_api_0": "[" * 100_000,
        },
        seconds=0.5,
    )
    assert {one.id: one.reason for one in result.verdicts if one.category != "normal_similar_api"} == {
        "agent_multi_step_0": "limit:time",
        "agent_multi_turn_0": "BaseApi.wifi differs",
    }
    assert not flag.exists()
    assert read_calls("[f(x=__import__('os'))]", "python") == ([("f", {"x": {"__import__": {}}})], "")


def test_a_model_acts_and_a_user_is_played_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_sandbox()

    class Agent:
        name, format = "agent", "native"

        def reply(self, asked: list[Asked]) -> list[Reply]:
            return [Reply(text=self._text(one), tokens=3) for one in asked]

        def _text(self, one: Asked) -> str:
            if not one.id.startswith("agent"):
                return write_output("native", [Call("Dinner_plan", ANSWER)])
            calls = [Call("turn_on_wifi", {}), Call("send", {"to": "Ann", "text": "Tea"})]
            if one.turn < 2:
                return write_output("native", [calls[one.turn]])
            return json.dumps(
                {"role": "assistant", "content": "finish conversation" if one.turn > 2 else "Sent."}
            )

    class User:
        name, format = "user", "native"
        heard: ClassVar[list[str]] = []

        def __enter__(self) -> User:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def reply(self, asked: list[Asked]) -> list[Reply]:
            self.heard += [one.messages[-1]["content"] for one in asked]
            text = "Tell Ann." if asked[0].turn == 0 else "###STOP###"
            return [Reply(text=json.dumps({"role": "assistant", "content": text}))]

    monkeypatch.setattr(choosing, "open_policy", lambda config: User())
    options: dict[str, Any] = {
        "suites": ("acebench",), "model": "agent", "data": {"acebench": str(make(tmp_path / "data"))},
    }  # fmt: skip
    result = evaluate(EvalConfig(out=str(tmp_path / "alone"), **options), policy=Agent()).suites["acebench"]
    rows = {row.category: row for row in result.categories}
    assert rows["agent_multi_step"].accuracy == 1.0
    assert rows["agent_multi_turn"].accuracy is None
    config = EvalConfig(out=str(tmp_path / "talk"), generation=GenerationConfig(user_model="user"), **options)
    result = evaluate(config, policy=Agent()).suites["acebench"]
    assert {row.category: row.accuracy for row in result.categories}["agent_multi_turn"] == 1.0
    assert User.heard[-1] == "Sent."
