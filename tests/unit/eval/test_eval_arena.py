"""The suite of the PlanArena bench: what a policy played scores the same when its replies are given."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from planarena import formats
from planarena.bench import RandomTool
from planarena.cli import main
from planarena.eval import EvalConfig, evaluate
from planarena.eval.arena import generate
from planarena.formats import write_output


def test_generated_replies_score_as_they_were_played(tmp_path: Path) -> None:
    config = EvalConfig(suites=("planarena",), out=str(tmp_path / "out"), responses="gold", limit=4)
    responses = generate(RandomTool(), config)
    lines = [json.dumps({"id": key, "response": listed[0].value}) for key, listed in responses.by_id.items()]
    (tmp_path / "replies.jsonl").write_text("\n".join(lines[1:]))
    config = msgspec.structs.replace(config, responses=str(tmp_path / "replies.jsonl"))
    result = evaluate(config).suites["planarena"]
    assert len(result.verdicts) == len(lines)
    assert sum(verdict.reason == "no response" for verdict in result.verdicts) == 1
    assert {row.category for row in result.categories} >= {
        "1 action",
        "7 actions",
        "no call: trap",
        "shape: serial",
    }
    assert result.measures["calls"][0] > 1
    page = (tmp_path / "out" / "report.html").read_text()
    assert "steps done" in page


def test_the_command_prints_measures_and_never_a_name_into_its_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["eval", "planarena", "--responses", "gold", "--limit", "1", "--out", str(tmp_path / "out")])
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    (row,) = [line for line in lines if "parameter missing" in line]
    assert row.split() == ["no", "call:", "parameter", "missing", "100.00", "%", "1", "of", "1"]
    (steps,) = [line for line in lines if line.startswith("   steps done ")]
    assert steps.split()[2] == "1.000"


def _native(content: str) -> str:
    return json.dumps({"role": "assistant", "content": content})


@pytest.mark.parametrize(
    "left",
    [
        '<tool_call>{"name": "no_such_tool", "arguments": {}}</tool_call>',
        '[TOOL_CALLS][{"name": "no_such_tool", "arguments": {}}]',
        '{"name": "no_such_tool", "parameters": {}}',
        '<tool_call>{"name": "no_such',
    ],
)
def test_calls_that_a_server_leaves_in_the_content_are_no_answer(tmp_path: Path, left: str) -> None:
    gold = EvalConfig(suites=("planarena",), out=str(tmp_path / "gold"), responses="gold", limit=3)
    ids = [verdict.id for verdict in evaluate(gold).suites["planarena"].verdicts]
    source = tmp_path / "r.jsonl"
    for content, share in ((left, 0.0), ("There is nothing to do.", 1.0)):
        source.write_text("\n".join(json.dumps({"id": key, "response": [_native(content)]}) for key in ids))
        config = msgspec.structs.replace(gold, responses=str(source), format="native", fresh=True)
        result = evaluate(config).suites["planarena"]
        (no_call,) = [value for value in result.overall if value.name == "no call"]
        assert no_call.value == share


@pytest.mark.parametrize("form", ["mistral", "llama", "harmony", "hermes", "native"])
def test_gold_in_a_vendors_form_succeeds_without_a_format(tmp_path: Path, form: str) -> None:
    config = EvalConfig(suites=("planarena",), out=str(tmp_path / "gold"), responses="gold", limit=2)
    evaluate(config)
    ours, lines = formats.get("planarena"), []
    for line in (tmp_path / "gold" / "responses.jsonl").read_text().splitlines():
        row = json.loads(line)
        said = [ours.parse(text) for text in row["response"]]
        texts = [write_output(form, one.calls, one.response or "") for one in said]
        lines.append(json.dumps({"id": row["id"], "response": texts}))
    source = tmp_path / "r.jsonl"
    source.write_text("\n".join(lines))
    result = evaluate(msgspec.structs.replace(config, out=str(tmp_path / "o"), responses=str(source)))
    assert result.suites["planarena"].overall[0].value == 1.0
