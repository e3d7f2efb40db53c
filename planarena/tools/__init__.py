"""Tools: JSON Schema, semantic types, validation, signatures, importers."""

from __future__ import annotations

from planarena.tools.importers import examine_tool_list, read_tool_list
from planarena.tools.semantics import Semantic, strip_annotations
from planarena.tools.tool import Tool
from planarena.tools.validation import SchemaValidator, check_schema

__all__ = [
    "SchemaValidator",
    "Semantic",
    "Tool",
    "check_schema",
    "examine_tool_list",
    "read_tool_list",
    "strip_annotations",
]
