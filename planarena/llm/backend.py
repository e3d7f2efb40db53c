"""The one place that calls LiteLLM: imported on first use, its cache and its retries off."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import warnings
from collections import Counter
from typing import Any

from planarena.llm.bodies import bounded_transport
from planarena.llm.models import ModelConfig
from planarena.llm.request import Request, Stored, ToolCall

__all__ = ["LiteLLMBackend"]

# No context of any model is so long.
_MOST_TOKENS = 100_000_000
_CONTROL = {"max_retries": 0, "num_retries": 0, "caching": False}
# How many gateways of an event loop use LiteLLM's clients.
_users: Counter[asyncio.AbstractEventLoop] = Counter()


class LiteLLMBackend:
    """Sends requests through `litellm.acompletion`. One event loop per instance."""

    def __init__(self) -> None:
        self._litellm: Any = None
        self._prices: dict[str, tuple[float, float] | None] = {}
        self._in_use = False
        self._takes: dict[str, bool] = {}
        self._plain: set[str] = set()

    def load(self) -> Any:
        """Import LiteLLM (3 to 8 seconds the first time) with its local cost map: nothing is fetched."""
        if self._litellm is None:
            os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                litellm = importlib.import_module("litellm")
                # Pydantic builds this class on first use, slowly and with warnings: not within someone's time-out.
                litellm.ModelResponse()
            settings = {"suppress_debug_info": True, "telemetry": False, "cache": None, "drop_params": False}
            for name, value in settings.items():
                setattr(litellm, name, value)
            _bound_answers()
            self._litellm = litellm
        return self._litellm

    async def ready(self) -> None:
        """Import LiteLLM in another thread, so that the loop goes on meanwhile."""
        if not self._in_use:
            self._in_use = True
            _users[asyncio.get_running_loop()] += 1
        if self._litellm is None:
            await asyncio.to_thread(self.load)

    def price(self, model: ModelConfig) -> tuple[float, float] | None:
        """Return USD per prompt and per answer token, or None when it is not known.

        A server of one's own is never given a provider's price, though it may serve a model of that name.
        """
        if model.price is not None:
            return model.price[0] / 1e6, model.price[1] / 1e6
        if model.base_url:
            return None
        if model.litellm_id not in self._prices:
            try:
                info = self.load().get_model_info(model.litellm_id)
            except Exception:  # LiteLLM raises plain Exception for a model that its table lacks
                self._prices[model.litellm_id] = None
            else:
                asked, answered = info.get("input_cost_per_token"), info.get("output_cost_per_token")
                known = asked is not None and answered is not None and (asked > 0 or answered > 0)
                self._prices[model.litellm_id] = (float(asked), float(answered)) if known else None
        return self._prices[model.litellm_id]

    def takes_schema(self, model: ModelConfig) -> str:
        """Return how a JSON Schema is asked for: json_schema, json_object or prompt."""
        if model.name in self._plain:
            return "prompt"
        if model.structured != "auto":
            return model.structured
        if model.base_url:
            return "json_schema"
        if model.litellm_id not in self._takes:
            try:
                known = self.load().supports_response_schema(model=model.litellm_id)
            except Exception:  # as above
                known = False
            self._takes[model.litellm_id] = bool(known)
        return "json_schema" if self._takes[model.litellm_id] else "prompt"

    def refuse_schema(self, model: ModelConfig) -> None:
        """Remember that a server does not take `response_format`."""
        self._plain.add(model.name)

    async def call(self, request: Request, model: ModelConfig, how: str) -> Stored:
        """Make one attempt.

        Args:
            request: What to ask.
            model: Whom.
            how: How the schema is asked for, as `takes_schema` says; ignored without one.

        Raises:
            Exception: Whatever LiteLLM, the client and the connection raise; TimeoutError after `model.timeout`.
        """
        litellm = self.load()
        arguments: dict[str, Any] = {**_CONTROL, **model.options, **request.options}
        arguments |= {"model": model.litellm_id, "messages": list(request.messages), "timeout": model.timeout}
        if model.base_url:
            arguments["api_base"] = model.base_url
        if key := model.key():
            arguments["api_key"] = key
        for name in ("temperature", "top_p", "max_tokens", "tool_choice"):
            if (value := getattr(request, name)) is not None:
                arguments[name] = value
        if request.stop:
            arguments["stop"] = list(request.stop)
        if request.seed is not None:
            arguments["seed"] = request.seed + request.sample
        if request.tools:
            # Without this LiteLLM imports the package mcp for every request with tools, and fails without it.
            arguments |= {"tools": list(request.tools), "_skip_mcp_handler": True}
        if request.schema is not None and how != "prompt":
            arguments["response_format"] = _response_format(request.schema, how)
        # LiteLLM's time-out restarts with every byte; this one does not.
        async with asyncio.timeout(model.timeout):
            response = await litellm.acompletion(**arguments)
        return self._read(response, request, model)

    def _read(self, response: Any, request: Request, model: ModelConfig) -> Stored:
        choice = response.choices[0]
        message, usage = choice.message, getattr(response, "usage", None)
        content = message.content if isinstance(message.content, str) else ""
        # A server that counts nothing would make a budget in tokens endless: four bytes a token then.
        asked, known = _tokens(usage, "prompt_tokens", len(str(request.messages)) // 4)
        answered, both = _tokens(usage, "completion_tokens", len(content) // 4)
        price = self.price(model)
        usd = None
        if price is not None:
            # LiteLLM knows cached and batched tokens; a price of our own is plain.
            usd = None if model.price else response._hidden_params.get("response_cost")
            if usd is None or not (known and both):
                usd = price[0] * asked + price[1] * answered
            usd = float(usd)
        calls = tuple(
            ToolCall(str(call.id or ""), str(call.function.name or ""), str(call.function.arguments or ""))
            for call in (message.tool_calls or ())
        )
        return Stored(
            text=content,
            tool_calls=calls,
            reasoning=str(getattr(message, "reasoning_content", None) or ""),
            finish=str(choice.finish_reason or "stop"),
            served_by=str(response.model or ""),
            prompt_tokens=asked,
            completion_tokens=answered,
            usd=usd,
        )

    async def close(self) -> None:
        """Close this event loop's connections, when no other gateway of the loop uses them.

        LiteLLM keeps its clients by event loop; its own clean-up would close every loop's, and leave the
        closed ones to be found again.
        """
        loop = asyncio.get_running_loop()
        if not self._in_use:
            return
        self._in_use = False
        _users[loop] -= 1
        if _users[loop]:
            return
        del _users[loop]
        cache = self._litellm.in_memory_llm_clients_cache
        for key in [key for key in cache.cache_dict if key.endswith(f"-{id(loop)}")]:
            client = cache.cache_dict.pop(key)
            cache.ttl_dict.pop(key, None)
            shut = getattr(client, "close", None) or getattr(client, "aclose", None)
            done = shut() if callable(shut) else None
            if inspect.isawaitable(done):
                await done


def _bound_answers() -> None:
    """Bound the bodies that LiteLLM reads: it offers no setting for that, and all its requests go through one class.

    Where DISABLE_AIOHTTP_TRANSPORT turns that class off, the time-out alone bounds what is read.
    """
    from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport as Transport

    if not hasattr(Transport, "planarena_bounds"):
        Transport.handle_async_request = bounded_transport(Transport.handle_async_request)
        Transport.planarena_bounds = True


def _tokens(usage: Any, name: str, otherwise: int) -> tuple[int, bool]:
    """Return what a server counted and True; where it counts nothing, or nonsense, the estimate and False.

    A negative count would make a budget endless, one beyond all contexts would spend it at once.
    """
    counted = getattr(usage, name, None)
    if isinstance(counted, (int, float)) and not isinstance(counted, bool) and 0 < counted <= _MOST_TOKENS:
        return int(counted), True
    return otherwise, False


def _response_format(schema: dict[str, Any], how: str) -> dict[str, Any]:
    if how == "json_object":
        return {"type": "json_object"}
    # Not strict: that mode takes a part of JSON Schema only, and the answer is validated here anyway.
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": False}}
