"""TRL's own GRPOTrainer on a run: five steps of a random model, and scripted episodes whose rewards are ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planarena import Run
from planarena.bench import GoldPolicy, bench_options, load_tasks, play
from planarena.integrations.trl import ANSWER_TOOL, TaskSpec, ToolEnvironment, episode_reward

# What TRL and transformers warn of while they are imported and used is theirs to mend.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(scope="module")
def spec(built_run: Run) -> TaskSpec:
    return TaskSpec(built_run.path, splits=(), limit=24)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return make_tokenizer()


def make_tokenizer() -> Any:
    """Bytes as tokens, with Qwen's marks and chat template."""
    from importlib.resources import files

    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    marks = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    vocabulary = {mark: number for number, mark in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    for mark in marks:
        vocabulary[mark] = len(vocabulary)
    raw = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    raw.decoder = decoders.ByteLevel()
    raw.add_special_tokens(marks)
    template = (files("trl") / "chat_templates" / "qwen3.jinja").read_text(encoding="utf-8")
    return PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=template
    )


def tiny_model(tokenizer: Any) -> Any:
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=131072,
        )
    )


def options(folder: Path, **more: Any) -> dict[str, Any]:
    return {
        "output_dir": str(folder),
        "report_to": [],
        "use_cpu": True,
        "bf16": False,
        "per_device_train_batch_size": 4,
        "num_generations": 2,
        "learning_rate": 1e-2,
        "save_strategy": "no",
        "disable_tqdm": True,
        "logging_steps": 1,
        "beta": 0.0,
        **more,
    }


def test_grpo_trains_a_random_model_for_five_steps(spec: TaskSpec, tokenizer: Any, tmp_path: Path) -> None:
    from trl import GRPOConfig, GRPOTrainer

    model = tiny_model(tokenizer)
    before = model.get_input_embeddings().weight.detach().clone()

    def noisy(completions: list[Any], **_: Any) -> list[float]:
        return [
            float(len(str(one)) % 7) for one in completions
        ]  # a random model never succeeds: something to learn

    trainer = GRPOTrainer(
        model=model,
        args=GRPOConfig(
            **options(tmp_path, max_steps=5, max_completion_length=8, per_device_train_batch_size=2)
        ),
        train_dataset=spec.train_dataset,
        environment_factory=spec.environment_factory,
        reward_funcs=[spec.reward_funcs, noisy],
        processing_class=tokenizer,
    )
    trainer.train()
    assert trainer.state.global_step == 5
    assert not before.equal(model.get_input_embeddings().weight)
    logged = [one for one in trainer.state.log_history if "rewards/episode_reward/mean" in one]
    assert len(logged) == 5
    assert all(0.0 <= one["rewards/episode_reward/mean"] <= 1.0 for one in logged)
    assert all("planarena/goal" in one for one in logged)


def test_tools_have_schemas_that_transformers_reads(spec: TaskSpec) -> None:
    from transformers.utils import get_json_schema

    seen = 0
    for task, row in zip(spec.tasks, spec.train_dataset, strict=True):
        made = spec.environment_factory[row["environment"]]()
        for tool in task.tools:
            function = tool["function"]
            found = get_json_schema(getattr(made, function["name"]))["function"]
            wanted = function["parameters"]
            assert list(found["parameters"]["properties"]) == list(wanted["properties"])
            assert sorted(found["parameters"].get("required", [])) == sorted(wanted.get("required", []))
            assert found["description"] == " ".join(function["description"].split())
            for name, schema in wanted["properties"].items():
                given = found["parameters"]["properties"][name]
                assert given.get("type") == schema.get("type"), (function["name"], name)
                assert given.get("enum") == schema.get("enum"), (function["name"], name)
                seen += 1
        assert (ANSWER_TOOL in dir(made)) == (len(task.turns) > 1)
    assert seen > 50


def scripted(task: Any, kind: str) -> list[str]:
    """Replies as Qwen's template writes them: the gold; the gold but for its last call; no answer; an unknown tool."""
    replies: list[str] = []
    answers = iter(task.answers)
    decisions = list(task.gold)
    last = max((place for place, calls in enumerate(decisions) if calls), default=-1)
    told = 0
    for place, calls in enumerate(decisions):
        if not calls:
            told += 1
            text = next(answers)
            if told < len(task.turns):
                replies.append(_call(ANSWER_TOOL, {"message": text}))
            elif kind != "silent":
                replies.append(f"{text}<|im_end|>")
            continue
        chosen = calls[:-1] if kind == "wrong" and place == last else calls
        if chosen:
            replies.append(
                "\n".join(_call(call.name, call.arguments, end="") for call in chosen) + "<|im_end|>"
            )
    if kind == "unknown":
        replies.insert(0, _call("no_such_tool", {"a": 1}))
    return replies


