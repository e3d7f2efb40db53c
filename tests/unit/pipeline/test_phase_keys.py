"""What makes which phase run again."""

from __future__ import annotations

import msgspec
import pytest

from planarena.config import BuildConfig, CompositionConfig, ContrastConfig, SplitConfig
from planarena.pipeline import jobs
from planarena.pipeline.jobs import phase_keys

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
    real = jobs.wording_of

    def reworded(domain):
        found = dict(real(domain))
        name = next(iter(found))
        found[name] = msgspec.structs.replace(found[name], ask=("say it otherwise",))
        return found

    monkeypatch.setattr(jobs, "wording_of", reworded)
    after = phase_keys(BASE)
    assert after.execute == before.execute
    assert after.language != before.language
    assert after.quality != before.quality
