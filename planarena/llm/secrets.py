"""Keeping keys out of texts: what is known to be secret, and what looks like it, is struck out."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable

__all__ = ["MASK", "Redactor", "guard_logs"]

MASK = "[key removed]"
_NAMES = re.compile(r"(API_?KEY|TOKEN|SECRET|SECRET_ACCESS_KEY|PASSWORD|CREDENTIALS)$", re.I)
# Keys by their look: OpenAI, Anthropic and others (sk-...), Hugging Face, Google, AWS, GitHub; and by their place.
_SHAPES = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|r8|nvapi)[-_][A-Za-z0-9_\-*.]{8,}"
    r"|\bhf_[A-Za-z0-9]{16,}|\bAIza[A-Za-z0-9_\-]{20,}|\bAKIA[A-Z0-9]{12,}|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|(?<=Bearer )[^\s'\",)]+|(?<=[?&]key=)[^\s&'\"]+"
)
_LOGGERS = (
    "LiteLLM",
    "LiteLLM Router",
    "LiteLLM Proxy",
    "openai",
    "openai._base_client",
    "httpx",
    "httpcore",
)


class Redactor:
    """Strikes secrets out of texts.

    Args:
        secrets: Keys in use. Values of environment variables that are named like secrets are added.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        found = {value for name, value in os.environ.items() if _NAMES.search(name) and len(value) >= 12}
        self._secrets = tuple(sorted({*found, *(text for text in secrets if text)}, key=len, reverse=True))

    def redact(self, text: str) -> str:
        """Strike out known secrets and whatever looks like a key: for messages and logs."""
        return _SHAPES.sub(MASK, self.redact_known(text))

    def redact_known(self, text: str) -> str:
        """Strike out known secrets alone: for answers, which may well hold a text that looks like a key."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, MASK)
        return text


class _LogGuard(logging.Filter):
    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        # The traceback would be formatted later, with the key in it; the exception's text is kept redacted.
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text = f"{text}: {record.exc_info[1]}"
            record.exc_info, record.exc_text = None, None
        record.msg, record.args = self._redactor.redact(text), ()
        return True


_guards: dict[str, _LogGuard] = {}


def guard_logs(redactor: Redactor) -> None:
    """Redact what the client libraries log, at every level; a later redactor replaces an earlier one."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if name in _guards:
            logger.removeFilter(_guards[name])
        _guards[name] = _LogGuard(redactor)
        logger.addFilter(_guards[name])
