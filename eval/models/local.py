"""Models in a folder: batches through the local engine's decoding, or through vLLM where it is installed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any

from planarena import formats
from planarena.bench import Asked, Reply
from planarena.errors import UserError
from planarena.eval.config import EvalConfig
from planarena.eval.models.native_text import message_of, split_thought
from planarena.trainers.local.chat_policy import ChatPolicy
from planarena.trainers.loop.tokenizer import ChatTokenizer

__all__ = ["LocalPolicy", "digest_folder", "prepare_template"]

_MOST_TOKENS = 2048
# Tokens of a batch, prompts and replies: what keys and values of a small model on a laptop have room for.
_BATCH_TOKENS = {"cpu": 65_536, "cuda": 1_048_576}
_WHOLE = 1 << 30


class LocalPolicy(ChatPolicy):
    """A causal model with a chat template, decoded by the local engine.

    A reply depends on the dialogue, the sample and the seed, not on what shares its batch (as far as the
    arithmetic of a padded batch is that of a single row).

    Args:
        folder: The model.
        config: The evaluation; its format is decided.

    Raises:
        UserError: No model, no tokenizer, no chat template, or one that does not state tools where it has to.
    """

    parallel = 1

    def __init__(self, folder: Path, config: EvalConfig) -> None:
        from planarena.trainers.config import ModelConfig
        from planarena.trainers.local.model import choose_device, choose_threads, load_policy

        made = config.generation
        if made.top_p is not None:
            raise UserError(
                "the local engine draws from the whole distribution",
                where="generation.top_p",
                fix="leave it away, or serve the model and name it as MODEL@URL",
            )
        device = choose_device(made.device)
        if device.type == "cpu":
            choose_threads(0)
        half = made.dtype == "bfloat16" or (made.dtype == "auto" and device.type == "cuda")
        loaded = load_policy(
            folder,
            ModelConfig(path=str(folder), dtype="bfloat16" if half else "float32"),
            device,
            train=False,
        )
        if half:
            import torch

            loaded.model.to(torch.bfloat16)
        super().__init__(
            loaded,
            prepare_template(loaded.chat, folder, config),
            limit=made.max_tokens or _MOST_TOKENS,
            temperature=made.warmth(config.samples) or 0.0,
            seed=config.seed,
            room=_BATCH_TOKENS.get(device.type, _BATCH_TOKENS["cpu"]),
            name=str(config.model),
        )
        self.at_once = made.rows
        self._folder = folder

    @property
    def identity(self) -> dict[str, Any]:
        """What shapes its outputs, besides the prompts."""
        return {
            "model": digest_folder(self._folder),
            "temperature": self.temperature,
            "max_tokens": self.limit,
            "seed": self.seed if self.temperature else 0,
        }

    def encode(self, asked: Asked) -> list[int]:
        """Return the ids of a dialogue up to the reply."""
        return encode(self._policy.chat, asked, self.format)

    def read(self, ids: Sequence[int], cut: bool, prompt_tokens: int) -> Reply:
        """Return sampled ids as a reply; of the format native as an assistant message."""
        return read_ids(self._policy.chat, ids, cut, self.format, prompt_tokens)

    def silence(self, prompt_tokens: int) -> Reply:
        """Return the reply to a dialogue that the context has no room for."""
        return no_room(self.format, prompt_tokens)

    def seeds(self, asked: Sequence[Asked]) -> list[int]:
        """Return the seed of each reply's draws, by what it answers alone."""
        return [seed_of(self.seed, one) for one in asked]

    def close(self) -> None:
        """Nothing is held outside of this process."""

    def __enter__(self) -> LocalPolicy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


# --- what every engine of a folder shares --------------------------------------------------------------


