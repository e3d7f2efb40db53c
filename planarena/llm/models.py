"""Which model, where, with which key, how fast and at what price."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec

from planarena.errors import ConfigError

__all__ = ["ModelConfig", "read_model", "tell_served"]

_SECRET_OPTIONS = {"api_key", "authorization", "extra_headers", "headers", "aws_secret_access_key"}
Structured = Literal["auto", "json_schema", "json_object", "prompt"]
_NAMED = re.compile(r"(?P<name>[^@\s][^\s]*?)@(?P<url>https?://[^\s#]+)(?:#(?P<env>\S*))?\Z")
_Positive = Annotated[float, msgspec.Meta(gt=0)]


class ModelConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A model and how it may be used. Limits hold per gateway: share them out when several processes call.

    Attributes:
        name: What requests call it; a LiteLLM id, or `MODEL@URL` as given.
        id: The LiteLLM id (`openai/gpt-4.1-mini`, `anthropic/...`); empty takes `name`.
        base_url: An OpenAI-compatible server, up to and with `/v1`; empty: the provider's own.
        key_env: The environment variable that holds the key. Empty: with a `base_url` no key is sent (a
            key is never sent to a host it was not meant for); without, LiteLLM reads the provider's variable.
        concurrency: Most requests in flight.
        requests_per_minute: Most requests begun a minute, evenly spread; 0: no limit.
        tokens_per_minute: Most tokens (prompt and answer) a minute; 0: no limit.
        timeout: Seconds for one attempt, from sending to the last byte.
        attempts: Attempts at one request before it fails; waiting for a rate limit is not an attempt.
        structured: How a JSON Schema is asked for. `auto`: `json_schema` where the server is known to take
            it, else `prompt`.
        price: USD per million prompt and answer tokens; None: LiteLLM's table, for providers' own servers.
        options: Passed with every request and part of the cache's key, as `{"temperature": 0.7}`.
        answers_as: Identity in the cache; empty: `id` and `base_url`. Set it when a server moves.
    """

    name: str
    id: str = ""
    base_url: str = ""
    key_env: str = ""
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 32
    requests_per_minute: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    tokens_per_minute: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    timeout: _Positive = 120.0
    attempts: Annotated[int, msgspec.Meta(ge=1, le=100)] = 6
    structured: Structured = "auto"
    price: tuple[float, float] | None = None
    options: dict[str, Any] = {}
    answers_as: str = ""

    def __post_init__(self) -> None:
        _check_url(self.base_url, self.name)
        # Configurations are written down with a run; a key must not be in them.
        if found := sorted(_SECRET_OPTIONS & {option.lower() for option in self.options}):
            raise ConfigError(
                f"options hold {', '.join(found)}, which may carry a key",
                where=self.name,
                fix="name the environment variable that holds the key: key_env",
            )

    @property
    def litellm_id(self) -> str:
        """What LiteLLM is asked for."""
        return self.id or self.name

    @property
    def identity(self) -> str:
        """What tells its answers from another model's in the cache."""
        return self.answers_as or (f"{self.litellm_id}@{self.base_url}" if self.base_url else self.litellm_id)

    def key(self) -> str | None:
        """Return the key to send, or None to let LiteLLM find it.

        Raises:
            ConfigError: The variable that should hold it is not set.
        """
        if self.key_env:
            found = os.environ.get(self.key_env, "").strip()
            if not found:
                raise ConfigError(
                    f"the environment variable {self.key_env} holds no key",
                    where=self.name,
                    fix=f"export {self.key_env}=...",
                )
            return found
        # The client library insists on a key and would otherwise send the one meant for another host.
        return "none" if self.base_url else None


def read_model(text: str) -> ModelConfig:
    """Read a model as on the command line: a LiteLLM id, or `MODEL@URL`, or `MODEL@URL#VARIABLE` with a key.

    Raises:
        ConfigError: With the form to write.
    """
    forms = (
        "write a LiteLLM id (openai/gpt-4.1-mini), or MODEL@http://HOST:PORT/v1, or MODEL@URL#KEY_VARIABLE"
    )
    text = text.strip()
    if not text:
        raise ConfigError("a model's name is empty", where="--model", fix=forms)
    if re.match(r"https?://", text):
        raise ConfigError(
            f"the URL does not say which model: {_plain(text)}",
            where="--model",
            fix=f"write MODEL@{_plain(text)}",
        )
    match = _NAMED.match(text)
    if match is None:
        if "@http" in text or any(letter.isspace() for letter in text):
            raise ConfigError(f"{_plain(text)!r} is no model", where="--model", fix=forms)
        return ModelConfig(name=text)
    _check_url(match["url"], "--model")
    name, base = match["name"], match["url"].rstrip("/")
    return ModelConfig(
        name=f"{name}@{base}",
        id=name if name.startswith("openai/") else f"openai/{name}",
        base_url=base,
        key_env=match["env"] or "",
    )


def tell_served(served: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Say where the server of a model calls itself otherwise: it may have been exchanged.

    Args:
        served: By model, what its server called itself, and in how many answers.
    """
    notes = []
    for model, names in sorted(served.items()):
        asked = model.partition("@")[0].rpartition("/")[2]
        if len(names) > 1:
            first = sorted(names.items(), key=lambda pair: (-pair[1], pair[0]))[:5]
            listed = ", ".join(f"{name} ({number})" for name, number in first)
            notes.append(f"WARNING: {model} answered as more than one model: {listed}")
        notes += [
            f"the server of {model} calls itself {name!r}"
            for name in names
            if len(names) == 1 and name.rpartition("/")[2] != asked
        ]
    return notes


def _check_url(text: str, where: str) -> None:
    url = urlsplit(text)
    if url.username or url.password or url.query:
        raise ConfigError(
            "the URL holds a user, a password or a query, which would be written down with it",
            where=where,
            fix="keep the key in an environment variable: MODEL@URL#KEY_VARIABLE, or key_env",
        )


def _plain(text: str) -> str:
    """Cut a URL's user, query and fragment, which may hold a key."""
    return re.sub(r"(?<=//)[^/@]*@", "", re.split(r"[?#]", text)[0])[:200]
