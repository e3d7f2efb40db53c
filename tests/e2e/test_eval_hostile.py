"""Hostile outputs execute nothing, score 0 and stop nothing.

The witness is a file that every payload tries to make. The outputs are scored without the sandbox, so that the
parser alone has to hold, and a control shows that the same payloads do make the file in bfcl-eval's own executor.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from planarena import managed
from planarena.environments import sandbox
from planarena.errors import EnvironmentUnavailableError
from planarena.eval import EvalConfig, evaluate

DEEP = 10_000


@pytest.fixture(scope="module")
def python() -> Path:
    try:
        return managed.environment("bfcl").python
    except EnvironmentUnavailableError as error:
        pytest.skip(f"bfcl-eval cannot be installed here: {error.what}")


@pytest.fixture(scope="module")
def gold(python: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The ground truth's outputs of the first items of each category, by id."""
    out = tmp_path_factory.mktemp("gold")
    config = EvalConfig(suites=("bfcl-v4",), out=str(out), responses="gold", limit=40, unsafe_no_sandbox=True)
    evaluate(config)
    rows = [json.loads(line) for line in (out / "responses.jsonl").read_text().splitlines()]
    return {row["id"]: row["response"] for row in rows}


def run(tmp_path: Path, lines: list[bytes], **options: Any) -> Any:
    source = tmp_path / "outputs.jsonl"
    source.write_bytes(b"\n".join(lines) + b"\n")
    options = {"unsafe_no_sandbox": True, "limit": 40, "seconds": 2.0} | options
    return evaluate(
        EvalConfig(suites=("bfcl-v4",), out=str(tmp_path / "out"), responses=str(source), **options)
    )


def line(key: str, response: Any) -> bytes:
    return json.dumps({"id": key, "response": response}).encode()


def payloads(witness: Path) -> list[str]:
    """Python source that makes the witness when it is evaluated."""
    return [
        f"__import__('os').popen('touch {witness}').read()",
        f"__import__('os').system('touch {witness}')",
        f"open({str(witness)!r}, 'w').write('x')",
        f"(lambda: __import__('subprocess').call(['touch', {str(witness)!r}]))()",
        f"[__import__('os').mkdir({str(witness)!r}) for _ in 'x']",
        f"().__class__.__base__.__subclasses__()[0] if __import__('os').system('touch {witness}') else 1",
    ]


