"""The one `Tool` that everything speaks about."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import msgspec

from planarena.records.canonical import content_id
from planarena.tools.semantics import strip_annotations

__all__ = ["OWN_VENDOR", "SafetyClass", "Tool", "vendor_of"]

Effect = Literal["read", "create", "update", "delete", "unknown"]
ExecutionKind = Literal["real", "emulated", "simulated", "none"]
SafetyClass = Literal["read_only", "snapshot", "reset", "live"]


OWN_VENDOR = "planarena"


def vendor_of(source_kind: str, namespace: str) -> str:
    """Return who offers a tool: ourselves, the provider of an API, or what its source calls itself."""
    return OWN_VENDOR if source_kind == "builtin" else namespace.partition(":")[0]


class Tool(msgspec.Struct, frozen=True, dict=True):
    """A callable operation and where it comes from.

    Attributes:
        namespace: The environment, server or vendor.
        name: The operation's name at its source.
        wire_name: The name that models see: `[A-Za-z0-9_-]{1,64}`, unique within a build.
        description: What it does, for models.
        input_schema: JSON Schema 2020-12 of the arguments, with our annotation keywords.
        output_schema: JSON Schema of the result, or None.
        effects: What it does to the state.
        execution_kind: How honest its executions are (pipeline specification, section 3).
        determinism: `deterministic`, or `unknown`.
        source_kind: `builtin`, `json`, `openapi`, `mcp`, `python`, `http` or `env`.
        source_ref: The module, file or server.
        source_version: The version of the source, as far as known.
        source_sha256: The hash of the source's bytes.
        licence: An SPDX id, or "unknown".
        schema_repairs: What import changed in the schema.
        contamination: Benchmarks whose tools it resembles, as `name:bfcl`.
    """

    namespace: str
    name: str
    wire_name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    effects: Effect = "unknown"
    execution_kind: ExecutionKind = "none"
    determinism: str = "unknown"
    source_kind: str = "json"
    source_ref: str = ""
    source_version: str = ""
    source_sha256: str = ""
    licence: str = "unknown"
    schema_repairs: tuple[str, ...] = ()
    contamination: tuple[str, ...] = ()

    @cached_property
    def tool_id(self) -> str:
        """The content id: what the tool is called and takes, not where it was found."""
        return content_id(
            "tool", self.namespace, self.name, self.description, self.input_schema, self.output_schema
        )

    @cached_property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """The schemas of the arguments by name; one that is `true` or `false` has no words and is given as `{}`."""
        properties: dict[str, Any] = self.input_schema.get("properties", {})
        return {name: schema if isinstance(schema, dict) else {} for name, schema in properties.items()}

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The names of the required arguments."""
        return tuple(self.input_schema.get("required", ()))

    def to_openai(self) -> dict[str, Any]:
        """Return the OpenAI function-calling shape, without our annotations."""
        return {
            "type": "function",
            "function": {
                "name": self.wire_name,
                "description": self.description,
                "parameters": strip_annotations(self.input_schema),
            },
        }
