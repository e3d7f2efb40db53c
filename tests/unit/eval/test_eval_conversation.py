"""Dialogues that go on: the layouts of every format's prompt, native messages, tools that come later."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))
from eval_samples import api_bank, mmlu_pro, problems

from planarena import formats
from planarena.bench import Asked, Reply
from planarena.errors import UserError
from planarena.eval import EvalConfig, mathematics
from planarena.eval import api_bank as api_bank_suite
from planarena.eval import mmlu_pro as mmlu_pro_suite
from planarena.eval.conversation import Conversation
from planarena.eval.settings import GenerationConfig
from planarena.formats import Call

TOOL = {
    "type": "function",
    "function": {
        "name": "find",
        "description": "Finds.",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
    },
}


def config(suite: str = "math", **more: Any) -> EvalConfig:
    return EvalConfig(suites=(suite,), out="unused", model="m", **more)


def talk(form: str, **made: Any) -> Conversation:
    options = config(generation=GenerationConfig(**made))
    return Conversation(form, [TOOL], options, {"instructions": "Be brief."})


@pytest.mark.parametrize("form", formats.names())
def test_every_format_has_a_prompt_that_goes_on(form: str) -> None:
    conversation = talk(form)
    conversation.user("Find a cat.")
    conversation.said(conversation.write(calls=[Call("find", {"q": "cat"})]))
    conversation.returned([("find", "two cats")])
    conversation.said(conversation.write(response="There are two."))
    conversation.user("And dogs?")
    text = json.dumps(conversation.messages())
    for words in ("Be brief.", "Find a cat.", "two cats", "There are two.", "And dogs?", "find"):
        assert words in text or (words == "Be brief." and form == "math"), (form, words)
    assert conversation.messages()[-1]["role"] == "user"
    if form not in ("native", "math"):
        assert "Finds." in text  # the prompt states the tools


def test_a_packed_history_shows_this_request_and_the_earlier_ones_apart() -> None:
    conversation = talk("toolupt")
    conversation.user("Find a cat.")
    conversation.said(conversation.write(calls=[Call("find", {"q": "cat"})]))
    conversation.returned([("find", "two cats")])
    _, user = conversation.messages()
    earlier, _, rest = user["content"].partition("[Request]")
    request, _, steps = rest.partition("[Calls So Far]")
    assert "(none)" in earlier
    assert "Find a cat." in request
    assert "Call 1" in steps
    assert "two cats" in steps
    conversation.user("And dogs?")
    _, user = conversation.messages()
    earlier, _, rest = user["content"].partition("[Request]")
    assert "Find a cat." in earlier
    assert "two cats" in earlier
    assert "And dogs?" in rest
    assert "(none)" in rest


def test_native_messages_travel_as_the_server_wrote_them() -> None:
    conversation = talk("native")
    conversation.user("Find.")
    call = {"id": "abc", "type": "function", "function": {"name": "find", "arguments": '{"q": '}}
    reply = {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [call]}
    conversation.said(json.dumps(reply))
    conversation.returned([("find", "none")])
    system, user, assistant, tool = conversation.messages()
    assert system == {"role": "system", "content": "Be brief."}
    assert user == {"role": "user", "content": "Find."}
    assert assistant == {"role": "assistant", "content": None, "tool_calls": [call]}
    assert tool == {"role": "tool", "tool_call_id": "abc", "content": "none"}


def test_words_that_the_format_cannot_read_stay_in_the_history() -> None:
    conversation = talk("planarena")
    conversation.user("Find.")
    conversation.said("<tool_call>{broken")
    conversation.user("Again.")
    assert conversation.messages()[-2] == {"role": "assistant", "content": "<tool_call>{broken"}


def test_options_of_the_prompt_are_kept() -> None:
    with_plan, without = talk("planarena"), talk("planarena", plan=False)
    short = talk("planarena", template="short", plan=False)
    for one in (with_plan, without, short):
        one.user("Find.")
    assert "<plan>" in with_plan.messages()[0]["content"]
    assert "<plan>" not in without.messages()[0]["content"]
    assert short.messages()[0]["content"].startswith("find(q)")
    assert '"type"' in talk_text(signatures="json")
    assert "find(q: str)" in talk_text(signatures="compact")
    with pytest.raises(UserError, match="no prompt template"):
        talk("planarena", template="shrot")


def talk_text(**made: Any) -> str:
    conversation = talk("planarena", **made)
    conversation.user("x")
    return str(conversation.messages()[0]["content"])


# --- suites of one reply -----------------------------------------------------------------------------


def ask_all(
    module: Any, suite: str, path: Path, form: str, text: str, **more: Any
) -> list[tuple[Asked, Any]]:
    """Every item's prompt, and the output for a reply."""
    found = []
    with module.ask(suite, config(suite, data={suite: str(path)}, **more)) as items:
        for item in items(form):
            exchange = item.begin(0)
            asked = next(exchange)
            with pytest.raises(StopIteration) as end:
                exchange.send(Reply(text=text))
            found.append((asked, end.value.value))
    return found


