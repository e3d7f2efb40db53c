"""A model trained here goes through every suite; folders that hold no usable model are one clear error each."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))
from eval_samples import api_bank, mmlu_pro, problems

from planarena import Run, managed
from planarena.cli import main
from planarena.environments import sandbox
from planarena.errors import EnvironmentUnavailableError
from planarena.trainers import TrainConfig, train
from planarena.trainers.config import (
    DataConfig,
    ModelConfig,
    RolloutConfig,
    TinyConfig,
    UpdateConfig,
    ValidationConfig,
)

SUITES = ("bfcl-v3", "bfcl-v4", "api-bank", "mmlu-pro", "math", "planarena")


@pytest.fixture(scope="module")
def trained(built_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training run of a microscopic model with room for a benchmark's prompt."""
    config = TrainConfig(
        out=str(tmp_path_factory.mktemp("tiny") / "run"),
        algorithm="sft",
        steps=4,
        threads=1,
        data=DataConfig(path=str(built_run.path), limit=16),
        model=ModelConfig(tiny=TinyConfig(hidden=16, layers=1, heads=2, intermediate=16, vocabulary=500)),
        rollout=RolloutConfig(max_prompt_length=4000, max_response_length=64),
        update=UpdateConfig(updates_per_batch=1, expert_batch_size=4, learning_rate=1e-2),
        validation=ValidationConfig(every=0),
    )
    train(config)
    return Path(config.out)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("questions")
    return [
        f"--data=api-bank={api_bank(folder / 'api')}",
        f"--data=mmlu-pro={mmlu_pro(folder / 'mmlu')}",
        f"--data=math={problems(folder / 'math.jsonl')}",
    ]


def offline_suites() -> tuple[str, ...]:
    """All suites, without BFCL where its workers cannot be had."""
    try:
        if sandbox.missing() is None:
            managed.environment("bfcl", progress=lambda *_: None)
            return SUITES
    except EnvironmentUnavailableError:
        pass
    return SUITES[2:]