def test_the_payloads_are_live_in_the_executor_that_we_do_not_use(python: Path, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    program = (
        "import sys; from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import "
        "execute_multi_turn_func_call as run; run([sys.argv[1]], {}, ['MathAPI'], 'm', 'i_0')"
    )
    command = [python, "-c", program, f"add(a={payloads(witness)[0]}, b=1)"]
    subprocess.run(command, check=True, env={"BFCL_PROJECT_ROOT": str(tmp_path), "PATH": "/usr/bin:/bin"})
    assert witness.exists()


def test_code_in_function_calling_outputs_does_not_run(gold: dict[str, Any], tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    hostile: dict[str, Any] = {}
    turns = {key: len(value) for key, value in gold.items() if key.startswith("multi_turn_base")}
    free = iter(turns)
    for payload in payloads(witness):
        for call in (
            {payload: "{}"},
            {f"ls() or {payload} or ls": "{}"},
            {"cd": json.dumps({"folder": payload})},
            {"cd": json.dumps({f"folder={payload}, x": 1})},
            {"cd": f"{{'folder': {payload}}}"},
        ):
            key = next(free)
            hostile[key] = [[[call]] for _ in range(turns[key])]
    singles = [key for key in gold if key.startswith("simple_python")]
    for key, payload in zip(singles, payloads(witness), strict=False):
        hostile[key] = [{payload: json.dumps({payload: payload})}]
    evaluation = run(tmp_path, [line(key, hostile.get(key, value)) for key, value in gold.items()])
    _check(evaluation, hostile, set(gold) - set(hostile))
    assert not witness.exists()


def test_code_in_prompted_outputs_does_not_run(gold: dict[str, Any], tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    hostile: dict[str, Any] = {}
    singles = [key for key in gold if key.startswith(("simple_python", "multiple_"))]
    free = iter(singles)
    for payload in payloads(witness):
        for text in (
            f"[f(x={payload})]",
            f"[f(x={payload} + 1)]",
            f"[f(x=1 if {payload} else 2)]",
            f"[f(x=[{payload}])]",
            f"[f(**{{'x': {payload}}})]",
            f"f'{{{payload}}}'",
            payload,
        ):
            hostile[next(free)] = text
    turns = {key: len(value) for key, value in gold.items() if key.startswith("multi_turn_base")}
    for key, payload in zip(turns, payloads(witness), strict=False):
        hostile[key] = [
            [f"[cd(folder={payload} + '')]", f"[{payload}]", f"[cd(folder=ls(a={payload}))]"]
        ] * turns[key]
    for key in ("simple_java_0", "simple_javascript_0"):
        hostile[key] = f"[x(a={payloads(witness)[0]})]"
    evaluation = run(tmp_path, [line(key, value) for key, value in hostile.items()])
    _check(evaluation, hostile, set())
    assert not witness.exists()


def _check(evaluation: Any, hostile: dict[str, Any], honest: set[str]) -> None:
    verdicts = {item.id: item for item in evaluation.suites["bfcl-v4"].verdicts}
    assert [key for key in hostile if verdicts[key].correct] == []
    assert [key for key in hostile if not verdicts[key].reason] == []
    spoilt = [key for key in honest if not verdicts[key].correct and verdicts[key].reason != ""]
    # The one key among the first forty of each category that no output can satisfy.
    assert set(spoilt) <= {"simple_java_36"}


def test_damaged_and_monstrous_outputs_cost_their_own_item(gold: dict[str, Any], tmp_path: Path) -> None:
    keys = iter([key for key in gold if key.startswith("simple_python")])
    deep = "[" * DEEP + "]" * DEEP
    name = "calculate_triangle_area"
    lines: dict[str, bytes] = {}

    def spoil(make: Any) -> str:
        key = next(keys)
        made = make(key)
        lines[key] = made if isinstance(made, bytes) else line(key, made)
        return key

    readable = [
        spoil(lambda key: [{name: "x" * 10_000_000}]),
        spoil(lambda key: "y" * 10_000_000),
        spoil(lambda key: [{name: deep}]),
        spoil(lambda key: [{name: '{"base": ' + deep + "}"}]),
        spoil(lambda key: [{name: '{"base": ' + "9" * 100_000 + "}"}]),
        spoil(lambda key: [{name: '{"base": NaN, "height": 1e999}'}]),
        spoil(lambda key: [{"</script><script>alert(1)</script>": "{}"}]),
        spoil(lambda key: "<tool_call></tool_call><tool_call>" * 10_000),
        spoil(
            lambda key: (
                '<tool_call>{"name": "</tool_call><tool_call>", "arguments": {"a": "<plan>"}}</tool_call>'
            )
        ),
        spoil(lambda key: "\ud800 half a pair \x1b[2J \x00"),
        spoil(lambda key: None),
        spoil(lambda key: 7),
        spoil(lambda key: [[[]]]),
        spoil(lambda key: {"a": {"b": {}}}),
        spoil(lambda key: ""),
    ]
    unreadable = [
        spoil(lambda key: f'{{"id": "{key}", "response": "'.encode() + b'\xff\xfe"}'),
        spoil(lambda key: f'{{"id": "{key}", "response": {deep}}}'.encode()),
        spoil(lambda key: f'{{"id": "{key}", "response": "cut of'.encode()),
    ]
    rows = [lines.get(key, line(key, value)) for key, value in gold.items()] + [
        b"\xff\xff",
        b"{",
        b"[]",
        b'"text"',
    ]
    evaluation = run(tmp_path, rows)
    result = evaluation.suites["bfcl-v4"]
    _check(evaluation, dict.fromkeys(readable + unreadable), set(gold) - set(lines))
    row = next(row for row in result.categories if row.category == "simple_python")
    assert (row.items, row.correct, row.unreadable) == (40, 40 - len(lines), len(unreadable))
    assert evaluation.run["reading"]["bfcl-v4"]["unreadable_lines"] == 4
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<script" not in page
    assert "\x1b" not in page
    # What was written is read again to the same scores.
    again = run(tmp_path / "out", (tmp_path / "out" / "responses.jsonl").read_bytes().splitlines())
    assert [item.correct for item in again.suites["bfcl-v4"].verdicts] == [
        item.correct for item in result.verdicts
    ]


@pytest.mark.slow
def test_outputs_that_compute_without_end_are_stopped(gold: dict[str, Any], tmp_path: Path) -> None:
    """Within the time limit of the item, in and out of Python's reach; the items beside it keep their score."""
    if sandbox.missing() is not None:
        pytest.skip("no sandbox here")
    items = [key for key in gold if key.startswith("multi_turn_base")]
    endless = {
        "multi_turn_base_15": {"square_root": '{"number": 2, "precision": 50000000}'},
        "multi_turn_base_16": {"logarithm": '{"value": 3, "base": 2, "precision": 30000000}'},
    }
    hostile = {key: [[[call]] for _ in gold[key]] for key, call in endless.items()}
    rows = [line(key, hostile.get(key, gold[key])) for key in items]
    evaluation = run(tmp_path, rows, unsafe_no_sandbox=False, seconds=0.5)
    verdicts = {item.id: item for item in evaluation.suites["bfcl-v4"].verdicts}
    assert [key for key in items if not verdicts[key].correct] == sorted(hostile)


@pytest.mark.parametrize(
    "text", ["9**9**9**9", "2**-(10**9)", "1 << 10**9", "'x' * 10**9", "[0] * 10**9", "'%1000000000d' % 1"]
)
def test_arithmetic_bombs_are_refused(python: Path, tmp_path: Path, text: str) -> None:
    evaluation = run(tmp_path, [line("simple_python_0", f"[calculate_triangle_area(base={text}, height=5)]")])
    (verdict,) = [item for item in evaluation.suites["bfcl-v4"].verdicts if item.id == "simple_python_0"]
    assert verdict.reason == "ast_decoder:decoder_failed"


@pytest.mark.parametrize("suite", ["math", "api-bank", "mmlu-pro"])
def test_suites_that_only_read_text_survive_the_same_outputs(suite: str, tmp_path: Path) -> None:
    """Every output but the last is hostile or damaged, and scores 0; the last is right, and scores 1."""
    witness = tmp_path / "witness"
    good = {
        "math": r"\boxed{7}",
        "api-bank": '<tool_call>{"name": "F", "parameters": {"x": 7}}</tool_call>',
        "mmlu-pro": "The answer is (D).",
    }[suite]
    texts: list[Any] = [
        *payloads(witness),
        *[f"\\boxed{{{payload}}}" for payload in payloads(witness)],
        *[
            f'<tool_call>{{"name": "F", "parameters": {{"x": {payload}}}}}</tool_call>'
            for payload in payloads(witness)
        ],
        "x" * 10_000_000,
        "\\boxed{" * 1_000_000,
        "<tool_call>" + "[" * DEEP,
        '<tool_call>{"name": "</tool_call><tool_call>", "parameters": "\\\\boxed{8}"}</tool_call>',
        "\\boxed{9**9**9}",
        "\\boxed{" + "9" * 100_000 + "}",
        "",
        None,
        [["\\boxed{7}"]],
        {"response": "\\boxed{7}"},
    ]
    keys = [f"level-1-{number}" for number in range(len(texts) + 3)]
    rows = [line(key, text) for key, text in zip(keys, texts, strict=False)]
    rows += [
        f'{{"id": "{keys[-3]}", "response": "'.encode() + b'\xff"}',
        f'{{"id": "{keys[-2]}", "response": {"[" * DEEP}'.encode(),
        line(keys[-1], good),
    ]
    source = tmp_path / "outputs.jsonl"
    source.write_bytes(b"\n".join(rows))
    data = tmp_path / "data"
    data.mkdir()
    if suite == "api-bank":
        gold_call = [{"name": "F", "parameters": {"x": 7}}]
        (data / "level-1.json").write_text(json.dumps([{"answer": gold_call} for _ in keys]))
    else:
        answer = {"answer": "7"} if suite == "math" else {"answer": "D", "options": list("wxyz")}
        (data / "x.jsonl").write_text("\n".join(json.dumps({"id": key} | answer) for key in keys))
    config = EvalConfig(
        suites=(suite,),
        out=str(tmp_path / "out"),
        responses=str(source),
        data={suite: str(data)},
        guess=False,
    )
    result = evaluate(config).suites[suite]
    assert [item.id for item in result.verdicts if item.correct] == [keys[-1]]
    assert len(result.verdicts) == len(keys)
    assert result.categories[0].unreadable >= 2
    assert not witness.exists()
