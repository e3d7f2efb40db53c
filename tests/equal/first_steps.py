"""The first three steps of every algorithm, as JSON lines, so that two checkouts can be compared.

    planarena build builtin --trajectories 60 --seed 3 --out RUN
    PYTHONPATH=CHECKOUT_A python tests/equal/first_steps.py RUN > a.jsonl
    PYTHONPATH=CHECKOUT_B python tests/equal/first_steps.py RUN > b.jsonl
    diff a.jsonl b.jsonl

A line holds the metrics of one step without its times; each run ends with the digests of its checkpoint's files, so
that weights, moments and the state of the algorithm are compared to the bit. Names after RUN choose cases.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from planarena.trainers import TrainConfig, names, train
from planarena.trainers.config import (
    CheckpointConfig,
    DataConfig,
    ExpertsConfig,
    LoraConfig,
    ModelConfig,
    RewardConfig,
    RolloutConfig,
    TinyConfig,
    UpdateConfig,
    ValidationConfig,
)

STEPS = 3
START = "start"
SIZE = TinyConfig(hidden=48, layers=1, heads=2, intermediate=64, vocabulary=600, warm_start=8)
ROLLOUT = RolloutConfig(
    batch_size=6, group_size=4, max_prompt_length=900, max_response_length=64, temperature=1.0, max_turns=4
)
UPDATE = UpdateConfig(
    updates_per_batch=2,
    mini_batch_size=2,
    expert_batch_size=4,
    learning_rate=1e-3,
    micro_batch_tokens=2500,
    schedule="cosine",
    warmup=2,
    adam_betas=(0.9, 0.999),
    sync_interval=1,
)


def cases(run: str) -> dict[str, dict[str, Any]]:
    """Return the changes of each case, by name: all algorithms, then what one of them alone would not reach."""
    data = DataConfig(path=run, template="short", plan="none", format="planarena", limit=60)
    episodes = DataConfig(
        path=run, template="short", plan="none", format="planarena", limit=60, mode="episodes"
    )
    longer = RolloutConfig(
        batch_size=3,
        group_size=3,
        max_prompt_length=700,
        max_response_length=200,
        temperature=1.0,
        max_turns=3,
        step_reward="gold",
        step_weight=0.5,
    )
    found: dict[str, dict[str, Any]] = {name: {"algorithm": name, "data": data} for name in names()}

    def add(label: str, algorithm: str, **changes: Any) -> None:
        found[label] = {"algorithm": algorithm, "data": data, **changes}

    add("grpo with an older rollout policy", "grpo", update=_with(UPDATE, sync_interval=2))
    add("grpo with a reference and entropy", "grpo", options={"kl_coef": 0.1, "entropy_coef": 0.01})
    add(
        "grpo with adapters",
        "grpo",
        model=ModelConfig(path=START, lora=LoraConfig(rank=2)),
        options={"kl_coef": 0.1},
    )
    add("grpo from a tiny model", "grpo", model=ModelConfig(tiny=SIZE))
    add("grpo in bfloat16", "grpo", model=ModelConfig(path=START, dtype="bfloat16"))
    add(
        "grpo played on tasks", "grpo", validation=ValidationConfig(every=2, rows=3, bench=run, bench_tasks=2)
    )
    add("grpo in episodes", "grpo", data=episodes, rollout=longer)
    add("gigpo in episodes", "gigpo", data=episodes, rollout=longer)
    add("luffy in episodes", "luffy", data=episodes, rollout=longer)
    add("sft in episodes", "sft", data=episodes, rollout=longer)
    add("fg-dapo with rewards per token", "fg-dapo", reward=RewardConfig(name="toolupt"))
    add(
        "chord-mu on disjoint experts",
        "chord-mu",
        data=_with(data, experts=ExpertsConfig(mode="disjoint", ratio=0.4)),
    )
    add("sft with entropy weights", "sft", options={"weight": "entropy_top"})
    add("srft on aligned experts", "srft", data=_with(data, experts=ExpertsConfig(mode="aligned", ratio=0.7)))
    add("gear with the first teacher", "gear", rollout=_with(ROLLOUT, teacher="start"))
    add("rlsd with the first teacher", "rlsd", rollout=_with(ROLLOUT, teacher="start"))
    add("dupo with a moving average", "dupo", options={"clip_average": "moving"})
    add("relift with a small buffer", "relift", options={"buffer_size": 2})
    add("sasr after its warm-up", "sasr", options={"warmup_steps": 1})
    add("dr-grpo on one update", "dr-grpo", update=_with(UPDATE, updates_per_batch=1, mini_batch_size=None))
    return found


def _with(value: Any, **changes: Any) -> Any:
    return type(value)(**{**{name: getattr(value, name) for name in value.__struct_fields__}, **changes})


def main(run: str, wanted: list[str]) -> None:
    """Print the lines of all cases, or of those whose names are given."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        start = _start(run, Path(folder))
        _print("start", _digests(start))
        for label, changes in cases(run).items():
            if wanted and label not in wanted:
                continue
            out = Path(folder) / label.replace(" ", "-")
            model = changes.get("model", ModelConfig(path=START))
            if model.path == START:
                changes["model"] = _with(model, path=str(start))
            config = TrainConfig(
                out=str(out),
                **{
                    "steps": STEPS,
                    "threads": 1,
                    "seed": 5,
                    "rollout": ROLLOUT,
                    "update": UPDATE,
                    "validation": ValidationConfig(every=2, rows=3),
                    "checkpoint": CheckpointConfig(every=2),
                    **changes,
                },
            )
            train(config, show=lambda *_: None)
            for raw in (out / "metrics.jsonl").read_text().splitlines():
                line = json.loads(raw)
                _print(label, {key: value for key, value in line.items() if not key.startswith("time/")})
            _print(label, _digests(out / "checkpoints" / f"step_{STEPS}"))


def _start(run: str, folder: Path) -> Path:
    """Train a model that knows a little, so that rewards differ within groups."""
    out = folder / "start"
    config = TrainConfig(
        out=str(out), algorithm="sft", steps=300, threads=1, seed=3, model=ModelConfig(tiny=SIZE),
        data=DataConfig(path=run, template="short", plan="none", format="planarena", limit=60), rollout=ROLLOUT,
        update=UpdateConfig(learning_rate=1e-2, expert_batch_size=8, schedule="cosine", warmup=20),
        validation=ValidationConfig(every=0), checkpoint=CheckpointConfig(every=0),
    )  # fmt: skip
    return Path(train(config).checkpoint)


def _digests(folder: Path) -> dict[str, Any]:
    files = {path.name: path for path in sorted(folder.iterdir()) if path.is_file()}
    found: dict[str, Any] = {
        name: hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for name, path in files.items()
        if path.suffix == ".safetensors"
    }
    state = json.loads(files["state.json"].read_text())
    # Beside the weights, whose digests stand above, a checkpoint names the folder that its model came from.
    found["state"] = {name: value for name, value in state.items() if name not in {"counters", "files"}}
    return found


def _print(label: str, values: dict[str, Any]) -> None:
    print(json.dumps({"case": label, **values}, sort_keys=True), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
