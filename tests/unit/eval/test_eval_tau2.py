"""tau2-bench and tau-bench in miniature: an invented shop in the layouts of both repositories."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planarena.bench import Asked, Reply
from planarena.environments import sandbox
from planarena.errors import UserError
from planarena.eval import EvalConfig, evaluate
from planarena.eval.models import choosing
from planarena.eval.settings import GenerationConfig
from planarena.eval.tau2 import domains
from planarena.formats import Call, write_output

FIRST_TOOLS = """
class Sell:
    @staticmethod
    def invoke(data, item, count):
        if data["stock"][item] < count:
            return "Error: not enough"
        data["stock"][item] -= count
        return "sold"
    @staticmethod
    def get_info():
        return {"type": "function", "function": {"name": "sell", "parameters": {"type": "object", "properties": {}}}}
class Hang:
    @staticmethod
    def invoke(data):
        while True:
            pass
    @staticmethod
    def get_info():
        return {"type": "function", "function": {"name": "hang", "parameters": {"type": "object", "properties": {}}}}
class Leave:
    @staticmethod
    def invoke(data, summary):
        return "left"
    @staticmethod
    def get_info():
        return {"type": "function", "function": {"name": "transfer_to_human_agents", "parameters": {"type": "object", "properties": {}}}}
ALL_TOOLS = [Sell, Hang, Leave]
"""
FIRST_TASKS = """
from tau_bench.types import Action, Task
TASKS = [
    Task(user_id="u", instruction="Buy two cups and ask for the price.", outputs=["1250"],
         actions=[Action(name="sell", kwargs={"item": "cup", "count": 2})]),
    Task(user_id="u", instruction="Ask for a person.", outputs=[], actions=[]),
]
"""
TOOLKIT = """
import json
def is_tool(changes=False):
    def mark(function):
        function.changes = changes
        return function
    return mark
class ToolKitBase:
    def __init__(self, db):
        self.db = db
    def has_tool(self, name):
        return hasattr(getattr(self, name, None), "changes")
    def use_tool(self, tool_name, **arguments):
        return getattr(self, tool_name)(**arguments)
    def tool_mutates_state(self, name):
        return getattr(self, name).changes
    def get_tools(self):
        names = [name for name in dir(type(self)) if self.has_tool(name)]
        return {name: Tool(name) for name in names}
    def get_db_hash(self):
        return json.dumps(self.db, sort_keys=True)
