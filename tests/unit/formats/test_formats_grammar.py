"""What each format accepts, what it refuses and why, and what it reads."""

from __future__ import annotations

import json

import pytest

from planarena import formats
from planarena.errors import UserError
from planarena.formats import Call, Gold

CD = Call("cd", {"dir": "docs"})
CAT = Call("cat", {"file": "a.txt", "n": 3})
CD_LINE = '{"name": "cd", "arguments": {"dir": "docs"}}'
CAT_LINE = '{"name": "cat", "arguments": {"file": "a.txt", "n": 3}}'
BLOCK = f"<tool_call>\n{CD_LINE}\n{CAT_LINE}\n</tool_call>"


def renamed(text: str, key: str) -> str:
    return text.replace('"arguments"', f'"{key}"')


PLANARENA_VALID = {
    "lines": (f"<plan>p</plan>\n{BLOCK}", (CD, CAT)),
    "no plan": (BLOCK, (CD, CAT)),
    "one line": (f"<plan>p</plan><tool_call>{CD_LINE}</tool_call>", (CD,)),
    "list": (f"<tool_call>[{CD_LINE}, {CAT_LINE}]</tool_call>", (CD, CAT)),
    "spread over lines": (
        "<tool_call>" + json.dumps({"arguments": {"dir": "docs"}, "name": "cd"}, indent=2) + "</tool_call>",
        (CD,),
    ),
    "two on a line": (f"<tool_call>{CD_LINE} {CAT_LINE}</tool_call>", (CD, CAT)),
    "blank lines": (f"<tool_call>\n\n{CD_LINE}\n\n{CAT_LINE}\n\n</tool_call>", (CD, CAT)),
    "white space outside": (f" \n<plan>p</plan>\n\n\t{BLOCK}\n ", (CD, CAT)),
    "tags in a string": (
        '<tool_call>{"name": "say", "arguments": {"x": "<plan><response></response>"}}</tool_call>',
        (Call("say", {"x": "<plan><response></response>"}),),
    ),
    "brackets in a string": (
        '<tool_call>{"name": "say",\n "arguments": {"x": "}]{[\\""}}</tool_call>',
        (Call("say", {"x": '}]{["'}),),
    ),
    "further keys": ('<tool_call>{"name": "cd", "arguments": {}, "id": 1}</tool_call>', (Call("cd", {}),)),
    "deep": (
        '<tool_call>{"name": "f", "arguments": {"x": ' + "[" * 90 + "]" * 90 + "}}</tool_call>",
        (Call("f", {"x": json.loads("[" * 90 + "]" * 90)}),),
    ),
    "wide integer": (
        '<tool_call>{"name": "f", "arguments": {"x": 18446744073709551615}}</tool_call>',
        (Call("f", {"x": 2**64 - 1}),),
    ),
}


