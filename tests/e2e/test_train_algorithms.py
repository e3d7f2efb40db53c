"""Every algorithm and several presets train for three steps through `planarena train`."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import pytest

from planarena import Run
from planarena.cli import main
from planarena.trainers.algorithms import names

MICRO = {
    "rollout.batch_size": 3,
    "rollout.group_size": 3,
    "rollout.max_prompt_length": 900,
    "rollout.max_response_length": 96,
    "update.updates_per_batch": 2,
    "update.expert_batch_size": 4,
    "update.learning_rate": 1e-3,
    "data.format": "planarena",
    "data.template": "short",
    "data.plan": "none",
    "data.limit": 40,
    "validation.rows": 3,
    "validation.every": 3,
    "checkpoint.every": 0,
}
# What makes each algorithm's own part happen within three steps.
OWN = {
    "sft-rl": {"options.sft_steps": 1},
    "sasr": {"options.warmup_steps": 1},
    "relift": {"options.buffer_size": 2},
    "opsd": {"rollout.group_size": 1},
    "chord-phi": {"options.weight": "entropy_norm", "update.micro_batch_tokens": 1500},
}


@pytest.fixture(scope="module")
def start(built_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A microscopic model with its tokenizer, made by `--model tiny`."""
    out = tmp_path_factory.mktemp("start") / "run"
    sizes = {"hidden": 16, "layers": 1, "heads": 2, "intermediate": 16, "vocabulary": 500}
    code = _train(
        "sft",
        built_run,
        out,
        **{f"model.tiny.{key}": value for key, value in sizes.items()},
        **{"checkpoint.every": 1},
    )
    assert code == 0
    return out / "checkpoints" / "step_3"


def _train(algorithm: str, run: Run, out: Path, *words: str, **settings: object) -> int:
    flags = [word for key, value in {**MICRO, **settings}.items() for word in ("--set", f"{key}={value}")]
    return main(
        [
            "train",
            "--algorithm",
            algorithm,
            "--data",
            str(run.path),
            "--out",
            str(out),
            "--steps",
            "3",
            *words,
            *flags,
            "--json",
        ]
    )


