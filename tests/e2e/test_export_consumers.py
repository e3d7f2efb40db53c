"""Exports opened by those who read them: datasets, TRL's data preparation, verl's dataset classes."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest

from planarena import Run
from planarena.export import ExportOptions, export
from planarena.rows import RowOptions, load_episodes, load_pairs, load_rows
from planarena.rows.importers import import_traces

# What TRL, verl and transformers warn of while they are imported is theirs to mend.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

# Any role, content or calls; every message stands for itself, so that messages encoded one by one add up.
TEMPLATE = (
    "{% if tools %}<|im_start|>tools\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] or '' }}"
    "{% for c in m.get('tool_calls') or [] %}{{ c | tojson }}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Bytes as tokens, and two marks: every text comes back as it was."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {mark: number for number, mark in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    for mark in ("<|im_start|>", "<|im_end|>"):
        vocabulary[mark] = len(vocabulary)
    raw = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    raw.decoder = decoders.ByteLevel()
    raw.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    return PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="<|im_end|>", pad_token="<|im_end|>", chat_template=TEMPLATE
    )


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> Any:
    from transformers import Qwen2Config, Qwen2ForCausalLM

    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=65536,
        )
    )


@pytest.fixture(scope="module")
def exported(built_run: Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The built run in every format."""
    root = tmp_path_factory.mktemp("exported")
    return {
        name: export(built_run, name, root / name).path for name in ("hf", "sharegpt", "preference", "verl")
    }


def trainer_options(folder: Path) -> dict[str, Any]:
    return {
        "output_dir": str(folder),
        "report_to": [],
        "use_cpu": True,
        "bf16": False,
        "max_length": None,
        "max_steps": 2,
        "per_device_train_batch_size": 1,
        "learning_rate": 1e-3,
        "save_strategy": "no",
        "disable_tqdm": True,
    }


def test_trl_prepares_fine_tuning_data_of_the_hugging_face_export(
    exported: dict[str, Path], tokenizer: Any, model: Any, tmp_path: Path, built_run: Run
) -> None:
    import datasets
    from trl import SFTConfig, SFTTrainer

    rows = datasets.load_dataset(str(exported["hf"]), split="train", cache_dir=str(tmp_path / "cache"))
    rows = rows.select(range(5)).select_columns(["messages", "tools"])
    trainer = SFTTrainer(
        model=model,
        args=SFTConfig(**trainer_options(tmp_path)),
        train_dataset=rows,
        processing_class=tokenizer,
    )
    native = RowOptions(format="native", splits=("train",))
    for prepared, episode in zip(trainer.train_dataset, load_episodes(built_run.path, native), strict=False):
        text = tokenizer.decode(prepared["input_ids"])
        for gold in episode.gold:
            for call in gold.calls:
                assert f'"name": "{call.name}"' in text
        assert text.count("<|im_start|>tool\n") == sum(len(gold.calls) for gold in episode.gold)
        # Every tool of the row, and none of another row's keys padded with null.
        listed = json.loads(text.partition("<|im_start|>tools\n")[2].partition("<|im_end|>")[0])
        assert listed == list(episode.tools)
    before = _weights(model)
    trainer.train()
    assert trainer.state.global_step == 2
    assert _weights(model) != before


def _weights(model: Any) -> bytes:
    """The embeddings, which every step moves."""
    return bytes(model.get_input_embeddings().weight.detach().numpy().tobytes())


def test_trl_prepares_fine_tuning_data_of_sharegpt(
    exported: dict[str, Path], tokenizer: Any, model: Any, tmp_path: Path
) -> None:
    import datasets
    from trl import SFTConfig, SFTTrainer

    rows = datasets.load_dataset(
        "json",
        data_files=str(exported["sharegpt"] / "train.jsonl"),
        split="train",
        cache_dir=str(tmp_path / "cache"),
    )
    assert set(rows[0]["conversations"][0]) == {"from", "value"}
    few = rows.select(range(5)).select_columns(["conversations", "tools"])
    trainer = SFTTrainer(
        model=model,
        args=SFTConfig(**trainer_options(tmp_path)),
        train_dataset=few,
        processing_class=tokenizer,
    )
    for prepared, row in zip(trainer.train_dataset, few, strict=True):
        text = tokenizer.decode(prepared["input_ids"])
        for message in row["conversations"]:
            assert f"<|im_start|>{message['from']}\n{message['value']}<|im_end|>" in text
    info = json.loads((exported["sharegpt"] / "dataset_info.json").read_text())
    assert info["planarena_train"]["columns"]["messages"] == "conversations"


