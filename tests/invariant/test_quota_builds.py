"""Builds by quotas over many vendors: distinct tool sets, shares, and the same bytes however they are run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import planarena
from planarena.config import BuildConfig, CompositionConfig, ContrastConfig, ExecutionConfig, QuotaConfig

sys.path.append(str(Path(__file__).resolve().parents[1]))
from builds import contents, kill_when, shards

N = 110
VENDORS = 14


def description(vendor, file, resources):
    """Return an API with so many resources of five operations each."""
    paths, schemas = {}, {}
    for number in range(resources):
        noun = ("task", "ticket", "product", "project")[number % 4]
        colour = ("red", "blue", "green", "white", "black", "brown", "yellow", "purple", "orange")[number]
        name = f"{noun.title()}{vendor}y{file}x{number}"
        fields = {
            "name": {"type": "string"},
            "status": {"type": "string", "enum": ["open", "sent", "closed"]},
            "size": {"type": "integer", "minimum": 1, "maximum": 90},
        }
        schemas[name] = {
            "type": "object",
            "required": ["id"],
            "properties": {"id": {"type": "string"}, **fields},
        }
        schemas[f"New{name}"] = {"type": "object", "required": ["name"], "properties": fields}
        shown = {
            "200": {
                "description": "ok",
                "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}},
            }
        }
        listed = {
            "200": {
                "description": "ok",
                "content": {
                    "application/json": {
                        "schema": {"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}}
                    }
                },
            }
        }
        body = {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/New{name}"}}},
        }
        item = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        low = name.lower()
        paths[f"/{colour}-{noun}s"] = {
            "get": {"operationId": f"list_{low}", "responses": listed},
            "post": {"operationId": f"create_{low}", "requestBody": body, "responses": shown},
        }
        paths[f"/{colour}-{noun}s/{{id}}"] = {
            "parameters": [item],
            "get": {"operationId": f"get_{low}", "responses": shown},
            "patch": {"operationId": f"change_{low}", "requestBody": body, "responses": shown},
            "delete": {"operationId": f"remove_{low}", "responses": {"204": {"description": "gone"}}},
        }
    info = {
        "title": f"Store {vendor}",
        "version": "1",
        "x-providerName": f"vendor{vendor}.example",
        "license": {"name": "MIT"},
    }
    return {"openapi": "3.0.3", "info": info, "paths": paths, "components": {"schemas": schemas}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("descriptions")
    for vendor in range(VENDORS):
        for file in range(6 if vendor == 0 else 1):
            place = root / f"vendor{vendor}" / f"{file}.json"
            place.parent.mkdir(exist_ok=True)
            # The first vendor could fill the whole build alone.
            place.write_text(json.dumps(description(vendor, file, 9 if vendor == 0 else 3)))
    (root / "vendor3" / "broken.json").write_text(
        '{"openapi": "3.0.0", "paths": 3, "info": {"x-providerName": "bad.example"}}'
    )
    return root


def config_of(out, folder, **changes):
    fields = {
        "out": str(out),
        "sources": ("builtin:banking", f"openapi:{folder}"),
        "trajectories": N,
        "composition": CompositionConfig(tools=(3, 5), budget=25, per_scenario=24),
        "contrast": ContrastConfig(no_calls=1),
        "quotas": QuotaConfig(vendor_share=0.15),
        "execution": ExecutionConfig(workers=1, max_error_rate=0.2),
    }
    return BuildConfig(**{**fields, **changes})


@pytest.fixture(scope="module")
def reference(folder, tmp_path_factory):
    root = tmp_path_factory.mktemp("quota") / "run"
    return planarena.build(config_of(root, folder)), contents(root)


def test_every_scenario_has_a_tool_set_of_its_own_and_a_trajectory(reference):
    run, _ = reference
    scenarios = run.table("scenarios").collect()
    sets = [tuple(sorted(json.loads(ids))) for ids in scenarios["tool_ids"]]
    assert len(set(sets)) == len(sets)
    gold = run.table("tasks").collect().filter(category="call")
    assert set(gold["scenario_id"]) == set(scenarios["scenario_id"])
    assert run.info["counts"]["gold"] == N


def test_every_tool_on_offer_is_written_once(reference):
    run, _ = reference
    written = run.table("tools").collect()["tool_id"].to_list()
    assert len(set(written)) == len(written)
    offered = {tool for ids in run.table("scenarios").collect()["tool_ids"] for tool in json.loads(ids)}
    assert offered == set(written)


def test_no_vendor_dominates_and_the_card_says_whose_tools_are_called(reference):
    run, _ = reference
    counts = run.info["counts"]
    shares = counts["domain_scenarios"]
    assert len(shares) > VENDORS // 2
    # One block of 8 groups with one scenario each may go over the share.
    assert shares["vendor0.example"] <= 0.15 * counts["scenarios"] + 8
    card = (run.path / "README.md").read_text()
    assert "distinct tools are called in gold trajectories" in card
    assert "| vendor0.example |" in card
    assert {error["error"] for error in run.info["quarantined"]} <= {"SourceError"}


def test_neither_the_number_of_workers_nor_a_second_run_changes_a_byte(reference, folder, tmp_path):
    run, before = reference
    execution = ExecutionConfig(workers=2, max_error_rate=0.2)
    planarena.build(config_of(tmp_path / "run", folder, execution=execution))
    assert contents(tmp_path / "run") == before
    planarena.build(config_of(run.path, folder))
    assert contents(run.path) == before


def test_a_smaller_build_extends_to_the_larger(reference, folder, tmp_path):
    planarena.build(config_of(tmp_path / "run", folder, trajectories=31))
    extended = ExecutionConfig(workers=1, max_error_rate=0.2, extend=True)
    planarena.build(config_of(tmp_path / "run", folder, execution=extended))
    assert contents(tmp_path / "run") == reference[1]


def test_killed_at_half_time_and_resumed_it_equals_an_uninterrupted_one(reference, folder, tmp_path):
    root = tmp_path / "run"
    config = config_of(root, folder)
    half = shards(reference[0].path) // 2
    kill_when(config, lambda: shards(root) >= half)
    assert not (root / "run.json").exists()
    planarena.build(config)
    assert contents(root) == reference[1]