def _lines(out: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


PRESETS = [
    "dft",
    "dapo-star",
    "mixed-reward-grpo",
    "chord-mu-rubric",
    "cold-start",
    "sft-fg-dapo-star",
    "toolrl",
]


@pytest.mark.parametrize("algorithm", [*names(), *PRESETS])
def test_three_steps_of(
    algorithm: str, start: Path, built_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = OWN.get(algorithm, {"options.sft_steps": 1} if algorithm == "sft-fg-dapo-star" else {})
    assert _train(algorithm, built_run, tmp_path / "run", "--model", str(start), **own) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["steps"] == 3
    assert told["skipped_steps"] == 0
    lines = _lines(tmp_path / "run")
    assert [line["step"] for line in lines] == [0, 1, 2, 3]
    for line in lines[1:]:
        # Steps whose groups all are equal make no update of pure RL; everything else has a finite loss.
        assert isinstance(line["loss/total"], float)
        assert math.isfinite(line["loss/total"])
    assert Path(told["checkpoint"]).is_dir()
    assert (tmp_path / "run" / "plot.png").stat().st_size > 5_000
    phases = {line["phase"] for line in lines[1:]}
    expected = {
        "sft": {"sft"}, "dft": {"sft"}, "kto": {"preference"}, "dpo": {"preference"},
        "sft-rl": {"sft", "rl"}, "sft-fg-dapo-star": {"sft", "rl"},
        "dupo": {"both"}, "chord-mu": {"both"}, "chord-phi": {"both"}, "chord-mu-rubric": {"both"},
        "toolupt": {"both"}, "uft": {"both"},
    }  # fmt: skip
    if algorithm == "relift":
        # Nothing is solved, so demonstrations fall due after the first batch.
        assert "sft" in phases
        assert "rl" in phases
    elif algorithm == "sasr":
        assert lines[1]["phase"] == "sft"
    else:
        assert phases == expected.get(algorithm, {"rl"})


def test_tiny_makes_its_tokenizer_and_model_and_is_a_transformers_model(
    start: Path, built_run: Run, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(start)
    model = AutoModelForCausalLM.from_pretrained(start)
    ids = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Hi"}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=False,
    )
    assert model(ids).logits.shape[-1] == len(tokenizer)
    config = msgspec.yaml.decode((start.parent.parent / "config.yaml").read_bytes())
    assert config["model"]["path"] == "tiny"
    assert config["steps"] == 3
    info = json.loads((start.parent.parent / "run.json").read_text())
    assert info["status"] == "finished"
    assert {"torch", "transformers"} <= set(info["versions"])
    assert info["counts"]["experts"] > 0


@pytest.mark.parametrize("algorithm", ["gigpo", "reinforce-pp", "luffy", "grpo", "sft", "fg-dapo"])
def test_episodes_act_in_their_environments(
    algorithm: str, start: Path, built_run: Run, tmp_path: Path
) -> None:
    own = {"data.mode": "episodes", "data.limit": 12, "rollout.max_turns": 3, "rollout.step_weight": 0.5}
    own |= {"rollout.max_prompt_length": 400, "rollout.max_response_length": 400}
    assert _train(algorithm, built_run, tmp_path / "run", "--model", str(start), **own) == 0
    lines = _lines(tmp_path / "run")
    if algorithm != "sft":
        assert {"reward/goal", "reward/turns", "reward/answered"} <= set(lines[1])


def test_a_policy_draws_near_to_a_teacher_that_is_another_model(
    start: Path, built_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _train("sft", built_run, tmp_path / "teacher", "--model", str(start), "--steps", "40") == 0
    teacher = tmp_path / "teacher" / "checkpoints" / "step_40"
    assert _train(
        "opd", built_run, tmp_path / "run", "--model", str(start), "--steps", "30",
        **{"rollout.teacher": teacher, "update.updates_per_batch": 1, "rollout.batch_size": 6,
           "update.learning_rate": 5e-3, "options.limit": 20.0, "validation.every": 0},
    ) == 0  # fmt: skip
    apart = [float(str(line["policy/kl_to_teacher"])) for line in _lines(tmp_path / "run")[1:]]
    assert sum(apart[-5:]) < 0.7 * sum(apart[:5]), apart
    capsys.readouterr()
    assert (
        _train("opd", built_run, tmp_path / "none", "--model", str(start), **{"rollout.teacher": "strat"})
        == 2
    )
    assert "strat" in capsys.readouterr().err


def test_a_teacher_of_other_tokens_is_refused(
    start: Path, built_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = {"hidden": 16, "layers": 1, "heads": 2, "intermediate": 16, "vocabulary": 600}
    other = {f"model.tiny.{key}": value for key, value in sizes.items()} | {"checkpoint.every": 1}
    assert _train("sft", built_run, tmp_path / "teacher", **other) == 0
    capsys.readouterr()
    teacher = tmp_path / "teacher" / "checkpoints" / "step_3"
    assert (
        _train("opd", built_run, tmp_path / "run", "--model", str(start), **{"rollout.teacher": teacher}) == 2
    )
    told = capsys.readouterr().err
    assert "tokenizer" in told
    assert "rollout.teacher" in told


@pytest.mark.parametrize("correction", ["truncate", "mask"])
def test_rollouts_of_another_arithmetic_are_weighed(
    correction: str, start: Path, built_run: Run, tmp_path: Path
) -> None:
    own = {
        "model.dtype": "bfloat16",
        "rollout.correction": correction,
        "rollout.correction_level": "sequence",
    }
    assert _train("grpo", built_run, tmp_path / "run", "--model", str(start), **own) == 0
    line = _lines(tmp_path / "run")[1]
    # Half precision rounds the sampler's probabilities a little, not away.
    assert 0.8 < float(str(line["correction/mean_weight"])) < 1.25
    assert abs(float(str(line["correction/kl_to_sampler"]))) < 0.05


def test_the_list_names_every_algorithm(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--list", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    listed = {entry["name"] for entry in entries}
    assert set(names()) <= listed
    assert {"needs", "options", "paper", "title", "preset_of"} <= set(entries[0])
    assert main(["train", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed[:-1]] == [entry["name"] for entry in entries]
    assert max(map(len, listed)) <= 100, "a line fits a terminal"
    assert main(["train", "--list", "gear"]) == 0
    assert capsys.readouterr().out.startswith("gear: GEAR (reconstruction)")
    assert main(["train", "--list", "gaer"]) == 2
    assert "did you mean gear?" in capsys.readouterr().err
    assert main(["train", "dupo"]) == 2
    assert "--algorithm dupo" in capsys.readouterr().err
