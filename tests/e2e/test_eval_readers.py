"""One foreign output changes itself alone; gold in every vendor's form scores as in ours; a wrong --format is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))

from eval_samples import api_bank

from planarena import managed
from planarena.environments import sandbox
from planarena.errors import EnvironmentUnavailableError, UserError
from planarena.eval import EvalConfig, evaluate
from planarena.formats import Call, write_output
from planarena.formats.vendors import VENDORS

FORMS = (*VENDORS, "native", "qwen", "planarena", "toolrl", "toolupt", "chord")


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The ground truth of some single-turn items, as calls by id."""
    if (why := sandbox.missing()) is not None:
        pytest.skip(f"no sandbox here: {why}")
    try:
        managed.environment("bfcl")
    except EnvironmentUnavailableError as error:
        pytest.skip(f"bfcl-eval cannot be installed here: {error.what}")
    out = tmp_path_factory.mktemp("gold")
    result = evaluate(EvalConfig(suites=("bfcl-v3",), out=str(out), responses="gold", limit=25)).suites[
        "bfcl-v3"
    ]
    right = {
        item.id for item in result.verdicts if item.correct and not item.category.startswith("multi_turn")
    }
    rows = [json.loads(line) for line in (out / "responses.jsonl").read_text().splitlines()]
    return {row["id"]: row["response"] for row in rows if row["id"] in right}


def bfcl(tmp_path: Path, outputs: dict[str, Any], name: str = "out", **options: Any) -> Any:
    source = tmp_path / f"{name}.jsonl"
    source.write_text("\n".join(json.dumps({"id": key, "result": value}) for key, value in outputs.items()))
    config = EvalConfig(
        suites=("bfcl-v3",), out=str(tmp_path / name), responses=str(source), limit=25, **options
    )
    return evaluate(config).suites["bfcl-v3"]


def verdicts(result: Any) -> dict[str, bool]:
    return {item.id: item.correct for item in result.verdicts}


def calls_of(value: list[dict[str, str]]) -> list[Call]:
    return [Call(name, json.loads(text)) for item in value for name, text in item.items()]


def test_one_foreign_output_changes_that_output_alone(gold: dict[str, Any], tmp_path: Path) -> None:
    texts = {
        key: write_output("python", calls_of(value))
        if isinstance(value, list) and value
        else "I cannot help."
        for key, value in gold.items()
        if "java" not in key
    }
    before = verdicts(bfcl(tmp_path, texts, "before"))
    assert sum(before.values()) > 200
    key = next(key for key in texts if key.startswith("irrelevance"))
    foreign = texts | {key: '<tool_call>{"name": "f", "arguments": {}}</tool_call>'}
    result = bfcl(tmp_path, foreign, "after")
    after = verdicts(result)
    assert {name for name in after if after[name] != before[name]} == {key}
    assert any(note.startswith("WARNING: outputs write calls in 2 ways") for note in result.notes)


@pytest.mark.parametrize("form", FORMS)
def test_gold_in_every_form_scores_one(gold: dict[str, Any], tmp_path: Path, form: str) -> None:
    outputs = {
        key: write_output(form, calls_of(value)) if isinstance(value, list) and value else "I cannot help."
        for key, value in gold.items()
        # Python's own syntax is not what bfcl-eval takes for Java and JavaScript.
        if form != "python" or "java" not in key
    }
    for name, options in (("auto", {}), ("forced", {"format": form})):
        found = verdicts(bfcl(tmp_path, outputs, name, **options))
        assert [key for key in outputs if not found[key]] == [], name


def test_a_format_that_is_not_the_outputs_is_an_error_with_examples(
    gold: dict[str, Any], tmp_path: Path
) -> None:
    outputs = {
        key: write_output("mistral", calls_of(value))
        for key, value in gold.items()
        if isinstance(value, list) and value
    }
    with pytest.raises(UserError, match="written as mistral, not as harmony"):
        bfcl(tmp_path, outputs, "wrong", format="harmony")
    with pytest.raises(UserError, match="there is no way 'nonsense'"):
        bfcl(tmp_path, outputs, "nonsense", format="nonsense")


@pytest.mark.parametrize("form", FORMS)
def test_api_bank_reads_every_form(tmp_path: Path, form: str) -> None:
    data = api_bank(tmp_path / "data")
    calls = {
        "level-1-0": Call("FindRoom", {"seats": 4, "day": "2024-05-01"}),
        "level-1-1": Call("BookRoom", {"room": "Elm", "guests": ["Ada", "Bo"]}),
        "level-3-0": Call("SendNote", {"to": "Cy"}),
    }
    source = tmp_path / "o.jsonl"
    rows = [{"id": key, "response": write_output(form, [call])} for key, call in calls.items()]
    source.write_text("\n".join(map(json.dumps, rows)))
    for name, options in (("auto", {}), ("forced", {"format": form})):
        config = EvalConfig(
            suites=("api-bank",),
            out=str(tmp_path / name),
            responses=str(source),
            data={"api-bank": str(data)},
            **options,
        )
        result = evaluate(config).suites["api-bank"]
        assert [value.value for value in result.overall] == [1.0, 1.0], name


def test_errors_of_inference_are_named(gold: dict[str, Any], tmp_path: Path) -> None:
    outputs = {key: "Error during inference: timeout" for key in gold if key.startswith("irrelevance")}
    result = bfcl(tmp_path, outputs)
    assert any(
        "errors of their inference" in note and "25 of them count as right" in note for note in result.notes
    )


def test_rows_of_v1s_executable_categories_are_named(gold: dict[str, Any], tmp_path: Path) -> None:
    key = next(iter(gold))
    outputs = {key: gold[key], "executable_simple_0": "[f()]", "rest_3": "[f()]"}
    result = bfcl(tmp_path, outputs)
    told = " ".join(result.notes)
    assert "2 outputs are of no item that was scored: executable_simple (1), rest (1)" in told
    assert "executable categories of BFCL v1" in told


def test_bfcl_is_a_name(gold: dict[str, Any], tmp_path: Path) -> None:
    key = next(iter(gold))
    source = tmp_path / "o.jsonl"
    source.write_text(json.dumps({"id": key, "result": gold[key]}))
    command = [Path(sys.executable).with_name("planarena"), "eval", "bfcl", "--responses", source]
    done = subprocess.run(
        [*command, "--out", tmp_path / "out", "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list(json.loads(done.stdout)["suites"]) == ["bfcl-v4"]
    assert "bfcl is read as bfcl-v4" in done.stderr
