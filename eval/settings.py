"""How outputs are generated: what the model is asked for, where it is, and how fast it may be asked."""

from __future__ import annotations

from typing import Any

import msgspec

from planarena.errors import ConfigError

__all__ = ["GenerationConfig"]

_CHOICES = {
    "engine": ("auto", "transformers", "vllm"),
    "dtype": ("auto", "float32", "bfloat16"),
}


class GenerationConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a model is asked. The first block shapes outputs, the second says where and how fast.

    Attributes:
        template: The prompt template of a text format; empty takes the format's own, or what the checkpoint's
            training used.
        signatures: How prompts write tools: json, compact or names; empty likewise.
        plan: Ask for a plan where the template has words for one; None as the checkpoint's training did, else yes.
        temperature: Of sampling, a number; "auto" is 0 for one sample and 1 for more (CHORD, Table 1); "model" leaves it to a
            server, for models that take none.
        top_p: Nucleus; None leaves it out.
        max_tokens: Most tokens of one reply; by default a server's own limit, and 2,048 for a folder.
        format_sensitivity: Ask BFCL v4's 200 items in 26 prompt formats, too: 5,200 requests that count in no overall
            value. The prompts are bfcl-eval's own, whatever format the rest is asked in; not with `native`.
        shots: Worked examples before an MMLU-Pro question (its script takes 5).
        options: Further parameters of every request to a server, as {"reasoning_effort": "low"}.
        chat_template: A file with the chat template of a model that has none.
        base_url: An OpenAI-compatible server, up to and with /v1; the model's name is then the server's.
        key_env: The environment variable that holds the server's key; by default none is sent.
        concurrency: Most requests in flight.
        attempts: Attempts at one request before it counts as failed.
        timeout: Seconds of one attempt.
        requests_per_minute: Most requests begun a minute; 0 sets no limit.
        tokens_per_minute: Most tokens a minute; 0 sets no limit.
        budget_usd: Most US dollars to spend; by default there is no limit.
        budget_tokens: Most tokens to spend, likewise.
        budget_calls: Most answers to pay for, likewise.
        price: US dollars per million prompt and answer tokens, where the gateway does not know them.
        engine: What decodes a folder: transformers, vllm, or auto: vllm where it is installed and there is a GPU.
        device: Of transformers: auto, cpu, cuda or cuda:N.
        dtype: float32, bfloat16, or auto: bfloat16 on a GPU.
        rows: Dialogues of a folder's batch.
        user_model: Who plays the users of dialogues (acebench, tau2): a LiteLLM id or MODEL@URL; empty leaves out what
            needs one.
        bench_user: Who plays the users of the suite planarena: scripted, or model:ID. Conversations that a model spoils
            (it lies, gives away what it holds back, ...) are discarded, with their classes in the notes.
        count_failed: Score items whose requests failed as wrong. Otherwise nothing is scored until they are
            answered: the same command asks them again.
    """

    template: str = ""
    signatures: str = ""
    plan: bool | None = None
    temperature: float | str = "auto"
    top_p: float | None = None
    max_tokens: int | None = None
    format_sensitivity: bool = False
    shots: int = 5
    options: dict[str, Any] = {}
    chat_template: str = ""

    base_url: str = ""
    key_env: str = ""
    concurrency: int = 32
    attempts: int = 6
    timeout: float = 600.0
    requests_per_minute: float = 0.0
    tokens_per_minute: float = 0.0
    budget_usd: float | None = None
    budget_tokens: float | None = None
    budget_calls: float | None = None
    price: tuple[float, float] | None = None
    engine: str = "auto"
    device: str = "auto"
    dtype: str = "auto"
    rows: int = 64
    user_model: str = ""
    bench_user: str = "scripted"
    count_failed: bool = False

    def __post_init__(self) -> None:
        for key, choices in _CHOICES.items():
            if (value := getattr(self, key)) not in choices:
                raise ConfigError(
                    f"{value!r} is no choice of {key}",
                    where=f"generation.{key}",
                    fix=f"one of: {', '.join(choices)}",
                )
        if self.signatures not in ("", "json", "compact", "names"):
            raise ConfigError(
                f"{self.signatures!r} is no way to write tools",
                where="generation.signatures",
                fix="one of: json, compact, names",
            )
        for key, least in (("shots", 0), ("concurrency", 1), ("attempts", 1), ("rows", 1), ("max_tokens", 1)):
            if (number := getattr(self, key)) is not None and number < least:
                raise ConfigError(
                    f"{number} is out of range", where=f"generation.{key}", fix=f"give {least} or more"
                )
        if not self.timeout > 0:
            raise ConfigError(
                f"{self.timeout} is out of range", where="generation.timeout", fix="give seconds above 0"
            )
        warmth = self.temperature
        if isinstance(warmth, str):
            good = warmth in ("auto", "model")
        else:
            good = 0 <= warmth < float("inf")
        if not good:
            raise ConfigError(
                f"{warmth!r} is no temperature",
                where="generation.temperature",
                fix="a number from 0, or auto, or model",
            )

    def warmth(self, samples: int) -> float | None:
        """Return the temperature for K samples; None leaves it to the model."""
        if isinstance(self.temperature, str):
            return None if self.temperature == "model" else 0.0 if samples == 1 else 1.0
        return float(self.temperature)
