"""API-Bank on the papers' 597 samples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planarena.eval import EvalConfig, evaluate
from planarena.eval.api_bank import match, read_samples


@pytest.fixture(scope="module")
def samples(shared: Path) -> Path:
    folder = shared / "oracles" / "bench" / "api_bank"
    if not folder.is_dir():
        pytest.skip("no API-Bank samples beside this checkout")
    return folder


def test_the_ground_truth_scores_597_of_597(samples: Path, tmp_path: Path) -> None:
    config = EvalConfig(
        suites=("api-bank",), out=str(tmp_path), responses="gold", data={"api-bank": str(samples)}
    )
    result = evaluate(config).suites["api-bank"]
    assert [(row.category, row.items, row.correct) for row in result.categories] == [
        ("level-1", 399, 399),
        ("level-2", 67, 67),
        ("level-3", 131, 131),
    ]
    assert {value.name: value.value for value in result.overall} == {"soft": 1.0, "strict": 1.0}


def test_a_change_of_any_sample_is_seen(samples: Path, tmp_path: Path) -> None:
    """Each sample with one parameter or its name changed scores 0: the comparison is of both, in every sample."""
    for level in read_samples(samples).values():
        for _, (gold,) in level:
            wrong_name = {"name": gold["name"] + "x", "parameters": gold["parameters"]}
            more = {"name": gold["name"], "parameters": gold["parameters"] | {"extra": 1}}
            for call in (wrong_name, more):
                assert match(f"<tool_call>{json.dumps(call)}</tool_call>", [gold])[0] is False


def test_overall_is_the_share_of_all_samples(samples: Path, tmp_path: Path) -> None:
    """Level 3 right and the rest silent: 131 of 597, where a mean of the levels would say a third."""
    lines = []
    for key, gold in read_samples(samples)["level-3"]:
        lines.append(json.dumps({"id": key, "response": f"<tool_call>\n{json.dumps(gold[0])}\n</tool_call>"}))
    for level in ("level-1", "level-2"):
        lines += [json.dumps({"id": key, "response": ""}) for key, _ in read_samples(samples)[level]]
    outputs = tmp_path / "outputs.jsonl"
    outputs.write_text("\n".join(lines))
    config = EvalConfig(
        suites=("api-bank",),
        out=str(tmp_path / "out"),
        responses=str(outputs),
        data={"api-bank": str(samples)},
    )
    result = evaluate(config).suites["api-bank"]
    assert result.overall[0].value == 131 / 597
