"""Models in a folder through vLLM, which batches by itself; imported when it is asked for and installed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

from planarena.bench import Asked, Reply
from planarena.errors import UserError
from planarena.eval.config import EvalConfig
from planarena.eval.models.local import (
    digest_folder,
    encode,
    no_room,
    prepare_template,
    read_ids,
    seed_of,
)
from planarena.trainers.loop.tokenizer import ChatTokenizer

__all__ = ["VllmPolicy", "vllm_installed"]

_MOST_TOKENS = 2048


def vllm_installed() -> bool:
    """Say whether vLLM can be imported."""
    return find_spec("vllm") is not None


class VllmPolicy:
    """A causal model with a chat template, decoded by vLLM.

    Args:
        folder: The model.
        config: The evaluation; its format is decided.

    Raises:
        UserError: vLLM is not installed or cannot load the model; otherwise as `LocalPolicy`.
    """

    parallel = 1

    def __init__(self, folder: Path, config: EvalConfig) -> None:
        made = config.generation
        if not vllm_installed():
            raise UserError(
                "vLLM is not installed",
                where="generation.engine",
                fix="install it beside planarena (pip install vllm), or write --set generation.engine=transformers",
            )
        vllm = import_module("vllm")
        dtype = "auto" if made.dtype == "auto" else made.dtype
        try:
            self._engine = vllm.LLM(model=str(folder), dtype=dtype, trust_remote_code=False, seed=config.seed)
        except Exception as error:  # vLLM raises whatever its parts raise
            raise UserError(
                f"vLLM cannot load the model: {(str(error).strip() or type(error).__name__).splitlines()[0][:300]}",
                where=str(folder),
                fix="write --set generation.engine=transformers, or name another model",
            ) from error
        self._parameters = vllm.SamplingParams
        self._chat = ChatTokenizer(self._engine.get_tokenizer(), str(folder))
        # Newer versions have it on the engine itself.
        settings = getattr(self._engine, "model_config", None) or self._engine.llm_engine.model_config
        self._context = int(settings.max_model_len)
        self.format = prepare_template(self._chat, folder, config)
        self.name = str(config.model)
        self.at_once = max(made.rows, 256)
        self._folder, self._made, self._seed = folder, made, config.seed
        self._temperature = made.warmth(config.samples) or 0.0

    @property
    def identity(self) -> dict[str, Any]:
        """What shapes its outputs, besides the prompts."""
        return {
            "model": digest_folder(self._folder),
            "engine": "vllm",
            "temperature": self._temperature,
            "top_p": self._made.top_p,
            "max_tokens": self._made.max_tokens or _MOST_TOKENS,
            "seed": self._seed if self._temperature else 0,
        }

    def reply(self, asked: Sequence[Asked]) -> list[Reply]:
        """Answer dialogues; see `Policy.reply`."""
        prompts = [encode(self._chat, one, self.format) for one in asked]
        found = [no_room(self.format, len(ids)) for ids in prompts]
        fitting = [place for place, ids in enumerate(prompts) if len(ids) < self._context]
        parameters = [
            self._parameters(
                temperature=self._temperature,
                top_p=self._made.top_p or 1.0,
                max_tokens=min(
                    asked[place].max_tokens or self._made.max_tokens or _MOST_TOKENS,
                    self._context - len(prompts[place]),
                ),
                seed=seed_of(self._seed, asked[place]) % 2**31,
                stop_token_ids=list(self._chat.ends),
            )
            for place in fitting
        ]
        inputs = [{"prompt_token_ids": prompts[place]} for place in fitting]
        for place, output in zip(
            fitting, self._engine.generate(inputs, parameters, use_tqdm=False), strict=True
        ):
            said = output.outputs[0]
            cut = said.finish_reason == "length"
            found[place] = read_ids(self._chat, list(said.token_ids), cut, self.format, len(prompts[place]))
        return found

    def close(self) -> None:
        """Nothing is held outside of this process."""

    def __enter__(self) -> VllmPolicy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
