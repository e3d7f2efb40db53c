"""What can go wrong with a model: per request or for good, each with one message that names the fix."""

from __future__ import annotations

from typing import ClassVar, Literal

from planarena.errors import UserError

__all__ = [
    "BudgetSpent",
    "CacheError",
    "CallFailedError",
    "Kind",
    "LLMError",
    "MalformedAnswerError",
    "ModelAccessError",
    "RequestRefusedError",
]

Kind = Literal[
    "timeout",
    "dropped",
    "server_error",
    "rate_limited",
    "empty",
    "wrong_json",
    "truncated",
    "tool_call_in_text",
    "refused",
    "too_long",
    "bad_request",
    "revoked_key",
    "missing_key",
    "unknown_model",
    "unreachable",
    "quota_spent",
    "missing_package",
    "unknown_price",
    "circuit_open",
    "budget_spent",
    "cache",
]


class LLMError(UserError):
    """Base of all; nothing in its text is a secret.

    Args:
        what: What is wrong.
        kind: Its class; what quarantine and the counts name it by.
        model: The model it concerns.
        fix: What to do.

    Attributes:
        stops: Every further call would fail alike: no new call begins, what is under way is finished and kept.
    """

    stops: ClassVar[bool] = False

    def __init__(self, what: str, *, kind: Kind, model: str = "", fix: str = "") -> None:
        self.kind: Kind = kind
        self.model = model
        super().__init__(what, where=model, fix=fix)


class CallFailedError(LLMError):
    """One request failed on every attempt: time-outs, dropped connections, server errors, empty answers."""

    exit_code = 1


class MalformedAnswerError(LLMError):
    """One answer broke its schema, and so did the repaired one.

    Attributes:
        text: The last answer.
    """

    exit_code = 1

    def __init__(self, what: str, *, kind: Kind, model: str = "", fix: str = "", text: str = "") -> None:
        self.text = text
        super().__init__(what, kind=kind, model=model, fix=fix)


class RequestRefusedError(LLMError):
    """The provider refuses this one request: its content, its length or its parameters."""


class ModelAccessError(LLMError):
    """The model cannot be used: key, name, server or credit. Fatal for the model."""

    stops = True


class CacheError(LLMError):
    """The file of cached answers cannot be used; going on would pay for answers that are not kept."""

    stops = True


class BudgetSpent(LLMError):  # noqa: N818  an event, not a fault
    """The next call would exceed the budget. Every answer paid for is kept: the same run goes on from here."""

    stops = True