@pytest.mark.parametrize("case", PLANARENA_VALID)
def test_planarena_reads_valid_calls(case: str) -> None:
    text, calls = PLANARENA_VALID[case]
    form = formats.get("planarena")
    parsed = form.parse(text)
    assert parsed.reason == ""
    assert parsed.calls == calls
    assert form.check(parsed, "tool_call") == ""
    assert form.check(parsed, "response") != ""


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("", False),
        ("words", False),
        ("<plan>p</plan>", False),
        (f"{BLOCK}<plan>p</plan>", False),
        (f"{BLOCK}{BLOCK}", False),
        (f"{BLOCK}<response>r</response>", False),
        (f"<plan>p</plan><plan>q</plan>{BLOCK}", False),
        (f"<plan>p<plan>q</plan>{BLOCK}", False),
        (f"<plan>p <response> q</plan>{BLOCK}", False),
        (f"<plan>p</plan>so: {BLOCK}", False),
        (f"{BLOCK} done", False),
        (f"</plan>{BLOCK}", False),
        (f"<plan>p{BLOCK}", False),
        ("<response>r", False),
        (f"<Tool_Call>{CD_LINE}</Tool_Call>", False),
        (f"<tool_call>\n{CD_LINE}\n", True),
        (f"<tool_call>\n{CD_LINE}\n{CAT_LINE[:-1]}\n</tool_call>", True),
        ("<tool_call></tool_call>", True),
        ("<tool_call>[]</tool_call>", True),
        ("<tool_call>{oops}</tool_call>", True),
        ("<tool_call>3</tool_call>", True),
        ("<tool_call>[[]]</tool_call>", True),
        (f"<tool_call>[{CD_LINE}]\n[{CAT_LINE}]</tool_call>", True),
        (f"<tool_call>{CD_LINE} and {CAT_LINE}</tool_call>", True),
        (f"<tool_call>{CD_LINE}\n[{CAT_LINE}]</tool_call>", True),
        (f"<tool_call>{CD_LINE}\n}}</tool_call>", True),
        (f"<tool_call>{CD_LINE}{' ' * 1_000_000}</tool_call>", True),
        ('<tool_call>{"name": "cd"}</tool_call>', True),
        ('<tool_call>{"arguments": {}}</tool_call>', True),
        ('<tool_call>{"name": "", "arguments": {}}</tool_call>', True),
        ('<tool_call>{"name": 3, "arguments": {}}</tool_call>', True),
        ('<tool_call>{"name": "cd", "arguments": []}</tool_call>', True),
        ('<tool_call>{"name": "cd", "arguments": null}</tool_call>', True),
        ('<tool_call>{"name": "cd", "arguments": {"x": NaN}}</tool_call>', True),
        ('<tool_call>{"name": "cd", "arguments": {"x": -Infinity}}</tool_call>', True),
        ('<tool_call>{"name": "cd", "arguments": {"x": 1e999}}</tool_call>', True),
        ('<tool_call>{"name": "cd", "arguments": {"x": 18446744073709551616}}</tool_call>', True),
        ('<tool_call>{"name": "cd", "arguments": {"x": ' + "9" * 5000 + "}}</tool_call>", True),
        ('<tool_call>{"name": "cd", "arguments": {"x": "\\ud800"}}</tool_call>', True),
        ('<tool_call>{"name": "cd", "arguments": {"x": "\ud800"}}</tool_call>', True),
        ('<tool_call>{"name": "f", "arguments": {"x": ' + "[" * 101 + "]" * 101 + "}}</tool_call>", True),
        (renamed(BLOCK, "parameters"), True),
    ],
)
def test_planarena_refuses(text: str, broken: bool) -> None:
    form = formats.get("planarena")
    parsed = form.parse(text)
    assert parsed.reason != ""
    assert parsed.broken is broken
    assert not (broken and parsed.calls)
    assert form.check(parsed, "tool_call") != "" and form.check(parsed, "response") != ""


def test_planarena_response() -> None:
    form = formats.get("planarena")
    parsed = form.parse("<plan> look </plan>\n<response> It rains. </response>")
    assert (parsed.plan, parsed.response, parsed.calls) == ("look", "It rains.", ())
    assert parsed.category == "response"
    assert form.check(parsed, "response") == ""
    assert form.check(parsed, "tool_call") != ""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("think", f"<think>p</think>{BLOCK}"),
        ("parameters", f"<plan>p</plan>{renamed(BLOCK, 'parameters')}"),
        ("params", f"<plan>p</plan>{renamed(BLOCK, 'params')}"),
        ("answer", f"<plan>p</plan>{BLOCK}"),
    ],
)
def test_variants_differ_from_planarena_in_one_word(name: str, text: str) -> None:
    parsed = formats.get(name).parse(text)
    assert (parsed.reason, parsed.plan, parsed.calls) == ("", "p", (CD, CAT))
    if name != "answer":
        assert formats.get("planarena").parse(text).reason != ""
    answer = formats.get("answer")
    assert answer.check(answer.parse("<answer>yes</answer>"), "response") == ""
    assert formats.get("planarena").parse("<answer>yes</answer>").reason != ""


