"""Chat completions in process: what a policy is asked, what a client gets, batches, streams, and wrong requests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from planarena import Run
from planarena.bench import Asked, Reply
from planarena.rows import RowOptions, load_rows
from planarena.serving import Limits
from planarena.serving.batching import Batcher
from planarena.serving.chat_request import Dialect, read_request
from planarena.serving.policy import PolicyServer, policy_app

TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Look something up.",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    },
}
BODY: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is a heron?"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "look_up", "arguments": '{"word": "heron"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "a bird"},
    ],
    "tools": [TOOL],
    "temperature": 0.5,
    "max_tokens": 20,
    "n": 1,
    "stop": ["x"],
    "stream": False,
    "seed": 4,
}


class Echo:
    """Answers by a rule, and keeps what it was asked."""

    temperature = 0.0

    def __init__(self, form: str, rule: Any) -> None:
        self.format, self._rule = form, rule
        self.asked: list[Asked] = []

    def encode(self, asked: Asked) -> list[int]:
        if any("\ud800" in str(message) for message in asked.messages):
            raise ValueError("half a pair")
        return []

    def reply(self, asked: Sequence[Asked]) -> list[Reply]:
        self.asked += asked
        return [Reply(text=self._rule(one), tokens=3, prompt_tokens=5) for one in asked]


@pytest.fixture
def serve(client: Any) -> Any:
    """Serves a rule in a format; returns the client and the policy."""
    opened: list[Batcher] = []

    def make(form: str, rule: Any, **options: Any) -> tuple[Any, Echo]:
        policy = Echo(form, rule)
        opened.append(Batcher(policy, rows=8))
        server = PolicyServer(opened[-1], Dialect(form, **options), "m")
        return client(policy_app(server), Limits(body=1 << 20)), policy

    yield make
    for one in opened:
        one.close()


@pytest.mark.parametrize("form", ["planarena", "think", "hermes", "native"])
def test_a_policy_is_asked_what_its_training_rows_say(built_run: Run, form: str) -> None:
    """The API's messages and tools become the very prompt that rows of the format have."""
    options = RowOptions(format=form, plan="none", splits=())
    native = RowOptions(format="native", plan="none", splits=())
    dialect = Dialect(form, plan=False)
    compared = 0
    for ours, theirs in zip(
        load_rows(built_run.path, options), load_rows(built_run.path, native), strict=True
    ):
        request = read_request({"messages": list(theirs.prompt), "tools": list(theirs.tools)})
        asked = dialect.asked(request, "k", 0)
        # What is known stands under another heading: the client wrote it.
        wanted = [dict(one) for one in ours.prompt]
        wanted[0]["content"] = wanted[0]["content"].replace("# Known beforehand\n", "Known beforehand:\n")
        assert [dict(one) for one in asked.messages] == wanted
        assert asked.tools == (theirs.tools if form == "native" else ())
        message = dialect.message(ours.target, asked, tools=True)
        calls = [
            (one["function"]["name"], json.loads(one["function"]["arguments"]))
            for one in message.get("tool_calls", ())
        ]
        assert calls == [(call.name, call.arguments) for call in theirs.gold.calls]
        if not calls:
            assert message["content"] == theirs.gold.response
        compared += 1
    assert compared > 100