@pytest.mark.parametrize("form", [name for name in formats.names() if name != "math"])
def test_api_bank_is_asked_in_every_format(form: str, tmp_path: Path) -> None:
    found = ask_all(api_bank_suite, "api-bank", api_bank(tmp_path / "api"), form, "x")
    assert len(found) == 3
    first, second, third = [json.dumps(asked.messages) + json.dumps(asked.tools) for asked, _ in found]
    assert "A room for 4" in first
    assert "Finds a free room." in first
    assert "Elm is free." in second
    assert "'room': 'Elm'" in second
    assert "Sends a note." in third
    rules = "**Output Format**" in first
    assert rules == (form == "toolrl")  # the samples' own words, for whom they were written


def test_api_bank_tools_become_schemas_and_native_calls_are_scored(tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "FindRoom", "arguments": '{"seats": 4}'}}
    reply = json.dumps({"role": "assistant", "content": "Let me see.", "tool_calls": [call]})
    (asked, output), (booking, _), _ = ask_all(
        api_bank_suite, "api-bank", api_bank(tmp_path / "api"), "native", reply
    )
    schema = asked.tools[0]["function"]["parameters"]
    assert schema["properties"]["seats"] == {"type": "integer", "description": "How many."}
    assert asked.tools[1]["function"]["parameters"]["properties"]["guests"]["items"] == {"type": "string"}
    assert (
        output == 'Let me see.\n<tool_call>\n{"name": "FindRoom", "parameters": {"seats": 4}}\n</tool_call>'
    )
    roles = [message["role"] for message in booking.messages]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "user"]


def test_mmlu_pro_has_five_worked_examples_of_its_category(tmp_path: Path) -> None:
    folder = mmlu_pro(tmp_path / "mmlu")
    reply = "<think>the answer is (A)?</think>The answer is (B)."
    found = ask_all(mmlu_pro_suite, "mmlu-pro", folder, "hermes", reply)
    assert len(found) == 4  # the examples are no questions
    asked, output = found[0]
    (message,) = asked.messages
    assert message["content"].count("Question:") == 6
    assert message["content"].count("An example") == 5
    assert "of physics" not in message["content"]
    assert message["content"].endswith(
        "Options:\nA. none\nB. the first\nC. the second\nD. both\nAnswer: Let's think step by step."
    )
    assert output == "The answer is (B)."  # no rule finds a letter in the thoughts
    boxed = ask_all(mmlu_pro_suite, "mmlu-pro", folder, "math", "x", extraction="boxed")
    assert boxed[0][0].messages[1]["content"].endswith("0. none\n1. the first\n2. the second\n3. both")
    assert "Question:" not in boxed[0][0].messages[1]["content"]
    (folder / "validation.jsonl").unlink()
    with pytest.raises(UserError, match="not 5 worked examples of law and 1 other"):
        ask_all(mmlu_pro_suite, "mmlu-pro", folder, "hermes", "x")
    bare = ask_all(mmlu_pro_suite, "mmlu-pro", folder, "hermes", "x", generation=GenerationConfig(shots=0))
    assert bare[0][0].messages[0]["content"].count("Question:") == 1


def test_mmlu_pro_reads_parquet_as_the_hub_has_it(tmp_path: Path) -> None:
    import polars

    folder = mmlu_pro(tmp_path / "mmlu")
    for name in ("test", "validation"):
        polars.read_ndjson(folder / f"{name}.jsonl").write_parquet(folder / f"{name}-00000-of-00001.parquet")
        (folder / f"{name}.jsonl").unlink()
    assert len(ask_all(mmlu_pro_suite, "mmlu-pro", folder, "hermes", "x")) == 4


def test_math_is_asked_for_a_box(tmp_path: Path) -> None:
    path = problems(tmp_path / "math.jsonl")
    (asked, output), *_ = ask_all(
        mathematics, "math", path, "native", '{"role": "assistant", "content": "4"}'
    )
    assert asked.messages[0]["content"].startswith("What is 0 + 0?")
    assert "\\boxed{}" in asked.messages[0]["content"]
    assert output == "4"
    (own, _), *_ = ask_all(mathematics, "math", path, "math", "x")
    assert [message["role"] for message in own.messages] == ["system", "user"]
    path.write_text('{"id": "a", "answer": 1}')
    with pytest.raises(UserError, match="the problem 'a' has no text"):
        ask_all(mathematics, "math", path, "math", "x")
