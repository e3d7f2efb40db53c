"""The gateway to models: one way in, answers kept by content, budgets kept, failures classified."""

from __future__ import annotations

from planarena.llm.budget import Budget, Spent
from planarena.llm.cache import AnswerCache, default_cache
from planarena.llm.errors import (
    BudgetSpent,
    CacheError,
    CallFailedError,
    LLMError,
    MalformedAnswerError,
    ModelAccessError,
    RequestRefusedError,
)
from planarena.llm.gateway import Gateway
from planarena.llm.models import ModelConfig, read_model
from planarena.llm.prompts import Prompt, load_prompt, quote_data
from planarena.llm.request import Answer, CallRecord, Estimate, Request, ToolCall
from planarena.llm.sync import SyncGateway

__all__ = [
    "Answer",
    "AnswerCache",
    "Budget",
    "BudgetSpent",
    "CacheError",
    "CallFailedError",
    "CallRecord",
    "Estimate",
    "Gateway",
    "LLMError",
    "MalformedAnswerError",
    "ModelAccessError",
    "ModelConfig",
    "Prompt",
    "Request",
    "RequestRefusedError",
    "Spent",
    "SyncGateway",
    "ToolCall",
    "default_cache",
    "load_prompt",
    "quote_data",
    "read_model",
]
