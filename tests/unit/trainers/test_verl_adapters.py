"""Adapters on verl: the same first ones as locally, whatever shape the checkpoint of verl has, and clear refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from planarena.errors import ConfigError, UserError
from planarena.trainers.config import LoraConfig, ModelConfig, TinyConfig, TrainConfig, complete
from planarena.trainers.local.model import (
    Policy,
    add_lora,
    base_path,
    holds_adapters,
    load_chat,
    load_policy,
    make_tiny,
    save_model,
)
from planarena.trainers.loop.tokenizer import ChatTokenizer, train_tokenizer
from planarena.trainers.types import Needs
from planarena.trainers.verl.adapters import first_adapters, keep_adapters

PLAIN = Needs()
COMPARED = Needs(reference_policy=True)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chat = ChatTokenizer(train_tokenizer(["move file a to folder b"], 300))
    model = make_tiny(TinyConfig(hidden=32, layers=2, heads=2, intermediate=48), chat, seed=0, positions=64)
    folder = tmp_path_factory.mktemp("base")
    save_model(Policy(model, chat), folder)
    return folder


def _config(path: Path, dtype: str = "float32", lora: LoraConfig | None = None, **more: Any) -> TrainConfig:
    model = ModelConfig(path=str(path), dtype=dtype, lora=lora, device="cpu")
    return complete(TrainConfig(algorithm="grpo", engine="verl", model=model, seed=7, **more))


def _loaded(adapters: Path, base: Path, config: TrainConfig) -> Policy:
    load_chat(base).tokenizer.save_pretrained(adapters)
    return load_policy(adapters, config.model, torch.device("cpu"))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_first_adapters_are_the_local_engines(base: Path, tmp_path: Path, dtype: str) -> None:
    lora = LoraConfig(rank=4, alpha=6.0, dropout=0.1)
    config = _config(base, dtype, lora)
    folder = first_adapters(config, PLAIN, tmp_path)
    assert folder is not None
    assert holds_adapters(folder)
    assert base_path(folder) == str(base)
    own = add_lora(load_policy(base, config.model, torch.device("cpu")), lora, seed=7)
    theirs = _loaded(folder, base, config)
    wanted = {name: value for name, value in own.model.state_dict().items() if "lora_" in name}
    found = {name: value for name, value in theirs.model.state_dict().items() if "lora_" in name}
    assert len(wanted) == 28
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert torch.equal(found[name], value), name
    known = json.loads((folder / "adapter_config.json").read_text())
    assert (known["r"], known["lora_alpha"], known["lora_dropout"]) == (4, 6.0, 0.1)
    assert first_adapters(_config(base), PLAIN, tmp_path) is None


@pytest.mark.parametrize("files", [1, 2])
def test_a_checkpoint_of_verl_becomes_what_peft_loads(base: Path, tmp_path: Path, files: int) -> None:
    config = _config(base, "float32", LoraConfig(rank=2))
    first = first_adapters(config, PLAIN, tmp_path)
    assert first is not None
    policy = _loaded(first, base, config)
    with torch.no_grad():
        for name, value in policy.model.named_parameters():
            if "lora_" in name:
                value.normal_()
    whole = sorted(policy.model.state_dict().items())
    place = tmp_path / "step_1"
    place.mkdir()
    for number in range(files):
        part = {name: value.contiguous() for name, value in whole[number::files] if "lm_head" not in name}
        save_file(part, place / f"model-{number}-of-{files}.safetensors")
    (place / "model.safetensors.index.json").write_text("{}")
    (place / "config.json").write_text("{}")
    keep_adapters(place, first)
    policy.chat.tokenizer.save_pretrained(place)
    assert len(load_file(place / "adapter_model.safetensors")) == 28
    assert not (place / "config.json").exists()
    assert not list(place.glob("model*"))
    again = load_policy(place, config.model, torch.device("cpu"), train=False)
    ids = torch.arange(12)[None]
    assert torch.equal(again.model(ids).logits, policy.model(ids).logits)


def test_a_run_that_begins_with_adapters_goes_on_with_them(base: Path, tmp_path: Path) -> None:
    first = first_adapters(_config(base, "float32", LoraConfig(rank=2)), PLAIN, tmp_path)
    assert first is not None
    assert first_adapters(_config(first), PLAIN, tmp_path / "next") == first
    with pytest.raises(UserError, match="without its adapters") as caught:
        first_adapters(_config(first), COMPARED, tmp_path / "next")
    assert "merge_and_unload" in str(caught.value)


def test_verls_own_keys_of_adapters_name_ours(base: Path, tmp_path: Path) -> None:
    given = {"actor_rollout_ref": {"model": {"lora_rank": 8}}}
    with pytest.raises(ConfigError, match=r"model\.lora_rank") as caught:
        first_adapters(_config(base, verl=given), PLAIN, tmp_path)
    assert "write model.lora.rank" in str(caught.value)