TOOLRL_BLOCK = renamed(BLOCK, "parameters")


@pytest.mark.parametrize(
    ("text", "good"),
    [
        (f"<think>t</think>\n{TOOLRL_BLOCK}", {"tool_call"}),
        (f"<think>t</think>\n{TOOLRL_BLOCK}\n", {"tool_call"}),
        (f"<think>t</think>\n{TOOLRL_BLOCK}\n\n", set()),
        (f"<think></think>\n{TOOLRL_BLOCK}\n<response>r</response>", {"both"}),
        ("<think>t</think>\n<response></response>", {"response"}),
        ("<think>t</think>", {"none"}),
        ("<think>t</think>\n", {"none"}),
        (f"<think>t</think>{TOOLRL_BLOCK}", set()),
        (f"<think>t</think>\n\n{TOOLRL_BLOCK}", set()),
        (f" <think>t</think>\n{TOOLRL_BLOCK}", set()),
        (TOOLRL_BLOCK, set()),
        ("<think>t</think>\n<tool_call>\n{oops}\n</tool_call>", {"tool_call"}),
        ("<think>t</think>\n<tool_call>\n\n</tool_call>", {"tool_call"}),
        ("<think>t</think>\n<tool_call>\n</tool_call>", set()),
        (f"<think><tool_call></think>\n{TOOLRL_BLOCK}", set()),
        ("<think>a</think>\n<response>b</think>\n<response>c</response>", set()),
    ],
)
def test_toolrl_predicate_follows_the_gold(text: str, good: set[str]) -> None:
    form = formats.get("toolrl")
    parsed = form.parse(text)
    categories = ("tool_call", "response", "both", "none")
    assert {kind for kind in categories if not form.check(parsed, kind)} == good  # type: ignore[arg-type]


def test_toolrl_reads_calls_by_line() -> None:
    parsed = formats.get("toolrl").parse(f"<think>t</think>\n{TOOLRL_BLOCK}")
    assert (parsed.valid, parsed.plan, parsed.calls) == (True, "t", (CD, CAT))
    spread = json.dumps({"name": "cd", "parameters": {}}, indent=1)
    assert formats.get("toolrl").parse(f"<think>t</think>\n<tool_call>\n{spread}\n</tool_call>").broken


TOOLUPT_ONE = '<tool_call>\n{"name": "cd", "params": {"dir": "docs"}}\n</tool_call>'