def _call(name: str, arguments: dict[str, Any], end: str = "<|im_end|>") -> str:
    text = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"<tool_call>\n{text}\n</tool_call>{end}"


@pytest.mark.parametrize("kind", ["gold", "wrong", "silent", "unknown"])
def test_rewards_are_those_of_our_own_episodes(
    spec: TaskSpec, tokenizer: Any, tmp_path: Path, built_run: Run, kind: str
) -> None:
    """The trainer's whole loop runs (parsing, dispatch, results, rewards); only the sampling is a script."""
    from trl import GRPOConfig, GRPOTrainer

    scripts: dict[int, list[str]] = {}

    class Scripted(GRPOTrainer):  # type: ignore[misc]
        def _generate_single_turn(self, prompt_ids: Any, *_: Any, **__: Any) -> Any:
            found = []
            for ids in prompt_ids:
                text = tokenizer.decode(ids)
                place = max(scripts, key=lambda one: text.startswith(opening[one]) * len(opening[one]))
                number = text.count("<|im_start|>assistant") - opening[place].count("<|im_start|>assistant")
                replies = scripts[place]
                found.append(tokenizer.encode(replies[number] if number < len(replies) else "<|im_end|>"))
            return found, None

    trainer = Scripted(
        model=tiny_model(tokenizer),
        args=GRPOConfig(
            **options(tmp_path, max_steps=1, max_completion_length=100_000, per_device_train_batch_size=2)
        ),
        train_dataset=spec.train_dataset,
        environment_factory=spec.environment_factory,
        reward_funcs=spec.reward_funcs,
        processing_class=tokenizer,
    )
    opening: dict[int, str] = {}
    for place, row in enumerate(spec.train_dataset):
        made = trainer._env_tools[row["environment"]]
        ids = tokenizer.apply_chat_template(
            row["prompt"], tools=made, add_generation_prompt=True, chat_template=trainer.chat_template
        )["input_ids"]
        opening[place] = tokenizer.decode(ids)
        scripts[place] = scripted(spec.tasks[place], kind)
    trainer.model.train()
    ours = {one.task.id: one for one in _own_episodes(built_run, kind)}
    for start in range(0, len(spec.train_dataset), 4):
        rows = [spec.train_dataset[place] for place in range(start, min(start + 4, len(spec.train_dataset)))]
        prompts, completions, environments = _roll(trainer, rows)
        found = episode_reward(completions, environments)
        for row, reward, environment in zip(rows, found, environments, strict=True):
            own = ours[row["task"]]
            assert reward == float(own.success), (kind, row["task"])
            assert reward == 1.0 or kind != "gold"
            assert environment.session.goal_reached() == own.goal
            if kind != "unknown":
                made = [(name, outcome) for name, outcome in environment.session.observed]
                assert made == [(call.tool, call.outcome) for call in own.calls]
        assert prompts


def _roll(trainer: Any, rows: list[dict[str, Any]]) -> tuple[list[Any], list[Any], list[ToolEnvironment]]:
    """Let the trainer's own code play rows and return prompts, completions and environments."""
    caught: dict[str, Any] = {}
    scored = trainer._calculate_rewards

    def keep(inputs: Any, prompts: Any, completions: Any, completion_ids: Any) -> Any:
        caught.update(prompts=prompts, completions=completions)
        return scored(inputs, prompts, completions, completion_ids)

    trainer._calculate_rewards = keep
    trainer.num_generations = 1
    trainer._generate_and_score_completions(rows)
    trainer._calculate_rewards = scored
    return caught["prompts"], caught["completions"], trainer.environments


def _own_episodes(run: Run, kind: str) -> Any:
    from planarena import formats
    from planarena.bench import Recorded
    from planarena.formats import Call

    tasks = load_tasks(run.path, bench_options("native", plan="none"), splits=(), allow_empty=True)
    if kind == "gold":
        return list(play(GoldPolicy(tasks), tasks))
    form = formats.get("native")
    texts: dict[tuple[str, int], list[str]] = {}
    for task in tasks:
        golds = list(task.row.gold)
        last = max((place for place, gold in enumerate(golds) if gold.calls), default=-1)
        replies: list[str] = []
        if kind == "unknown":
            replies.append(form.render(calls=[Call("no_such_tool", {"a": 1})]))
        for place, gold in enumerate(golds):
            calls = gold.calls[:-1] if kind == "wrong" and place == last else gold.calls
            if kind == "silent" and place == len(golds) - 1:
                continue
            if calls or not gold.calls:
                replies.append(form.render(calls=calls, response=gold.response))
        texts[task.id, 0] = replies
    return list(play(Recorded(texts, "native"), tasks))
