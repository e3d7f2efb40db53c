"""The policy: loading any causal model, making the tiny one, LoRA, and one forward pass for all uses."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from planarena.errors import ConfigError, UserError
from planarena.trainers.config import LoraConfig, ModelConfig, TinyConfig, TrainConfig
from planarena.trainers.loop.checkpoints import check_files
from planarena.trainers.loop.tokenizer import ChatTokenizer

__all__ = [
    "ADAPTER_CONFIG",
    "Policy",
    "add_lora",
    "base_path",
    "choose_device",
    "choose_threads",
    "holds_adapters",
    "load_chat",
    "load_policy",
    "load_teacher",
    "lora_model",
    "make_tiny",
    "quiet_transformers",
    "restore_weights",
    "save_model",
    "start_path",
]

# By which a folder of peft is known.
ADAPTER_CONFIG = "adapter_config.json"


class Policy:
    """A causal model with its tokenizer, on one device.

    Args:
        model: A transformers causal model, or a peft model around one.
        chat: Its tokenizer.
        bfloat16: Compute in bfloat16 (weights stay as they are).

    Attributes:
        model: The model.
        chat: The tokenizer.
        device: Where it is.
        context: Most positions it has.
        appendable: Every layer attends to all earlier tokens, so prompts can be shared and caches cut.
        lora: Whether only adapters train.
    """

    def __init__(self, model: Any, chat: ChatTokenizer, *, bfloat16: bool = False) -> None:
        self.model, self.chat, self.bfloat16 = model, chat, bfloat16
        self.device = next(model.parameters()).device
        config = model.config.get_text_config()
        self.context = int(getattr(config, "max_position_embeddings", 0) or 2**31)
        kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
        windowed = getattr(config, "sliding_window", None) and getattr(config, "use_sliding_window", True)
        listed = getattr(config, "layer_types", None) is not None
        self.appendable = kinds == {"full_attention"} and (listed or not windowed)
        self.lora = hasattr(model, "disable_adapter")
        self._boolean_masks = getattr(config, "_attn_implementation", "") == "sdpa"

    def autocast(self) -> AbstractContextManager[Any]:
        """Return the context that forward passes run in."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16) if self.bfloat16 else nullcontext()

    def without_adapter(self) -> AbstractContextManager[Any]:
        """Return a context in which a LoRA model is its frozen base; nothing for other models."""
        context: AbstractContextManager[Any] = self.model.disable_adapter() if self.lora else nullcontext()
        return context

    def forward(
        self, ids_BL: Tensor, valid_BK: Tensor, positions_BL: Tensor, *, cache: Any = None, keep: int = 0
    ) -> Tensor:
        """Return logits in float32.

        Args:
            ids_BL: (B, L) new tokens.
            valid_BK: (B, K) bool: which of all positions, cached ones first, hold a token; K - L are cached.
            positions_BL: (B, L) position ids of the new tokens.
            cache: Filled and read where given.
            keep: Last positions whose logits are wanted; 0 for all.

        Returns:
            (B, keep or L, V).
        """
        mask = self._mask(valid_BK, ids_BL.shape[1]) if self.appendable else valid_BK.long()
        with self.autocast():
            out = self.model(
                input_ids=ids_BL,
                attention_mask=mask,
                position_ids=positions_BL,
                past_key_values=cache,
                use_cache=cache is not None,
                logits_to_keep=keep,
            )
        logits: Tensor = out.logits
        return logits.float()

    def _mask(self, valid_BK: Tensor, length: int) -> Tensor:
        """Return the (B, 1, L, K) mask; a padded query sees itself, so that no row of it is empty."""
        total = valid_BK.shape[1]
        if length == 1:
            allowed = valid_BK[:, None, None, :]
        else:
            query_L1 = torch.arange(total - length, total, device=valid_BK.device)[:, None]
            key_1K = torch.arange(total, device=valid_BK.device)[None, :]
            allowed = ((key_1K <= query_L1) & valid_BK[:, None, None, :]) | (key_1K == query_L1)
        if self._boolean_masks:
            return allowed
        dtype = torch.bfloat16 if self.bfloat16 else next(self.model.parameters()).dtype
        return torch.zeros_like(allowed, dtype=dtype).masked_fill_(~allowed, torch.finfo(dtype).min)

    def trainable(self) -> list[tuple[str, nn.Parameter]]:
        """Return named parameters that train, in a fixed order."""
        return [(name, value) for name, value in self.model.named_parameters() if value.requires_grad]


