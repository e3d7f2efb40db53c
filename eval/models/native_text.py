"""Native calls of a local model: from the text that its chat template teaches to one assistant message.

Read is every vendor's way of writing (`planarena.formats.read_output`). What cannot be read as calls is content.
"""

from __future__ import annotations

import json
from typing import Any

from planarena.formats import read_output
from planarena.formats.written import split_thought

__all__ = ["message_of", "split_thought"]


def message_of(text: str) -> dict[str, Any]:
    """Return the assistant message that a text says; call ids are call_0, call_1, ..."""
    reading = read_output(text)
    content = reading.content
    if reading.problem and not reading.calls:
        content = split_thought(text)[1]
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if reading.thought:
        message["reasoning_content"] = reading.thought
    if reading.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{place}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for place, call in enumerate(reading.calls)
        ]
    return message