@pytest.mark.parametrize(
    ("text", "category", "good"),
    [
        (TOOLUPT_ONE, "tool_call", True),
        (TOOLUPT_ONE, "response", False),
        (
            '<tool_call>[{"name": "cd", "params": {}}, {"name": "ls", "params": {}}]</tool_call>',
            "tool_call",
            True,
        ),
        (
            '<tool_call>{"name": "cd", "params": {}}\n{"name": "ls", "params": {}}</tool_call>',
            "tool_call",
            False,
        ),
        ("<answer>yes</answer>", "response", True),
        ("<answer></answer>", "response", True),
        ("<answer>yes</answer>", "tool_call", False),
        ("<answer>see <tool_call></answer>", "response", True),
        ("so <answer>yes</answer>", "response", False),
        ("<answer>yes", "response", False),
        (TOOLUPT_ONE + "<answer>yes</answer>", "response", False),
        (TOOLUPT_ONE + "<answer>yes</answer>", "tool_call", False),
        (TOOLUPT_ONE + TOOLUPT_ONE, "tool_call", False),
        ("<tool_call>{oops}</tool_call>", "tool_call", False),
        (CD_LINE, "tool_call", False),
    ],
)
def test_toolupt_predicate(text: str, category: str, good: bool) -> None:
    form = formats.get("toolupt")
    assert (form.check(form.parse(text), category) == "") is good  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "category", "good"),
    [
        (f"<think>t</think>\n<tool_call>[{CD_LINE}]</tool_call>", "tool_call", True),
        (f"<think>t</think>\n<tool_call>{CD_LINE}</tool_call>", "tool_call", False),
        (f"<tool_call>[{CD_LINE}]</tool_call>", "tool_call", False),
        (f"<think>t</think> hm <tool_call>[{CD_LINE}]</tool_call>", "tool_call", False),
        (f"<think>t</think><tool_call>[{CD_LINE}]</tool_call>", "response", False),
        ("<think>t</think> It rains.", "response", True),
        ("<think>t</think> It rains.", "tool_call", False),
        ("<think>t</think>", "response", False),
        ("It rains.", "response", False),
        ("<think>t", "response", False),
        ("so <think>t</think> It rains.", "response", False),
    ],
)
def test_chord_predicate(text: str, category: str, good: bool) -> None:
    form = formats.get("chord")
    assert (form.check(form.parse(text), category) == "") is good  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "answer", "valid"),
    [
        ("<think>t</think> so \\boxed{39}", "39", True),
        ("<think>\\boxed{1}</think> so \\boxed{39}.", "39", True),
        ("<think>t</think> \\boxed{\\frac{1}{2}}", "\\frac{1}{2}", True),
        ("<think>t</think> \\boxed{a\\}b}", "a\\}b", True),
        ("<think>t</think> \\boxed{a\\\\}", "a\\\\", True),
        ("<think>t</think> \\\\\\boxed {a}", "a", True),
        ("<think>t</think> \\\\boxed{a}", None, False),
        ("<think>t</think> \\boxed{\\boxed{2}}", "\\boxed{2}", True),
        ("<think>t</think> \\boxed{1} or \\boxed{2}", "2", False),
        ("<think>t</think> \\boxed{}", None, False),
        ("<think>t \\boxed{39}</think> done", "39", False),
        ("<think>t \\boxed{39}", None, False),
        ("so \\boxed{39}", "39", False),
        ("t</think> so \\boxed{39}", "39", False),
        ("<think>t</think> \\boxed{39", None, False),
        ("<think>t</think> 39", None, False),
        ("so <think>t</think> \\boxed{39}", "39", False),
    ],
)
def test_math_reads_the_final_box(text: str, answer: str | None, valid: bool) -> None:
    parsed = formats.get("math").parse(text)
    assert (parsed.response, parsed.valid) == (answer, valid)


@pytest.mark.parametrize(
    ("text", "calls", "response", "valid"),
    [
        (f"<tool_call>\n{CD_LINE}\n</tool_call>\n<tool_call>{CAT_LINE}</tool_call>", (CD, CAT), None, True),
        (f"<think>t</think>\nLet me look.\n<tool_call>{CD_LINE}</tool_call>", (CD,), "Let me look.", True),
        ("It rains.", (), "It rains.", True),
        ("<think>t</think>It rains.", (), "It rains.", True),
        (f"<tool_call>{CD_LINE}</tool_call> and <tool_call>{CAT_LINE}</tool_call>", (CD, CAT), None, False),
        (f"<tool_call>{CD_LINE}</tool_call> done", (CD,), None, False),
        (f"<tool_call>{CD_LINE}</tool_call><tool_call>{CAT_LINE[:-2]}</tool_call>", (), None, False),
        (f"<tool_call>{CD_LINE}", (), None, False),
        (f"<tool_call>[{CD_LINE}]</tool_call>", (), None, False),
        (f"hm <think>t</think><tool_call>{CD_LINE}</tool_call>", (CD,), None, False),
        ("", (), None, False),
    ],
)
def test_hermes_grammar(text: str, calls: tuple[Call, ...], response: str | None, valid: bool) -> None:
    parsed = formats.get("hermes").parse(text)
    assert (parsed.calls, parsed.response, parsed.valid) == (calls, response, valid)


