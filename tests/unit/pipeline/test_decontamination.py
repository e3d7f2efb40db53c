"""Benchmarks that a build is held against: their tools are on no offer, what resembles their queries is discarded."""

from __future__ import annotations

import json

import msgspec
import pytest

import planarena
from planarena.config import BuildConfig, ExecutionConfig
from planarena.environments import operations
from planarena.environments.domains import load_domain
from planarena.errors import SourceError
from planarena.pipeline.phases import phase_keys

CONFIG = BuildConfig(
    sources=("builtin:banking",),
    trajectories=40,
    chunk_scenarios=2,
    execution=ExecutionConfig(workers=1),
)


def queries(run):
    return [turn for turns in run.table("queries").collect()["turns"] for turn in json.loads(turns)]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    out = tmp_path_factory.mktemp("plain") / "run"
    return planarena.build(msgspec.structs.replace(CONFIG, out=str(out)))


def test_a_benchmarks_tool_and_query_stay_out_and_the_card_says_so(plain, tmp_path):
    tools = list(operations(load_domain("banking")).values())
    refused, namesake = tools[0].tool, tools[1].tool
    copied = max(queries(plain), key=len)
    rows = {
        "question": [[{"role": "user", "content": copied}]],
        "function": [
            {"name": refused.name, "parameters": {"type": "object", "properties": refused.parameters}},
            {"name": namesake.name, "parameters": {"type": "object", "properties": {"other": {}}}},
        ],
    }
    (tmp_path / "bfcl.json").write_text(json.dumps(rows))
    run = planarena.build(
        msgspec.structs.replace(
            CONFIG, out=str(tmp_path / "run"), contamination={"bfcl": str(tmp_path / "bfcl.json")}
        )
    )
    found = run.table("tools").collect()
    assert refused.tool_id not in found["tool_id"].to_list()
    offered = {tool for ids in run.table("scenarios").collect()["tool_ids"] for tool in json.loads(ids)}
    assert refused.tool_id not in offered
    marks = dict(zip(found["tool_id"], found["contamination"], strict=True))
    assert json.loads(marks[namesake.tool_id]) == ["name:bfcl"]
    assert copied not in queries(run)
    card = (run.path / "README.md").read_text()
    assert "held against 2 tools, which are on no offer, and 1 texts" in card
    assert "name:bfcl" in card
    assert run.info["counts"]["gold"] == 40


def test_a_query_with_eight_words_of_a_benchmark_is_discarded_with_its_reason(plain, tmp_path):
    # Every query that is long enough is given away, so that whatever is built again meets itself.
    lines = [json.dumps({"question": query}) for query in queries(plain)]
    (tmp_path / "bench.jsonl").write_text("\n".join(lines))
    config = msgspec.structs.replace(
        CONFIG, out=str(tmp_path / "run"), contamination={"bench": str(tmp_path / "bench.jsonl")}
    )
    run = planarena.build(config)
    reasons = run.info["counts"]["discard"]
    struck = {reason: n for reason, n in reasons.items() if reason.startswith("contamination:")}
    assert sum(struck.values()) >= 30
    assert set(struck) <= {f"contamination:{kind}:bench" for kind in ("ngram", "minhash", "same")}
    assert not set(queries(run)) & set(queries(plain))
    assert f"{sum(struck.values())} queries discarded" in (run.path / "README.md").read_text()


def test_other_data_of_a_benchmark_is_other_work(tmp_path):
    file = tmp_path / "b.json"
    config = msgspec.structs.replace(CONFIG, contamination={"b": str(file)})
    keys = []
    for text in ("one question", "another question"):
        file.write_text(json.dumps({"question": text}))
        from planarena.pipeline.execute import decontamination

        decontamination._read.cache_clear()
        keys.append(phase_keys(config).execute)
    assert len({*keys, phase_keys(CONFIG).execute}) == 3


def test_a_path_without_data_is_said(tmp_path):
    config = msgspec.structs.replace(CONFIG, out=str(tmp_path / "r"), contamination={"x": str(tmp_path)})
    with pytest.raises(SourceError, match="holds no tools and no queries"):
        planarena.build(config)
