"""Expert sets: disjoint ones share nothing, aligned ones say what they cover."""

from __future__ import annotations

import msgspec
import pytest

from planarena import Run
from planarena.errors import UserError
from planarena.rows import (
    Coverage,
    ExpertOptions,
    RowOptions,
    TrainingRow,
    align,
    divide,
    is_expert_task,
    load_rows,
)


@pytest.fixture(scope="module")
def rows(built_run: Run) -> list[TrainingRow]:
    return list(load_rows(built_run.path, RowOptions(splits=())))


def by(rows: list[TrainingRow], generator: str) -> list[TrainingRow]:
    return [
        msgspec.structs.replace(row, generator=generator, target=f"{generator}: {row.target}") for row in rows
    ]


def test_disjoint_sets_share_no_task_and_no_prompt(rows: list[TrainingRow]) -> None:
    for seed in range(3):
        found = divide(rows, ExpertOptions(ratio=0.3, seed=seed))
        assert not {row.prompt_id for row in found.experts} & {row.prompt_id for row in found.prompts}
        assert not {row.task_id for row in found.experts} & {row.task_id for row in found.prompts}
        assert len(found.experts) + len(found.prompts) + found.coverage.overlap == len(rows)
        assert found.coverage.prompts == len(found.prompts)


def test_a_shared_prompt_leaves_the_rl_side(rows: list[TrainingRow]) -> None:
    options = ExpertOptions(ratio=0.5)
    expert = next(row for row in rows if is_expert_task(row, options))
    other = next(row for row in rows if not is_expert_task(row, options))
    found = divide([expert, msgspec.structs.replace(other, prompt_id=expert.prompt_id)], options)
    assert (len(found.experts), found.prompts, found.coverage.overlap) == (1, [], 1)


def test_the_ratio_holds_and_sides_do_not_depend_on_others(rows: list[TrainingRow]) -> None:
    tasks = [msgspec.structs.replace(rows[0], task_id=f"task {number}") for number in range(4000)]
    for ratio in (0.0, 0.1, 0.5, 1.0):
        options = ExpertOptions(ratio=ratio)
        share = sum(is_expert_task(row, options) for row in tasks) / len(tasks)
        assert abs(share - ratio) < 0.03  # four standard errors at 4000 tasks are 0.032 at most
    options = ExpertOptions(ratio=0.4)
    alone = {row.row_id for row in rows if is_expert_task(row, options)}
    assert alone == {row.row_id for row in divide(rows, options).experts}
    larger = {row.row_id for row in divide(rows, ExpertOptions(ratio=0.6)).experts}
    assert alone <= larger
    assert alone != {row.row_id for row in divide(rows, ExpertOptions(ratio=0.4, seed=1)).experts}


def test_generators(rows: list[TrainingRow]) -> None:
    mixed = rows + by(rows, "import:r1")
    found = divide(mixed, ExpertOptions(ratio=0.4, generators=("import:r1",)))
    assert set(found.coverage.generators) == {"import:r1"}
    assert found.coverage.generators["import:r1"] == len(found.experts)
    with pytest.raises(UserError, match="no row made by nobody is left for the experts"):
        divide(rows, ExpertOptions(generators=("nobody",)))
    with pytest.raises(UserError, match=r"1\.5 is no share"):
        ExpertOptions(ratio=1.5)


def test_aligned_sets_give_each_prompt_its_own_demonstration(rows: list[TrainingRow]) -> None:
    coverage = Coverage()
    pairs = list(align(rows, by(rows, "r1"), ExpertOptions(ratio=1.0), coverage))
    assert [pair.row for pair in pairs] == rows
    for pair in pairs:
        assert pair.expert is not None
        assert pair.expert.prompt == pair.row.prompt
        assert pair.expert.generator == "r1"
    assert (coverage.covered, coverage.share) == (len(rows), 1.0)
    assert str(coverage).startswith(
        f"{len(rows)} of {len(rows)} prompts have an expert (100.0 %); {len(rows)} by r1"
    )


def test_coverage_tells_what_is_missing(rows: list[TrainingRow]) -> None:
    coverage = Coverage()
    half = by(rows[: len(rows) // 2], "r1")
    pairs = list(align(rows, half, ExpertOptions(ratio=1.0), coverage))
    assert sum(pair.expert is not None for pair in pairs) == coverage.covered
    assert len(half) <= coverage.covered < len(rows)
    small, large = (
        {pair.row.row_id for pair in align(rows, by(rows, "r1"), ExpertOptions(ratio=ratio)) if pair.expert}
        for ratio in (0.2, 0.7)
    )
    assert small < large
    with pytest.raises(UserError, match="no row is left for the experts"):
        list(align(rows, [], ExpertOptions(ratio=1.0)))


def test_negatives_are_no_experts(built_run: Run, rows: list[TrainingRow]) -> None:
    wrong = list(load_rows(built_run.path, RowOptions(kinds=("contrastive",), splits=())))
    coverage = Coverage()
    list(align(rows, rows + wrong, ExpertOptions(ratio=1.0), coverage))
    assert coverage.generators == {"offline": coverage.covered}
