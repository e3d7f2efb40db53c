"""What an exception of LiteLLM, of the provider's client or of the connection means, and what to do about it."""

from __future__ import annotations

import math
import re
import socket
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from planarena.llm.bodies import AnswerTooLargeError
from planarena.llm.errors import CallFailedError, Kind, LLMError, ModelAccessError, RequestRefusedError

__all__ = ["Failure", "classify", "error_of", "retry_after"]


class Failure(NamedTuple):
    """One failed attempt: its class, the provider's words (not redacted yet), the wait it asks for in seconds."""

    kind: Kind
    text: str
    retry_after: float | None = None


_UNREACHABLE = {"ClientConnectorError", "ClientConnectorDNSError", "ConnectError", "ConnectTimeout"}
_TIMEOUTS = {
    "Timeout",
    "APITimeoutError",
    "TimeoutError",
    "ReadTimeout",
    "ServerTimeoutError",
    "SocketTimeoutError",
}
_DROPPED = {
    "ReadError",
    "WriteError",
    "RemoteProtocolError",
    "ServerDisconnectedError",
    "ClientPayloadError",
    "ClientOSError",
    "ClientConnectionResetError",
    "ConnectionResetError",
    "ContentLengthError",
    "TransferEncodingError",
    "IncompleteRead",
}
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|billing|credit balance|payment required", re.I
)
_NO_KEY = re.compile(
    r"missing (credentials|[\w ]*api key)|no api key|api_key client option must be set", re.I
)
_NO_MODEL = re.compile(
    r"LLM Provider NOT provided|Unknown provider|model_not_found|model[^.]{0,80}(does not exist|not found|not exist)"
    r"|not a valid model|invalid model|unknown model|unsupported model",
    re.I,
)
_TOO_LONG = re.compile(
    r"context[_ ]length|maximum context|context window|prompt is too long|too many tokens", re.I
)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    step: BaseException | None = error
    while step is not None and id(step) not in seen:
        seen.add(id(step))
        yield step
        step = step.__cause__ or step.__context__


def classify(error: BaseException) -> Failure:
    """Say what an exception means.

    LiteLLM gives one class (`InternalServerError`, status 500) to server errors, dropped connections,
    unreachable servers and missing keys alike: the chain of causes tells them apart.
    """
    steps = list(_chain(error))
    names = {type(step).__name__ for step in steps}
    text = str(error) or type(error).__name__
    status = getattr(error, "status_code", None)
    for step in steps:
        if isinstance(step, ModuleNotFoundError):
            return Failure("missing_package", str(step))
        if isinstance(step, AnswerTooLargeError):
            return Failure("server_error", str(step))
    if names & _UNREACHABLE or any(
        isinstance(step, ConnectionRefusedError | socket.gaierror) for step in steps
    ):
        return Failure("unreachable", str(steps[-1]))
    if names & _TIMEOUTS or status == 408:
        return Failure("timeout", text)
    if names & _DROPPED:
        return Failure("dropped", str(steps[-1]) or text)
    if _NO_KEY.search(text):
        return Failure("missing_key", text)
    if status in {401, 403} or names & {"AuthenticationError", "PermissionDeniedError"}:
        return Failure("revoked_key", text)
    if status == 402 or (status == 429 and _QUOTA.search(text)):
        return Failure("quota_spent", text)
    if status == 429 or "RateLimitError" in names:
        return Failure("rate_limited", text, retry_after(error))
    if "ContextWindowExceededError" in names or (status == 400 and _TOO_LONG.search(text)):
        return Failure("too_long", text)
    if "ContentPolicyViolationError" in names:
        return Failure("refused", text)
    if status == 404 or (status in {400, 422} and _NO_MODEL.search(text)):
        return Failure("unknown_model", text)
    if status is not None and 400 <= status < 500:
        return Failure("bad_request", text)
    return Failure("server_error", text, retry_after(error))


def retry_after(error: BaseException) -> float | None:
    """Return the seconds that the server asks to wait (`retry-after-ms`, `retry-after` as seconds or date), or None."""
    for step in _chain(error):
        for headers in (
            getattr(step, "litellm_response_headers", None),
            getattr(getattr(step, "response", None), "headers", None),
        ):
            if not headers:
                continue
            found = _wait_of(headers)
            if found is not None:
                return found
    return None


def _wait_of(headers: Any) -> float | None:
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            wait = float(value) * unit
        except ValueError:
            try:
                wait = parsedate_to_datetime(value).timestamp() - time.time()
            except ValueError:
                continue
        if math.isfinite(wait):
            return max(0.0, wait)
    return None


def error_of(failure: Failure, model: str, words: str, attempts: int, key_env: str = "") -> LLMError:
    """Make the error that names the fix.

    Args:
        failure: The last one.
        model: Name of the model.
        words: The provider's words, redacted.
        attempts: How often it was tried.
        key_env: Where the key comes from, as far as known.
    """
    # Client libraries quote their own stack behind what is wrong.
    words = words.partition("Traceback (most recent call last)")[0]
    words = re.sub(r"\s+", " ", words).strip()
    words = words if len(words) <= 400 else words[:400] + "..."
    kind, again = failure.kind, " The same command goes on from here."
    key = f"the key in {key_env}" if key_env else "the key in the provider's environment variable"
    fatal: dict[str, tuple[str, str]] = {
        "revoked_key": ("the server refuses the key", f"check {key}, and that it may use this model.{again}"),
        "missing_key": ("there is no key", f"set {key} (OPENAI_API_KEY, ANTHROPIC_API_KEY, ...).{again}"),
        "unknown_model": (
            "the server does not know this model",
            f"check the name: a LiteLLM id is PROVIDER/MODEL; another server's is MODEL@URL.{again}",
        ),
        "unreachable": (
            "the server cannot be reached or fails every time",
            f"check that it runs, its address and this machine's network.{again}",
        ),
        "quota_spent": ("the account has no credit left", f"top it up, or name another model.{again}"),
        "missing_package": ("LiteLLM needs a package that is not installed", "install it next to planarena"),
    }
    if kind in fatal:
        what, fix = fatal[kind]
        return ModelAccessError(f"{what}: {words}", kind=kind, model=model, fix=fix)
    refused: dict[str, tuple[str, str]] = {
        "too_long": ("the request is longer than the model's context", "shorten it, or name another model"),
        "refused": ("the provider's content filter refuses the request", "look at its text"),
        "bad_request": (
            "the server refuses the request",
            "look at its parameters; a model may not take every one of them",
        ),
    }
    if kind in refused:
        what, fix = refused[kind]
        return RequestRefusedError(f"{what}: {words}", kind=kind, model=model, fix=fix)
    return CallFailedError(
        f"{attempts} attempts failed, the last one with {kind}: {words}",
        kind=kind,
        model=model,
        fix="run the same command again: answers paid for are kept; lower the concurrency or the rate if the "
        "server is overloaded",
    )
