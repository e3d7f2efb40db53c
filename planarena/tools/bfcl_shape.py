"""Tool lists in the shape of BFCL: Python's type names, dotted names, and rows that hold a question beside tools.

The shape is welcome; BFCL's own tools are an evaluation target and are refused by their signatures where the user
points to the benchmark's data (`planarena.quality.contamination`).
"""

from __future__ import annotations

from typing import Any

from planarena.tools.repair import Repairer

__all__ = ["is_bfcl_function", "is_bfcl_row", "read_bfcl_function"]


def is_bfcl_row(entry: Any) -> bool:
    """Say whether an entry is a row of the benchmark's files: `{"id", "question", "function": [...]}`."""
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("function"), list)
        and ("question" in entry or "id" in entry)
    )


def is_bfcl_function(entry: Any) -> bool:
    """Say whether an entry describes its arguments with `"type": "dict"`."""
    parameters = entry.get("parameters") if isinstance(entry, dict) else None
    return isinstance(parameters, dict) and parameters.get("type") == "dict"


def read_bfcl_function(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the function with JSON Schema's type names; the changes stand under `x-repairs`.

    Raises:
        SchemaError: A schema nested too deeply.
    """
    repairer = Repairer(nullable=False)
    parameters = repairer.schema(entry["parameters"], "parameters")
    read = {**entry, "parameters": parameters}
    if isinstance(entry.get("response"), dict):
        read["outputSchema"] = repairer.schema(entry["response"], "response")
    return {**read, "x-repairs": list(repairer.take_repairs())}
