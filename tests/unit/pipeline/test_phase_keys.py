"""What makes which phase run again."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from planarena.config import BuildConfig, CompositionConfig, ContrastConfig, ModelsConfig, SplitConfig
from planarena.pipeline import phases
from planarena.pipeline.phases import phase_keys

BASE = BuildConfig(sources=("builtin:banking",))


def changed(**fields):
    before, after = phase_keys(BASE), phase_keys(msgspec.structs.replace(BASE, **fields))
    return [
        name for name in ("execute", "language", "quality") if getattr(before, name) != getattr(after, name)
    ]


@pytest.mark.parametrize(
    ("fields", "phases"),
    [
        ({"seed": 1}, ["execute", "language", "quality"]),
        ({"composition": CompositionConfig(max_actions=3)}, ["execute", "language", "quality"]),
        ({"contrast": ContrastConfig(candidates=5)}, ["language", "quality"]),
        ({"split": SplitConfig(test=0.2)}, ["quality"]),
        ({"trajectories": 9}, []),
        ({"out": "elsewhere"}, []),
    ],
)
def test_a_phase_runs_again_when_what_it_reads_changes(fields, phases):
    assert changed(**fields) == phases


def test_another_wording_runs_language_and_quality_only(monkeypatch):
    before = phase_keys(BASE)
    real = phases.wording_of

    def reworded(domain):
        found = dict(real(domain))
        name = next(iter(found))
        found[name] = msgspec.structs.replace(found[name], ask=("say it otherwise",))
        return found

    monkeypatch.setattr(phases, "wording_of", reworded)
    after = phase_keys(BASE)
    assert after.execute == before.execute
    assert after.language != before.language
    assert after.quality != before.quality


@pytest.mark.parametrize("prompt", ["build_query", "judge_similarity"])
def test_models_have_a_phase_of_their_own(monkeypatch, prompt):
    offline = phase_keys(BASE)
    assert offline.models == ""
    assert "models" not in BASE.identity()
    config = msgspec.structs.replace(BASE, models=ModelsConfig(proposers=("m",)))
    with_models = phase_keys(config)
    assert (with_models.execute, with_models.language) == (offline.execute, offline.language)
    assert with_models.models
    assert with_models.quality != offline.quality
    real = Path.read_bytes
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", lambda path: real(path) + b"#" * (path.stem == prompt))
        phases.source_digest.cache_clear()
        reworded = phase_keys(config)
    phases.source_digest.cache_clear()
    assert (reworded.execute, reworded.language) == (offline.execute, offline.language)
    assert reworded.models != with_models.models
    assert reworded.quality != with_models.quality
    assert phase_keys(BASE) == offline