def test_a_tiny_model_goes_through_all_suites(
    trained: Path, data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suites = offline_suites()
    words = ["eval", *suites, "--model", str(trained), "--limit", "1", "--max-tokens", "24", *data, "--json"]
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert set(printed["suites"]) == set(suites)
    settings = printed["generation"]["settings"]
    # As it was trained: its run's configuration says so.
    assert (settings["format"], settings["template"], settings["plan"]) == ("planarena", "short", False)
    assert settings["model"].startswith("folder:")
    taken = printed["generation"]["suites"]
    assert all(suite["outputs"] and suite["replies"] for suite in taken.values())
    assert taken["mmlu-pro"]["completion_tokens"] > 0
    rows = [json.loads(line) for line in (tmp_path / "run" / "responses.jsonl").read_text().splitlines()]
    assert {row["suite"] for row in rows} == set(suites)
    assert all("response" in row for row in rows)
    # Another run of the same model says the same, and asks nothing that is there already.
    before = (
        (tmp_path / "run" / "responses.jsonl").read_bytes(),
        (tmp_path / "run" / "scores.json").read_bytes(),
    )
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    assert before == (
        (tmp_path / "run" / "responses.jsonl").read_bytes(),
        (tmp_path / "run" / "scores.json").read_bytes(),
    )


def test_samples_differ_and_are_drawn_by_seed(trained: Path, data: list[str], tmp_path: Path) -> None:
    def texts(name: str, *more: str) -> list[str]:
        words = ["eval", "math", "--model", str(trained), "--samples", "3", "--max-tokens", "8", *data]
        assert main([*words, "--out", str(tmp_path / name), *more]) == 0
        lines = (tmp_path / name / "responses.jsonl").read_text().splitlines()
        return [json.loads(line)["response"] for line in lines]

    first = texts("a")
    assert len(first) == 9
    assert len(set(first)) > 3  # three samples of one problem at temperature 1 are hardly ever equal
    # The batch has another size, the draws are the same: a row's seed is its item's, sample's and turn's.
    assert texts("b", "--set", "generation.rows=2") == first
    assert texts("c", "--set", "seed=1") != first


def copy_without(source: Path, target: Path, *names: str) -> Path:
    shutil.copytree(source / "checkpoints" / "step_4", target)
    for name in names:
        (target / name).unlink(missing_ok=True)
    return target


def test_folders_that_cannot_be_asked(
    trained: Path, data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Without its digests it is a folder of others.
    bare = copy_without(trained, tmp_path / "bare", "chat_template.jinja", "state.json", "start.json")
    settings = json.loads((bare / "tokenizer_config.json").read_text())
    settings.pop("chat_template", None)
    (bare / "tokenizer_config.json").write_text(json.dumps(settings))
    empty = tmp_path / "empty"
    empty.mkdir()
    cases = [
        ([str(bare)], "the model has no chat template"),
        ([str(tmp_path / "nowhere")], "there is no such folder"),
        ([str(empty)], "holds no model"),
        ([str(trained), "--format", "native"], "chat template does not state tools"),
        ([str(trained), "--format", "hermess"], "there is no format 'hermess'"),
        ([str(trained), "--set", "generation.top_p=0.9"], "draws from the whole distribution"),
        ([str(trained), "--set", "generation.engine=vllm"], "vLLM is not installed"),
        ([str(trained), "--set", "generation.device=cuda:7"], "there is no such GPU"),
        ([str(trained), "--set", "generation.temperature=warm"], "is no temperature"),
    ]
    for words, said in cases:
        code = main(["eval", "math", "--out", str(tmp_path / "run"), *data, "--model", *words])
        error = capsys.readouterr().err
        assert code == 2, error
        assert said in error
        assert "fix:" in error
    words = ["eval", "math", "--out", str(tmp_path / "run"), *data, "--model", str(bare), "--limit", "1"]
    template = tmp_path / "chat.jinja"
    template.write_text("{% for message in messages %}{{ message['content'] }}\n{% endfor %}")
    assert main([*words, "--set", f"generation.chat_template={template}", "--max-tokens", "4"]) == 0


def test_a_folder_of_another_model_is_not_gone_on_with(
    trained: Path, data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["eval", "math", "--out", str(tmp_path / "run"), *data, "--max-tokens", "4", "--limit", "1"]
    assert main([*words, "--model", str(trained)]) == 0
    before = (tmp_path / "run" / "responses.jsonl").read_bytes()
    for more in (["--samples", "2"], ["--format", "hermes"]):
        assert main([*words, "--model", str(trained), *more]) == 2
        assert "generated with another" in capsys.readouterr().err
    assert (tmp_path / "run" / "responses.jsonl").read_bytes() == before
    assert main([*words, "--model", str(trained), "--format", "hermes", "--fresh"]) == 0
    scored = tmp_path / "scored"
    outputs = tmp_path / "outputs.jsonl"
    outputs.write_text('{"id": "sum-0", "response": "\\\\boxed{0}"}')
    assert main(["eval", "math", "--out", str(scored), *data, "--responses", str(outputs)]) == 0
    capsys.readouterr()
    words[3] = str(scored)
    assert main([*words, "--model", str(trained)]) == 2
    assert "nothing says that a model wrote them" in capsys.readouterr().err


_TOOL_TEMPLATE = """{%- for tool in tools or [] -%}{{ tool['function']['name'] }} {% endfor -%}
{%- for message in messages -%}
<|{{ message['role'] }}|>{{ message['content'] }}
{%- for call in message['tool_calls'] or [] -%}{{ call['function'] | tojson }}{%- endfor -%}<|end|>
{%- endfor -%}<|assistant|>"""


def test_a_template_that_states_tools_calls_natively(
    trained: Path, data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from planarena.bench import Asked
    from planarena.eval.models.local import encode
    from planarena.trainers.config import ModelConfig as Arithmetic
    from planarena.trainers.local.model import choose_device, load_policy

    template = tmp_path / "chat.jinja"
    template.write_text(_TOOL_TEMPLATE)
    step = trained / "checkpoints" / "step_4"
    bare = tmp_path / "bare"
    shutil.copytree(step, bare)  # outside of its run: nothing says how it was trained
    words = ["eval", "api-bank", "math", "--model", str(bare), "--max-tokens", "8", "--limit", "1", *data]
    words += ["--set", f"generation.chat_template={template}", "--json"]
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    assert json.loads(capsys.readouterr().out)["generation"]["settings"]["format"] == "native"

    chat = load_policy(step, Arithmetic(path=str(step)), choose_device("cpu"), train=False).chat
    chat.tokenizer.chat_template = _TOOL_TEMPLATE
    call = {"id": "c", "type": "function", "function": {"name": "find", "arguments": '{"q": "cat"}'}}
    dialogue = (
        {"role": "user", "content": "Find."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "two"},
    )
    tool = {"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}
    ids = encode(chat, Asked(id="a", messages=dialogue, tools=(tool,)), "native")
    text = chat.tokenizer.decode(ids)
    assert text.startswith("find <|user|>Find.<|end|>")
    # Arguments are an object to the template: as text it would quote them a second time.
    assert '"arguments": {"q": "cat"}' in text
    assert text.endswith("<|tool|>two<|end|><|assistant|>")


# What vLLM's documentation says of `LLM.generate`: token prompts in, one set of parameters for each, ids out. The
# library itself needs a GPU and is not among the development packages; this stands in its place and decodes for real.
_VLLM = """
from types import SimpleNamespace
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

class SamplingParams:
    def __init__(self, *, temperature, top_p, max_tokens, seed, stop_token_ids):
        assert 0 <= seed < 2**63 and temperature == 0.0 and top_p == 1.0
        self.most, self.stop = max_tokens, stop_token_ids

class LLM:
    def __init__(self, *, model, dtype, trust_remote_code, seed):
        assert not trust_remote_code
        self.model = AutoModelForCausalLM.from_pretrained(model)
        self.tokenizer = AutoTokenizer.from_pretrained(model)
        length = self.model.config.max_position_embeddings
        self.llm_engine = SimpleNamespace(model_config=SimpleNamespace(max_model_len=length))

    def get_tokenizer(self):
        return self.tokenizer

    def generate(self, prompts, sampling_params, use_tqdm):
        found = []
        for prompt, one in zip(prompts, sampling_params, strict=True):
            ids, reason = torch.tensor([prompt["prompt_token_ids"]]), "length"
            made = []
            while len(made) < one.most:
                made.append(int(self.model(ids).logits[0, -1].argmax()))
                ids = torch.cat([ids, torch.tensor([[made[-1]]])], dim=1)
                if made[-1] in one.stop:
                    reason = "stop"
                    break
            found.append(SimpleNamespace(outputs=[SimpleNamespace(token_ids=made, finish_reason=reason)]))
        return found
"""


def test_the_engine_vllm_gives_what_transformers_gives(
    trained: Path, data: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vllm.py").write_text(_VLLM)
    monkeypatch.syspath_prepend(str(tmp_path))
    rows = {}
    for engine in ("transformers", "vllm"):
        words = ["eval", "math", "mmlu-pro", "--model", str(trained), "--max-tokens", "6", *data]
        words += ["--set", f"generation.engine={engine}", "--limit", "1", "--out", str(tmp_path / engine)]
        assert main(words) == 0
        rows[engine] = (tmp_path / engine / "responses.jsonl").read_bytes()
    sys.modules.pop("vllm", None)
    assert rows["vllm"] == rows["transformers"] != b""
