"""The study of the algorithms: its tasks leak nothing, its intervals cover, its tables say what was measured."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest

from planarena.bench import DoNothing, GoldPolicy
from planarena.errors import ConfigError, UserError
from planarena.eval.algorithms.data import (
    KINDS,
    composition_is_held_out,
    draw_tasks,
    single_requests,
    spoil,
)
from planarena.eval.algorithms.intervals import difference, mean
from planarena.eval.algorithms.plan import (
    PRESETS,
    SMOKE_ALGORITHMS,
    StudyConfig,
    full_algorithms,
    methods_of,
    units_of,
)
from planarena.eval.algorithms.setting import check_sizes, draw_sets
from planarena.eval.algorithms.signs import SIGNS, read_sign, refuse_ablation, runnable
from planarena.eval.algorithms.tables import markdown_tables, study_tables
from planarena.eval.algorithms.writing import write_tasks
from planarena.eval.arena import load_tasks, play
from planarena.rows import RowOptions
from planarena.trainers.algorithms import ablation, ablation_names

OPTIONS = RowOptions(template="short", plan="none")


def test_the_sets_share_no_request_no_state_and_no_held_out_composition() -> None:
    train = draw_tasks(300, seed=0, first_house=0)
    taken = frozenset(task.query for task in train)
    unseen = draw_tasks(100, seed=0, first_house=1000, unseen=True, without=taken)
    assert len(taken) == 300
    assert not taken & {task.query for task in unseen}
    pairs = {pair for task in train for pair in pairwise(task.kinds)}
    assert all(any(pair not in pairs for pair in pairwise(task.kinds)) for task in unseen)
    assert not any(composition_is_held_out(task.kinds) for task in train)
    # A third of the pairs of kinds is held out, give or take; each kind itself is practised.
    held = sum(composition_is_held_out((a, b)) for a in KINDS for b in KINDS)
    assert 20 <= held <= 40
    assert {kind for task in train for kind in task.kinds} == set(KINDS)


def test_every_preset_can_be_drawn_and_what_cannot_is_refused_at_once() -> None:
    for preset in PRESETS.values():
        check_sizes(msgspec.convert(preset, StudyConfig))
    singles = draw_tasks(single_requests(), seed=0, first_house=0, errands=(1,))
    assert {len(task.kinds) for task in singles} == {1}
    # Every request of one errand is drawn: there is no other, and the search for it ends.
    with pytest.raises(UserError, match="of 1 tasks only 0 can be drawn"):
        draw_tasks(1, seed=1, first_house=0, errands=(1,), without=frozenset(task.query for task in singles))
    for changes in ({"pool": 900}, {"demonstrations": 6000}, {"test": 10**12}):
        with pytest.raises(UserError, match="want .* requests of one errand, and there are 1090"):
            draw_sets(StudyConfig(**changes))


def test_gold_reaches_every_goal_and_faults_do_not(tmp_path: Path) -> None:
    tasks = draw_tasks(80, seed=1, first_house=0)
    write_tasks(tmp_path / "gold", tasks, seed=1, split="test")
    loaded = load_tasks(tmp_path / "gold", OPTIONS)
    assert [task.actions for task in loaded] == [task.actions for task in tasks]
    assert all(one.success for one in play(GoldPolicy(loaded), loaded))
    assert not any(one.success for one in play(DoNothing(), loaded))
    rng = Random(0)
    spoiled = [spoil(task, rng) for task in tasks]
    write_tasks(
        tmp_path / "faulty",
        tasks,
        seed=1,
        split="test",
        said=lambda number, one: one.with_calls(spoiled[number]),
    )
    faulty = load_tasks(tmp_path / "faulty", OPTIONS)
    for task, one, said in zip(tasks, play(GoldPolicy(faulty), faulty), spoiled, strict=True):
        assert one.success == (said == task.groups)
        assert (said == task.groups) == (task.actions == 1)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for trial in range(60):
        ability = rng.uniform(0.2, 0.8, 150)
        left = (rng.random((3, 150)) < np.clip(ability + 0.1, 0, 1)).astype(float).tolist()
        right = (rng.random((3, 150)) < ability).astype(float).tolist()
        found = difference(left, right, seed=trial)
        covered += found.low <= 0.1 <= found.high
    # 95 % of 60 are 57; three seeds are few, so the bootstrap is a little wide or narrow.
    assert 51 <= covered <= 60
    same = difference(left, left)
    assert same.value == 0.0
    assert same.sign == 0
    assert difference([[1.0] * 50], [[0.0] * 50]).sign == 1
    assert mean([[0.0] * 50, [1.0] * 50]).low < 0.1


def test_more_seeds_that_disagree_widen_an_interval() -> None:
    steady = [[1.0, 0.0] * 50] * 3
    torn = [[1.0] * 100, [0.0] * 100, [1.0, 0.0] * 50]
    base = [[0.0] * 100]
    a, b = difference(steady, base), difference(torn, base)
    assert a.value == pytest.approx(b.value)
    assert b.high - b.low > 2 * (a.high - a.low)
    with pytest.raises(ValueError, match="same tasks"):
        difference([[1.0]], [[1.0, 0.0]])


def test_the_smoke_study_is_the_one_that_was_promised() -> None:
    config = StudyConfig(out="x")
    assert config.algorithms == SMOKE_ALGORITHMS
    assert 2 * config.test >= 500
    assert config.seeds == 3
    assert config.updates >= 2
    units = units_of(config)
    # Starts of gold, scarce and repair, the able model that the last of them comes from, the ceiling.
    assert len({unit.name for unit in units}) == len(units) == 3 + 1 + 1 + 3 * 3 * 8
    assert {"grpo", "dupo", "awpo", "toolupt", "chord-phi", "gear", "sft-steps", "sft-compute"} == set(
        methods_of(config)
    )
    assert set(full_algorithms()) >= {"grpo", "dupo", "luffy", "srft", "relift", "uft", "gigpo", "opsd"}
    assert not {"sft", "dpo"} & set(full_algorithms())
    with pytest.raises(ConfigError, match="no algorithm"):
        methods_of(StudyConfig(out="x", algorithms=("grop",)))


def test_every_ablation_has_signs_of_its_own_variants() -> None:
    assert set(SIGNS) == set(ablation_names())
    for name, signs in SIGNS.items():
        labels = {variant.label for variant in ablation(name).variants}
        assert len(labels) == len(ablation(name).variants)
        for sign in signs:
            assert {sign.better, sign.worse} <= labels, name
    for name in set(ablation_names()) - set(runnable()):
        with pytest.raises(UserError, match="cannot be run"):
            refuse_ablation(name)
    assert [read_sign(sign) for sign in (1, 0, -1)] == ["seen", "cannot be told", "not seen: the opposite"]


def test_words_from_outside_cannot_leave_a_cell() -> None:
    scores = {
        "regimes": {},
        "findings": [
            {
                "claim": "a | b\n| c",
                "value": 0.1,
                "low": 0.0,
                "high": 0.2,
                "verdict": "seen",
                "unit": "success",
            }
        ],
    }
    line = next(line for line in markdown_tables(study_tables(scores)).splitlines() if "+10.0" in line)
    assert line == "| a \\| b \\| c | +10.0 (+0.0 to +20.0) | seen |"


@pytest.mark.parametrize(
    ("value", "low", "high", "least", "verdict"),
    [
        (0.08, 0.02, 0.14, 0.05, "seen"),
        (0.04, 0.02, 0.06, 0.05, "cannot be told"),
        (0.03, 0.01, 0.045, 0.05, "not seen"),
        (0.08, -0.01, 0.17, 0.05, "cannot be told"),
        (0.01, 0.001, 0.02, 0.0, "seen"),
        (-0.02, -0.03, -0.01, 0.0, "not seen"),
    ],
)
def test_an_expectation_is_seen_only_where_the_interval_carries_it(
    value: float, low: float, high: float, least: float, verdict: str
) -> None:
    from planarena.eval.algorithms.results import _finding

    assert _finding("x", {"value": value, "low": low, "high": high}, least)["verdict"] == verdict