def choose_device(wanted: str) -> torch.device:
    """Return the device of a configuration.

    Raises:
        ConfigError: There is no such device here.
    """
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
    except RuntimeError as error:
        raise ConfigError(
            f"there is no device {wanted!r}", where="model.device", fix="write auto, cpu, cuda or cuda:N"
        ) from error
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError("there is no such GPU here", where="model.device", fix="write auto or cpu")
    return device


def choose_threads(wanted: int) -> int:
    """Set and return the number of CPU threads: the one given, that of OMP_NUM_THREADS, or the fastest of a probe.

    On a machine that others use too, more threads can be many times slower.
    """
    if wanted > 0:
        torch.set_num_threads(wanted)
    elif not os.environ.get("OMP_NUM_THREADS"):
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        tried = sorted({1, 2, cores // 2, cores} & set(range(1, cores + 1)))
        torch.set_num_threads(min(tried, key=_probe))
    return torch.get_num_threads()


def _probe(threads: int) -> float:
    torch.set_num_threads(threads)
    left, right = torch.ones(512, 256), torch.ones(256, 1024)
    seconds = []
    for _ in range(8):
        started = time.perf_counter()
        for _ in range(4):
            torch.softmax(left @ right, -1)
        seconds.append(time.perf_counter() - started)
    # A gain below a tenth is no reason to take another core.
    return sorted(seconds)[len(seconds) // 2] * (1.0 + 0.1 * (threads > 1))


def make_tiny(tiny: TinyConfig, chat: ChatTokenizer, *, seed: int, positions: int) -> Any:
    """Make a small Qwen2 model with fresh weights.

    With `copy_friendly`, v_proj is a random orthogonal Q and o_proj its transpose: attending to a token adds its
    embedding, which the tied output reads as that token. From the default start copying is hardly ever found.

    Args:
        tiny: Its size.
        chat: Its tokenizer.
        seed: Of its weights.
        positions: Positions that it has to have.
    """
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        vocab_size=len(chat.tokenizer),
        hidden_size=tiny.hidden,
        intermediate_size=tiny.intermediate,
        num_hidden_layers=tiny.layers,
        num_attention_heads=tiny.heads,
        num_key_value_heads=tiny.heads,
        max_position_embeddings=max(positions, 256),
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        pad_token_id=chat.pad,
        eos_token_id=chat.end,
        bos_token_id=None,
        attn_implementation="sdpa",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen2ForCausalLM(config)
        if tiny.copy_friendly:
            with torch.no_grad():
                for layer in model.model.layers:
                    rotation = torch.linalg.qr(torch.randn(tiny.hidden, tiny.hidden))[0]
                    layer.self_attn.v_proj.weight.copy_(rotation)
                    layer.self_attn.v_proj.bias.zero_()
                    layer.self_attn.o_proj.weight.copy_(rotation.T)
    model.generation_config.do_sample = False
    return model


def load_chat(path: str | Path) -> ChatTokenizer:
    """Load the tokenizer of a model.

    Args:
        path: As `load_policy`.

    Raises:
        UserError: No such folder, no model, or no tokenizer in it.
    """
    folder = Path(path)
    where = str(path)
    if folder.is_dir():
        names = {entry.name for entry in folder.iterdir()}
        if "config.json" not in names and ADAPTER_CONFIG not in names:
            raise UserError(
                "holds no model (config.json is missing)",
                where=where,
                fix="give a folder that transformers can load, as a checkpoint of an earlier run",
            )
        if not names & {"tokenizer.json", "tokenizer.model", "vocab.json", "tokenizer_config.json"}:
            raise UserError(
                "holds a model but no tokenizer",
                where=where,
                fix="copy tokenizer.json and tokenizer_config.json of that model into the folder",
            )
    return ChatTokenizer(_load_tokenizer(where), where)


def load_policy(path: str | Path, config: ModelConfig, device: torch.device, *, train: bool = True) -> Policy:
    """Load a model and its tokenizer from a folder (or the local cache of the hub).

    Args:
        path: What transformers loads; a folder with an adapter loads its base too.
        config: Arithmetic and adapters; `path` is not read.
        device: Where to.
        train: A LoRA checkpoint's adapters are to train on.

    Raises:
        UserError: No such folder, no model, or no tokenizer in it; a file that has other bytes than were written.
    """
    where = str(path)
    try:
        check_files(Path(where))
    except (OSError, ValueError) as error:
        raise UserError(
            f"the checkpoint cannot be loaded: {_first_line(error)}",
            where=where,
            fix="name another checkpoint of the run, or train again with --fresh",
        ) from error
    chat = load_chat(path)
    half = config.dtype == "bfloat16"
    # Under LoRA the frozen base costs memory alone, so it is kept in half precision.
    dtype = torch.bfloat16 if half and (config.lora or holds_adapters(where)) else torch.float32
    model = _load_model(where, dtype)
    if holds_adapters(where):
        from peft import PeftModel

        base = model
        model = PeftModel.from_pretrained(base, where, is_trainable=train)
    return Policy(model.to(device), chat, bfloat16=half)


def load_teacher(path: str, student: Policy, config: ModelConfig) -> Policy:
    """Load a frozen teacher that speaks the student's tokens.

    Args:
        path: As in `load_policy`.
        student: Its tokenizer must be the teacher's.
        config: Arithmetic.

    Raises:
        UserError: As `load_policy`, or the two number their tokens differently.
    """
    teacher = load_policy(path, config, student.device, train=False)
    if teacher.chat.tokenizer.get_vocab() != student.chat.tokenizer.get_vocab():
        raise ConfigError(
            f"the teacher {path} does not have the policy's tokenizer, so its probabilities are of other tokens",
            where="rollout.teacher",
            fix="take a teacher of the policy's own family",
        )
    teacher.model.requires_grad_(False)
    return teacher


def holds_adapters(path: str | Path) -> bool:
    """Say whether a folder holds adapters of peft, not a model."""
    return (Path(path) / ADAPTER_CONFIG).is_file()


def base_path(path: str | Path) -> str:
    """Return the model that a folder's adapters belong to; the path itself where it holds none."""
    if not holds_adapters(path):
        return str(path)
    import msgspec

    known = msgspec.json.decode((Path(path) / ADAPTER_CONFIG).read_bytes())
    return str(known.get("base_model_name_or_path") or path)


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keep transformers' progress bars off: a checkpoint every few steps would fill the screen."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _load_tokenizer(where: str) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(where, trust_remote_code=False)
    except Exception as error:  # transformers raises a dozen kinds
        raise UserError(
            f"its tokenizer cannot be loaded: {_first_line(error)}",
            where=where,
            fix="give a folder with a model and its tokenizer, or --model tiny",
        ) from error


def _load_model(where: str, dtype: torch.dtype) -> Any:
    from transformers import AutoModelForCausalLM

    source = base_path(where)
    try:
        with quiet_transformers():
            model, told = AutoModelForCausalLM.from_pretrained(
                source,
                dtype=dtype,
                trust_remote_code=False,
                use_safetensors=True,
                attn_implementation="sdpa",
                output_loading_info=True,
            )
    except Exception as error:  # likewise
        raise UserError(
            f"the model cannot be loaded: {_first_line(error)}",
            where=source,
            fix="give a folder with a causal language model in safetensors, or --model tiny",
        ) from error
    absent = sorted(told["missing_keys"])
    if absent:
        # transformers would go on with a warning, and every number after it would be of another model.
        raise UserError(
            f"lacks {len(absent)} of the model's weights, {absent[0]} among them, and random ones would take their place",
            where=source,
            fix="give the folder of a whole causal language model; adapters need their adapter_config.json",
        )
    return model


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def add_lora(policy: Policy, config: LoraConfig, *, seed: int) -> Policy:
    """Return the policy with fresh adapters; its own weights are frozen."""
    return Policy(lora_model(policy.model, config, seed=seed), policy.chat, bfloat16=policy.bfloat16)


def lora_model(model: Any, config: LoraConfig, *, seed: int) -> Any:
    """Return a transformers model with fresh adapters in float32, which the seed fixes; it is changed in place."""
    from peft import LoraConfig as PeftConfig
    from peft import get_peft_model

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = get_peft_model(
            model,
            PeftConfig(
                r=config.rank,
                lora_alpha=config.alpha,
                lora_dropout=config.dropout,
                target_modules=list(config.targets) or "all-linear",
                task_type="CAUSAL_LM",
            ),
        )
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    return model


def save_model(policy: Policy, folder: Path) -> None:
    """Write weights and tokenizer as transformers (and peft) load them."""
    with quiet_transformers():
        policy.model.save_pretrained(folder)
    policy.chat.tokenizer.save_pretrained(folder)


def restore_weights(policy: Policy, weights: Mapping[str, Tensor]) -> None:
    """Copy stored weights into a policy."""
    parameters = dict(policy.model.named_parameters())
    with torch.no_grad():
        for name, value in weights.items():
            parameters[name].copy_(value.to(parameters[name].device))


def start_path(config: TrainConfig) -> str:
    """Return the folder (or name) of the model that a run starts from."""
    return str(Path(config.out) / "start") if config.model.path == "tiny" else config.model.path
