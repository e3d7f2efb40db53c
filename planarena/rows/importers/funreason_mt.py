"""FunReason-MT: multi-turn dialogues in the ShareGPT shape, reasoning in `<think>`, and a mark on wrong results.

The set holds wrong tool responses on purpose; `error_tool_response` marks such dialogues, and `keep_errors` false
leaves them out, as its card offers.
"""

from __future__ import annotations

from typing import Any

from planarena.rows.importers import hermes, sharegpt
from planarena.rows.importers.trace import ImportOptions, Trace, TraceError

__all__ = ["LICENCE", "read"]

LICENCE = "Apache-2.0"


def read(record: dict[str, Any], options: ImportOptions, number: int) -> Trace:
    """Read one record.

    Raises:
        TraceError: It cannot be used.
    """
    if record.get("error_tool_response") in (True, "true", "True", 1) and not options.keep_errors:
        raise TraceError("marked as holding wrong tool responses")
    messages = record.get("conversations", record.get("messages"))
    renamed = {**record, "conversations": messages}
    texts = "".join(str(message) for message in messages) if isinstance(messages, list) else ""
    if "<tool_response>" in texts or "<tools>" in texts:
        return hermes.read(_named_from(renamed), options, number)
    return sharegpt.read(renamed, options, number)


def _named_from(record: dict[str, Any]) -> dict[str, Any]:
    """Write `role` and `content` as `from` and `value`."""
    messages = [
        {
            "from": message.get("from", message.get("role")),
            "value": message.get("value", message.get("content")),
        }
        for message in record["conversations"]
        if isinstance(message, dict)
    ]
    return {**record, "conversations": messages}
