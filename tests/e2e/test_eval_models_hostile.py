"""BFCL's loop with replies that mean harm or nonsense: nothing runs but the scenario's tools, and nothing stops."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planarena import managed
from planarena.bench import Asked, Reply
from planarena.environments import sandbox
from planarena.errors import EnvironmentUnavailableError
from planarena.eval import EvalConfig
from planarena.eval.bfcl import ask
from planarena.eval.models.dialogues import Item


@pytest.fixture(scope="module")
def items() -> Any:
    """Items of the first sixteen of each category, with half a second for a step."""
    if sandbox.missing() is not None:
        pytest.skip(f"no sandbox here: {sandbox.missing()}")
    try:
        managed.environment("bfcl", progress=lambda *_: None)
    except EnvironmentUnavailableError as error:
        pytest.skip(f"bfcl-eval cannot be installed here: {error.what}")
    config = EvalConfig(("bfcl-v3",), "unused", model="m", limit=16, workers=1, seconds=0.5)
    with ask("bfcl-v3", config) as listed:
        yield lambda form, key: next(item for item in listed(form) if item.id == key)


def native(*calls: tuple[str, str]) -> Reply:
    listed = [
        {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for place, (name, arguments) in enumerate(calls)
    ]
    return Reply(text=json.dumps({"role": "assistant", "content": None, "tool_calls": listed}))


SILENCE = Reply(text='{"role": "assistant", "content": "."}')


def talk(item: Item, replies: list[Reply], silence: Reply = SILENCE) -> tuple[list[Asked], Any]:
    """Drive an item with some replies, then with words alone; return what it asked and its output."""
    exchange = item.begin(0)
    asked = [next(exchange)]
    waiting = list(replies)
    while True:
        try:
            asked.append(exchange.send(waiting.pop(0) if waiting else silence))
        except StopIteration as end:
            return asked, end.value


def results(asked: Asked) -> list[str]:
    return [message["content"] for message in asked.messages if message["role"] == "tool"]


def test_a_call_that_never_ends_costs_its_step_alone(items: Any) -> None:
    item = items("native", "multi_turn_base_15")
    endless = native(("square_root", '{"number": 2, "precision": 100000000}'))
    asked, output = talk(item, [endless, native(("pwd", "{}"))])
    (first,) = results(asked[1])
    assert first.startswith("Error during execution: stopped after 0.5 seconds")
    # The dialogue goes on, and later steps run without the one that was stopped.
    assert results(asked[2])[1].startswith('{"current_working_directory"')
    assert output[0][0] == [{"square_root": '{"number": 2, "precision": 100000000}'}]
    assert output[0][2] == "."


def test_only_the_scenarios_tools_run(items: Any, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    code = f"__import__('os').system('touch {trap}')"
    hostile = native(
        ("__import__", '{"name": "os"}'),
        ("_load_scenario", '{"scenario": {}}'),
        ("eval", json.dumps({"source": code})),
        ("echo", json.dumps({"content": code})),
    )
    asked, _ = talk(items("native", "multi_turn_base_0"), [hostile])
    told = results(asked[1])
    assert len(told) == 4
    assert all("is not defined" in result for result in told[:3])
    assert json.loads(told[3]) == {"terminal_output": code}  # text is text
    assert not trap.exists()


def test_what_cannot_be_read_ends_the_turn(items: Any) -> None:
    for arguments in ("{", "[]", '"x"', "[" * 50_000, "9" * 5_000_000):
        item = items("native", "multi_turn_base_0")
        asked, output = talk(item, [native(("pwd", arguments))])
        assert all(results(one) == [] for one in asked)
        assert len(output) == 4 == len(asked)  # one step a turn, and every turn is reached


def test_a_turn_has_an_end(items: Any) -> None:
    asked, output = talk(items("native", "multi_turn_base_0"), [native(("pwd", "{}"))] * 99)
    assert (len(asked), len(output), len(output[0])) == (21, 1, 21)


def test_tagged_text_acts_as_native_calls_do(items: Any) -> None:
    say = Reply(text='<plan>look</plan>\n<tool_call>\n{"name": "pwd", "arguments": {}}\n</tool_call>')
    over = Reply(text="<response>.</response>")
    asked, output = talk(items("planarena", "multi_turn_base_0"), [say], over)
    assert results(asked[1])[0].startswith('{"current_working_directory"')
    assert output[0] == [say.text, over.text]
    assert asked[0].tools == ()
    assert '"name":"pwd"' in asked[0].messages[0]["content"]


def test_withheld_tools_come_with_their_turn(items: Any) -> None:
    asked, _ = talk(items("native", "multi_turn_miss_func_0"), [])
    offered = [{tool["function"]["name"] for tool in one.tools} for one in asked]
    late = offered[-1] - offered[0]
    assert len(late) == 1
    assert sum(late <= names for names in offered) < len(offered)
    assert "updated some more functions" in str([one.messages[-1]["content"] for one in asked])
    texts, _ = talk(items("hermes", "multi_turn_miss_func_0"), [], Reply(text="."))
    (name,) = late
    last = [one.messages[-1]["content"] for one in texts]
    (shown,) = [text for text in last if f'"name":"{name}"' in text]
    assert shown.endswith("What about now?")
    assert f'"name":"{name}"' not in texts[0].messages[0]["content"]