def test_trl_prepares_preference_data(
    exported: dict[str, Path], tokenizer: Any, model: Any, tmp_path: Path, built_run: Run
) -> None:
    import datasets
    from trl import DPOConfig, DPOTrainer

    rows = datasets.load_dataset(
        "json",
        data_files=str(exported["preference"] / "train.jsonl"),
        split="train",
        cache_dir=str(tmp_path / "cache"),
    )
    pairs = list(load_pairs(built_run.path))
    assert len(rows) == len(pairs)
    trainer = DPOTrainer(
        model=model,
        ref_model=deepcopy(model),  # without one TRL would load it from where the model came from
        args=DPOConfig(**trainer_options(tmp_path)),
        train_dataset=rows.select(range(20)),
        processing_class=tokenizer,
    )
    for prepared, pair in zip(trainer.train_dataset, pairs, strict=False):
        # Both complete the same prompt, and hold the whole action and nothing of the prompt.
        assert tokenizer.decode(prepared["chosen_ids"]) == f"{pair.chosen}<|im_end|>\n"
        assert tokenizer.decode(prepared["rejected_ids"]) == f"{pair.rejected}<|im_end|>\n"
        assert tokenizer.decode(prepared["prompt_ids"]).endswith("<|im_end|>\n<|im_start|>assistant\n")
        assert pair.prompt[-1]["content"] in tokenizer.decode(prepared["prompt_ids"])
    before = _weights(model)
    trainer.train()
    assert trainer.state.global_step == 2
    assert _weights(model) != before


def test_verl_opens_the_reinforcement_learning_rows(
    exported: dict[str, Path], tokenizer: Any, tmp_path: Path, built_run: Run
) -> None:
    from omegaconf import OmegaConf
    from verl.utils.dataset.rl_dataset import RLHFDataset

    config = OmegaConf.create(
        {
            "cache_dir": str(tmp_path),
            "max_prompt_length": 1_000_000,
            "filter_overlong_prompts_workers": None,
            "need_tools_kwargs": False,
        }
    )
    dataset = RLHFDataset([str(exported["verl"] / "rl" / "train.parquet")], tokenizer, config)
    rows = list(load_rows(built_run.path))
    assert len(dataset) == len(rows)
    for index, row in enumerate(rows):
        item = dataset[index]
        assert item["raw_prompt"] == list(row.prompt)
        assert item["index"] == index
        extra = item["extra_info"]
        assert json.loads(extra["tools"]) == list(row.tools)
        assert extra["tool_selection"] == [tool["function"]["name"] for tool in row.tools]
        gold = json.loads(item["reward_model"]["ground_truth"])
        # Nested and list arguments come back as they are: verl sees no Arrow struct of them.
        assert [(call["name"], call["arguments"]) for call in gold["calls"]] == [
            (call.name, call.arguments) for call in row.gold.calls
        ]
        assert (extra["step"], extra["steps"], extra["target"]) == (row.step, row.steps, row.target)