def test_without_tools_the_text_goes_through_as_it_is(serve: Any) -> None:
    text = '<plan>x</plan>\n<tool_call>\n{"name": "look_up", "arguments": {}}\n</tool_call>'
    made, policy = serve("planarena", lambda _: text)
    body = {"messages": [{"role": "system", "content": "tools: ..."}, {"role": "user", "content": "hello"}]}
    found = made.post("/v1/chat/completions", body).json()
    assert found["choices"][0]["message"]["content"] == text
    assert found["choices"][0]["finish_reason"] == "stop"
    assert found["usage"] == {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
    assert [dict(one) for one in policy.asked[0].messages] == body["messages"]


def pieces(text: str) -> dict[str, Any]:
    """Put the chunks of a stream together."""
    found: dict[str, Any] = {"content": "", "calls": {}, "reason": None, "usage": None}
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    for line in lines[:-1]:
        chunk = json.loads(line)
        found["usage"] = chunk.get("usage")
        for choice in chunk["choices"]:
            delta = choice["delta"]
            found["content"] += delta.get("content") or ""
            for call in delta.get("tool_calls", ()):
                found["calls"][call["index"]] = call["function"]
            found["reason"] = choice["finish_reason"] or found["reason"]
    return found


@pytest.mark.parametrize(
    "text",
    [
        "<plan>p</plan>\n<response>A heron is a bird that stands in water, mostly on one leg, and waits.</response>",
        '<plan>p</plan>\n<tool_call>\n{"name": "look_up", "arguments": {"word": "é"}}\n'
        '{"name": "look_up", "arguments": {"word": "b"}}\n</tool_call>',
        "no format at all",
        "",
    ],
)
def test_a_stream_says_what_the_whole_says(serve: Any, text: str) -> None:
    made, _ = serve("planarena", lambda _: text)
    whole = made.post("/v1/chat/completions", BODY | {"stop": []}).json()["choices"][0]
    options = {"stream": True, "stream_options": {"include_usage": True}, "stop": []}
    streamed = pieces(made.post("/v1/chat/completions", BODY | options).text)
    assert streamed["content"] == (whole["message"]["content"] or "")
    assert list(streamed["calls"].values()) == [
        one["function"] for one in whole["message"].get("tool_calls", ())
    ]
    assert streamed["reason"] == whole["finish_reason"]
    assert streamed["usage"]["total_tokens"] == 8


def test_requests_at_one_time_share_batches_by_temperature(serve: Any) -> None:
    import time

    def slowly(one: Asked) -> str:
        time.sleep(0.01)
        return f"answer to {one.messages[-1]['content']}"

    made, _ = serve("planarena", slowly)
    requests = [
        {
            "method": "POST",
            "url": "/v1/chat/completions",
            "json": {"messages": [{"role": "user", "content": str(number)}], "temperature": number % 2},
        }
        for number in range(24)
    ]
    answers = [one.json()["choices"][0]["message"]["content"] for one in made.many(requests)]
    assert answers == [f"answer to {number}" for number in range(24)]


def test_draws_are_named_by_seed(serve: Any) -> None:
    made, policy = serve("planarena", lambda _: "x")
    for seed in (4, 4, 5, None, None):
        made.post("/v1/chat/completions", BODY | {"seed": seed})
    names = [one.id for one in policy.asked]
    assert names[0] == names[1] != names[2]
    assert len(set(names)) == 4
    made.post("/v1/chat/completions", BODY | {"n": 3})
    assert [one.sample for one in policy.asked[-3:]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"messages": []}, "empty"),
        ({"messages": [{"role": "robot", "content": ""}]}, "role"),
        ({"messages": [{"role": "user", "content": None}]}, "content"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "text alone"),
        ({"tools": [{"type": "function"}]}, "function"),
        ({"top_p": 0.5}, "top_p"),
        ({"logprobs": True}, "logprobs"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"n": 1000}, "n is"),
        ({"temperature": "hot"}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"messages": [{"role": "user", "content": "\ud800"}]}, ""),
    ],
)
def test_what_cannot_be_done_is_refused(serve: Any, change: dict[str, Any], word: str) -> None:
    made, _ = serve("planarena", lambda _: "x")
    answer = made.request("POST", "/v1/chat/completions", content=json.dumps(BODY | change).encode("ascii"))
    assert answer.status_code == 400
    assert word in answer.json()["error"]["message"]


def test_a_dialogue_that_is_too_long_has_its_own_error(serve: Any) -> None:
    made, policy = serve("planarena", lambda _: "")
    policy.reply = lambda asked: [Reply(tokens=0, truncated=True, prompt_tokens=9) for _ in asked]
    answer = made.post("/v1/chat/completions", BODY)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")


@pytest.mark.parametrize("number", [300, pytest.param(10_000, marks=pytest.mark.full)])
@pytest.mark.parametrize("form", ["planarena", "native"])
def test_fuzzed_requests_have_answers(serve: Any, fuzzer: Any, number: int, form: str) -> None:
    text = '{"role": "assistant", "content": "x"}' if form == "native" else "<response>x</response>"
    made, _ = serve(form, lambda _: text)
    paths = ["/v1/chat/completions"] * 3 + ["/v1/models", "/health"]
    statuses = made.fuzz(fuzzer(11, paths, [BODY, BODY | {"stream": True}]), number)
    assert statuses[200] > number / 20, statuses
    assert made.post("/v1/chat/completions", BODY).status_code == 200
