"""What a build allows reaches the sources in every process, is part of its keys, and is stated in the run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest

import planarena
from planarena.config import AllowedConfig, BuildConfig, ExecutionConfig
from planarena.environments import sources
from planarena.errors import SourceError
from planarena.pipeline.execute.scenarios import domains_of
from planarena.pipeline.phases import allow_for, phase_keys

sys.path.append(str(Path(__file__).resolve().parents[2]))
from python_scaffold import SCAFFOLD


@pytest.fixture(autouse=True)
def nothing_allowed():
    yield
    sources.allow(sources.SourceOptions())


def test_python_tools_without_a_sandbox_build_and_the_card_says_so(tmp_path):
    file = tmp_path / "shed.py"
    file.write_text(SCAFFOLD.replace("@TITLE@", "Shed"))
    config = BuildConfig(
        out=str(tmp_path / "run"),
        sources=(f"python:{file}",),
        trajectories=6,
        chunk_scenarios=2,
        allowed=AllowedConfig(unsafe_no_sandbox=True),
        execution=ExecutionConfig(workers=2),
    )
    run = planarena.build(config)
    assert run.info["counts"]["gold"] > 0
    assert run.info["config"]["allowed"]["unsafe_no_sandbox"] is True
    assert "**without a sandbox**" in (run.path / "README.md").read_text()


def test_what_is_allowed_is_other_work():
    config = BuildConfig(sources=("builtin:banking",))
    other = msgspec.structs.replace(config, allowed=AllowedConfig(simulate="some/model"))
    assert phase_keys(config).execute != phase_keys(other).execute


def test_a_json_list_needs_a_model_that_plays_it(tmp_path):
    file = tmp_path / "tools.json"
    tool = {
        "name": "look_up",
        "description": "Look a word up.",
        "inputSchema": {"type": "object", "properties": {}},
    }
    file.write_text(json.dumps([tool]))
    config = BuildConfig(sources=(str(file),))
    allow_for(config)
    with pytest.raises(SourceError, match="--simulate MODEL"):
        domains_of(config.sources)
