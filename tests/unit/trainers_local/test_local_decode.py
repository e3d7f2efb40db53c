"""Decoding a checkpoint for evaluation: memorised decisions and episodes succeed, others fail; draws have a seed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from planarena import Run
from planarena.errors import UserError
from planarena.rows import EpisodeRow, RowOptions, TrainingRow, load_episodes, load_rows, write_rows
from planarena.trainers import DecodingConfig, TrainConfig, open_policy, train
from planarena.trainers.config import (
    CheckpointConfig,
    DataConfig,
    ModelConfig,
    RolloutConfig,
    TinyConfig,
    UpdateConfig,
    ValidationConfig,
)

OPTIONS = RowOptions(template="short", plan="none", splits=("train",))


@pytest.fixture(scope="module")
def known(built_run: Run) -> list[TrainingRow]:
    """All decisions of the two trajectories of several steps whose prompts are the shortest."""
    of: dict[str, list[TrainingRow]] = {}
    for row in load_rows(built_run.path, OPTIONS):
        of.setdefault(row.trajectory_id, []).append(row)
    several = [rows for rows in of.values() if len(rows) > 1]
    several.sort(key=lambda rows: sum(len(str(row.prompt)) for row in rows))
    return [row for rows in several[:2] for row in rows]


@pytest.fixture(scope="module")
def others(built_run: Run, known: list[TrainingRow]) -> list[TrainingRow]:
    """Decisions of other tasks, with values that the model has never seen."""
    seen = {row.trajectory_id for row in known}
    return [row for row in load_rows(built_run.path, OPTIONS) if row.trajectory_id not in seen][:6]


@pytest.fixture(scope="module")
def checkpoint(known: list[TrainingRow], tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small model that knows these decisions by heart."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("decode")
    write_rows(folder / "rows.jsonl", known)
    config = TrainConfig(
        out=str(folder / "run"),
        algorithm="sft",
        steps=150,
        threads=1,
        data=DataConfig(path=str(folder / "rows.jsonl")),
        model=ModelConfig(tiny=TinyConfig(layers=2, heads=2, intermediate=64, vocabulary=600)),
        rollout=RolloutConfig(max_prompt_length=1500, max_response_length=400),
        update=UpdateConfig(
            learning_rate=2e-3,
            expert_batch_size=len(known),
            schedule="cosine",
            warmup=10,
            weight_decay=0.0,
        ),
        validation=ValidationConfig(every=0),
        checkpoint=CheckpointConfig(every=0),
    )
    return train(config).checkpoint


@pytest.fixture(scope="module")
def episodes(built_run: Run) -> list[EpisodeRow]:
    return list(load_episodes(built_run.path, OPTIONS))


def test_memorised_decisions_succeed_and_others_do_not(
    checkpoint: str, known: list[TrainingRow], others: list[TrainingRow]
) -> None:
    policy = open_policy(checkpoint, DecodingConfig(max_response_length=400))
    found = policy.decide([*known, *others])
    assert [group[0].key for group in found] == [row.row_id for row in [*known, *others]]
    assert [group[0].text for group in found[: len(known)]] == [row.target for row in known]
    assert [group[0].success for group in found[: len(known)]] == [1.0] * len(known)
    assert sum(group[0].success for group in found[len(known) :]) < len(others)
    asked = policy.respond([row.prompt for row in known])
    assert [group[0].text for group in asked] == [row.target for row in known]


def test_an_episode_whose_steps_are_known_reaches_its_goal(
    checkpoint: str, known: list[TrainingRow], others: list[TrainingRow], episodes: list[EpisodeRow]
) -> None:
    by_id = {one.trajectory_id: one for one in episodes}
    whole = [by_id[name] for name in dict.fromkeys(row.trajectory_id for row in known)]
    strange = [by_id[name] for name in dict.fromkeys(row.trajectory_id for row in others)][:2]
    policy = open_policy(checkpoint, DecodingConfig(max_response_length=1500))
    found = policy.act([*whole, *strange])
    for group, row in zip(found, whole, strict=False):
        assert group[0].success == 1.0
        assert group[0].parts["turns"] == len(row.gold)
        assert group[0].text == "\n".join(row.targets)
    assert [group[0].success for group in found[len(whole) :]] == [0.0] * len(strange)


def test_samples_have_a_seed_and_a_prompt_too_long_is_a_failure(
    checkpoint: str, known: list[TrainingRow]
) -> None:
    hot = DecodingConfig(samples=3, temperature=1.5, seed=1, max_response_length=24)
    policy = open_policy(checkpoint, hot)
    first = policy.decide(known)
    assert [len(group) for group in first] == [3] * len(known)
    assert len({response.text for group in first for response in group}) > 4
    assert policy.decide(known) == first
    other = open_policy(
        checkpoint, DecodingConfig(samples=3, temperature=1.5, seed=2, max_response_length=24)
    )
    assert other.decide(known) != first
    lengths = sorted(len(policy.policy.chat.prompt(row.prompt)) for row in known)
    tight = open_policy(checkpoint, DecodingConfig(max_prompt_length=lengths[1], max_response_length=24))
    found = tight.decide(known)
    assert sum(group[0].fits for group in found) == sum(length <= lengths[1] for length in lengths)
    assert all(group[0].success == 0.0 and not group[0].text for group in found if not group[0].fits)


def test_no_model_and_no_environment_are_clear_errors(
    checkpoint: str, episodes: list[EpisodeRow], tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="holds no model"):
        open_policy(tmp_path)
    import msgspec

    nowhere = msgspec.structs.replace(episodes[0], environment=None)
    with pytest.raises(UserError, match="names no environment"):
        open_policy(checkpoint).act([nowhere])
