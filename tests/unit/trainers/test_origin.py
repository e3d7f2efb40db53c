"""A training run that is given as the model: its checkpoint, its prompts, and the settings of small models."""

from __future__ import annotations

from pathlib import Path

import pytest

from planarena.trainers.config import DataConfig, ModelConfig, TrainConfig, complete
from planarena.trainers.config.origin import grew_from_tiny


def make_training(folder: Path, start: str, *, best: str = "") -> Path:
    for step in ("step_5", "step_20"):
        (folder / "checkpoints" / step).mkdir(parents=True)
        (folder / "checkpoints" / step / "config.json").write_text("{}")
    if best:
        (folder / "checkpoints" / "best").symlink_to(best)
    data = "{format: think, template: long, plan: step, signatures: names, path: elsewhere}"
    (folder / "config.yaml").write_text(f"model: {{path: {start}}}\ndata: {data}\n")
    return folder


def completed(model: Path | str, **data: str) -> TrainConfig:
    return complete(
        TrainConfig(
            algorithm="dupo", out="o", model=ModelConfig(path=str(model)), data=DataConfig(path="d", **data)
        )
    )


@pytest.mark.parametrize(("best", "step"), [("", "step_20"), ("step_5", "step_5")])
def test_a_training_stands_for_its_best_checkpoint(tmp_path: Path, best: str, step: str) -> None:
    run = make_training(tmp_path / "run", "tiny", best=best)
    # Not `best` itself: it is another one as soon as that run goes on.
    assert completed(run).model.path == str(run / "checkpoints" / step)


def test_it_reads_the_prompts_that_it_has_learned_from(tmp_path: Path) -> None:
    run = make_training(tmp_path / "run", "tiny")
    data = completed(run).data
    assert (data.format, data.template, data.plan, data.signatures) == ("think", "long", "step", "names")
    assert data.path == "d"
    assert completed(run, format="hermes").data.format == "hermes"


def test_a_checkpoint_of_tiny_trains_as_tiny_does(tmp_path: Path) -> None:
    first = make_training(tmp_path / "first", "tiny")
    second = make_training(tmp_path / "second", str(first / "checkpoints" / "step_20"))
    large = make_training(tmp_path / "large", "Qwen/Qwen2-7B")
    rates = {name: completed(name).update.learning_rate for name in ("tiny", second, large)}
    assert rates["tiny"] == rates[second] != rates[large]


def test_runs_that_name_each_other_end(tmp_path: Path) -> None:
    one = make_training(tmp_path / "one", str(tmp_path / "two" / "checkpoints" / "step_5"))
    make_training(tmp_path / "two", str(one / "checkpoints" / "step_5"))
    assert not grew_from_tiny(one)


def test_a_name_of_a_hub_is_left_alone() -> None:
    assert completed("./Qwen/Qwen2-7B").model.path == "./Qwen/Qwen2-7B"