def test_verls_reward_manager_scores_the_rows(
    exported: dict[str, Path], tokenizer: Any, tmp_path: Path
) -> None:
    """What verl's trainers call: the manager of its configuration with our function, on rows of its data set."""
    import asyncio

    import numpy as np
    import torch
    from omegaconf import OmegaConf
    from verl import DataProto
    from verl.experimental.reward_loop.reward_manager import get_reward_manager_cls
    from verl.trainer.ppo.reward import get_custom_reward_fn
    from verl.utils.dataset.rl_dataset import RLHFDataset

    config = OmegaConf.create(
        {
            "cache_dir": str(tmp_path),
            "max_prompt_length": 1_000_000,
            "filter_overlong_prompts_workers": None,
            "reward": {
                "custom_reward_function": {
                    "path": "pkg://planarena.trainers.rewards.for_verl",
                    "name": "compute_score",
                }
            },
        }
    )
    dataset = RLHFDataset([str(exported["verl"] / "rl" / "train.parquet")], tokenizer, config)
    right: list[float] = []
    for path in (
        "pkg://planarena.trainers.rewards.for_verl",
        str(Path(__file__).resolve().parents[2] / "trainers/rewards/for_verl.py"),
    ):
        config.reward.custom_reward_function.path = path
        score = get_custom_reward_fn(config)
        for index in range(0, len(dataset), 25):
            item = dataset[index]
            found = {}
            for name, said in (
                ("gold", item["extra_info"]["target"]),
                ("junk", "I do not know. <tool_call>{"),
            ):
                ids = tokenizer.encode(
                    said + tokenizer.eos_token, return_tensors="pt", add_special_tokens=False
                )
                data = DataProto.from_dict(
                    tensors={
                        "prompts": torch.zeros(1, 2, dtype=torch.long),
                        "responses": ids,
                        "attention_mask": torch.ones(1, 2 + ids.shape[1], dtype=torch.long),
                    },
                    non_tensors={
                        key: np.array([item[key]], dtype=object)
                        for key in ("data_source", "reward_model", "extra_info")
                    },
                )

                async def run(data: DataProto = data, score: Any = score) -> dict[str, Any]:
                    manager = get_reward_manager_cls("naive")
                    manager._class_initialized = True
                    return await manager(config, tokenizer, score).run_single(data)

                found[name] = asyncio.run(run())
            assert found["gold"]["reward_extra_info"]["acc"] == 1
            assert found["gold"]["reward_score"] > found["junk"]["reward_score"]
            assert found["junk"]["reward_extra_info"]["acc"] == 0
            right.append(found["gold"]["reward_score"])
    # By its package and by its file it is the same function.
    assert right[: len(right) // 2] == right[len(right) // 2 :]


def test_verl_opens_the_fine_tuning_rows(
    exported: dict[str, Path], tokenizer: Any, tmp_path: Path, built_run: Run
) -> None:
    from omegaconf import OmegaConf
    from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset

    config = OmegaConf.create({"max_length": 200_000, "pad_mode": "no_padding", "truncation": "error"})
    dataset = MultiTurnSFTDataset([str(exported["verl"] / "sft" / "train.parquet")], tokenizer, config)
    episodes = list(load_episodes(built_run.path))
    assert len(dataset) == len(episodes)
    for index in range(5):
        item = dataset[index]
        ids = item["input_ids"][item["loss_mask"].bool()].tolist()
        # Only the assistant's messages are learned, each to its end mark.
        assert tokenizer.decode(ids) == "".join(f"{target}<|im_end|>\n" for target in episodes[index].targets)


def hostile_schema(rng: Random, number: int, depth: int = 0) -> dict[str, Any]:
    """A schema like no other: its own keys, types, defaults and nesting."""
    kind = rng.choice(
        ["string", "integer", "number", "boolean", "array", "object"] if depth < 3 else ["string", "integer"]
    )
    schema: dict[str, Any] = {
        "type": kind,
        f"x-{number}-{rng.randrange(99)}": rng.choice([None, 1, "a", [], {}]),
    }
    if kind == "array":
        schema["items"] = hostile_schema(rng, number, depth + 1)
    if kind == "object":
        names = [f"k{number}_{i}" for i in range(rng.randint(1, 3))]
        schema["properties"] = {name: hostile_schema(rng, number, depth + 1) for name in names}
        schema["required"] = names[:1]
    if kind == "string":
        schema["enum"] = [f"\u00e9{number}", None] if rng.random() < 0.5 else [str(number)]
    if rng.random() < 0.5:
        schema["default"] = rng.choice([None, 0, 0.5, "", [], {"a": [1]}])
    return schema


def test_arrow_keeps_two_hundred_different_tools(tmp_path: Path, tokenizer: Any) -> None:
    import datasets
    from omegaconf import OmegaConf
    from verl.utils.dataset.rl_dataset import RLHFDataset

    rng = Random(7)
    tools = []
    for number in range(200):
        properties = {f"a{number}_{i}": hostile_schema(rng, number) for i in range(rng.randint(1, 4))}
        parameters: dict[str, Any] = {"type": "object", "properties": properties}
        if rng.random() < 0.5:
            parameters["additionalProperties"] = rng.random() < 0.5
        tools.append({"name": f"tool_{number}", "description": f"Number {number}.", "parameters": parameters})
    assert len({json.dumps(tool["parameters"]) for tool in tools}) == 200
    lines = []
    for start in range(200):
        offered = [tools[start], tools[(start * 7 + 3) % 200]]
        arguments = {"deep": {"list": [[1], [], [{"x": None}]], "n": start}, f"own_{start}": [start, "a"]}
        call = {"function": {"name": offered[0]["name"], "arguments": json.dumps(arguments)}}
        lines.append(
            {
                "messages": [
                    {"role": "user", "content": f"Do {start}."},
                    {"role": "assistant", "content": None, "tool_calls": [call]},
                    {"role": "tool", "content": "done"},
                    {"role": "assistant", "content": "Done."},
                ],
                "tools": [{"type": "function", "function": tool} for tool in offered],
                "split": "train",
            }
        )
    source = tmp_path / "a.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = Run.open(import_traces(source, "openai", tmp_path / "run").path)
    wanted = [line["tools"] for line in lines]

    hf = export(run, "hf", tmp_path / "hf").path
    opened = datasets.load_dataset(str(hf), split="train", cache_dir=str(tmp_path / "cache"))
    assert [json.loads(row["tools"]) for row in opened] == wanted
    for row, line in zip(opened, lines, strict=True):
        call = row["messages"][1]["tool_calls"][0]["function"]
        assert call["arguments"] == json.loads(line["messages"][1]["tool_calls"][0]["function"]["arguments"])

    sharegpt = export(run, "sharegpt", tmp_path / "sharegpt").path
    opened = datasets.load_dataset(
        "json", data_files=str(sharegpt / "train.jsonl"), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert [json.loads(row["tools"]) for row in opened] == [
        [tool["function"] for tool in pair] for pair in wanted
    ]

    verl = export(run, "verl", tmp_path / "verl").path
    config = OmegaConf.create({"cache_dir": str(tmp_path), "filter_overlong_prompts": False})
    dataset = RLHFDataset([str(verl / "rl" / "train.parquet")], tokenizer, config)
    items = (dataset[index] for index in range(len(dataset)))
    firsts = [item for item in items if item["extra_info"]["step"] == 1]
    assert [json.loads(item["extra_info"]["tools"]) for item in firsts] == wanted
    golds = [json.loads(item["reward_model"]["ground_truth"])["calls"][0]["arguments"] for item in firsts]
    assert golds == [
        json.loads(line["messages"][1]["tool_calls"][0]["function"]["arguments"]) for line in lines
    ]


def test_rows_need_a_format_that_is_text(built_run: Run, tmp_path: Path) -> None:
    from planarena.errors import UserError

    for name in ("verl", "preference"):
        with pytest.raises(UserError, match="nested calls"):
            export(built_run, name, tmp_path / name, ExportOptions(policy_format="native"))
        assert not (tmp_path / name).exists()
    other = export(
        built_run, "preference", tmp_path / "p", ExportOptions(policy_format="toolupt", plan="none")
    ).path
    line = json.loads(next((other / "train.jsonl").open()))
    assert line["format"] == "toolupt"
    assert '"params"' in line["chosen"][0]["content"] or "<answer>" in line["chosen"][0]["content"]