def prepare_template(chat: ChatTokenizer, folder: Path, config: EvalConfig) -> str:
    """Give the tokenizer the template of the options, and return the format that prompts are written for.

    Raises:
        UserError: There is no chat template, or it does not state tools and the format is native.
    """
    made = config.generation
    if made.chat_template:
        try:
            chat.tokenizer.chat_template = Path(made.chat_template).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(
                f"the chat template cannot be read: {error}",
                where=made.chat_template,
                fix="give a text file with a Jinja template",
            ) from error
    if not chat.tokenizer.chat_template:
        raise UserError(
            "the model has no chat template, so a dialogue cannot be put to it",
            where=str(folder),
            fix="name a chat model, or give a template: --set generation.chat_template=FILE",
        )
    states = _states_tools(chat)
    if config.format == "native" and not states:
        raise UserError(
            "the model's chat template does not state tools, so it cannot call functions natively",
            where=str(folder),
            fix="choose a format whose prompt states them, such as --format hermes",
        )
    chosen = config.format or ("native" if states else "hermes")
    formats.get(chosen)
    return chosen


def _states_tools(chat: ChatTokenizer) -> bool:
    name = "a_tool_of_this_name"
    function = {"name": name, "description": "", "parameters": {"type": "object", "properties": {}}}
    try:
        text = chat.render(
            [{"role": "user", "content": "a"}], tools=[{"type": "function", "function": function}]
        )
    except UserError:
        return False
    return name in text


def encode(chat: ChatTokenizer, asked: Asked, form: str) -> list[int]:
    """Return the ids of a dialogue up to the reply."""
    if form != "native":
        return chat.prompt(asked.messages)
    return chat.prompt([_for_template(message) for message in asked.messages], asked.tools or None)


def _for_template(message: dict[str, Any]) -> dict[str, Any]:
    """Templates write arguments as JSON themselves, so they are given as objects."""
    if not message.get("tool_calls"):
        return message
    calls = []
    for call in message["tool_calls"]:
        function = call["function"]
        try:
            arguments = json.loads(function["arguments"])
        except (ValueError, RecursionError, TypeError):
            arguments = function["arguments"]
        calls.append({**call, "function": {**function, "arguments": arguments}})
    return {**message, "content": message.get("content") or "", "tool_calls": calls}


def read_ids(chat: ChatTokenizer, ids: Sequence[int], cut: bool, form: str, asked: int) -> Reply:
    """Return sampled ids as a reply."""
    if form == "native":
        # Marks of calls are special tokens in some families; only what ends the reply goes.
        kept = [one for one in ids if one not in chat.ends and one != chat.pad]
        message = message_of(str(chat.tokenizer.decode(kept, clean_up_tokenization_spaces=False)))
        text, thought = json.dumps(message, ensure_ascii=False), str(message.get("reasoning_content", ""))
    else:
        text = chat.plain(ids)
        thought = split_thought(text)[0]
    return Reply(text=text, tokens=len(ids), truncated=cut, thought=thought, prompt_tokens=asked)


def no_room(form: str, asked: int) -> Reply:
    """Return the reply to a dialogue that the model's context has no room for: it says nothing."""
    silence = json.dumps({"role": "assistant", "content": ""}) if form == "native" else ""
    return Reply(text=silence, tokens=0, truncated=True, prompt_tokens=asked)


def seed_of(seed: int, asked: Asked) -> int:
    """Return the seed of a reply's draws: by item, sample and turn, whatever else is asked."""
    words = f"{seed}:{asked.id}:{asked.sample}:{asked.turn}".encode()
    return int.from_bytes(blake2b(words, digest_size=7).digest())


def digest_folder(folder: Path) -> str:
    """Return a name of a model by its weights: all bytes of a small one, size and ends of each file of a large one."""
    digest = blake2b(digest_size=12)
    files = sorted(
        file for file in folder.iterdir() if file.suffix in (".safetensors", ".json", ".jinja", ".model")
    )
    whole = sum(file.stat().st_size for file in files) <= _WHOLE
    for file in files:
        if file.name in ("state.json", "optimiser.safetensors", "rollout.safetensors"):
            continue  # a checkpoint's, not the model's
        size = file.stat().st_size
        digest.update(f"{file.name}:{size}\n".encode())
        with file.open("rb") as stream:
            if whole or size < 1 << 20:
                while block := stream.read(1 << 20):
                    digest.update(block)
            else:
                digest.update(stream.read(1 << 20))
                stream.seek(-(1 << 20), 2)
                digest.update(stream.read())
    return f"folder:{digest.hexdigest()}"
