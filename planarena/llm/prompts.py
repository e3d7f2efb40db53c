"""Prompt files: versioned, identified by their bytes, filled in once, with quoted data that cannot break out."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import msgspec

from planarena import data
from planarena.records.canonical import CanonicalError, canonical_json, id_of_bytes

__all__ = ["Prompt", "load_prompt", "quote_data"]

_FIELD = re.compile(r"\{\{(\w+)\}\}")
# Chat templates read these inside of any text: Llama's and Mistral's instruction marks.
_MARKS = re.compile(r"\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])")


class Prompt(msgspec.Struct, frozen=True):
    """One file of `data/prompts/`.

    Attributes:
        name: Its name without `.yaml`.
        version: Raised with every change of meaning.
        digest: Of its bytes.
        system_text: With fields as `{{name}}`.
        user_text: Likewise.
    """

    name: str
    version: int
    digest: str
    system_text: str
    user_text: str

    @property
    def label(self) -> str:
        """Name, version and digest: for `Request.prompt`, and so for the cache's key."""
        return f"{self.name}@{self.version}:{self.digest}"

    def system(self, **fields: str) -> str:
        """Return the system text, filled in."""
        return _fill(self.system_text, fields)

    def user(self, **fields: str) -> str:
        """Return the user text, filled in; see `messages`."""
        return _fill(self.user_text, fields)

    def messages(self, **fields: str) -> list[dict[str, Any]]:
        """Return the two messages.

        Args:
            **fields: Texts for the fields; text of others goes through `quote_data` first.

        Raises:
            KeyError: A field of the file that is not given.
        """
        return [
            {"role": "system", "content": self.system(**fields)},
            {"role": "user", "content": self.user(**fields)},
        ]


def _fill(text: str, fields: dict[str, str]) -> str:
    # One pass: a field's text that holds {{another}} is not filled in again.
    return _FIELD.sub(lambda match: fields[match[1]], text).strip()


@cache
def load_prompt(name: str) -> Prompt:
    """Read `data/prompts/NAME.yaml`, once per process."""
    path = f"prompts/{name}.yaml"
    read = data.load_yaml(path)
    return Prompt(
        name,
        int(read["version"]),
        id_of_bytes(data.read_bytes(path))[:16],
        read.get("system", ""),
        read["user"],
    )


def quote_data(value: Any) -> str:
    """Write data of others as one line of JSON that no text inside can end.

    Quotes and line ends are JSON's escapes; `<` and the marks of chat templates are escaped too, so neither
    `</data>` nor `<|im_start|>` nor `[INST]` inside of a text reaches the model as such. The value is unchanged.
    What has no canonical JSON (half a surrogate pair, a NaN in someone's gold) is written as Python's json does.
    """
    try:
        text = canonical_json(value)
    except CanonicalError:
        text = json.dumps(value, sort_keys=True, default=repr)
    text = text.replace("<", "\\u003c").replace(">", "\\u003e")
    return _MARKS.sub("\\\\u005b", text)