class Tool:
    def __init__(self, name):
        self.openai_schema = {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
"""
SECOND = """
import json
from tau2.environment.environment import Environment
from tau2.environment.toolkit import ToolKitBase, is_tool
from tau2.data_model.tasks import Task
class Shop(ToolKitBase):
    @is_tool(True)
    def sell(self, item, count):
        if self.db["stock"][item] < count:
            raise ValueError("not enough")
        self.db["stock"][item] -= count
        return {"left": self.db["stock"][item]}
    @is_tool()
    def look(self):
        return self.db["stock"]
    def stock_is(self, item, count):
        return self.db["stock"][item] == count
class Purse(ToolKitBase):
    @is_tool(True)
    def pay(self, amount):
        self.db["money"] -= amount
        return "paid"
    def fill(self, amount):
        self.db["money"] = amount
def get_environment(db=None, user_db=None, solo_mode=False):
    db = db if db is not None else {"stock": {"cup": 5}}
    user_db = user_db if user_db is not None else {"money": 0}
    return Environment("retail", "Be kind.", Shop(db), Purse(user_db))
"""
TASK = {
    "id": "7",
    "user_scenario": {"persona": None, "instructions": {"reason_for_call": "You want two cups.", "known_info": "You are Ann."}},
    "initial_state": {"initialization_actions": [{"env_type": "user", "func_name": "fill", "arguments": {"amount": 30}}]},
    "evaluation_criteria": {
        "actions": [{"name": "sell", "arguments": {"item": "cup", "count": 2}}, {"requestor": "user", "name": "pay", "arguments": {"amount": 20}}],
        "env_assertions": [{"env_type": "assistant", "func_name": "stock_is", "arguments": {"item": "cup", "count": 3}, "assert_value": True}],
        "communicate_info": ["20"],
        "reward_basis": ["DB", "COMMUNICATE", "ENV_ASSERTION", "ACTION"],
    },
}  # fmt: skip


def make_first(path: Path) -> Path:
    place = path / "tau_bench" / "envs" / "retail"
    (place / "tools").mkdir(parents=True)
    (place / "data").mkdir()
    (path / "tau_bench" / "__init__.py").write_text("raise SystemExit('imported')\n")
    (place / "tools" / "__init__.py").write_text(FIRST_TOOLS)
    (place / "data" / "__init__.py").write_text("def load_data():\n    return {'stock': {'cup': 5}}\n")
    (place / "tasks_test.py").write_text(FIRST_TASKS)
    (place / "wiki.md").write_text("Sell what is there.")
    return path


def make_second(path: Path) -> Path:
    for name, text in {
        "src/tau2/__init__.py": "raise SystemExit('imported')\n",
        "src/tau2/environment/toolkit.py": TOOLKIT,
        "src/tau2/domains/retail/__init__.py": "",
        "src/tau2/domains/retail/environment.py": SECOND,
        "data/tau2/domains/retail/tasks.json": json.dumps([TASK, {**TASK, "id": "8"}]),
        "data/tau2/domains/retail/db.json": "{}",
        "data/tau2/domains/retail/split_tasks.json": json.dumps({"base": ["7"]}),
    }.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


@pytest.fixture(autouse=True)
def our_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """The miniature needs none of the packages that the managed environment holds."""
    if (why := sandbox.missing()) is not None:
        pytest.skip(f"no sandbox here: {why}")
    monkeypatch.setattr(
        domains.managed, "environment", lambda name: SimpleNamespace(python=Path(sys.executable))
    )


def scored(tmp_path: Path, data: Path, outputs: Any, **options: Any) -> Any:
    if not isinstance(outputs, str):
        source = tmp_path / "outputs.jsonl"
        source.write_text("\n".join(json.dumps({"id": key, "response": one}) for key, one in outputs.items()))
        outputs = str(source)
    config = EvalConfig(
        suites=("tau2",), out=str(tmp_path / "out"), responses=outputs, data={"tau2": str(data)}, **options
    )
    return evaluate(config).suites["tau2"]


def call(name: str, **arguments: Any) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(write_output("native", [Call(name, arguments)]))
    return message


STOP = {"role": "user", "content": "Thanks. ###STOP###"}


def test_published_runs_replay_to_their_rewards(tmp_path: Path) -> None:
    def run(trial: int, traj: list[dict[str, Any]], task: int = 0) -> dict[str, Any]:
        about = {
            "instruction": "Buy.",
            "outputs": ["1250"],
            "actions": [{"name": "sell", "kwargs": {"item": "cup", "count": 2}}],
        }
        return {"task_id": task, "trial": trial, "reward": 0.0, "traj": traj, "info": {"task": about}}  # fmt: skip

    priced = {"role": "assistant", "content": "That is 1,250 in all."}
    sold = call("sell", item="cup", count=2)
    runs = [
        run(
            0, [{"role": "system", "content": "x"}, sold, {"role": "tool", "content": "forged"}, priced, STOP]
        ),
        run(1, [sold, priced]),  # nobody ended it
        run(2, [call("sell", item="cup", count=1), priced, STOP]),
        run(3, [sold, STOP]),  # the price was not said
    ]
    file = tmp_path / "model-retail.json"
    file.write_text(json.dumps(runs))
    result = scored(tmp_path, make_first(tmp_path / "data"), str(file), samples=4)
    found = [(one.correct, one.reason) for one in result.verdicts if one.id == "retail-0"]
    assert found == [
        (True, ""),
        (False, "not ended"),
        (False, "DB does not hold"),
        (False, "COMMUNICATE does not hold"),
    ]
    assert result.several["pass^1"].value == pytest.approx(1 / 8)


def test_gold_is_right_and_mutations_are_wrong(tmp_path: Path) -> None:
    first = make_first(tmp_path / "first")
    assert [one.correct for one in scored(tmp_path, first, "gold").verdicts] == [True, True]
    second = make_second(tmp_path / "second")
    result = scored(tmp_path, second, "gold")
    assert [(one.id, one.correct) for one in result.verdicts] == [("retail-7", True)]  # the split base alone
    paid = {**call("pay", amount=20), "role": "user"}
    said = {"role": "assistant", "content": "20, please."}
    sold = call("sell", item="cup", count=2)
    for outputs, reason in (
        ([sold, paid, said, STOP], ""),
        ([call("look"), sold, said, paid, STOP], ""),
        ([sold, {**paid, "role": "assistant"}, said, STOP], "DB does not hold"),  # the agent has no purse
        ([sold, said, STOP], "DB does not hold"),
        ([sold, paid, STOP], "COMMUNICATE does not hold"),
        ([sold, paid, said], "not ended"),
        ([call("sell", item="cup", count=9), sold, paid, said, STOP], ""),  # an error changes nothing
    ):
        (verdict,) = scored(tmp_path, second, {"retail-7": outputs}).verdicts
        assert verdict.reason == reason, outputs


def test_hostile_episodes_cost_themselves_alone(tmp_path: Path) -> None:
    data = make_first(tmp_path / "data")
    result = scored(
        tmp_path,
        data,
        {"retail-0": [call("hang"), STOP], "retail-1": [call("__import__", x="os"), STOP]},
        seconds=0.5,
    )
    assert {one.id: one.reason for one in result.verdicts} == {"retail-0": "limit:time", "retail-1": ""}
    with pytest.raises(UserError, match="neither tau2-bench nor tau-bench"):
        scored(tmp_path, tmp_path / "out", "gold")


def test_a_model_sells_to_a_user_who_pays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Seller:
        name, format = "seller", "native"

        def reply(self, asked: list[Asked]) -> list[Reply]:
            found = []
            for one in asked:
                assert "Be kind." in one.messages[0]["content"]
                text = write_output("native", [Call("sell", {"item": "cup", "count": 2})])
                if one.turn:
                    text = json.dumps({"role": "assistant", "content": "That is 20."})
                found.append(Reply(text=text, tokens=2))
            return found

    class Buyer:
        name, format = "buyer", "native"

        def __enter__(self) -> Buyer:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def reply(self, asked: list[Asked]) -> list[Reply]:
            (one,) = asked
            assert "You are Ann." in one.messages[0]["content"]
            assert [tool["function"]["name"] for tool in one.tools] == ["pay"]
            if one.turn == 1:
                return [Reply(text=write_output("native", [Call("pay", {"amount": 20})]))]
            words = "Two cups." if one.turn == 0 else f"{one.messages[-1]['content']} ###STOP###"
            return [Reply(text=json.dumps({"role": "assistant", "content": words}))]

    monkeypatch.setattr(choosing, "open_policy", lambda config: Buyer())
    data = {"tau2": str(make_second(tmp_path / "data"))}
    with pytest.raises(UserError, match="no model is named that plays one"):
        evaluate(EvalConfig(suites=("tau2",), out=str(tmp_path / "a"), model="m", data=data), policy=Seller())
    config = EvalConfig(
        suites=("tau2",),
        out=str(tmp_path / "b"),
        model="m",
        data=data,
        generation=GenerationConfig(user_model="buyer"),
    )
    result = evaluate(config, policy=Seller()).suites["tau2"]
    assert [one.correct for one in result.verdicts] == [True]
    row = json.loads((tmp_path / "b" / "responses.jsonl").read_text())
    assert row["response"][-1] == {"role": "user", "content": "paid ###STOP###"}


def test_a_domain_without_its_database_is_refused(tmp_path: Path) -> None:
    data = make_second(tmp_path / "tau2")
    (data / "data/tau2/domains/retail/db.json").unlink()
    with pytest.raises(UserError, match="no database"):
        scored(tmp_path, data, "gold")