def test_native_follows_the_gold() -> None:
    form = formats.get("native")
    called, said = form.parse(form.render(calls=(CD,))), form.parse(form.render(response="r"))
    assert [form.check(called, kind) == "" for kind in ("tool_call", "both", "response")] == [
        True,
        True,
        False,
    ]
    assert [form.check(said, kind) == "" for kind in ("tool_call", "both", "response")] == [
        False,
        False,
        True,
    ]
    assert form.check(form.parse("words"), "response") != ""


def test_native_reads_messages() -> None:
    entry = {"id": "x", "type": "function", "function": {"name": "cd", "arguments": '{"dir": "docs"}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [entry], "reasoning_content": "t"}
    parsed = formats.Native().parse_message(message)
    assert (parsed.valid, parsed.calls, parsed.plan, parsed.response) == (True, (CD,), "t", None)
    entry["function"]["arguments"] = ""  # type: ignore[index]
    assert formats.Native().parse_message(message).calls == (Call("cd", {}),)
    entry["function"]["arguments"] = {"dir": "docs"}  # type: ignore[index]
    assert formats.Native().parse_message(message).calls == (CD,)
    for bad in ('{"dir": ', "[]", 3, None):
        entry["function"]["arguments"] = bad  # type: ignore[index]
        broken = formats.Native().parse_message(message)
        assert broken.broken and broken.calls == () and not broken.valid
    assert not formats.get("native").parse('{"role": "assistant", "content": null}').valid
    assert not formats.get("native").parse('{"role": "user", "content": "x"}').valid
    assert formats.get("native").parse('{"role": "assistant", "content": "x"}').response == "x"
    assert formats.get("native").parse("words").broken
    assert not formats.get("native").parse('{"role": "assistant", "tool_calls": 3}').valid
    assert not formats.get("native").parse('{"role": "assistant", "tool_calls": [3]}').valid
    assert not formats.get("native").parse('{"role": "assistant", "content": 3}').valid
    assert not formats.get("native").parse("[]").valid


@pytest.mark.parametrize("name", sorted(set(formats.names()) - {"native", "math"}))
def test_a_tag_in_free_text_is_refused_by_the_renderer(name: str) -> None:
    form = formats.get(name)
    bad = "".join(f"<{tag}>" for tag in ("plan", "think", "tool_call", "response", "answer"))
    with pytest.raises(UserError, match="holds the tag"):
        form.render(response=bad)


@pytest.mark.parametrize("name", formats.names())
def test_rendering_nothing_is_refused_or_valid(name: str) -> None:
    form = formats.get(name)
    if name == "toolrl":
        parsed = form.parse(form.render())
        assert form.check(parsed, "none") == ""
        return
    with pytest.raises(UserError):
        form.render()


@pytest.mark.parametrize("name", ["planarena", "toolupt", "chord"])
def test_rendering_both_is_refused(name: str) -> None:
    with pytest.raises(UserError):
        formats.get(name).render(calls=(CD,), response="r")


def test_rendering_what_is_no_json_is_refused() -> None:
    for value in (float("nan"), 2**64, "\ud800"):
        with pytest.raises(ValueError):
            formats.get("planarena").render(calls=(Call("f", {"x": value}),))
    with pytest.raises(UserError):
        formats.get("math").render(response="}{")
    with pytest.raises(UserError):
        formats.get("math").render(calls=(CD,), response="3")


def test_category_of_a_gold() -> None:
    assert Gold(calls=(CD,)).category == "tool_call"
    assert Gold(response="r").category == "response"
    assert Gold(calls=(CD,), response="r").category == "both"
    assert Gold().category == "none"
    parsed = formats.get("planarena").parse(f"<plan>p</plan>{BLOCK}")
    assert Gold.of(parsed) == Gold(calls=(CD, CAT), plan="p")


def test_unknown_format_names_the_nearest() -> None:
    with pytest.raises(UserError, match="'planarena'"):
        formats.get("plan_arena")
    with pytest.raises(UserError, match="one of"):
        formats.get("zzz")
